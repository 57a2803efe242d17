"""The secrets that a player promised for shuffles, kept on disk until their match is checked.

A terminal that is started again can still reveal the secret. Each file is readable by its owner
only, until the secret is revealed it must stay secret.
"""

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, Self
from uuid import UUID

from domain.match.deal import SECRET_BYTES, secret_hash
from domain.match.deal_check import Promises, check_deal
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import TableView
from service.cli.exits import CommandError

_FOLDER: Final = "secrets"


@dataclass(frozen=True, slots=True)
class Promise:
    """A player's promise for one match. ``known`` are the promises seen before the reveal."""

    match_id: str
    player_id: str
    secret: bytes
    known: Promises | None = None

    @property
    def client_seed_hash(self) -> bytes:
        """The hash to sit down with."""
        return secret_hash(UUID(self.match_id).bytes, self.player_id, self.secret)

    def check(self, events: Sequence[Event]) -> None:
        """Check the deal of the finished match. Raises DealMismatch, and CommandError."""
        if self.known is None:
            raise CommandError("the secret for this match was not revealed from here")
        match_id = UUID(self.match_id).bytes
        check_deal(match_id, self.player_id, self.secret, self.known, events)

    def to_json(self) -> str:
        """Return the content of the file."""
        known = self.known and {
            "server_seed_hash": self.known.server_seed_hash.hex(),
            "client_seed_hashes": [each.hex() for each in self.known.hashes],
        }
        content = {
            "match_id": self.match_id,
            "player_id": self.player_id,
            "secret": self.secret.hex(),
            "known": known,
        }
        return json.dumps(content, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the promise in a file. Raises ValueError, KeyError or TypeError."""
        content = json.loads(text)
        known = content["known"]
        if known is not None:
            hashes = tuple(bytes.fromhex(each) for each in known["client_seed_hashes"])
            known = Promises(bytes.fromhex(known["server_seed_hash"]), hashes)
        secret = bytes.fromhex(content["secret"])
        return cls(content["match_id"], content["player_id"], secret, known)


class PromiseFolder:
    """The promises of the players who use one data folder."""

    def __init__(self, data_dir: Path) -> None:
        """Keep the files in the folder ``secrets`` of `data_dir`."""
        self._folder = data_dir / _FOLDER

    def make(self, match_id: str, player_id: str) -> Promise:
        """Return the player's promise for a match. Draws and stores a secret the first time."""
        promise = self.find(match_id, player_id)
        if promise is None:
            promise = Promise(match_id, player_id, secrets.token_bytes(SECRET_BYTES))
            self._write(promise)
        return promise

    def find(self, match_id: str, player_id: str) -> Promise | None:
        """Return the player's promise for a match, or None. Raises CommandError."""
        path = self._path(match_id, player_id)
        try:
            return Promise.from_json(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandError(f"{path} cannot be read: {error}") from error

    def record_known(self, promise: Promise, view: TableView) -> Promise:
        """Store the promises of the server and of all seats, as a view shows them.

        Call it before the secret is revealed. Later calls change nothing.
        """
        if promise.known is not None:
            return promise
        hashes = tuple(seat.client_seed_hash for seat in view.seats)
        promise = replace(promise, known=Promises(view.server_seed_hash, hashes))
        self._write(promise)
        return promise

    def _path(self, match_id: str, player_id: str) -> Path:
        player = sha256(player_id.encode()).hexdigest()[:16]
        return self._folder / f"{UUID(match_id)}-{player}.json"

    def _write(self, promise: Promise) -> None:
        path = self._path(promise.match_id, promise.player_id)
        draft = path.with_suffix(f".{os.getpid()}")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(promise.to_json())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error}") from error
