"""An opponent to measure against: the hard bot as it was before it searched a tree.

With two seats and an empty stock all cards are known, and the solver finds the moves that keep the
result. Before that the bot samples the hidden cards as often as its budget allows. In each sample
it plays out every move for a few bouts and evaluates the hands, or to the end if the stock runs
out. Budgets are counted in positions and bouts, never in time, so the same seed always gives the
same move.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Final

from domain.bots.card_memory import CardMemory, remember_cards
from domain.bots.determinization import Determinizer, SeededRandom
from domain.bots.endgame_play import PLAYOUT_POSITIONS_MAX, best_moves, is_endgame, solve_bout
from domain.bots.evaluation import HAND_EVALUATORS
from domain.bots.legality import illegal_plays
from domain.bots.normal import policy_move
from domain.bots.packed_cards import pack_cards
from domain.bots.policy import NORMAL
from domain.bots.simulation import DRAW, Simulation
from domain.match.move_messages import challenge, list_moves
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

PLAYOUT_BOUTS_MAX: Final = 800
"""The number of bouts to play in playouts for one move."""
PLAYOUT_DEPTH_BOUTS: Final = 4
"""The number of bouts after which a playout is evaluated, if there is still a stock."""
SAMPLES_PER_ROUND: Final = 8
"""The number of samples in which the remaining moves are tried before the worst are dropped."""
DROP_MARGIN: Final = 0.8
"""A move is dropped if its score is this far behind, times the root of the number of samples."""


@dataclass(slots=True)
class Candidate:
    """A move and its outcome in each sample, from 0 (durak) to 1; a draw is 0.5."""

    move: Move
    outcomes: list[float] = field(default_factory=list)

    @property
    def score(self) -> float:
        """The sum of the outcomes."""
        return sum(self.outcomes)


def choose_move(view: TableView, history: Sequence[Event], seed: int) -> Move:
    """Return the move of the bot."""
    if view.moves.challenge:
        illegal = illegal_plays(view, history)
        if illegal:
            return challenge(illegal[0])
    moves = list_moves(view.moves)
    if len(moves) == 1:
        return moves[0]
    memory = remember_cards(history, view.your_seat)
    if is_endgame(view):
        moves = best_moves(view, memory)
    if len(moves) == 1:
        return moves[0]
    return _best_by_playouts(moves, view, memory, SeededRandom(seed))


def _best_by_playouts(
    moves: Sequence[Move], view: TableView, memory: CardMemory, rng: SeededRandom
) -> Move:
    """Return the move with the best score in random samples, which are the same for every move.

    Among moves with equal scores the normal bot's move comes first.
    """
    determinizer = Determinizer(view, memory)
    # Without a stock the solver has already decided.
    ends_known = determinizer.is_unique and view.stock_count > 0
    plain = policy_move(view, NORMAL)
    left = [Candidate(move) for move in sorted(moves, key=lambda move: move != plain)]
    played = 0
    while len(left) > 1 and played < PLAYOUT_BOUTS_MAX:
        for _ in range(1 if determinizer.is_unique else SAMPLES_PER_ROUND):
            simulation = determinizer.sample(rng)
            for candidate in left:
                playout = simulation.copy()
                outcome = _playout_outcome(playout, candidate.move, view, ends_known=ends_known)
                candidate.outcomes.append(outcome)
                played += playout.bouts
        if determinizer.is_unique:
            break
        left = _drop_behind(left)
    return max(left, key=lambda candidate: candidate.score).move


def _drop_behind(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates close to the best, without duplicates of equal outcomes."""
    margin = DROP_MARGIN * sqrt(len(candidates[0].outcomes))
    least = max(candidate.score for candidate in candidates) - margin
    left: list[Candidate] = []
    for candidate in candidates:
        is_duplicate = any(candidate.outcomes == other.outcomes for other in left)
        if candidate.score > least and not is_duplicate:
            left.append(candidate)
    return left


def _playout_outcome(
    simulation: Simulation, move: Move, view: TableView, *, ends_known: bool
) -> float:
    """Return the probability that the seat does not become the durak after this move.

    If the match is played to the end: 1 if it is not the durak, 0 if it is, 0.5 for a draw. With
    ``ends_known`` the simulation has the real cards, and the solver decides without a stock.
    """
    seat = view.your_seat
    apply_move(simulation, move, seat, view.trump_suit - 1)
    while simulation.bouts < PLAYOUT_DEPTH_BOUTS or not simulation.stock:
        if ends_known and not simulation.stock and len(simulation.in_play) == 2:
            solution = solve_bout(simulation, view.trump_suit - 1, PLAYOUT_POSITIONS_MAX)
            if solution.exact:
                value = solution.value if seat == simulation.attacker else -solution.value
                return (1 + value) / 2
            ends_known = False
        durak = simulation.play_bout(NORMAL)
        if durak is not None:
            return 0.5 if durak == DRAW and seat in simulation.in_play else float(durak != seat)
    return HAND_EVALUATORS[view.settings.deck].chances(simulation)[seat]


def apply_move(simulation: Simulation, move: Move, seat: int, trump_suit: int) -> None:
    """Apply a legal move of a seat to a simulation."""
    match move.WhichOneof("kind"):
        case "attack":
            simulation.attack(seat, pack_cards([move.attack.card], trump_suit))
        case "defend":
            target = pack_cards([move.defend.attack_card], trump_suit)
            simulation.beat(target, pack_cards([move.defend.card], trump_suit))
        case "transfer":
            simulation.transfer(pack_cards([move.transfer.card], trump_suit))
        case "take":
            simulation.taking = True
        case "pass":
            simulation.passed |= 1 << seat
