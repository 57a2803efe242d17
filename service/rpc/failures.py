"""Failures of calls and of background work: reported to the operator, and answered to callers."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple, get_args

import structlog
from google.rpc.status_pb2 import Status

from domain.match.refusal import Refusal
from service.rpc.call import Call
from service.rpc.catalogue import CATALOGUE, FLOODS, SERVER_FAULTS, reason_name
from service.rpc.errors import refused_by
from service.rpc.status import status_of

Work = Literal[
    "bots",
    "checkpoints",
    "clock",
    "feeds",
    "heads",
    "hints",
    "lists",
    "lobby",
    "postgres",
    "processes",
    "readiness",
    "revocations",
    "standings",
    "token_keys",
]
"""The kinds of background work, which no call waits for."""
WORKS: Final[tuple[Work, ...]] = get_args(Work)

WORKING_SECONDS: Final = 90.0
"""A loop that has not stopped for this time works again. It is longer than every pause."""

_log = structlog.get_logger(__name__)


class Answer(NamedTuple):
    """The answer to a failed call: the status for the caller, and the name of its reason."""

    status: Status
    reason: str


class _Spell(NamedTuple):
    """The first and the last time that a loop stopped, without a long time of work between."""

    first: float
    last: float


class Failures:
    """Reports failures to the operator: a log line and a count for each.

    Unary calls, streams, and the commands and watches of sessions all pass `answer`.
    """

    def __init__(self) -> None:
        self._calls = {reason_name(reason): 0 for reason in CATALOGUE}
        self._work: dict[str, int] = dict.fromkeys(WORKS, 0)
        self._set_aside: dict[str, int] = dict.fromkeys(WORKS, 0)
        self._spells: dict[str, _Spell] = {}

    @property
    def calls(self) -> Mapping[str, int]:
        """The number of failed calls by the name of the reason. Every reason is there."""
        return self._calls

    @property
    def work(self) -> Mapping[str, int]:
        """The number of server faults in background work by its kind. Every kind is there."""
        return self._work

    @property
    def set_aside(self) -> Mapping[str, int]:
        """The number of rows and files that background work has set aside, by its kind."""
        return self._set_aside

    @property
    def failing_seconds(self) -> Mapping[str, int]:
        """For how long each background loop has been failing. 0: it works."""
        now = time.monotonic()
        return {work: _failing_seconds(self._spells.get(work), now) for work in WORKS}

    def note_set_aside(self, work: Work, count: int) -> None:
        """Report how many rows or files are set aside now."""
        self._set_aside[work] = count

    def note_stopped(self, work: Work) -> None:
        """Note that a background loop has stopped with an exception. It starts again soon."""
        now = time.monotonic()
        spell = self._spells.get(work)
        is_new = spell is None or now - spell.last > WORKING_SECONDS
        self._spells[work] = _Spell(now if spell is None or is_new else spell.first, now)

    def answer(self, error: Exception, call: Call) -> Answer:
        """Return the answer to a call that raised `error`. Logs and counts it."""
        refused = refused_by(error)
        refusal = refused.refusal
        if refusal.reason in SERVER_FAULTS:
            trace = {"trace_id": call.trace_id.hex()}
            refusal = replace(refusal, metadata={**refusal.metadata, **trace})
        reason = reason_name(refusal.reason)
        self._calls[reason] += 1
        _log_failed_call(error, refusal, call)
        return Answer(status_of(refusal, call.language, refused.retry_after_seconds), reason)

    def report(self, work: Work, error: Exception, **facts: str) -> None:
        """Log that background work failed, and count it if the fault is the server's.

        A store that is away, or a lost race, is no fault: the work is repeated later.
        """
        if refused_by(error).refusal.reason in SERVER_FAULTS:
            self._work[work] += 1
            _log.error("work failed", work=work, exc_info=error, **facts)
        else:
            _log.warning("work delayed", work=work, error=repr(error), **facts)


def _failing_seconds(spell: _Spell | None, now: float) -> int:
    if spell is None or now - spell.last > WORKING_SECONDS:
        return 0
    return int(now - spell.first)


def _log_failed_call(error: Exception, refusal: Refusal, call: Call) -> None:
    facts = {
        "method": call.method,
        "reason": reason_name(refusal.reason),
        "clause": refusal.clause,
        "caller": call.caller.subject,
        "trace_id": call.trace_id.hex(),
    }
    if refusal.reason in SERVER_FAULTS:
        _log.error("call failed", exc_info=error, **facts)
    elif refusal.reason in FLOODS:
        _log.debug("call refused", **facts)
    else:
        _log.info("call refused", **facts)
