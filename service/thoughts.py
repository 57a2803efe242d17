"""What is thought in the processes of `thinking`: plain functions of plain values."""

from collections.abc import Sequence

from domain import bots
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import TableView


def choose_move(
    level: BotLevel.ValueType, view: bytes, history: Sequence[bytes], seed: int
) -> bytes:
    """The `Move` of a bot: as `domain.bots.choose`, with messages as bytes."""
    events = [Event.FromString(event) for event in history]
    return bots.choose(level, TableView.FromString(view), events, seed).SerializeToString()
