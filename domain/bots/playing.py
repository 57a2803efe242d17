"""Moves as values, for bots and other players of this package."""

from domain.cards import Card
from durak.v1.table_pb2 import (
    AttackMove,
    ChallengeMove,
    DefendMove,
    Move,
    TakeMove,
    TransferMove,
)


def attacking(card: Card) -> Move:
    """Lead a card, or throw it in."""
    return Move(attack=AttackMove(card=card))


def beating(attack_card: Card, card: Card) -> Move:
    """Beat an attack card."""
    return Move(defend=DefendMove(attack_card=attack_card, card=card))


def transferring(card: Card) -> Move:
    """Transfer the attack."""
    return Move(transfer=TransferMove(card=card))


def taking() -> Move:
    """Say "take"."""
    return Move(take=TakeMove())


def passing() -> Move:
    """The move "pass". Its field is a Python keyword, so it cannot be named as an argument."""
    move = Move()
    getattr(move, "pass").SetInParent()
    return move


def challenging(play_version: int) -> Move:
    """Challenge the play of this version."""
    return Move(challenge=ChallengeMove(play_version=play_version))
