"""A connection that can be cut or delayed, or can lose the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import parse_qs, quote, urlsplit


class Wire:
    """A relay between clients and a server that can fail."""

    def __init__(self, target: str | tuple[str, int]) -> None:
        """`target`: the path of a socket, or host and port."""
        self._target = target
        self._server: asyncio.Server | None = None
        self._pairs: set[asyncio.StreamWriter] = set()
        self._relays: set[asyncio.Task[None]] = set()
        self._silent: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.is_cut = False
        self.swallows_answers = False
        self.swallowed = asyncio.Event()
        self.before_request: Callable[[], Awaitable[None]] | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._relays.add(task)
        task.add_done_callback(self._relays.discard)
        try:
            there = (
                await asyncio.open_unix_connection(self._target)
                if isinstance(self._target, str)
                else await asyncio.open_connection(*self._target)
            )
        except OSError:  # the server is down
            writer.transport.abort()
            return
        pair = {writer, there[1]}
        self._pairs |= pair
        try:
            if not self.is_cut:
                await asyncio.gather(
                    self._copy(reader, there[1], answers=False),
                    self._copy(there[0], writer, answers=True),
                )
        except ConnectionError:
            for end in pair:
                end.transport.abort()
        finally:
            self._pairs -= pair
            for end in pair:  # an unclosed end would give a ResourceWarning much later
                end.close()
                with suppress(ConnectionError):
                    await end.wait_closed()

    async def _copy(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        while data := await source.read(65536):
            if target in self._silent:
                continue
            if answers and self.swallows_answers:
                self.swallowed.set()
                continue
            if not answers and self.before_request is not None:
                await self.before_request()
            target.write(data)
            await target.drain()
        target.close()

    def silence(self) -> None:
        """Lose all that the present connections carry from now on. New connections work."""
        self._silent |= self._pairs

    def lead_to(self, target: str | tuple[str, int], *, keep: bool = False) -> None:
        """Lead new connections to another server. Break the present ones unless `keep`."""
        self._target = target
        for writer in () if keep else self._pairs:
            writer.transport.abort()

    def cut(self) -> None:
        """Break all connections and refuse new ones."""
        self.is_cut = True
        for writer in self._pairs:
            writer.transport.abort()

    def repair(self) -> None:
        self.is_cut = self.swallows_answers = False
        self.before_request = None

    async def close(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        while self._relays:
            await asyncio.gather(*self._relays, return_exceptions=True)


async def wire_to_database(dsn: str) -> tuple[Wire, str]:
    """An open wire to the Postgres of a DSN, and the DSN to connect through it."""
    parts = urlsplit(dsn)
    wire = Wire(server_of(dsn))
    await wire.open()
    user = f"{parts.username}:{quote(parts.password or '', safe='')}"
    return wire, f"postgresql://{user}@127.0.0.1:{wire.port}{parts.path}"


def server_of(dsn: str) -> str | tuple[str, int]:
    """The socket, or host and port, of a DSN of the embedded Postgres."""
    query = {key: values[0] for key, values in parse_qs(urlsplit(dsn).query).items()}
    host, port = query["host"], query["port"]
    return f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, int(port))
