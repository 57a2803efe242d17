"""The hard bot (R14.4): remembers every open card, weighs its moves, and solves endings.

With two seats and an empty stock all cards are known, and the solver says which moves keep the
result. Before that it deals the cards that it has not seen at random, as often as its budget
allows, and plays each of its moves on in all of these worlds: for a few bouts, after which the
hands are appraised, or to the end where the stock runs out. All budgets are counted in positions
and bouts, never in time, so that the same seed always gives the same move.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Final

from domain.bots.card_memory import CardMemory, remember_cards
from domain.bots.determinization import Determinizer, SeededRandom
from domain.bots.endgame_play import best_moves, exact_outcome, is_endgame
from domain.bots.evaluation import HAND_EVALUATORS
from domain.bots.legality import illegal_plays
from domain.bots.normal import policy_move
from domain.bots.packed_cards import pack_cards
from domain.bots.policy import NORMAL
from domain.bots.simulation import DRAW, Simulation
from domain.match.move_messages import attack, challenge, defend, pass_turn, take, transfer
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

PLAYOUT_BOUTS_MAX: Final = 800
"""Bouts to be played in play-outs for one move."""
PLAYOUT_DEPTH_BOUTS: Final = 4
"""Bouts that a play-out has before it is appraised, if there is a stock then."""
SAMPLES_PER_ROUND: Final = 8
"""Worlds in which all moves left are tried before the worst of them are dropped."""
DROP_MARGIN: Final = 0.8
"""A move is dropped when it is behind by so many wins times the root of the number of worlds."""


@dataclass(slots=True)
class Candidate:
    """A move, and what came of it in each world: 1 for well, 0 for ill; a draw counts half."""

    move: Move
    outcomes: list[float] = field(default_factory=list)

    @property
    def score(self) -> float:
        """In how many worlds it went well."""
        return sum(self.outcomes)


def choose_move(view: TableView, history: Sequence[Event], seed: int) -> Move:
    """The move of the hard bot."""
    if view.moves.challenge:
        illegal = illegal_plays(view, history)
        if illegal:
            return challenge(illegal[0])
    moves = _legal_moves(view)
    if len(moves) == 1:
        return moves[0]
    memory = remember_cards(history, view.your_seat)
    if is_endgame(view):
        moves = best_moves(view, memory)
    return (
        moves[0] if len(moves) == 1 else _best_by_playouts(moves, view, memory, SeededRandom(seed))
    )


def _legal_moves(view: TableView) -> list[Move]:
    """The legal moves, challenges apart."""
    moves = view.moves
    found = [attack(card) for card in moves.attack]
    found += [defend(option.attack_card, card) for option in moves.defend for card in option.cards]
    found += [transfer(card) for card in moves.transfer]
    if moves.can_take:
        found.append(take())
    if moves.can_pass:
        found.append(pass_turn())
    return found


def _best_by_playouts(
    moves: Sequence[Move], view: TableView, memory: CardMemory, chance: SeededRandom
) -> Move:
    """The move that does best in worlds drawn at random, the same ones for every move.

    Of moves that do as well as each other, the normal bot's.
    """
    worlds = Determinizer(view, memory)
    ends_known = worlds.is_one and view.stock_count > 0  # without a stock it is solved already
    plain = policy_move(view, NORMAL)
    left = [Candidate(move) for move in sorted(moves, key=lambda move: move != plain)]
    played = 0
    while len(left) > 1 and played < PLAYOUT_BOUTS_MAX:
        for _ in range(1 if worlds.is_one else SAMPLES_PER_ROUND):
            world = worlds.draw(chance)
            for candidate in left:
                tried = world.copy()
                outcome = _playout_outcome(tried, candidate.move, view, ends_known=ends_known)
                candidate.outcomes.append(outcome)
                played += tried.bouts
        if worlds.is_one:
            break
        left = _drop_behind(left)
    return max(left, key=lambda candidate: candidate.score).move


def _drop_behind(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those not too far behind the best; of moves that came to the same everywhere, the first."""
    slack = DROP_MARGIN * sqrt(len(candidates[0].outcomes))
    least = max(candidate.score for candidate in candidates) - slack
    left: list[Candidate] = []
    for candidate in candidates:
        is_twin = any(candidate.outcomes == other.outcomes for other in left)
        if candidate.score > least and not is_twin:
            left.append(candidate)
    return left


def _playout_outcome(world: Simulation, move: Move, view: TableView, *, ends_known: bool) -> float:
    """The chance that the seat is not the durak after this move in this world.

    Played to the end: 1 if it is not, 0 if it is, 0.5 for a draw. ``ends_known``: the cards really
    lie so, and the solver is asked once the stock has run out.
    """
    seat = view.your_seat
    apply_move(world, move, seat, view.trump_suit - 1)
    while world.bouts < PLAYOUT_DEPTH_BOUTS or not world.stock:
        if ends_known and not world.stock and len(world.in_play) == 2:
            proven = exact_outcome(world, seat, view.trump_suit - 1)
            if proven is not None:
                return proven
            ends_known = False
        durak = world.play_bout(NORMAL)
        if durak is not None:
            return 0.5 if durak == DRAW and seat in world.in_play else float(durak != seat)
    return HAND_EVALUATORS[view.settings.deck].chance(world, seat)


def apply_move(world: Simulation, move: Move, seat: int, trump_suit: int) -> None:
    """Make a legal move of a seat in a world."""
    match move.WhichOneof("kind"):
        case "attack":
            world.attack(seat, pack_cards([move.attack.card], trump_suit))
        case "defend":
            target = pack_cards([move.defend.attack_card], trump_suit)
            world.beat(target, pack_cards([move.defend.card], trump_suit))
        case "transfer":
            world.transfer(pack_cards([move.transfer.card], trump_suit))
        case "take":
            world.taking = True
        case "pass":
            world.passed |= 1 << seat
