"""The bots (R14): pure functions from what a player has seen to a move.

A bot gets the view of its seat, the events shown to that seat so far, and a seed. It returns one
move of `view.moves`. The same input always gives the same move.
"""

from collections.abc import Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Protocol

from domain.bots import easy, hard, normal
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Move, TableView


class Bot(Protocol):
    """A bot of any level."""

    def __call__(self, view: TableView, history: Sequence[Event], seed: int, /) -> Move:
        """Return the move to make now. ``view.moves`` has at least one."""


BOTS: Final = MappingProxyType(
    {
        BotLevel.BOT_LEVEL_EASY: easy.choose_move,
        BotLevel.BOT_LEVEL_NORMAL: normal.choose_move,
        BotLevel.BOT_LEVEL_HARD: hard.choose_move,
    }
)


def choose_move(
    level: BotLevel.ValueType, view: TableView, history: Sequence[Event], seed: int
) -> Move:
    """Return the move of a bot of this level. Raises KeyError for an unknown level."""
    return BOTS[level](view, history, seed)


def move_seed(bot_seed: int, version: int) -> int:
    """Return the 64-bit seed of a bot's choice at one version of a match.

    It differs from move to move and is repeatable. ``bot_seed`` is the seed recorded with the seat
    (64 bits).
    """
    digest = sha256(bot_seed.to_bytes(8) + version.to_bytes(4)).digest()
    return int.from_bytes(digest[:8])
