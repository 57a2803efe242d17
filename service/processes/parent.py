"""The parent of several processes that share a port, each a whole replica.

The first process starts alone: if it fails, the service does not start. Then the others start. A
process that dies later is replaced, after a pause that grows while it dies again and again. A stuck
process ends by itself (see watchdog.py). If it cannot even do that, it no longer reports, and the
parent kills it.

The children end with their parent, however it ends (see parent_watch.py).
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from typing import Final

import structlog

from service.config import PROCESSES_MAX, Config
from service.processes.link import NOT_READY, READY, STOP
from service.processes.reserved_port import ReservedPort
from service.supervisor import RESTART_SECONDS_MAX, RESTART_SECONDS_MIN
from service.workers.parent_watch import SPAWN, parent_pipe, without_interrupts

PARENT: Final = 0
"""The number of the parent in log lines. Its children count from 1."""
SILENT_FACTOR: Final = 2
"""A process without a report for so many times `stuck_seconds_max` is killed. Its own watchdog
comes first, and logs where it is stuck."""
TICK_SECONDS: Final = 1.0
"""Silence is counted in ticks, so that time in which everything was stopped does not count."""
STOP_SECONDS_MAX: Final = 15.0
"""Time that the children get to stop beyond `drain_seconds_max`, if the database is away."""

_log = structlog.get_logger(__name__)

RunChild = Callable[[Config, int, Connection, Connection], None]
"""The main function of a child. It takes its settings, its number from 1, its end of the link, and
the pipe that shows the end of the parent. It must be importable."""


class ProcessFailedError(Exception):
    """A process ended before the service had started. It has said why."""

    def __init__(self, number: int, exit_code: int) -> None:
        super().__init__(f"process {number} ended with exit code {exit_code}")
        self.exit_code = exit_code


def count_processes(config: Config) -> int:
    """Return how many processes the settings ask for: at least 1."""
    return config.processes or min(len(os.sched_getaffinity(0)), PROCESSES_MAX)


def settings_of(config: Config, number: int, count: int) -> Config:
    """Return the settings of one process. The workers are shared out evenly, at least one each.

    >>> config = Config(worker_processes=5)
    >>> [settings_of(config, number, 3).worker_processes for number in (1, 2, 3)]
    [2, 2, 1]
    """
    share, rest = divmod(config.worker_processes, count)
    workers = max(1, share + (number <= rest))
    return config.model_copy(update={"processes": count, "worker_processes": workers})


class _Child:
    """One process. `is_ready` is None until it has accepted calls."""

    def __init__(self, run: RunChild, config: Config, number: int, parent_gone: Connection) -> None:
        loop = asyncio.get_running_loop()
        self.number = number
        self.is_ready: bool | None = None
        self.silent_seconds = 0.0
        self.ended = asyncio.Event()
        self.connection, its_end = SPAWN.Pipe()
        self._process = SPAWN.Process(
            target=run, args=(config, number, its_end, parent_gone), name=f"durak {number}"
        )
        with without_interrupts():
            self._process.start()
        its_end.close()
        loop.add_reader(self._process.sentinel, self._reap)

    @property
    def exit_code(self) -> int:
        """The exit code of a process that has ended; negative for a signal."""
        return self._process.exitcode or 0

    def send(self, message: bytes) -> None:
        """Send a message, unless the process is ending."""
        with suppress(OSError):
            self.connection.send_bytes(message)

    def kill(self) -> None:
        """End the process at once."""
        if not self.ended.is_set():
            self._process.kill()

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self.ended.set()


class Parent:
    """Starts, watches and replaces the processes. Run it once."""

    def __init__(self, config: Config, run_child: RunChild) -> None:
        """Run `count_processes(config)` children that all use the database of `config`."""
        self._config = config
        self._count = count_processes(config)
        self._run_child = run_child
        self._children: dict[int, _Child] = {}
        self._served: set[int] = set()
        """The numbers of the processes that have accepted calls since the start."""
        self._has_served = asyncio.Event()
        self._all_ready = True
        self._has_started = False
        self._stop = asyncio.Event()
        self._parent_gone, self._parent_end = parent_pipe()

    async def run(self, stop: asyncio.Event, started: Callable[[str], None]) -> None:
        """Run until `stop` is set, and then until all children have stopped.

        `started` is called with the address when all of them accept calls. Raises StartError, and
        ProcessFailedError if one of them does not start.
        """
        self._stop = stop
        host = self._config.listen_host
        with ExitStack() as stack:
            stack.callback(self._end)
            ports = {
                name: stack.enter_context(ReservedPort(host, number))
                for name in ("listen_port", "health_port")
                if (number := getattr(self._config, name)) is not None
            }
            numbers = {name: port.number for name, port in ports.items()}
            self._config = self._config.model_copy(update=numbers)
            address = f"{host}:{self._config.listen_port}"
            async with asyncio.TaskGroup() as group:
                await self._run(group, ports.values(), lambda: started(address))

    def _end(self) -> None:
        for child in self._children.values():
            child.kill()
        self._parent_end.close()
        self._parent_gone.close()

    async def _run(
        self, group: asyncio.TaskGroup, ports: Iterable[ReservedPort], started: Callable[[], None]
    ) -> None:
        silence = group.create_task(self._end_silent())
        group.create_task(self._keep(1))
        await self._until_served({1})
        for port in ports:
            port.stop_listening()
        for number in range(2, self._count + 1):
            group.create_task(self._keep(number))
        await self._until_served(range(1, self._count + 1))
        if not self._stop.is_set():
            self._has_started = True
            _log.info("started", processes=self._count)
            started()
            await self._stop.wait()
        _log.info("stopping")
        silence.cancel()
        await self._stop_children()

    async def _until_served(self, numbers: Iterable[int]) -> None:
        """Wait until these processes have accepted calls, or the service must stop."""
        stopping = asyncio.create_task(self._stop.wait())
        while not self._stop.is_set() and not self._served.issuperset(numbers):
            self._has_served.clear()
            serving = asyncio.create_task(self._has_served.wait())
            await asyncio.wait({stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
            serving.cancel()
        stopping.cancel()

    async def _keep(self, number: int) -> None:
        """Run one process after another under a number until the service stops."""
        clock = asyncio.get_running_loop().time
        pause_seconds = RESTART_SECONDS_MIN
        while not self._stop.is_set():
            began = clock()
            exit_code = await self._run_one(number)
            if self._stop.is_set():
                return
            if not self._has_started:
                raise ProcessFailedError(number, exit_code)
            if clock() - began > RESTART_SECONDS_MAX:
                pause_seconds = RESTART_SECONDS_MIN
            _log.error(
                "process ended",
                number=number,
                exit_code=exit_code,
                next_start_seconds=pause_seconds,
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause_seconds)
            pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)

    async def _run_one(self, number: int) -> int:
        """Run a process to its end, and return its exit code."""
        try:
            child = self._start(number)
        except OSError as error:  # no memory, or too many processes: perhaps not for long
            _log.error("process does not start", number=number, error=str(error))
            return os.EX_OSERR
        await child.ended.wait()
        self._forget(child)
        return child.exit_code

    def _start(self, number: int) -> _Child:
        config = settings_of(self._config, number, self._count)
        child = _Child(self._run_child, config, number, self._parent_gone)
        self._children[number] = child
        file = child.connection.fileno()
        asyncio.get_running_loop().add_reader(file, self._heard, child)
        child.send(READY if self._all_ready else NOT_READY)
        return child

    def _forget(self, child: _Child) -> None:
        asyncio.get_running_loop().remove_reader(child.connection.fileno())
        child.connection.close()
        del self._children[child.number]
        self._compare()

    def _heard(self, child: _Child) -> None:
        try:
            is_ready = child.connection.recv_bytes() == READY
        except (EOFError, OSError):  # it is ending
            asyncio.get_running_loop().remove_reader(child.connection.fileno())
            return
        child.silent_seconds = 0.0
        if is_ready and child.is_ready is None:
            self._served.add(child.number)
            self._has_served.set()
        if is_ready or child.is_ready is not None:
            child.is_ready = is_ready
        self._compare()

    def _compare(self) -> None:
        """Report to the processes whether all that listen accept calls, if that has changed."""
        all_ready = all(child.is_ready is not False for child in self._children.values())
        if all_ready == self._all_ready:
            return
        self._all_ready = all_ready
        for child in self._children.values():
            child.send(READY if all_ready else NOT_READY)

    async def _end_silent(self) -> None:
        """Kill processes that do not report. They are replaced like those that die."""
        limit = SILENT_FACTOR * self._config.stuck_seconds_max
        while limit:
            await asyncio.sleep(TICK_SECONDS)
            for child in self._children.values():
                child.silent_seconds += TICK_SECONDS
                if child.silent_seconds > limit:
                    _log.error("process does not report", number=child.number)
                    child.kill()

    async def _stop_children(self) -> None:
        children = list(self._children.values())
        for child in children:
            child.send(STOP)
        seconds = self._config.drain_seconds_max + STOP_SECONDS_MAX
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for child in children:
                    await child.ended.wait()
        for child in children:
            if not child.ended.is_set():
                _log.warning("process cut off", number=child.number)
                child.kill()
