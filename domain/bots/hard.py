"""The hard bot: remembers every open card, searches a tree of moves, and solves endgames (R14.4).

With two seats and an empty stock all cards are known, and the solver finds the moves that keep the
result. Before that the bot samples the hidden cards and searches one tree over all samples. Budgets
are counted in positions and iterations, never in time, so the same seed always gives the same move.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from domain.bots.card_memory import CardMemory, remember_cards
from domain.bots.determinization import Determinizer, SeededRandom
from domain.bots.endgame_play import POSITIONS_MAX, best_moves, is_endgame
from domain.bots.evaluation import HAND_EVALUATORS
from domain.bots.legality import sure_challenge
from domain.bots.normal import policy_move
from domain.bots.observation import Observation, observe
from domain.bots.packed_cards import pack_cards
from domain.bots.policy import NORMAL
from domain.bots.tree_search import BEAT, PASS, TAKE, TRANSFER, Action, TreeSearch
from domain.match.move_messages import list_moves
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

ITERATIONS_MAX: Final = 300
"""The number of iterations of the tree search for one move."""


class Budget(NamedTuple):
    """How much the hard bot may work for one move."""

    iterations: int = ITERATIONS_MAX
    positions: int = POSITIONS_MAX
    """The maximum number of positions that the solver visits."""


FULL: Final = Budget()


def choose_move(
    view: TableView, history: Sequence[Event], seed: int, budget: Budget = FULL
) -> Move:
    """Return the hard bot's move."""
    accusation = choose_challenge(view, history, seed)
    if accusation is not None:
        return accusation
    moves = list_moves(view.moves)
    if len(moves) == 1:
        return moves[0]
    memory = remember_cards(history, view.your_seat)
    if is_endgame(view):
        moves = best_moves(view, memory, budget.positions)
    if len(moves) == 1:
        return moves[0]
    return _best_by_search(moves, view, memory, SeededRandom(seed), budget.iterations)


def choose_challenge(view: TableView, history: Sequence[Event], seed: int) -> Move | None:  # noqa: ARG001
    """Return a challenge of an illegal play, or None if there is none."""
    return sure_challenge(view, history)


def _best_by_search(
    moves: Sequence[Move], view: TableView, memory: CardMemory, rng: SeededRandom, iterations: int
) -> Move:
    """Return the move that the tree search finds. The normal bot's move wins a tie."""
    plain = policy_move(view, NORMAL)
    seen = observe(view)
    choices: dict[Action, Move] = {}
    for move in sorted(moves, key=lambda move: move != plain):
        action = to_action(move, seen)
        if action is not None:
            choices[action] = move
    if len(choices) == 1:
        return next(iter(choices.values()))
    samples = Determinizer(view, memory)
    search = TreeSearch(
        samples,
        HAND_EVALUATORS[view.settings.deck],
        NORMAL,
        rng,
        seen.trump_suit,
        # Without a stock the solver has already decided.
        ends_known=samples.is_unique and seen.stock > 0,
    )
    return choices[search.best(view.your_seat, list(choices), iterations)]


def to_action(move: Move, seen: Observation) -> Action | None:
    """Return the action of a move, or None if the defender need not consider it.

    A defender who can beat all cards can also start with the last one.
    """
    match move.WhichOneof("kind"):
        case "attack":
            return pack_cards([move.attack.card], seen.trump_suit)
        case "defend":
            target = pack_cards([move.defend.attack_card], seen.trump_suit)
            if target != seen.unbeaten[-1]:
                return None
            return pack_cards([move.defend.card], seen.trump_suit) | BEAT
        case "transfer":
            return pack_cards([move.transfer.card], seen.trump_suit) | TRANSFER
        case "take":
            return TAKE
        case _:
            return PASS
