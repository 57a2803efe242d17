"""Builds the `Move` messages of the contract.

>>> from domain.cards import CARD_BY_NAME
>>> move = defend(CARD_BY_NAME["6♥"], CARD_BY_NAME["7♥"])
>>> move.WhichOneof("kind"), move.defend.card == CARD_BY_NAME["7♥"]
('defend', True)
"""

from domain.cards import Card
from durak.v1.table_pb2 import (
    AttackMove,
    ChallengeMove,
    DefendMove,
    Move,
    Moves,
    TakeMove,
    TransferMove,
)


def attack(card: Card) -> Move:
    """Build a move that leads a card or throws it in (R4.1, R5.1)."""
    return Move(attack=AttackMove(card=card))


def defend(attack_card: Card, card: Card) -> Move:
    """Build a move that beats ``attack_card`` with ``card`` (R4.2)."""
    return Move(defend=DefendMove(attack_card=attack_card, card=card))


def transfer(card: Card) -> Move:
    """Build a move that transfers the attack (R6)."""
    return Move(transfer=TransferMove(card=card))


def take() -> Move:
    """Build the move "take" (R7.2)."""
    return Move(take=TakeMove())


def pass_turn() -> Move:
    """Build the move "pass" (R5.3)."""
    move = Move()
    getattr(move, "pass").SetInParent()  # a Python keyword, so it cannot be a keyword argument
    return move


def challenge(play_version: int) -> Move:
    """Build a challenge of the play recorded at this version (R11.3)."""
    return Move(challenge=ChallengeMove(play_version=play_version))


def list_moves(moves: Moves) -> list[Move]:
    """Return every legal move of a view as a message, without challenges."""
    found = [attack(card) for card in moves.attack]
    found += [defend(option.attack_card, card) for option in moves.defend for card in option.cards]
    found += [transfer(card) for card in moves.transfer]
    if moves.can_take:
        found.append(take())
    if moves.can_pass:
        found.append(pass_turn())
    return found
