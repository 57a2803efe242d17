"""Traces and metrics reach a collector where one is configured, and nobody where none is."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from durak.v1 import errors_pb2 as reasons
from service.config import Config
from service.rpc.errors import refuse
from service.rpc.telemetry import open_telemetry
from tests.service.collector import Collector, collecting
from tests.service.frame import framed, refusal

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "the ace of spades"


@pytest.fixture
async def collector() -> AsyncIterator[tuple[Collector, str]]:
    async with collecting() as found:
        yield found


def attributes(item: Any) -> dict[str, str]:
    return {entry.key: entry.value.string_value for entry in item.attributes}


async def test_a_call_continues_the_trace_of_its_caller_and_is_measured(
    tmp_path: Path, collector: tuple[Collector, str]
) -> None:
    kept, endpoint = collector

    async def answer(text: str, _: Any) -> str:
        if text == "refuse":
            raise refuse(reasons.ERROR_REASON_NOT_YOUR_TURN, clause="R4.1")
        if text == "fail":
            raise ValueError(SECRET)
        return text

    telemetry = open_telemetry(Config(otlp_endpoint=endpoint, trace_sample_ratio=0))
    async with framed(tmp_path, telemetry) as frame:
        telemetry.observe(frame.interceptor.limits, frame.interceptor.failures)
        frame.methods.call = answer
        traced = (*frame.metadata(), ("traceparent", f"00-{TRACE}-{PARENT}-01"))
        await frame.unary()("fine", metadata=traced)
        await refusal(frame.unary()("refuse", metadata=traced))
        await refusal(frame.unary()("fail", metadata=traced))
        await frame.unary()("not sampled", metadata=frame.metadata())
        watch = frame.watch()("a", metadata=frame.metadata())
        await watch.read()
        await telemetry.close()
        watch.cancel()

    assert {span.trace_id.hex() for span in kept.spans} == {TRACE}
    assert {span.parent_span_id.hex() for span in kept.spans} == {PARENT}
    assert {span.name for span in kept.spans} == {"test.Frame/Call"}
    fine, refused, failed = kept.spans
    assert attributes(fine)["rpc.response.status_code"] == "OK"
    assert attributes(refused)["rpc.response.status_code"] == "FAILED_PRECONDITION"
    assert attributes(refused)["error.type"] == "NOT_YOUR_TURN"
    assert [span.status.code for span in kept.spans] == [0, 0, 2]  # the service's faults alone
    assert attributes(failed)["error.type"] == "INTERNAL"

    # It distinguishes the metrics of replicas.
    assert attributes(kept.resources[0])["service.instance.id"]
    metrics = {metric.name: metric for metric in kept.metrics}
    by_code = {
        attributes(point)["rpc.response.status_code"]: point.count
        for point in metrics["rpc.server.call.duration"].histogram.data_points
    }
    assert by_code == {"OK": 2, "FAILED_PRECONDITION": 1, "INTERNAL": 1}
    by_reason = {
        attributes(point)["reason"]: point.as_int
        for point in metrics["durak.calls.failed"].sum.data_points
    }
    assert by_reason["LOG_CORRUPT"] == 0  # reported before the first, so that an increase shows
    assert {name for name, count in by_reason.items() if count} == {"INTERNAL", "NOT_YOUR_TURN"}
    assert metrics["durak.watches.open"].gauge.data_points[0].as_int == 1
    assert metrics["durak.calls.running"].gauge.data_points[0].as_int == 0
    for secret in (SECRET, "Bearer", "fine"):
        assert secret not in f"{kept.spans}{kept.metrics}"


async def test_a_collector_that_is_away_does_not_keep_the_service_from_stopping(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    telemetry = open_telemetry(Config(otlp_endpoint="http://127.0.0.1:9", trace_sample_ratio=1))
    async with framed(tmp_path, telemetry) as frame:
        await frame.unary()("a", metadata=frame.metadata())
        async with asyncio.timeout(30):
            await telemetry.close()


async def test_without_an_endpoint_nothing_is_recorded() -> None:
    telemetry = open_telemetry(Config())
    traced = telemetry.begin("/test.Frame/Call", {})
    assert traced.span is None
    assert len(traced.trace_id) == 16
    telemetry.end(traced, "/test.Frame/Call", grpc.StatusCode.OK, "", 0.1)
    await telemetry.close()


def log_lines(script: str, **settings: str) -> list[str]:
    """What a process of its own writes to its log: logs are set up once per process."""
    program = f"""
import logging, structlog
from service.rpc.call import Call, NOBODY, enter_call
from service.config import Config
from service.rpc.logs import configure_logging
configure_logging(Config(**{settings!r}))
log = structlog.get_logger("here")
{script}
"""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
    return ran.stderr.splitlines()


def test_log_lines_are_json_with_the_trace_of_their_call() -> None:
    lines = log_lines("""
log.debug("too quiet")
log.info("outside", who="Анна")
enter_call(Call(NOBODY, "en", bytes(range(16)), "/m"))
log.warning("inside")
logging.getLogger("asyncpg").warning("of a library %s", 7)
""")
    outside, inside, library = map(json.loads, lines)
    assert (outside["event"], outside["level"], outside["who"]) == ("outside", "info", "Анна")
    assert "trace_id" not in outside
    assert inside["trace_id"] == bytes(range(16)).hex()
    assert (library["event"], library["logger"]) == ("of a library 7", "asyncpg")
    assert library["trace_id"] == inside["trace_id"]
    assert outside["timestamp"].endswith("Z")


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_tracebacks_show_no_values_of_variables(log_format: str) -> None:
    lines = log_lines(
        """
def play(hand):
    raise ValueError("no")
try:
    play("".join(["the ace", " of spades"]))
except ValueError as error:
    log.error("failed", exc_info=error)
""",
        log_format=log_format,
    )
    text = "\n".join(lines)
    assert "ValueError" in text
    assert "play" in text
    assert SECRET not in text


def test_metadata_that_grpc_cannot_decode_is_not_logged() -> None:
    lines = log_lines("""
grpc_log = logging.getLogger("grpc._cython.cygrpc")
grpc_log.error("Invalid encoding on %s", b"Bearer secret")
grpc_log.error("something else")
""")
    assert [json.loads(line)["event"] for line in lines] == ["something else"]
