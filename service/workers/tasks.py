"""The tasks of the worker pool: functions of plain values, which pickle."""

from collections.abc import Sequence

from domain import bots
from domain.endgame import review
from durak.v1.events_pb2 import Event, Record
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import TableView


def choose_move(
    level: BotLevel.ValueType, view: bytes, history: Sequence[bytes], seed: int
) -> bytes:
    """Return the serialized `Move` of a bot. See `domain.bots.choose`; messages are bytes."""
    events = [Event.FromString(event) for event in history]
    return bots.choose_move(level, TableView.FromString(view), events, seed).SerializeToString()


def find_endings(records: Sequence[bytes]) -> list[review.PlayedMove]:
    """Return the moves to review. See `domain.endgame.review.endings_in`; `Record`s are bytes."""
    return review.endgame_moves(Record.FromString(record) for record in records)


def judge_move(played: review.PlayedMove, budget: int) -> review.MoveReview:
    """Return the verdict on a move. See `domain.endgame.review.judge`."""
    return review.review_move(played, budget)
