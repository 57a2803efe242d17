"""What all live matches of a process share."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from eventstore import EventStore
from eventstore.log.hints import Hint
from service.config import Config
from service.matches.changes import ChangeListener
from service.matches.seat_quota import SeatQuota
from service.matches.suspensions import Suspensions
from service.matches.table_quota import TableQuota
from service.rpc.failures import Failures
from service.times import Now


@dataclass(slots=True)
class Counters:
    """Plain numbers since the start of the process, read by the metrics."""

    commands: int = 0
    repeats: int = 0
    conflicts: int = 0
    appends: int = 0
    events: int = 0
    loads: int = 0
    evictions: int = 0
    bot_moves: int = 0
    bot_moves_fallback: int = 0
    timeouts: int = 0
    slow_watches: int = 0
    logs_changed: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """What a live match needs in addition to its own state.

    `now_us` is the clock. `change_listeners` are called with the changes of all matches,
    `eviction_listeners` with the id (16 bytes) of each match that is dropped from memory,
    `log_changed_listeners` with that of each match whose log turns out to be another one, and
    `hint_listeners` with each hint.
    """

    store: EventStore
    config: Config
    now_us: Now
    quota: TableQuota
    seats: SeatQuota
    suspensions: Suspensions
    loop: asyncio.AbstractEventLoop
    failures: Failures
    counters: Counters = field(default_factory=Counters)
    change_listeners: list[ChangeListener] = field(default_factory=list)
    eviction_listeners: list[Callable[[bytes], None]] = field(default_factory=list)
    log_changed_listeners: list[Callable[[bytes], None]] = field(default_factory=list)
    hint_listeners: list[Hint] = field(default_factory=list)
