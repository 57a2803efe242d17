"""Signed checkpoints of the Merkle tree: C2SP tlog-checkpoint in a C2SP signed-note, Ed25519.

A checkpoint is a text:

    <origin>
    <tree size>
    <root hash, base64>

    — <key name> <base64 of key id ‖ signature>

The signature covers the text up to and including the newline before the empty line. A verifier key
is ``<name>+<key id, hex>+<base64 of 0x01 ‖ public key>``, the format of
golang.org/x/mod/sumdb/note.

>>> private_key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
>>> checkpoint = Checkpoint("durak.example", size=0, root=hashlib.sha256(b"").digest())
>>> note = sign(checkpoint.text(), checkpoint.origin, private_key)
>>> key = VerifierKey.of("durak.example", private_key)
>>> verify_checkpoint(note, key) == checkpoint
True
>>> verify_checkpoint(note.replace("durak.example", "other.example", 1), key)
Traceback (most recent call last):
domain.transparency.checkpoint.NoteError: the signature of durak.example is invalid for this text
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
    """A note, checkpoint or key has a wrong format, or a signature is missing or invalid."""


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key and the name that it signs under."""

    name: str
    public_bytes: bytes
    """32 bytes, RFC 8032."""

    def __post_init__(self) -> None:
        spaced = any(char.isspace() for char in self.name)
        if not self.name or "+" in self.name or spaced or not self.name.isprintable():
            raise NoteError("the name of a key must be printable, without spaces and plus signs")
        if len(self.public_bytes) != 32:
            raise NoteError("an Ed25519 public key has 32 bytes")

    @property
    def key_id(self) -> bytes:
        """The first 4 bytes of SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key)."""
        text = self.name.encode() + b"\n" + _ED25519 + self.public_bytes
        return hashlib.sha256(text).digest()[:4]

    def __str__(self) -> str:
        """Return the key in the format in which it is published."""
        data = base64.b64encode(_ED25519 + self.public_bytes).decode()
        return f"{self.name}+{self.key_id.hex()}+{data}"

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """Read a key in the format in which it is published. Raises NoteError."""
        name, _, rest = text.strip().partition("+")
        key_id, _, data = rest.partition("+")
        raw = _unbase64(data)
        if raw[:1] != _ED25519:
            raise NoteError("not an Ed25519 verifier key")
        key = cls(name, raw[1:])
        if key.key_id.hex() != key_id:
            raise NoteError("the key id does not match the name and the bytes")
        return key

    @classmethod
    def of(cls, name: str, private_key: Ed25519PrivateKey) -> "VerifierKey":
        """Return the public key of a private key that signs under this name."""
        return cls(name, private_key.public_key().public_bytes_raw())


class Checkpoint(NamedTuple):
    """The head of a tree: its origin, the number of leaves, and the root hash (32 bytes)."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Return the text to sign."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @classmethod
    def parse(cls, text: str) -> "Checkpoint":
        """Read the text of a note. Raises NoteError, also for extension lines, which are unused."""
        lines = text.split("\n")
        if len(lines) != 4 or lines[3]:
            raise NoteError("a checkpoint must have three lines")
        origin, size, root = lines[:3]
        if not re.fullmatch(r"0|[1-9][0-9]{0,17}", size):
            raise NoteError("the second line of a checkpoint must be the size of the tree")
        checkpoint = cls(origin, int(size), _unbase64(root))
        if not origin or len(checkpoint.root) != HASH_SIZE_BYTES:
            raise NoteError("a checkpoint must have an origin and a root hash of 32 bytes")
        return checkpoint


# --- notes ---------------------------------------------------------------------------------------


def sign(text: str, name: str, private_key: Ed25519PrivateKey) -> str:
    """Return a note with this text and one signature. Raises NoteError for an invalid text."""
    _check_text(text)
    return f"{text}\n{_signature_line(text, name, private_key)}"


def cosign(note: str, name: str, private_key: Ed25519PrivateKey) -> str:
    """Return the note with another signature, for key rotation. Raises NoteError."""
    text, _ = split(note)
    return note + _signature_line(text, name, private_key)


def _signature_line(text: str, name: str, private_key: Ed25519PrivateKey) -> str:
    key = VerifierKey.of(name, private_key)
    signature = key.key_id + private_key.sign(text.encode())
    return f"{_DASH}{name} {base64.b64encode(signature).decode()}\n"


def split(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    """Return the text and the signatures, as (key name, key id ‖ signature). Raises NoteError."""
    if len(note.encode()) > NOTE_BYTES_MAX:
        raise NoteError(f"a note has at most {NOTE_BYTES_MAX} bytes")
    text, gap, block = note.rpartition("\n\n")
    text += "\n"
    if not gap or not block.endswith("\n"):
        raise NoteError("a note must have a text, an empty line and signatures")
    _check_text(text)
    signatures = []
    for line in block[:-1].split("\n"):
        name, space, data = line.removeprefix(_DASH).partition(" ")
        raw = _unbase64(data)
        if not line.startswith(_DASH) or not space or not name or len(raw) <= 4:
            raise NoteError("a signature line must have the name of a key and a signature")
        signatures.append((name, raw))
    return text, signatures


def verify(note: str, key: VerifierKey) -> str:
    """Verify that this key has signed a note. Return the text.

    Signatures of other keys are ignored.

    Raises:
        NoteError: The note is malformed, has no signature of this key, or an invalid one.
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
            raise NoteError(f"the signature of {key.name} is invalid for this text") from error
    return text


def verify_checkpoint(note: str, key: VerifierKey) -> Checkpoint:
    """Verify a signed checkpoint. Its origin must be the name of the key. Raises NoteError."""
    checkpoint = Checkpoint.parse(verify(note, key))
    if checkpoint.origin != key.name:
        raise NoteError(f"the origin is {checkpoint.origin}, but the key is {key.name}")
    return checkpoint


def _check_text(text: str) -> None:
    if not text.endswith("\n") or any(char < " " and char != "\n" for char in text):
        raise NoteError("the text of a note must end with a newline, without control characters")


def _unbase64(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError("not base64") from error
    if base64.b64encode(raw).decode() != text:
        raise NoteError("not canonical base64")
    return raw
