"""The hash chain of a stream: any later change of a record shows in every hash after it.

hash(0) = SHA-256("durak.v1.match" ‖ match id, 16 bytes)
hash(n) = SHA-256(hash(n − 1) ‖ stored record bytes)
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID

DOMAIN = b"durak.v1.match"
HASH_SIZE_BYTES = 32


class ChainBroken(ValueError):  # noqa: N818 - says what happened, as the names in errors.py
    """A record does not give the hash that stands beside it; `version` is the first such."""

    def __init__(self, stream_id: UUID, version: int) -> None:
        super().__init__(f"the hash chain of stream {stream_id} breaks at version {version}")
        self.stream_id = stream_id
        self.version = version


def first_hash(stream_id: UUID) -> bytes:
    """Hash(0): the head of a stream that has no records yet."""
    return sha256(DOMAIN + stream_id.bytes).digest()


def next_hash(previous: bytes, record: bytes) -> bytes:
    """The hash of a record, from the hash before it (32 bytes) and its bytes exactly as stored."""
    return sha256(previous + record).digest()


def verify(stream_id: UUID, records: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Check all (record, hash) pairs of a stream from version 1 on, and give the head hash.

    Raises ChainBroken.
    """
    head = first_hash(stream_id)
    for version, (record, stored) in enumerate(records, start=1):
        head = next_hash(head, record)
        if head != stored:
            raise ChainBroken(stream_id, version)
    return head
