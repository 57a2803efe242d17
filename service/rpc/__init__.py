"""What every call passes: authentication, limits, errors, telemetry and validation.

A failed call passes `errors` (exception to refusal), `failures` (log, count and answer) and
`status` (refusal to google.rpc.Status). `catalogue` has the status code of every reason.
"""
