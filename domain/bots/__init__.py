"""The bots (R14): pure functions of what a player in their seat has seen.

A bot gets the view of its seat, the events shown to that seat so far, and a seed. It gives one move
of `view.moves`. The same input always gives the same move.
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
    """A level of play."""

    def __call__(self, view: TableView, history: Sequence[Event], seed: int, /) -> Move:
        """The move to make now; ``view.moves`` holds at least one."""


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
    """The move of a bot of this level. Raises `KeyError` for a level that does not exist."""
    return BOTS[level](view, history, seed)


def move_seed(bot_seed: int, version: int) -> int:
    """What the choice at one version of a match is drawn from.

    Another for each move, and repeatable; ``bot_seed`` is the one recorded with the seat (64 bits).
    """
    digest = sha256(bot_seed.to_bytes(8) + version.to_bytes(4)).digest()
    return int.from_bytes(digest[:8])
