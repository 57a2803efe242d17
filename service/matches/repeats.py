"""Repeated requests: finds the answer of a command that is already in the log.

A client repeats a request right after it, if at all. `RecentAnswers` therefore remembers the last
few commands of a match; an older one is looked for in the whole log.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.outcome import Outcome
from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Event, Record
from service.matches.envelope import Envelope, payload_of, with_server_seed
from service.rpc.errors import refuse

ANSWERS_REMEMBERED: Final = 4
"""Commands of a match whose answers are remembered. Each holds a state of a few kilobytes."""


class RecentAnswers:
    """The last commands of a match, each with the match as it left it."""

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: deque[tuple[Envelope, Match]] = deque(maxlen=ANSWERS_REMEMBERED)

    def add(self, envelope: Envelope, match: Match) -> None:
        """Remember a stored command. The match must not be folded any further."""
        self._answers.append((envelope, match))

    def find(self, envelope: Envelope) -> Match | None:
        """Return the match as the command with this request id left it; None if not remembered.

        Raises Refused REQUEST_ID_REUSED if the command had another payload.
        """
        sent = (envelope.request_id, envelope.actor)
        for stored, match in self._answers:
            if (stored.request_id, stored.actor) == sent:
                if payload_of(stored.command) != payload_of(envelope.command):
                    raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
                return match
        return None

    def clear(self) -> None:
        """Forget all commands."""
        self._answers.clear()


def answered_match(records: Sequence[Record], envelope: Envelope) -> Match | None:
    """Return the match as the stored command with this request id left it.

    The payload of a command is not stored: the same payload gives the same events. Returns None if
    no command of this actor has the request id. Raises Refused REQUEST_ID_REUSED if the events
    differ, and CorruptLogError.
    """
    match = Match(envelope.match_id)
    actor = envelope.actor
    answered: list[Event] = []
    outcome: Outcome | Refusal | None = None
    for record in records:
        if (record.request_id, record.actor_id) == (envelope.request_id, actor.player_id):
            if not answered:
                seed = record.event.table_opened.server_seed
                outcome = decide(match, actor, with_server_seed(envelope.command, seed))
            answered.append(record.event)
        elif answered:
            break
        match.apply(record)
    if not answered:
        return None
    if not isinstance(outcome, Outcome) or outcome.events != answered:
        raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
    return match
