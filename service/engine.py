"""Everything that runs the matches of this process, wired together."""

import asyncio
from collections.abc import Callable
from functools import partial

from eventstore import EventStore
from service.automation.bots import BotRunner
from service.automation.clock import Sweeper
from service.config import Config
from service.matches.commands import Commands
from service.matches.follower import follow
from service.matches.live_matches import LiveMatches, system_now_us
from service.matches.review import Reviews
from service.matches.servicer import MatchService
from service.matches.watch import Watches
from service.rpc.errors import FailedCalls
from service.rpc.limits import Limits
from service.rpc.telemetry import Telemetry
from service.workers.pool import WorkerPool


class Engine:
    """Live matches, the commands and the watches over them, the tail, the bots and the clock."""

    def __init__(
        self,
        store: EventStore,
        config: Config,
        limits: Limits,
        failed_calls: FailedCalls,
        now_us: Callable[[], int] = system_now_us,
    ) -> None:
        """Wire it all together; `start` sets it going. Make it inside a running event loop."""
        self.matches = LiveMatches(store, config, now_us)
        self.watches = Watches(self.matches, config)
        self.commands = Commands(self.matches, limits)
        self.workers = WorkerPool(config.worker_processes, config.worker_tasks_max)
        reviews = Reviews(self.matches, self.workers)
        self.servicer = MatchService(
            self.matches, self.commands, self.watches, reviews, limits, failed_calls
        )
        self.bots = BotRunner(self.matches, self.workers)
        self.sweeper = Sweeper(self.matches, self.bots)
        self.matches.observers += [self.sweeper, self.bots]
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Follow the tail, and keep the clocks."""
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(follow(self.matches.store, self.matches), name="tail"),
            loop.create_task(self.sweeper.run(), name="sweeper"),
        ]

    async def stop(self) -> None:
        """Stop bots and clocks, and wait for what is being stored. Calls must have ended before."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.sweeper.close()
        await self.bots.close()
        await self.matches.join()
        await self.workers.close()

    def observe(self, telemetry: Telemetry) -> None:
        """Report the numbers that the engine counts anyway."""
        counters = self.matches.counters
        for name in counters.__slots__:
            telemetry.counter(f"durak.{name}", partial(getattr, counters, name))
        telemetry.gauge("durak.matches.live", lambda: len(self.matches), "Matches held in memory.")
