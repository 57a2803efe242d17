"""The service: composition root, gRPC servicers, auth, errors, telemetry, timers, command line."""
