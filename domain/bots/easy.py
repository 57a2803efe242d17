"""The easy bot: attacks low and defends with the smallest card that beats (R14.2)."""

from collections.abc import Iterable, Sequence

from domain.cards import SUIT_OF, Card, lowest_plain_first, mask_of
from domain.match.move_messages import attack, defend, pass_turn, take, transfer
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView


def choose_move(view: TableView, history: Sequence[Event], seed: int) -> Move:  # noqa: ARG001
    """Return the easy bot's move. It uses neither the history nor the seed."""
    moves = view.moves
    trump_suit = view.trump_suit - 1
    if moves.can_take:
        return _defence(view, trump_suit)
    if not view.table:
        return attack(_lowest(moves.attack, trump_suit))
    plain = [card for card in moves.attack if SUIT_OF[card] != trump_suit]
    if plain:
        return attack(_lowest(plain, trump_suit))
    return pass_turn()


def _defence(view: TableView, trump_suit: int) -> Move:
    """Return the defender's move: transfer with a plain card, or beat, or take."""
    moves = view.moves
    plain = [card for card in moves.transfer if SUIT_OF[card] != trump_suit]
    if plain:
        return transfer(_lowest(plain, trump_suit))
    unbeaten = sum(not pair.defence.card for pair in view.table)
    if len(moves.defend) < unbeaten:  # some attack card cannot be beaten
        return take()
    options = min(moves.defend, key=lambda option: len(option.cards))
    return defend(options.attack_card, _lowest(options.cards, trump_suit))


def _lowest(cards: Iterable[Card], trump_suit: int) -> Card:
    """Return the lowest plain card, or the lowest trump if there is no plain card."""
    return lowest_plain_first(mask_of(cards), trump_suit)
