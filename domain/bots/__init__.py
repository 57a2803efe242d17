"""The bots (R14): pure functions from what a player has seen to a move.

A bot gets the view of its seat, the events shown to that seat so far, and a seed. It returns one
move of `view.moves`. The same input always gives the same move.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from domain.bots import easy, hard, normal
from domain.match.fold import Match
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Move, TableView


def never_challenge(view: TableView, history: Sequence[Event], seed: int) -> Move | None:  # noqa: ARG001
    """Return no challenge."""
    return None


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot of any level.

    Attributes:
        choose_move: returns the move to make now. ``view.moves`` has at least one.
        choose_challenge: returns the challenge to make now, or None. It is also asked off the
            clock: see `off_clock_seat`.
    """

    choose_move: Callable[[TableView, Sequence[Event], int], Move]
    choose_challenge: Callable[[TableView, Sequence[Event], int], Move | None] = never_challenge


BOTS: Final = MappingProxyType(
    {
        BotLevel.BOT_LEVEL_EASY: Bot(easy.choose_move),
        BotLevel.BOT_LEVEL_NORMAL: Bot(normal.choose_move, normal.choose_challenge),
        BotLevel.BOT_LEVEL_HARD: Bot(hard.choose_move, hard.choose_challenge),
    }
)


def choose_move(
    level: BotLevel.ValueType, view: TableView, history: Sequence[Event], seed: int
) -> Move:
    """Return the move of a bot of this level. Raises KeyError for an unknown level."""
    return BOTS[level].choose_move(view, history, seed)


def choose_challenge(
    level: BotLevel.ValueType, view: TableView, history: Sequence[Event], seed: int
) -> Move | None:
    """Return the challenge of a bot, or None. Raises KeyError for an unknown level."""
    return BOTS[level].choose_challenge(view, history, seed)


def off_clock_seat(match: Match) -> int | None:
    """Return the seat that may want to challenge although the table does not wait for it, or None.

    This is the defender after its "take" at a tricky table, until the others have passed (R11.5).
    All other seats that may challenge are on the clock before the bout closes.
    """
    return match.defender if match.table.tricky and match.taking else None


def move_seed(bot_seed: int, version: int) -> int:
    """Return the 64-bit seed of a bot's choice at one version of a match.

    It differs from move to move and is repeatable. ``bot_seed`` is the seed recorded with the seat
    (64 bits).
    """
    digest = sha256(bot_seed.to_bytes(8) + version.to_bytes(4)).digest()
    return int.from_bytes(digest[:8])
