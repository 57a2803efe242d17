"""What is thought in the processes of `thinking`: plain functions of plain values."""

from collections.abc import Sequence

from domain import bots
from domain.endgame import review
from durak.v1.events_pb2 import Event, Record
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import TableView


def choose_move(
    level: BotLevel.ValueType, view: bytes, history: Sequence[bytes], seed: int
) -> bytes:
    """The `Move` of a bot: as `domain.bots.choose`, with messages as bytes."""
    events = [Event.FromString(event) for event in history]
    return bots.choose_move(level, TableView.FromString(view), events, seed).SerializeToString()


def find_endings(records: Sequence[bytes]) -> list[review.PlayedMove]:
    """As `domain.endgame.review.endings_in`, with `Record`s as bytes."""
    return review.endgame_moves(Record.FromString(record) for record in records)


def judge_move(played: review.PlayedMove, budget: int) -> review.MoveReview:
    """As `domain.endgame.review.judge`."""
    return review.review_move(played, budget)
