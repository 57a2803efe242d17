"""The easy bot: attacks low, defends with the smallest card that beats (R14.2)."""

from collections.abc import Iterable, Sequence

from domain.cards import RANK_OF, SUIT_OF, Card
from domain.match.move_messages import attack, defend, pass_turn, take, transfer
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView


def choose_move(view: TableView, history: Sequence[Event], seed: int) -> Move:  # noqa: ARG001
    """The move of the easy bot, which needs neither the history nor a seed."""
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
    """As the defender: transfer with a plain card, or beat, or take what it cannot beat."""
    moves = view.moves
    plain = [card for card in moves.transfer if SUIT_OF[card] != trump_suit]
    if plain:
        return transfer(_lowest(plain, trump_suit))
    unbeaten = sum(not card.defence.card for card in view.table)
    if len(moves.defend) < unbeaten:  # some attack card cannot be beaten at all
        return take()
    options = min(moves.defend, key=lambda option: len(option.cards))
    return defend(options.attack_card, _lowest(options.cards, trump_suit))


def _lowest(cards: Iterable[Card], trump_suit: int) -> Card:
    """The lowest plain card, or the lowest trump where there is no other."""
    return min(cards, key=lambda card: (SUIT_OF[card] == trump_suit, RANK_OF[card], card))
