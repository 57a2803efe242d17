"""Places outside the database where checkpoints are published: a folder, an object store."""

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
"""The name of the newest checkpoint. The last one of each day has the date as a suffix."""
_RETRIES: Final = 2
_RETRYING: Final = timedelta(seconds=20)


class Place(Protocol):
    """A place to publish checkpoints. All failures raise OSError."""

    async def read(self) -> str | None:
        """Return the newest published checkpoint, if any."""

    async def write(self, head: SignedHead) -> None:
        """Publish a checkpoint atomically."""


def places(config: Config) -> list[Place]:
    """Return the places in the settings. Raises OSError for an invalid address."""
    found: list[Place] = []
    if config.checkpoint_folder is not None:
        found.append(Folder(config.checkpoint_folder))
    if config.checkpoint_objects is not None:
        found.append(Objects(config.checkpoint_objects))
    return found


class Folder:
    """A folder. A checkpoint is synced to disk before it gets its name."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> str | None:
        """Return the newest published checkpoint, if any."""
        return await asyncio.to_thread(self._read)

    async def write(self, head: SignedHead) -> None:
        """Publish a checkpoint atomically."""
        await asyncio.to_thread(self._write, head)

    def _read(self) -> str | None:
        path = self._path / PUBLISHED
        try:
            return path.read_text("utf-8") if path.exists() else None
        except UnicodeDecodeError as error:
            raise OSError(f"the published checkpoint {path} is not UTF-8: {error}") from error

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
    """A path in an object store (S3 and compatible stores, Google, Azure).

    Credentials come from the usual environment variables of each store.
    """

    def __init__(self, url: str) -> None:
        """Open a path such as ``s3://bucket/path``."""
        try:
            # Client options given here would override those of the environment.
            self._store = from_url(
                url, retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRYING}
            )
        except BaseError as error:
            raise OSError(f"{url}: {error}") from error

    async def read(self) -> str | None:
        """Return the newest published checkpoint, if any."""
        try:
            found = await obstore.get_async(self._store, PUBLISHED)
            return bytes(await found.bytes_async()).decode()
        except (NotFoundError, FileNotFoundError):
            return None
        except (BaseError, UnicodeDecodeError) as error:
            raise OSError(f"published checkpoints cannot be read: {error}") from error

    async def write(self, head: SignedHead) -> None:
        """Publish a checkpoint. Each object is written atomically."""
        try:
            for name in _names(head):
                await obstore.put_async(self._store, name, head.note.encode())
        except BaseError as error:
            raise OSError(f"a checkpoint cannot be published: {error}") from error


def _names(head: SignedHead) -> tuple[str, str]:
    """Return the names to write, `checkpoint` last. If it is there, that of the day is too."""
    day = head.signed_at.astimezone(UTC).date().isoformat()
    return f"{PUBLISHED}-{day}", PUBLISHED
