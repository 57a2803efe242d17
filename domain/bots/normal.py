"""The normal bot (R14.3): saves trumps, presses where the defender seems weak, heeds the stock."""

from collections.abc import Sequence
from typing import Final

from domain.bots.playing import attacking, beating, challenging, passing, taking, transferring
from domain.bots.policy import NORMAL, Policy
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
    if moves.can_take:
        return _answer(view, sight, policy)
    if not view.table:
        return attacking(card_of(policy.lead(sight.hand, sight.stock), sight.trump_suit))
    fitting = pack_all(moves.attack, sight.trump_suit)
    weak = 0 if view.taking else sight.weak
    card = policy.throw(fitting, sight.stock, taking=view.taking, weak=weak)
    return attacking(card_of(card, sight.trump_suit)) if card else passing()


def _answer(view: TableView, sight: Sight, policy: Policy) -> Move:
    """As the defender: beat, transfer or take, whichever is worth most."""
    plan, value = policy.answer(sight.hand, sight.unbeaten, sight.table, sight.ranks, sight.stock)
    if view.moves.transfer:
        card, worth = policy.transfer(sight.hand, sight.led, sight.stock)
        if worth > value:
            return transferring(card_of(card, sight.trump_suit))
    if not plan:
        return taking()
    target, card = plan[0]
    return beating(card_of(target, sight.trump_suit), card_of(card, sight.trump_suit))
