"""The limits hold for each caller and for all callers together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from service.config import Config
from service.rpc.errors import Refused
from service.rpc.limits import Limits, RateLimit


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1_000.1

    def __call__(self) -> int:
        return round(self.now * 1_000_000_000)


def refusal(call: Callable[[str], None], caller: str) -> ErrorReason.ValueType:
    with pytest.raises(Refused) as refused:
        call(caller)
    return refused.value.refusal.reason


def test_after_a_burst_calls_are_accepted_at_the_average_rate() -> None:
    clock = Clock()
    rate = RateLimit(per_second=10, burst=3, remembered_max=100, clock_ns=clock)
    assert [rate.spend("ann") for _ in range(3)] == [0, 0, 0]
    assert rate.spend("ann") == pytest.approx(0.1)
    assert rate.spend("bob") == 0
    clock.now += 0.1
    assert rate.spend("ann") == 0
    assert rate.spend("ann") == pytest.approx(0.1)
    clock.now += 60
    assert [rate.spend("ann") for _ in range(3)] == [0, 0, 0]
    assert rate.spend("ann") > 0


@given(st.lists(st.floats(0, 2), max_size=100), st.integers(1, 20), st.integers(1, 10))
def test_no_more_calls_than_the_burst_and_the_rate_allow(
    pauses: list[float], per_second: int, burst: int
) -> None:
    clock = Clock()
    rate = RateLimit(per_second, burst, remembered_max=10, clock_ns=clock)
    start, accepted = clock.now, 0
    for pause in pauses:
        clock.now += pause
        accepted += rate.spend("ann") == 0
        assert accepted <= burst + (clock.now - start) * per_second + 1e-3


def test_a_call_is_accepted_after_the_advised_wait() -> None:
    clock = Clock()
    rate = RateLimit(per_second=7, burst=2, remembered_max=100, clock_ns=clock)
    for _ in range(50):
        wait = rate.spend("ann")
        if wait:
            clock.now += wait + 1e-6
            assert rate.spend("ann") == 0


def test_calls_spent_at_once_cost_as_much_as_one_by_one() -> None:
    clock = Clock()
    rate = RateLimit(per_second=10, burst=5, remembered_max=100, clock_ns=clock)
    assert rate.spend("ann", 3) == 0
    assert rate.spend("ann", 3) == pytest.approx(0.1)
    assert rate.spend("ann", 2) == 0
    assert rate.spend("ann", 9) == pytest.approx(0.5)  # the bucket never has more than five
    clock.now += 0.5
    assert rate.spend("ann", 9) == 0


@given(st.integers(1, 12), st.integers(1, 12))
@settings(deadline=None)
def test_a_call_that_counts_as_many_is_accepted_after_the_advised_wait(
    burst: int, more: int
) -> None:
    limits = Limits(Config(caller_calls_per_second=10, caller_calls_burst=burst))
    clock = Clock()
    limits._rate = RateLimit(10, burst, 100, clock)  # noqa: SLF001 - a bucket with the clock of the test
    for _ in range(3):
        waits = 0
        while True:
            try:
                limits.begin_call("ann")
                limits.charge("ann", more)
                break
            except Refused as refused:
                clock.now += (refused.retry_after_seconds or 0.0) + 1e-6
                waits += 1
        assert waits <= 2  # for the call, and then for the calls that it counts as


def test_the_number_of_remembered_callers_is_bounded() -> None:
    rate = RateLimit(per_second=1, burst=1, remembered_max=5, clock_ns=Clock())
    for number in range(100):
        assert rate.spend(f"caller {number}") == 0
        assert rate.spend(f"caller {number}") > 0
    assert len(rate) == 5


def test_a_rate_of_zero_is_no_limit() -> None:
    rate = RateLimit(per_second=0, burst=1, remembered_max=5, clock_ns=Clock())
    assert not any(rate.spend("ann") for _ in range(1_000))
    assert len(rate) == 0


async def test_running_calls_are_bounded_and_watches_do_not_count_as_calls() -> None:
    limits = Limits(Config(calls_max=2))
    limits.begin_watch("ann")
    limits.begin_call("ann")
    limits.begin_call("bob")
    assert refusal(limits.begin_call, "cleo") == reasons.ERROR_REASON_OVERLOADED
    limits.begin_watch("cleo")
    limits.end_call()
    limits.begin_call("cleo")
    assert (limits.calls, limits.watches) == (2, 2)


async def test_watches_are_bounded_for_each_caller_and_in_total() -> None:
    limits = Limits(Config(caller_watches_max=2, watches_max=3))
    limits.begin_watch("ann")
    limits.begin_watch("ann")
    assert refusal(limits.begin_watch, "ann") == reasons.ERROR_REASON_TOO_MANY_WATCHES
    limits.begin_watch("bob")
    assert refusal(limits.begin_watch, "bob") == reasons.ERROR_REASON_OVERLOADED
    limits.end_watch("ann")
    limits.begin_watch("bob")
    assert limits.watches == 3


async def test_a_refused_call_counts_nothing() -> None:
    limits = Limits(Config(caller_calls_per_second=0.001, caller_calls_burst=1))
    limits.begin_call("ann")
    assert refusal(limits.begin_call, "ann") == reasons.ERROR_REASON_RATE_LIMITED
    assert refusal(limits.begin_watch, "ann") == reasons.ERROR_REASON_RATE_LIMITED
    assert (limits.calls, limits.watches) == (1, 0)


async def test_public_streams_have_a_limit_of_their_own() -> None:
    limits = Limits(Config(public_streams_max=1, watches_max=1))
    limits.begin_public_stream("ann's address")
    with pytest.raises(Refused):
        limits.begin_public_stream("ann's address")
    limits.begin_watch("ann")
    limits.end_public_stream("ann's address")
    limits.begin_public_stream("ann's address")


async def test_idle_waits_for_the_last_call_and_the_last_watch() -> None:
    limits = Limits(Config())
    await limits.idle()
    limits.begin_call("ann")
    limits.begin_watch("ann")
    waiting = asyncio.create_task(limits.idle())
    await asyncio.sleep(0)
    limits.end_call()
    await asyncio.sleep(0)
    assert not waiting.done()
    limits.end_watch("ann")
    await waiting
