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

from domain.bots.appraisal import APPRAISALS
from domain.bots.endings import best_moves, is_ending, outcome_of
from domain.bots.memory import Memory, remember
from domain.bots.normal import play
from domain.bots.playing import attacking, beating, challenging, passing, taking, transferring
from domain.bots.policy import NORMAL
from domain.bots.sampling import Chance, Worlds
from domain.bots.strength import pack_all
from domain.bots.suspicion import illegal_plays
from domain.bots.world import DRAW, World
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

BOUTS: Final = 800
"""Bouts to be played in play-outs for one move."""
DEPTH: Final = 4
"""Bouts that a play-out has before it is appraised, if there is a stock then."""
WORLDS_AT_A_TIME: Final = 8
"""Worlds in which all moves left are tried before the worst of them are dropped."""
SLACK: Final = 0.8
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


def choose(view: TableView, history: Sequence[Event], seed: int) -> Move:
    """The move of the hard bot."""
    if view.moves.challenge:
        illegal = illegal_plays(view, history)
        if illegal:
            return challenging(illegal[0])
    moves = _moves(view)
    if len(moves) == 1:
        return moves[0]
    memory = remember(history, view.your_seat)
    if is_ending(view):
        moves = best_moves(view, memory)
    return moves[0] if len(moves) == 1 else _weigh(moves, view, memory, Chance(seed))


def _moves(view: TableView) -> list[Move]:
    """The legal moves, challenges apart."""
    moves = view.moves
    found = [attacking(card) for card in moves.attack]
    found += [beating(option.attack_card, card) for option in moves.defend for card in option.cards]
    found += [transferring(card) for card in moves.transfer]
    if moves.can_take:
        found.append(taking())
    if moves.can_pass:
        found.append(passing())
    return found


def _weigh(moves: Sequence[Move], view: TableView, memory: Memory, chance: Chance) -> Move:
    """The move that does best in worlds drawn at random, the same ones for every move.

    Of moves that do as well as each other, the normal bot's.
    """
    worlds = Worlds(view, memory)
    ends_known = worlds.is_one and view.stock_count > 0  # without a stock it is solved already
    plain = play(view, NORMAL)
    left = [Candidate(move) for move in sorted(moves, key=lambda move: move != plain)]
    played = 0
    while len(left) > 1 and played < BOUTS:
        for _ in range(1 if worlds.is_one else WORLDS_AT_A_TIME):
            world = worlds.draw(chance)
            for candidate in left:
                tried = world.copy()
                outcome = _outcome(tried, candidate.move, view, ends_known=ends_known)
                candidate.outcomes.append(outcome)
                played += tried.bouts
        if worlds.is_one:
            break
        left = _still_in_question(left)
    return max(left, key=lambda candidate: candidate.score).move


def _still_in_question(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those not too far behind the best; of moves that came to the same everywhere, the first."""
    slack = SLACK * sqrt(len(candidates[0].outcomes))
    least = max(candidate.score for candidate in candidates) - slack
    left: list[Candidate] = []
    for candidate in candidates:
        is_twin = any(candidate.outcomes == other.outcomes for other in left)
        if candidate.score > least and not is_twin:
            left.append(candidate)
    return left


def _outcome(world: World, move: Move, view: TableView, *, ends_known: bool) -> float:
    """The chance that the seat is not the durak after this move in this world.

    Played to the end: 1 if it is not, 0 if it is, 0.5 for a draw. ``ends_known``: the cards really
    lie so, and the solver is asked once the stock has run out.
    """
    seat = view.your_seat
    make(world, move, seat, view.trump_suit - 1)
    while world.bouts < DEPTH or not world.stock:
        if ends_known and not world.stock and len(world.in_play) == 2:
            proven = outcome_of(world, seat, view.trump_suit - 1)
            if proven is not None:
                return proven
            ends_known = False
        durak = world.play_bout(NORMAL)
        if durak is not None:
            return 0.5 if durak == DRAW and seat in world.in_play else float(durak != seat)
    return APPRAISALS[view.settings.deck].chance(world, seat)


def make(world: World, move: Move, seat: int, trump_suit: int) -> None:
    """Make a legal move of a seat in a world."""
    match move.WhichOneof("kind"):
        case "attack":
            world.attack(seat, pack_all([move.attack.card], trump_suit))
        case "defend":
            target = pack_all([move.defend.attack_card], trump_suit)
            world.beat(target, pack_all([move.defend.card], trump_suit))
        case "transfer":
            world.transfer(pack_all([move.transfer.card], trump_suit))
        case "take":
            world.taking = True
        case "pass":
            world.passed |= 1 << seat
