"""Memory of the service: what matches and watches hold, and how much of it stays afterwards.

All figures are resident memory of the process of the service, as the system counts it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from uuid import uuid4

from grpc import aio

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from eventstore import EmbeddedPostgres, migrate
from tests.e2e.test_nothing_lost import Service, serving
from tests.service.playing import easy_move, has_move

SETTINGS = Settings(deck=Deck.DECK_24, seats=2, throw_in=ThrowIn.THROW_IN_ALL)
NO_LIMITS = {
    "DURAK_CALLER_WATCHES_MAX": "1000",
    "DURAK_CALLER_TABLES_MAX": "100000",
    "DURAK_CALLER_SEATS_MAX": "100000",
    "DURAK_WATCH_EVENTS_PER_CALL": "100000",
}
READERS = 20


class Load:
    """Clients of a service whose memory is measured."""

    def __init__(self, service: Service, channel: aio.Channel) -> None:
        self._service = service
        self._stub = MatchServiceStub(channel)
        self._tokens = {name: service.metadata(name) for name in ("ann", "bob")}

    def resident_bytes(self) -> int:
        """Return the resident memory of the service."""
        pages = Path(f"/proc/{self._service.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    async def seat(self) -> str:
        """Open a table and seat two players. Return the match."""
        opening = api.OpenTableRequest(request_id=str(uuid4()), settings=SETTINGS)
        opened = await self._stub.OpenTable(opening, metadata=self._tokens["ann"])
        for token in self._tokens.values():
            sitting = api.TakeSeatRequest(match_id=opened.view.match_id, request_id=str(uuid4()))
            await self._stub.TakeSeat(sitting, metadata=token)
        return opened.view.match_id

    async def play_out(self, match_id: str) -> None:
        """Play a match to its end."""
        asked = api.GetMatchRequest(match_id=match_id)
        while True:
            for token in self._tokens.values():
                view = (await self._stub.GetMatch(asked, metadata=token)).view
                if view.HasField("result"):
                    return
                if has_move(view):
                    move = api.PlayRequest(
                        match_id=match_id, request_id=str(uuid4()), move=easy_move(view)
                    )
                    await self._stub.Play(move, metadata=token)

    async def watch(self, match_id: str, times: int) -> None:
        """Open and close watches of a match, many at the same time."""

        async def read(count: int) -> None:
            for _ in range(count):
                request = api.WatchMatchRequest(match_id=match_id)
                stream = self._stub.WatchMatch(request, metadata=self._tokens["ann"])
                async for message in stream:
                    if message.HasField("caught_up"):
                        break
                stream.cancel()

        await asyncio.gather(*(read(times // READERS) for _ in range(READERS)))


async def growth_per_watch(load: Load, *, warm_up: int, watches: int) -> float:
    """Return the bytes by which memory grows for each watch that was opened and closed."""
    match_id = await load.seat()
    await load.watch(match_id, warm_up)
    before = load.resident_bytes()
    await load.watch(match_id, watches)
    return (load.resident_bytes() - before) / watches


async def _measure(postgres: EmbeddedPostgres, folder: Path) -> dict[str, float]:
    await migrate(postgres.owner_dsn())
    settings = {**NO_LIMITS, "DURAK_ENDED_MATCH_SECONDS": "0.5"}
    async with (
        serving(postgres.app_dsn(), folder, **settings) as service,
        aio.insecure_channel(service.address) as channel,
    ):
        load = Load(service, channel)
        growth = await growth_per_watch(load, warm_up=20_000, watches=20_000)
        before = load.resident_bytes()
        running = [await load.seat() for _ in range(2_000)]
        live = (load.resident_bytes() - before) / len(running)
        for match_id in running[:500]:
            await load.play_out(match_id)
        before = load.resident_bytes()
        for match_id in running[500:1_000]:
            await load.play_out(match_id)
        kept = (load.resident_bytes() - before) / 500
    return {
        "rss_growth_per_watch_bytes": growth,
        "live_match_bytes": live,
        "ended_match_bytes_kept": kept,
    }


def run() -> dict[str, float]:
    """Measure a service in a process of its own.

    ``rss_growth_per_watch_bytes``: after 20,000 watches, for each of 20,000 more.
    ``live_match_bytes``: for each of 2,000 dealt matches.
    ``ended_match_bytes_kept``: for each of 500 matches that were played out after 500 others.
    """
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        folder = Path(parent) / "service"
        folder.mkdir()
        with EmbeddedPostgres(Path(parent) / "postgres") as postgres:
            return asyncio.run(_measure(postgres, folder))
