"""What the rules make of an event, without anybody deciding anything."""

from domain.deal import deal
from domain.match import Match
from domain.state import Due
from durak.v1.events_pb2 import Dealt, DealtHand, Discarded, Drew, Event, SeatDraw, Took, WentOut


def with_consequences(match: Match, deed: Event) -> list[Event]:
    """An event, and everything that follows from it until a player has to act again."""
    events = [deed]
    trial = match.copy()
    trial.fold_event(deed)
    while trial.due is not None:
        event = _due_event(trial, trial.due)
        trial.fold_event(event)
        events.append(event)
    return events


def _due_event(match: Match, due: Due) -> Event:
    match due:
        case Due.DISCARD:
            return Event(discarded=Discarded(cards=match.table_cards()))
        case Due.TAKE:
            seat, reason = match.taker
            return Event(took=Took(seat=seat, cards=match.table_cards(), reason=reason))
        case Due.DRAW:
            draws = [SeatDraw(seat=seat, cards=cards) for seat, cards in match.draws_due()]
            return Event(drew=Drew(draws=draws))
        case Due.GO_OUT:
            return Event(went_out=WentOut(seats=match.outs_due(), place=len(match.places) + 1))
        case Due.FINISH:
            return Event(finished=match.result_due())
        case Due.DEAL:
            return Event(dealt=_dealt(match))
        case Due.SERVER_ACT:
            return match.act_due()


def _dealt(match: Match) -> Dealt:
    table = match.table
    cards = deal(
        table.settings.deck,
        table.server_seed,
        match.match_id,
        [seat.client_seed for seat in table.seats if seat is not None],
    )
    return Dealt(
        hands=[DealtHand(seat=seat, cards=hand) for seat, hand in enumerate(cards.hands)],
        trump_card=cards.trump_card,
        stock=cards.stock,
        first_attacker=cards.first_attacker,
    )
