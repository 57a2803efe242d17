"""The normal bot (R14.3): saves trumps, presses where the defender seems weak, heeds the stock."""

from collections.abc import Sequence
from typing import Final

from domain.bots.playing import attacking, beating, challenging, passing, taking, transferring
from domain.bots.policy import NORMAL, Phase, Policy
from domain.bots.sight import Sight, look
from domain.bots.strength import card_of, pack_all
from domain.bots.suspicion import illegal_plays
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

CHALLENGES_ONE_IN: Final = 4
"""Of the moves at which it could challenge an illegal play (R14.5)."""


def choose(view: TableView, history: Sequence[Event], seed: int) -> Move:
    """The move of the normal bot. It needs the history on tricky tables alone."""
    if view.moves.challenge and seed % CHALLENGES_ONE_IN == 0:
        illegal = illegal_plays(view, history)
        if illegal:
            return challenging(illegal[0])
    return play(view, NORMAL)


def play(view: TableView, policy: Policy) -> Move:
    """The move of a policy, which does not challenge."""
    moves, sight = view.moves, look(view)
    phase = policy.at(sight.stock)
    if moves.can_take:
        return _answer(view, sight, phase)
    if not view.table:
        return attacking(card_of(phase.lead(sight.hand), sight.trump_suit))
    fitting = pack_all(moves.attack, sight.trump_suit)
    card = 0
    if fitting:
        card = phase.give(fitting) if view.taking else phase.throw(fitting, sight.weak)
    return attacking(card_of(card, sight.trump_suit)) if card else passing()


def _answer(view: TableView, sight: Sight, phase: Phase) -> Move:
    """As the defender: beat, transfer or take, whichever is worth most."""
    plan = phase.answer(
        sight.hand,
        sight.unbeaten,
        sight.table,
        sight.ranks,
        transfer=bool(view.moves.transfer),
    )
    if not plan:
        return taking()
    target, card = plan[0]
    if not target:
        return transferring(card_of(card, sight.trump_suit))
    return beating(card_of(target, sight.trump_suit), card_of(card, sight.trump_suit))
