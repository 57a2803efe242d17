"""What every call passes: authentication, limits, errors, telemetry and validation."""
