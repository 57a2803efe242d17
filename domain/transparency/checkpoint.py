"""Signed checkpoints of the Merkle tree: C2SP tlog-checkpoint in a C2SP signed-note, Ed25519.

A checkpoint is text that anybody can keep:

    <origin>
    <tree size>
    <root hash, base64>

    — <key name> <base64 of key id ‖ signature>

The signature covers the text up to and with the newline before the empty line. A verifier key is
``<name>+<key id, hex>+<base64 of 0x01 ‖ public key>``, as golang.org/x/mod/sumdb/note writes it.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from domain.transparency.merkle import HASH_SIZE_BYTES

NOTE_BYTES_MAX: Final = 64 << 10
_ED25519: Final = b"\x01"
_DASH: Final = "— "


class NoteError(ValueError):
    """A note, checkpoint or key that is not written as it must be, or not signed by the key."""


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key and the name that it signs under."""

    name: str
    public_bytes: bytes
    """32 bytes, RFC 8032."""

    def __post_init__(self) -> None:
        spaced = any(char.isspace() for char in self.name)
        if not self.name or "+" in self.name or spaced or not self.name.isprintable():
            raise NoteError("a key's name can be printed, and has no spaces and no plus")
        if len(self.public_bytes) != 32:
            raise NoteError("an Ed25519 public key has 32 bytes")

    @property
    def key_id(self) -> bytes:
        """4 bytes: SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key), cut off."""
        text = self.name.encode() + b"\n" + _ED25519 + self.public_bytes
        return hashlib.sha256(text).digest()[:4]

    def __str__(self) -> str:
        """The key as it is handed round."""
        data = base64.b64encode(_ED25519 + self.public_bytes).decode()
        return f"{self.name}+{self.key_id.hex()}+{data}"

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """Read a key as it is handed round. Raises NoteError."""
        name, _, rest = text.strip().partition("+")
        key_id, _, data = rest.partition("+")
        raw = _unbase64(data)
        if raw[:1] != _ED25519:
            raise NoteError("not an Ed25519 verifier key")
        key = cls(name, raw[1:])
        if key.key_id.hex() != key_id:
            raise NoteError("the key's id does not fit its name and bytes")
        return key

    @classmethod
    def of(cls, name: str, private_key: Ed25519PrivateKey) -> "VerifierKey":
        """The public half of a key that signs under this name."""
        return cls(name, private_key.public_key().public_bytes_raw())


class Checkpoint(NamedTuple):
    """The head of a tree: whose, how many leaves, and their root hash (32 bytes)."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @classmethod
    def parse(cls, text: str) -> "Checkpoint":
        """Read a note's text. Raises NoteError, also for extension lines: we write none."""
        lines = text.split("\n")
        if len(lines) != 4 or lines[3]:
            raise NoteError("a checkpoint has three lines")
        origin, size, root = lines[:3]
        if not re.fullmatch(r"0|[1-9][0-9]{0,17}", size):
            raise NoteError("the second line is the tree's size")
        checkpoint = cls(origin, int(size), _unbase64(root))
        if not origin or len(checkpoint.root) != HASH_SIZE_BYTES:
            raise NoteError("a checkpoint has an origin and a root hash of 32 bytes")
        return checkpoint


# --- notes ---------------------------------------------------------------------------------------


def sign(text: str, name: str, private_key: Ed25519PrivateKey) -> str:
    """A note of this text, signed under this name. Raises NoteError where it cannot be one."""
    _check_text(text)
    return f"{text}\n{_signature_line(text, name, private_key)}"


def cosign(note: str, name: str, private_key: Ed25519PrivateKey) -> str:
    """The note with one more signature, as while a key is rotated. Raises NoteError."""
    text, _ = split(note)
    return note + _signature_line(text, name, private_key)


def _signature_line(text: str, name: str, private_key: Ed25519PrivateKey) -> str:
    key = VerifierKey.of(name, private_key)
    signature = key.key_id + private_key.sign(text.encode())
    return f"{_DASH}{name} {base64.b64encode(signature).decode()}\n"


def split(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    """A note's text, and its signatures as (key name, key id ‖ signature). Raises NoteError."""
    if len(note.encode()) > NOTE_BYTES_MAX:
        raise NoteError(f"a note has at most {NOTE_BYTES_MAX} bytes")
    text, gap, block = note.rpartition("\n\n")
    text += "\n"
    if not gap or not block.endswith("\n"):
        raise NoteError("a note has a text, an empty line and signatures")
    _check_text(text)
    signatures = []
    for line in block[:-1].split("\n"):
        name, space, data = line.removeprefix(_DASH).partition(" ")
        raw = _unbase64(data)
        if not line.startswith(_DASH) or not space or not name or len(raw) <= 4:
            raise NoteError("a signature line has a key's name and a signature")
        signatures.append((name, raw))
    return text, signatures


def verify(note: str, key: VerifierKey) -> str:
    """The text of a note that this key has signed. Raises NoteError.

    Signatures of other keys are ignored; one of this key that does not verify spoils the note.
    """
    text, signatures = split(note)
    public_key = Ed25519PublicKey.from_public_bytes(key.public_bytes)
    own = [raw[4:] for name, raw in signatures if name == key.name and raw[:4] == key.key_id]
    if not own:
        raise NoteError(f"no signature of {key.name} with key id {key.key_id.hex()}")
    for signature in own:
        try:
            public_key.verify(signature, text.encode())
        except InvalidSignature as error:
            raise NoteError(f"the signature of {key.name} is not of this text") from error
    return text


def verify_checkpoint(note: str, key: VerifierKey) -> Checkpoint:
    """The checkpoint that this key has signed; its origin is the key's name. Raises NoteError."""
    checkpoint = Checkpoint.parse(verify(note, key))
    if checkpoint.origin != key.name:
        raise NoteError(f"a checkpoint of {checkpoint.origin}, signed as {key.name}")
    return checkpoint


def _check_text(text: str) -> None:
    if not text.endswith("\n") or any(char < " " and char != "\n" for char in text):
        raise NoteError("a note's text ends its last line and has no control characters")


def _unbase64(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError("not base64") from error
    if base64.b64encode(raw).decode() != text:
        raise NoteError("not base64 as it is written")
    return raw
