"""What the rules make of an event, without anybody deciding anything."""

from collections.abc import Callable
from typing import Final, NamedTuple

from domain.match.deal import deal
from domain.match.fold import Match
from domain.match.state import Due
from durak.v1.events_pb2 import Dealt, DealtHand, Event, WentOut


class Outcome(NamedTuple):
    """The events of a command, and the match after them: see `Match.trial` and `Match.stored`."""

    events: list[Event]
    after: Match


def with_consequences(match: Match, deed: Event) -> list[Event]:
    """An event, and everything that follows from it until a player has to act again."""
    return outcome(match, deed).events


def outcome(match: Match, deed: Event) -> Outcome:
    """The same, and the match that it leaves."""
    events = [deed]
    trial = match.trial()
    trial.fold_event(deed)
    while trial.due is not None:
        event = _DUE[trial.due](trial)
        trial.fold_event(event)
        events.append(event)
    return Outcome(events, trial)


# Each is made empty and then filled: a message made from keywords takes twice as long.


def _discarded(match: Match) -> Event:
    event = Event()
    event.discarded.cards.extend(match.table_cards())
    return event


def _took(match: Match) -> Event:
    event = Event()
    took = event.took
    took.seat, took.reason = match.taker
    took.cards.extend(match.table_cards())
    return event


def _drew(match: Match) -> Event:
    event = Event()
    draws = event.drew.draws
    for seat, cards in match.draws_due():
        draw = draws.add()
        draw.seat = seat
        draw.cards.extend(cards)
    return event


def _went_out(match: Match) -> Event:
    return Event(went_out=WentOut(seats=match.outs_due(), place=len(match.places) + 1))


def _finished(match: Match) -> Event:
    return Event(finished=match.result_due())


def _dealt(match: Match) -> Event:
    table = match.table
    cards = deal(
        table.settings.deck,
        table.server_seed,
        match.match_id,
        [seat.client_seed for seat in table.seats if seat is not None],
    )
    return Event(
        dealt=Dealt(
            hands=[DealtHand(seat=seat, cards=hand) for seat, hand in enumerate(cards.hands)],
            trump_card=cards.trump_card,
            stock=cards.stock,
            first_attacker=cards.first_attacker,
        )
    )


_DUE: Final[dict[Due, Callable[[Match], Event]]] = {
    Due.DEAL: _dealt,
    Due.SERVER_ACT: Match.act_due,
    Due.DISCARD: _discarded,
    Due.TAKE: _took,
    Due.DRAW: _drew,
    Due.GO_OUT: _went_out,
    Due.FINISH: _finished,
}
