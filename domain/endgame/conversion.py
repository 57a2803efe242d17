"""Converts between a match and the endgame solver: positions, moves and events."""

from collections.abc import Sequence

from domain.cards import Card, CardMask, bit, mask_of
from domain.endgame.position import EndgameMove, MoveKind, Position, Role
from domain.match import move_messages
from domain.match.fold import Match
from domain.match.view import table_view
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView


def position_from_view(view: TableView, hands: Sequence[CardMask]) -> Position:
    """Return the solver's position for the viewer's turn.

    Args:
        view: a table with two seats in play and an empty stock, seen by one of the two.
        hands: the cards of each seat, by seat number.

    Raises:
        ValueError: the viewer cannot move here (R5.1, R10.1).
    """
    unbeaten = mask_of(pair.attack_card for pair in view.table if not pair.defence.card)
    beaten = mask_of(
        card
        for pair in view.table
        if pair.defence.card
        for card in (pair.attack_card, pair.defence.card)
    )
    return Position(
        attacker_hand=hands[view.attacker],
        defender_hand=hands[view.defender],
        trump_suit=view.trump_suit - 1,
        unbeaten=unbeaten,
        beaten=beaten,
        taking=view.taking,
        turn=Role.DEFENDER if view.your_seat == view.defender else Role.ATTACKER,
        transfer=view.settings.transfer,
        draw_allowed=view.settings.draw_allowed,
        five_card_limit=view.settings.five_card_opening and not view.discard_count,
        bouts_without_discard=view.bouts_without_discard,
        attacker_seat=view.attacker,
        defender_seat=view.defender,
    )


def position_from_match(match: Match, seat: int) -> Position:
    """Return the solver's position for a match, with ``seat`` to move.

    Raises ValueError if the seat cannot move here.
    """
    return position_from_view(table_view(match, seat), match.hands)


def to_move_message(move: EndgameMove) -> Move | None:
    """Return the `Move` message of a solver's move, or None for WAIT, which has no message."""
    card = _card(move.card)
    match move.kind:
        case MoveKind.ATTACK:
            return move_messages.attack(card)
        case MoveKind.DEFEND:
            return move_messages.defend(_card(move.target), card)
        case MoveKind.TRANSFER:
            return move_messages.transfer(card)
        case MoveKind.TAKE:
            return move_messages.take()
        case MoveKind.PASS:
            return move_messages.pass_turn()
        case MoveKind.WAIT:
            return None


def move_of_event(event: Event) -> tuple[int, EndgameMove] | None:
    """Return the seat and move of an event, or None if the event is not a move.

    A challenge is not a move of the solver.
    """
    match event.WhichOneof("kind"):
        case "attacked":
            return event.attacked.seat, EndgameMove(MoveKind.ATTACK, bit(event.attacked.card))
        case "defended":
            target, card = bit(event.defended.attack_card), bit(event.defended.card)
            return event.defended.seat, EndgameMove(MoveKind.DEFEND, card, target)
        case "transferred":
            card = bit(event.transferred.card)
            return event.transferred.seat, EndgameMove(MoveKind.TRANSFER, card)
        case "take_declared":
            return event.take_declared.seat, EndgameMove(MoveKind.TAKE)
        case "passed":
            return event.passed.seat, EndgameMove(MoveKind.PASS)
    return None


def _card(mask: CardMask) -> Card:
    """Return the number of a single card, or 0 for no card."""
    return mask.bit_length()  # type: ignore[return-value] # bit n - 1 is card n
