"""The consequences of an event: the events that the rules alone make follow it."""

from collections.abc import Callable
from typing import Final

from domain.match.deal import deal
from domain.match.fold import Match
from domain.match.outcome import Outcome
from domain.match.state import Due
from durak.v1.events_pb2 import Dealt, DealtHand, Event, WentOut


def add_with_consequences(outcome: Outcome, event: Event) -> None:
    """Add an event and everything that follows from it until an actor has to act again."""
    outcome.add(event)
    after = outcome.after
    while after.due is not None:
        outcome.add(next_event(after))


def next_event(match: Match) -> Event:
    """Return the event that is due by the rules alone. There must be one."""
    assert match.due is not None
    return _DUE[match.due](match)


# Each event is made empty and then filled: a message made from keywords takes twice as long.


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
        [seat.secret for seat in table.seats if seat is not None],
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
