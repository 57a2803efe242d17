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


def attack(card: Card) -> Move:
    """Lead a card, or throw it in."""
    return Move(attack=AttackMove(card=card))


def defend(attack_card: Card, card: Card) -> Move:
    """Beat an attack card."""
    return Move(defend=DefendMove(attack_card=attack_card, card=card))


def transfer(card: Card) -> Move:
    """Transfer the attack."""
    return Move(transfer=TransferMove(card=card))


def take() -> Move:
    """Say "take"."""
    return Move(take=TakeMove())


def pass_turn() -> Move:
    """The move "pass". Its field is a Python keyword, so it cannot be named as an argument."""
    move = Move()
    getattr(move, "pass").SetInParent()
    return move


def challenge(play_version: int) -> Move:
    """Challenge the play of this version."""
    return Move(challenge=ChallengeMove(play_version=play_version))
