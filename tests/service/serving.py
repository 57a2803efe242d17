"""The whole service on the database of a test, and callers of any role on real channels."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from grpc import aio
from pydantic import SecretStr

from eventstore import EventStore
from service.checkpoints import signing_keys
from service.checkpoints.signing_keys import NoteKey
from service.config import Config
from service.rpc.token_keys import DevelopmentKey
from service.server import running
from tests.conftest import Database

LOG_NAME = "durak.example/log"
Stub = TypeVar("Stub")


@dataclass(frozen=True)
class Service:
    """A running service, its store and a channel."""

    config: Config
    store: EventStore
    channel: aio.Channel
    key: DevelopmentKey
    note_key: NoteKey
    port: int

    def metadata(self, subject: str, *roles: str) -> tuple[tuple[str, str], ...]:
        token = self.key.mint(
            subject,
            roles=roles,
            issuer=self.config.token_issuer,
            audience=self.config.token_audience,
            lifetime_seconds=600,
        )
        return (("authorization", f"Bearer {token}"),)

    def caller(self, stub: type[Any], subject: str, *roles: str) -> Caller:
        return Caller(stub(self.channel), self.metadata(subject, *roles))


@dataclass(frozen=True)
class Caller:
    """A caller with a token and the stub of one service."""

    stub: Any
    metadata: tuple[tuple[str, str], ...]

    def __getattr__(self, method: str) -> Any:
        def call(request: Any) -> Any:
            return getattr(self.stub, method)(request, metadata=self.metadata, timeout=60)

        return call


@asynccontextmanager
async def serving(database: Database, folder: Path, **settings: Any) -> AsyncIterator[Service]:
    """Run the service as `durak serve` does, with checkpoints."""
    config = Config(
        database_url=SecretStr(database.app_dsn),
        data_dir=folder,
        listen_port=0,
        checkpoint_interval_seconds=0.02,
        caller_calls_per_second=0,
        **{"opening_free_matches_min": 0, **settings},
    )
    note_key = signing_keys.make(config.note_key_file, LOG_NAME)
    async with running(config) as server, await EventStore.open(database.app_dsn) as store:
        assert server.development_key is not None
        async with aio.insecure_channel(server.address) as channel:
            port = int(server.address.rpartition(":")[2])
            yield Service(config, store, channel, server.development_key, note_key, port)
