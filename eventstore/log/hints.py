"""Hints: how the processes on one database hear of each other's appends.

After an append is durable, its process sends one hint with the stream and its version by NOTIFY, on
a connection of its own: inside the transaction of the append it would serialize all of them. Hints
may be lost. They only decide how soon a process reads the records that it does not have yet.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

from eventstore.errors import StoreUnavailable
from eventstore.postgres.connect import disconnect
from eventstore.postgres.retry import is_lost, unavailable

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

CHANNEL: Final = "durak_hints"
STREAMS_PER_NOTE: Final = 280
"""In base64 these are 7,468 bytes. Postgres allows 7,999 in one note."""
PENDING_MAX: Final = 100_000
"""Streams whose hints wait for the connection. Further ones are lost."""
_HINT: Final = struct.Struct(">16sI")
_NOTIFY = "SELECT pg_notify($1, $2)"

Hint = Callable[[UUID, int], None]
"""Takes a stream and a version that the log has."""


class Hints:
    """Sends the hints of this process and receives those of all. Use it as `EventStore.hints`."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        """Use one connection of its own, for both directions."""
        self._connect = connect
        self._pending: dict[UUID, int] = {}
        self._wake = asyncio.Event()
        self.sent = 0
        """Notes sent so far."""
        self.received = 0
        """Hints received so far, including those of this process."""

    def add(self, stream_id: UUID, version: int) -> None:
        """Send a hint soon. Never waits."""
        if len(self._pending) < PENDING_MAX:
            self._pending[stream_id] = version
            self._wake.set()

    async def run(self, heard: Hint, connected: Callable[[], None]) -> None:
        """Send and receive until the connection is lost. Raises StoreUnavailable then.

        `connected` is called once hints arrive: those from before it were missed.
        """
        try:
            connection = await self._connect()
            try:
                await self._exchange(connection, heard, connected)
            finally:
                await disconnect(connection)
        except Exception as error:
            if is_lost(error):
                raise unavailable(error) from error
            raise

    async def _exchange(
        self, connection: Connection, heard: Hint, connected: Callable[[], None]
    ) -> None:
        def note(_connection: object, _process: object, _channel: object, payload: object) -> None:
            for stream_id, version in decode(str(payload)):
                self.received += 1
                heard(stream_id, version)

        def lost(_connection: object) -> None:
            self._wake.set()

        connection.add_termination_listener(lost)
        await connection.add_listener(CHANNEL, note)
        connected()
        while True:
            await self._wake.wait()
            self._wake.clear()
            if connection.is_closed():
                raise StoreUnavailable("the connection for hints was lost")
            pending, self._pending = self._pending, {}
            for payload in encode(pending):
                await connection.execute(_NOTIFY, CHANNEL, payload)
                self.sent += 1


def encode(versions: Mapping[UUID, int]) -> Iterator[str]:
    """Yield the payloads of the notes for these streams.

    >>> [payload] = encode({UUID(int=1): 7})
    >>> list(decode(payload))
    [(UUID('00000000-0000-0000-0000-000000000001'), 7)]
    """
    hints = [_HINT.pack(stream_id.bytes, version) for stream_id, version in versions.items()]
    for start in range(0, len(hints), STREAMS_PER_NOTE):
        data = b"".join(hints[start : start + STREAMS_PER_NOTE])
        yield base64.b64encode(data).decode()


def decode(payload: str) -> Iterator[tuple[UUID, int]]:
    """Yield the streams and versions of a note; nothing if it is not one. Anyone can send notes."""
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return
    if len(data) % _HINT.size:
        return
    for stream_id, version in _HINT.iter_unpack(data):
        yield UUID(bytes=stream_id), version
