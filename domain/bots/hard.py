"""The hard bot (R14.4): remembers every open card, weighs its moves, and solves endings.

With two seats and an empty stock all cards are known, and the solver says which moves keep the
result. Before that it deals the cards that it has not seen at random, as often as its budget
allows, and plays each of its moves out in all of these worlds. All budgets are counted in positions
and bouts, never in time, so that the same seed always gives the same move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from domain.bots.endings import best_moves, is_ending
from domain.bots.memory import Memory, remember
from domain.bots.playing import attacking, beating, challenging, passing, taking, transferring
from domain.bots.policy import NORMAL
from domain.bots.sampling import Chance, Worlds
from domain.bots.strength import pack_all
from domain.bots.suspicion import illegal_plays
from domain.bots.world import DRAW, World
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

BOUTS: Final = 3000
"""Bouts to be played in play-outs for one move."""
WORLDS_AT_A_TIME: Final = 8
"""Worlds in which all moves left are tried before the worst of them are dropped."""
SLACK: Final = 0.8
"""A move is dropped when it is behind by so many wins times the root of the number of worlds."""


@dataclass(slots=True)
class Candidate:
    """A move, and in how many worlds it has ended well; a draw counts half."""

    move: Move
    score: float = 0.0


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
    """The move that does best in worlds drawn at random, the same ones for every move."""
    worlds = Worlds(view, memory)
    left = [Candidate(move) for move in moves]
    played = drawn = 0
    while len(left) > 1 and played < BOUTS:
        for _ in range(1 if worlds.is_one else WORLDS_AT_A_TIME):
            world = worlds.draw(chance)
            drawn += 1
            for candidate in left:
                tried = world.copy()
                candidate.score += _outcome(tried, candidate.move, view)
                played += tried.bouts
        if worlds.is_one:
            break
        best = max(candidate.score for candidate in left)
        left = [found for found in left if found.score > best - SLACK * sqrt(drawn)]
    return max(left, key=lambda candidate: candidate.score).move


def _outcome(world: World, move: Move, view: TableView) -> float:
    """1 if the seat is not the durak after this move in this world, 0 if it is; 0.5 for a draw."""
    seat = view.your_seat
    make(world, move, seat, view.trump_suit - 1)
    durak = world.play_out(NORMAL)
    if durak == DRAW and seat in world.in_play:
        return 0.5
    return float(durak != seat)


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
