"""Where checkpoints are published, outside the database: a folder, an object store, or both."""

import asyncio
import os
from datetime import UTC, timedelta
from pathlib import Path
from typing import Final, Protocol

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import from_url

from eventstore.checkpoints import SignedHead
from service.config import Config

PUBLISHED: Final = "checkpoint"
"""The name of the newest checkpoint; beside it one for each day, with the last of the day."""
_RETRIES: Final = 2
_RETRYING: Final = timedelta(seconds=20)


class Place(Protocol):
    """Somewhere to publish. What fails raises OSError."""

    async def read(self) -> str | None:
        """The newest checkpoint that lies there, if any."""

    async def write(self, head: SignedHead) -> None:
        """Put a checkpoint there, whole or not at all."""


def places(config: Config) -> list[Place]:
    """All places of the settings. Raises OSError for an object path that makes none."""
    found: list[Place] = []
    if config.checkpoint_folder is not None:
        found.append(Folder(config.checkpoint_folder))
    if config.checkpoint_objects is not None:
        found.append(Objects(config.checkpoint_objects))
    return found


class Folder:
    """A folder. A checkpoint is on disk before it has its name."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> str | None:
        """As the protocol says."""
        return await asyncio.to_thread(self._read)

    async def write(self, head: SignedHead) -> None:
        """As the protocol says."""
        await asyncio.to_thread(self._write, head)

    def _read(self) -> str | None:
        path = self._path / PUBLISHED
        return path.read_text("utf-8") if path.exists() else None

    def _write(self, head: SignedHead) -> None:
        self._path.mkdir(parents=True, exist_ok=True)
        for name in _names(head):
            fresh = self._path / f".{name}.{os.getpid()}"
            with fresh.open("w", encoding="utf-8") as file:
                file.write(head.note)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path / name)


class Objects:
    """A path of an object store (S3 and what speaks like it, Google, Azure).

    Credentials come from the environment, under the names that each of these uses.
    """

    def __init__(self, url: str) -> None:
        """`url` as in ``s3://bucket/path``."""
        try:
            # Options of the client given here would displace those of the environment.
            self._store = from_url(
                url, retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRYING}
            )
        except BaseError as error:
            raise OSError(f"{url}: {error}") from error

    async def read(self) -> str | None:
        """As the protocol says."""
        try:
            found = await obstore.get_async(self._store, PUBLISHED)
            return bytes(await found.bytes_async()).decode()
        except (NotFoundError, FileNotFoundError):
            return None
        except (BaseError, UnicodeDecodeError) as error:
            raise OSError(f"published checkpoints cannot be read: {error}") from error

    async def write(self, head: SignedHead) -> None:
        """As the protocol says."""
        try:
            for name in _names(head):
                await obstore.put_async(self._store, name, head.note.encode())
        except BaseError as error:
            raise OSError(f"a checkpoint cannot be published: {error}") from error


def _names(head: SignedHead) -> tuple[str, str]:
    """The newest comes last: where it is, that of the day is too."""
    day = head.signed_at.astimezone(UTC).date().isoformat()
    return f"{PUBLISHED}-{day}", PUBLISHED
