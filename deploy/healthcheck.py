"""Check the health of the service. The exit code is 0 if it is SERVING, otherwise 1.

    python healthcheck.py localhost:50051 [readiness | liveness]

This is the health check of the container. Kubernetes has its own gRPC probes.
"""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

TIMEOUT_SECONDS = 3


def main() -> None:
    """Send one health check."""
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
