"""An OpenTelemetry collector on a real port that keeps all traces and metrics it receives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from grpc import aio
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_api
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc as metrics_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces_api
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as traces_grpc


class Collector:
    """The traces and metrics received so far."""

    def __init__(self) -> None:
        self.resources: list[Any] = []
        self.spans: list[Any] = []
        self.metrics: list[Any] = []


class Traces(traces_grpc.TraceServiceServicer):
    def __init__(self, collector: Collector) -> None:
        self.collector = collector

    async def Export(self, request: Any, context: Any) -> Any:
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.collector.spans += scope.spans
        return traces_api.ExportTraceServiceResponse()


class Metrics(metrics_grpc.MetricsServiceServicer):
    def __init__(self, collector: Collector) -> None:
        self.collector = collector

    async def Export(self, request: Any, context: Any) -> Any:
        for resource in request.resource_metrics:
            self.collector.resources.append(resource.resource)
            for scope in resource.scope_metrics:
                self.collector.metrics += scope.metrics
        return metrics_api.ExportMetricsServiceResponse()


@asynccontextmanager
async def collecting() -> AsyncIterator[tuple[Collector, str]]:
    """A running collector and its endpoint."""
    server, kept = aio.server(), Collector()
    traces_grpc.add_TraceServiceServicer_to_server(Traces(kept), server)  # type: ignore[no-untyped-call]
    metrics_grpc.add_MetricsServiceServicer_to_server(Metrics(kept), server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield kept, f"http://127.0.0.1:{port}"
    await server.stop(None)
