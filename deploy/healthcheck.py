"""Exits with 0 if the service at the address says that it is ready, else with 1 and the reason.

    python healthcheck.py localhost:50051 [readiness | liveness]

For the container's own health check; Kubernetes asks by itself (grpc probes).
"""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

TIMEOUT_SECONDS = 3


def main() -> None:
    """Asks once, within `TIMEOUT_SECONDS`."""
    address, service = (*sys.argv[1:], "readiness")[:2]
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service=service)
        try:
            status = stub.Check(request, timeout=TIMEOUT_SECONDS).status
        except grpc.RpcError as error:
            sys.exit(f"{service}: {error}")
    if status != health_pb2.HealthCheckResponse.SERVING:
        sys.exit(f"{service}: {health_pb2.HealthCheckResponse.ServingStatus.Name(status)}")


if __name__ == "__main__":
    main()
