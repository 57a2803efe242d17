"""The file of the keys that sign checkpoints: create, read, rotate and retire keys.

The file has a line for each key, in the format of golang.org/x/mod/sumdb/note:
``PRIVATE+KEY+<name>+<key id>+<base64 of 0x01 ‖ 32 bytes>``. The first key is the newest. All keys
sign, so during a rotation a verifier with only the old key still finds its signature.
"""

import base64
import binascii
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain.transparency import checkpoint
from domain.transparency.checkpoint import NoteError, VerifierKey

_PREFIX: Final = "PRIVATE+KEY+"
_ED25519: Final = b"\x01"


class NoteKeyError(Exception):
    """The keys cannot be read or created. The message has the reason."""


@dataclass(frozen=True, slots=True)
class NoteKey:
    """A key and the name that it signs under."""

    name: str
    private_key: Ed25519PrivateKey

    @classmethod
    def generate(cls, name: str) -> Self:
        """Create a key. Raises NoteKeyError for an invalid name."""
        key = cls(name, Ed25519PrivateKey.generate())
        try:
            _ = key.verifier
        except NoteError as error:
            raise NoteKeyError(str(error)) from error
        return key

    @property
    def verifier(self) -> VerifierKey:
        """The public key, to be published."""
        return VerifierKey.of(self.name, self.private_key)

    def line(self) -> str:
        """Return the line of the key in the file."""
        data = base64.b64encode(_ED25519 + self.private_key.private_bytes_raw()).decode()
        return f"{_PREFIX}{self.name}+{self.verifier.key_id.hex()}+{data}"

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a line of the file. Raises NoteKeyError."""
        name, _, rest = line.removeprefix(_PREFIX).partition("+")
        key_id, _, data = rest.partition("+")
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if not line.startswith(_PREFIX) or raw[:1] != _ED25519 or len(raw) != 33:
            raise NoteKeyError("a line is not an Ed25519 signing key")
        key = cls(name, Ed25519PrivateKey.from_private_bytes(raw[1:]))
        try:
            fits = key.verifier.key_id.hex() == key_id
        except NoteError as error:
            raise NoteKeyError(str(error)) from error
        if not fits:
            raise NoteKeyError("a key id does not match the name and the bytes")
        return key


def read(path: Path) -> list[NoteKey]:
    """Return the keys of a file, the newest first. Raises NoteKeyError, also without keys."""
    try:
        status = path.stat()
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise NoteKeyError(f"the checkpoint key cannot be read: {error}") from error
    # A secret that Kubernetes mounts belongs to root, and the group of the process may read it.
    is_mounted = status.st_uid != os.getuid() and not status.st_mode & 0o037
    if status.st_mode & 0o077 and not is_mounted:
        raise NoteKeyError(f"other users can read {path}: run chmod 600 {path}")
    keys = [NoteKey.parse(line) for line in lines if line]
    if not keys or len({key.name for key in keys}) != 1:
        raise NoteKeyError(f"{path} must have at least one key, and all keys must have one name")
    return keys


def make(path: Path, name: str) -> NoteKey:
    """Create a file with a first key. Raises NoteKeyError if the file exists."""
    key = NoteKey.generate(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, [key])
    except FileExistsError:
        raise NoteKeyError(f"{path} already exists: `durak key rotate` adds a key") from None
    return key


def rotate(path: Path) -> NoteKey:
    """Add a new key with the same name at the start of a file. Raises NoteKeyError."""
    keys = read(path)
    key = NoteKey.generate(keys[0].name)
    _replace(path, [key, *keys])
    return key


def retire(path: Path) -> list[NoteKey]:
    """Remove all keys of a file except the newest. Return the removed ones. Raises NoteKeyError."""
    newest, *old = read(path)
    _replace(path, [newest])
    return old


def signed(text: str, keys: Sequence[NoteKey]) -> str:
    """Return a note with this text, signed by all keys, the newest first."""
    first, *others = keys
    note = checkpoint.sign(text, first.name, first.private_key)
    for key in others:
        note = checkpoint.cosign(note, key.name, key.private_key)
    return note


def _replace(path: Path, keys: Sequence[NoteKey]) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    _write(fresh, keys)
    fresh.replace(path)


def _write(path: Path, keys: Sequence[NoteKey]) -> None:
    """Write a new file with mode 0600. An existing one, of whatever mode, is an error."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{key.line()}\n" for key in keys)
        file.flush()
        os.fsync(file.fileno())
