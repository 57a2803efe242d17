"""Traces and metrics.

They are sent by OTLP if an endpoint is configured. Otherwise there is no tracer and no meter, and a
call costs almost nothing. They never contain requests, replies, tokens or cards.
"""

import asyncio
import os
import random
import socket
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Final, NamedTuple

import grpc
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Meter, NoOpMeter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service.config import Config
from service.rpc.failures import Failures
from service.rpc.limits import Limits

_NAME: Final = "durak"
_FLUSH_MS_MAX: Final = 3_000
_SERVER_FAULTS: Final = frozenset(
    {
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
"""Codes that make the span of a server an error (OpenTelemetry conventions for gRPC)."""

_propagator = TraceContextTextMapPropagator()


class Traced(NamedTuple):
    """The trace of one call: its id (16 bytes), and its span if one is recorded."""

    trace_id: bytes
    span: trace.Span | None


class Telemetry:
    """Traces and metrics of one service. Made by `open_telemetry`; `close` sends the last ones."""

    def __init__(
        self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
    ) -> None:
        self._tracer_provider = tracer_provider
        self._meter_provider = meter_provider
        self._tracer = tracer_provider.get_tracer(_NAME) if tracer_provider else None
        self._meter: Meter = meter_provider.get_meter(_NAME) if meter_provider else NoOpMeter(_NAME)
        self._durations = (
            self._meter.create_histogram(
                "rpc.server.call.duration",
                unit="s",
                description="Calls by method and status code.",
                explicit_bucket_boundaries_advisory=[
                    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
                ],
            )
            if meter_provider
            else None
        )

    def begin(self, method: str, metadata: Mapping[str, str | bytes]) -> Traced:
        """Start the trace of a call, or continue the caller's (W3C `traceparent`)."""
        parent = None
        if "traceparent" in metadata:
            parent = _propagator.extract(metadata)
        if self._tracer is not None:
            span = self._tracer.start_span(
                method[1:],
                context=parent or otel_context.Context(),
                kind=trace.SpanKind.SERVER,
                attributes={"rpc.system": "grpc", "rpc.method": method[1:]},
            )
            trace_id = span.get_span_context().trace_id.to_bytes(16, "big")
            if span.is_recording():
                # gRPC runs each call in its own context, so the span need not be detached.
                otel_context.attach(trace.set_span_in_context(span))
                return Traced(trace_id, span)
            return Traced(trace_id, None)
        if parent is not None:
            trace_id_number = trace.get_current_span(parent).get_span_context().trace_id
            if trace_id_number:
                return Traced(trace_id_number.to_bytes(16, "big"), None)
        return Traced(random.randbytes(16), None)  # noqa: S311 - an id, not a secret

    def end(
        self, traced: Traced, method: str, code: grpc.StatusCode, reason: str, seconds: float
    ) -> None:
        """End the trace of a call, with its status code, reason (empty for OK) and duration."""
        if self._durations is not None:
            self._durations.record(
                seconds, {"rpc.method": method[1:], "rpc.response.status_code": code.name}
            )
        if traced.span is not None:
            traced.span.set_attribute("rpc.response.status_code", code.name)
            if reason:
                traced.span.set_attribute("error.type", reason)
            if code in _SERVER_FAULTS:
                traced.span.set_status(trace.StatusCode.ERROR)
            traced.span.end()

    def observe(self, limits: Limits, failures: Failures) -> None:
        """Report the calls that run, the watches that are open, and the calls that failed."""
        self.gauge(
            "durak.calls.running",
            lambda: limits.calls,
            "Unary calls and session commands running.",
        )
        self.gauge(
            "durak.watches.open", lambda: limits.watches, "Watches and sessions that are open."
        )
        self._meter.create_observable_counter(
            "durak.calls.failed",
            [lambda _: _by(failures.calls, "reason")],
            description="Calls and session requests that failed, by the reason of the catalogue.",
        )
        self._meter.create_observable_counter(
            "durak.work.failed",
            [lambda _: _by(failures.work, "work")],
            description="Server faults in background work.",
        )
        self.gauges(
            "durak.work.set_aside",
            "work",
            lambda: failures.set_aside,
            "Rows and files that background work cannot handle.",
        )
        self._meter.create_observable_gauge(
            "durak.work.failing",
            [lambda _: _by(failures.failing_seconds, "work")],
            unit="s",
            description="For how long a background loop has been failing.",
        )

    def gauges(
        self, name: str, attribute: str, read: Callable[[], Mapping[str, int]], description: str
    ) -> None:
        """Report a number for each value of an attribute, read whenever metrics are sent."""
        self._meter.create_observable_gauge(
            name, [lambda _: _by(read(), attribute)], description=description
        )

    def gauge(self, name: str, read: Callable[[], int], description: str) -> None:
        """Report a number that goes up and down. It is read whenever metrics are sent."""
        self._meter.create_observable_gauge(name, [_observing(read)], description=description)

    def counter(self, name: str, read: Callable[[], int]) -> None:
        """Report a number that only grows. It is read whenever metrics are sent."""
        self._meter.create_observable_counter(name, [_observing(read)])

    async def close(self) -> None:
        """Send the last traces and metrics within a few seconds, and stop."""
        for provider in (self._tracer_provider, self._meter_provider):
            if provider is not None:
                await asyncio.to_thread(provider.force_flush, _FLUSH_MS_MAX)
                await asyncio.to_thread(provider.shutdown)


def _by(counts: Mapping[str, int], attribute: str) -> list[Observation]:
    return [Observation(count, {attribute: name}) for name, count in counts.items()]


def _observing(read: Callable[[], int]) -> Callable[[CallbackOptions], list[Observation]]:
    return lambda _: [Observation(int(read()))]  # a bool cannot be sent


def open_telemetry(config: Config, process: int | None = None) -> Telemetry:
    """Return the telemetry. Without an OTLP endpoint it records and sends nothing.

    `process` is the number of this process, if several share the port.
    """
    if config.otlp_endpoint is None:
        return Telemetry(None, None)
    attributes: dict[str, str | int] = {
        "service.name": _NAME,
        "service.version": version("durak"),
        # It distinguishes the metrics of replicas.
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
    }
    if process is not None:
        attributes["durak.process"] = process
    resource = Resource.create(attributes)
    tracer_provider = TracerProvider(
        resource=resource,
        sampler=ParentBased(TraceIdRatioBased(config.trace_sample_ratio)),
        shutdown_on_exit=False,
    )
    tracer_provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=config.otlp_endpoint, timeout=3))
    )
    reader = PeriodicExportingMetricReader(
        OTLPMetricExporter(endpoint=config.otlp_endpoint, timeout=3),
        export_interval_millis=config.metrics_interval_seconds * 1_000,
    )
    meter_provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    return Telemetry(tracer_provider, meter_provider)
