"""Repeated requests: finds the answer of a command that is already in the log."""

from collections.abc import Sequence

from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.outcome import Outcome
from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Event, Record
from service.matches.envelope import Envelope, with_server_seed
from service.rpc.errors import refuse


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
