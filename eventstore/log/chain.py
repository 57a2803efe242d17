"""The hash chain of a stream. A change of one record shows in its hash and in all later ones.

hash(0) = SHA-256("durak.v1.match" ‖ match id, 16 bytes)
hash(n) = SHA-256(hash(n − 1) ‖ stored record bytes)
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID

DOMAIN = b"durak.v1.match"
HASH_SIZE_BYTES = 32


class ChainBroken(ValueError):  # noqa: N818 - says what happened, like the names in errors.py
    """A record does not match its stored hash. `version` is the first such record."""

    def __init__(self, stream_id: UUID, version: int) -> None:
        super().__init__(f"the hash chain of stream {stream_id} breaks at version {version}")
        self.stream_id = stream_id
        self.version = version


def first_hash(stream_id: UUID) -> bytes:
    """Return hash(0), the head hash of a stream without records.

    >>> first_hash(UUID(int=1)).hex()[:16]
    '4c301f8a1c5823fa'
    """
    return sha256(DOMAIN + stream_id.bytes).digest()


def next_hash(previous: bytes, record: bytes) -> bytes:
    """Return the hash of a record, from the hash before it (32 bytes) and its stored bytes."""
    return sha256(previous + record).digest()


def verify_chain(stream_id: UUID, records: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Check all (record, hash) pairs of a stream from version 1 on, and return the head hash.

    Raises ChainBroken.

    >>> stream_id = UUID(int=1)
    >>> one = next_hash(first_hash(stream_id), b"one")
    >>> verify_chain(stream_id, [(b"one", one)]) == one
    True
    """
    head = first_hash(stream_id)
    for version, (record, stored) in enumerate(records, start=1):
        head = next_hash(head, record)
        if head != stored:
            raise ChainBroken(stream_id, version)
    return head
