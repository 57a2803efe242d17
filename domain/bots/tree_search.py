"""Information set Monte Carlo tree search (Cowling, Powley and Whitehouse, 2012) for the hard bot.

Every iteration samples the hidden cards, walks down one tree by the moves that are possible in the
sample, adds a node, plays a few bouts by the policy of the normal bot and evaluates the hands. A
node stands for the moves that lead to it, not for the cards behind them. So all samples share one
tree, and the statistics of a move are those of all samples in which it was possible.

A move is an `Action`: the packed card played, with a flag for its kind. The defender acts first,
then the others in clockwise order from the attacker, as in `Simulation`. The defender beats the
card that was played last, because the order of beating makes no difference.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Final, TypeAlias

from domain.bots.determinization import Determinizer, SeededRandom
from domain.bots.endgame_play import PLAYOUT_POSITIONS_MAX, solve_bout
from domain.bots.evaluation import HandEvaluator
from domain.bots.packed_cards import BEATERS_OF, SAME_RANK, Packed
from domain.bots.policy import Policy
from domain.bots.simulation import DRAW, Simulation

Action: TypeAlias = int
"""A packed card and a flag. Without a flag the card is an attack card."""
BEAT: Final = 1 << 52
TRANSFER: Final = 1 << 53
TAKE: Final = 1 << 54
PASS: Final = 1 << 55
_CARD: Final = BEAT - 1

EXPLORATION: Final = 0.7
"""The weight of rarely tried moves against moves with good outcomes."""
PLAYOUT_DEPTH_BOUTS: Final = 4
"""The number of bouts of an iteration before the hands are evaluated, if there is still a stock."""
BOUTS_MAX: Final = 1_500
"""The maximum number of bouts in all iterations of a search. Only long endings reach it."""
POSITIONS_MAX: Final = 5_000
"""The maximum number of positions that the solver visits for the playouts of one search."""
CLOSED: Final = -1
"""Instead of the seat to move: nobody can act, and the bout closes."""


class Node:
    """The statistics of a sequence of moves.

    Attributes:
        children: the moves tried after it.
        visits: the number of iterations through it.
        available: the number of iterations in which its last move was possible.
        reward: the sum of the outcomes of the seat that made its last move.
    """

    __slots__ = ("available", "children", "reward", "visits")

    def __init__(self) -> None:
        """Start without visits."""
        self.children: dict[Action, Node] = {}
        self.visits: int = 0
        self.available: int = 0
        self.reward: float = 0.0


class TreeSearch:
    """The search for one move of one seat."""

    __slots__ = (
        "_ends_known",
        "_evaluator",
        "_exact",
        "_policy",
        "_positions_left",
        "_rng",
        "_samples",
        "_trump_suit",
    )

    def __init__(
        self,
        samples: Determinizer,
        evaluator: HandEvaluator,
        policy: Policy,
        rng: SeededRandom,
        trump_suit: int,
        *,
        ends_known: bool,
    ) -> None:
        """Prepare a search.

        Args:
            samples: samples the hidden cards.
            evaluator: evaluates the hands at the end of a playout.
            policy: the policy of all seats in playouts.
            rng: the source of the samples and of the choice among untried moves.
            trump_suit: 0 to 3.
            ends_known: all cards are known, and the solver decides endings of two seats.
        """
        self._samples = samples
        self._evaluator = evaluator
        self._policy = policy
        self._rng = rng
        self._trump_suit = trump_suit
        self._ends_known = ends_known
        self._exact: dict[tuple[Packed, Packed, int], float | None] = {}
        self._positions_left = POSITIONS_MAX

    def best(self, seat: int, actions: list[Action], iterations: int) -> Action:
        """Return the action that was tried most often, the first one of equals.

        ``actions`` are the moves that ``seat`` may choose from. ``iterations`` is at least 1.
        """
        root = Node()
        bouts = 0
        for _ in range(iterations):
            simulation = self._samples.sample(self._rng)
            self._iterate(root, simulation, seat, actions)
            bouts += simulation.bouts
            if bouts >= BOUTS_MAX:
                break
        tried = [action for action in actions if action in root.children]
        return max(tried, key=lambda action: root.children[action].visits)

    def _iterate(
        self, root: Node, simulation: Simulation, seat: int, actions: list[Action]
    ) -> None:
        """Walk down the tree, add a node, play out and record the outcome on the way."""
        node = root
        path: list[Node] = []
        seats: list[int] = []
        durak: int | None = None
        is_new = False
        while True:
            action = self._select(node, actions)
            child = node.children[action]
            # A forced move is no decision: its new node does not end the walk.
            is_new = not child.visits and len(actions) > 1
            path.append(child)
            seats.append(seat)
            apply_action(simulation, seat, action)
            node = child
            seat = next_seat(simulation)
            if seat == CLOSED:
                durak = simulation.close()
                seat = simulation.attacker
            if durak is not None or is_new or self._is_deep(simulation):
                break
            actions = possible_actions(simulation, seat)
        outcomes = self._outcomes(simulation, durak)
        for visited, mover in zip(path, seats, strict=True):
            visited.visits += 1
            visited.reward += outcomes[mover]

    def _select(self, node: Node, actions: list[Action]) -> Action:
        """Return an untried action, or the one with the highest upper confidence bound."""
        children = node.children
        untried: list[Action] = []
        best, highest = 0, -1.0
        for action in actions:
            child = children.get(action)
            if child is None:
                untried.append(action)
                continue
            child.available += 1
            bound = child.reward / child.visits + EXPLORATION * sqrt(
                log(child.available) / child.visits
            )
            if bound > highest:
                best, highest = action, bound
        if not untried:
            return best
        action = untried[self._rng.below(len(untried))]
        child = children[action] = Node()
        child.available = 1
        return action

    @staticmethod
    def _is_deep(simulation: Simulation) -> bool:
        """Return whether the hands can be evaluated here."""
        return (
            simulation.bouts >= PLAYOUT_DEPTH_BOUTS
            and bool(simulation.stock)
            and not simulation.attacks
        )

    def _outcomes(self, simulation: Simulation, durak: int | None) -> list[float]:
        """Return the outcome of each seat, from 0 (durak) to 1; a draw is 0.5."""
        while durak is None:
            if not simulation.stock and not simulation.attacks and self._ends_known:
                proven = self._proven(simulation)
                if proven is not None:
                    return proven
            if self._is_deep(simulation):
                return self._evaluator.chances(simulation)
            durak = simulation.play_bout(self._policy)
        outcomes = [1.0] * len(simulation.hands)
        if durak == DRAW:
            for seat in simulation.in_play:
                outcomes[seat] = 0.5
        else:
            outcomes[durak] = 0.0
        return outcomes

    def _proven(self, simulation: Simulation) -> list[float] | None:
        """Return the outcome of best play at the start of a bout of two seats, if it is proven."""
        if len(simulation.in_play) != 2:
            return None
        attacker, defender = simulation.attacker, simulation.defender
        hands = simulation.hands
        key = (hands[attacker], hands[defender], attacker)
        if key not in self._exact:
            positions = min(PLAYOUT_POSITIONS_MAX, self._positions_left)
            solution = solve_bout(simulation, self._trump_suit, positions)
            self._positions_left -= solution.visited
            self._exact[key] = (1 + solution.value) / 2 if solution.exact else None
        value = self._exact[key]
        if value is None:
            return None
        outcomes = [1.0] * len(hands)
        outcomes[attacker], outcomes[defender] = value, 1.0 - value
        return outcomes


def next_seat(simulation: Simulation) -> int:
    """Return the seat to move, or CLOSED."""
    if not simulation.attacks:
        return simulation.attacker
    if simulation.unbeaten and not simulation.taking:
        return simulation.defender
    if simulation.attacks < simulation.cap:
        for seat in simulation.throwers():
            if simulation.hands[seat] & simulation.ranks and not simulation.passed >> seat & 1:
                return seat
    return CLOSED


def possible_actions(simulation: Simulation, seat: int) -> list[Action]:
    """Return the actions of the seat to move."""
    hand = simulation.hands[seat]
    if not simulation.attacks:
        return _each(hand, 0)
    if seat != simulation.defender:
        actions = _each(hand & simulation.ranks, 0)
        actions.append(PASS)
        return actions
    target = simulation.unbeaten[-1]
    actions = _each(hand & BEATERS_OF[target], BEAT)
    if simulation.can_transfer():
        actions += _each(hand & SAME_RANK[simulation.unbeaten[0]], TRANSFER)
    actions.append(TAKE)
    return actions


def _each(cards: Packed, flag: Action) -> list[Action]:
    """Return an action for each of the cards, the weakest card first."""
    actions: list[Action] = []
    while cards:
        card = cards & -cards
        cards ^= card
        actions.append(card | flag)
    return actions


def apply_action(simulation: Simulation, seat: int, action: Action) -> None:
    """Apply an action of the seat to move."""
    card = action & _CARD
    if action == card:
        simulation.attack(seat, card)
    elif action & BEAT:
        simulation.beat(simulation.unbeaten[-1], card)
    elif action & TRANSFER:
        simulation.transfer(card)
    elif action & TAKE:
        simulation.taking = True
    else:
        simulation.passed |= 1 << seat
