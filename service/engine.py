"""Everything that runs the matches of this process, wired together."""

import asyncio
from functools import partial

from eventstore import EventStore
from service.automation.bots import BotRunner
from service.automation.clock import Clock
from service.automation.histories import Histories
from service.config import Config
from service.matches.commands import Commands
from service.matches.context import Context
from service.matches.follower import follow
from service.matches.live_matches import LiveMatches
from service.matches.review import Reviews
from service.matches.servicer import MatchService
from service.matches.table_quota import TableQuota
from service.rpc.errors import FailedCalls
from service.rpc.limits import Limits
from service.rpc.telemetry import Telemetry
from service.times import Now, system_now_us
from service.workers.pool import WorkerPool


class Engine:
    """Live matches, the commands and the watches over them, the tail, the bots and the clock."""

    def __init__(
        self,
        store: EventStore,
        config: Config,
        limits: Limits,
        failed_calls: FailedCalls,
        now_us: Now = system_now_us,
    ) -> None:
        """Wire it all together; `start` sets it going. Make it inside a running event loop."""
        quota = TableQuota(store, config.caller_tables_max)
        context = Context(store, config, now_us, quota, asyncio.get_running_loop())
        self.matches = LiveMatches(context)
        self.commands = Commands(self.matches, limits)
        self.workers = WorkerPool(config.worker_processes, config.worker_tasks_max)
        reviews = Reviews(self.matches, self.workers)
        self.servicer = MatchService(self.matches, self.commands, reviews, limits, failed_calls)
        self.histories = Histories()
        self.bots = BotRunner(self.matches, self.histories, self.workers)
        self.clock = Clock(self.matches, self.bots)
        changed = (self.clock.changed, self.histories.changed, self.bots.changed)
        context.change_listeners.extend(changed)
        context.eviction_listeners.extend((self.clock.evicted, self.histories.evicted))
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Follow the tail, and keep the clocks."""
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(follow(self.matches.context.store, self.matches), name="tail"),
            loop.create_task(self.clock.run(), name="clock"),
        ]

    async def stop(self) -> None:
        """Stop bots and clocks, and wait for what is being stored. Calls must have ended before."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.clock.close()
        await self.bots.close()
        await self.matches.join()
        await self.workers.close()

    def observe(self, telemetry: Telemetry) -> None:
        """Report the numbers that the engine counts anyway."""
        counters = self.matches.context.counters
        for name in counters.__slots__:
            telemetry.counter(f"durak.{name}", partial(getattr, counters, name))
        telemetry.gauge("durak.matches.live", lambda: len(self.matches), "Matches held in memory.")
