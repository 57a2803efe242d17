"""Ids that follow from other ids, so that a repeated request names the same thing.

Each is a UUID of version 8 (RFC 9562) whose 122 free bits are the first of a SHA-256.
"""

from hashlib import sha256


def table_id(request_id: bytes, player_id: str) -> bytes:
    """Return the id of the table that a player's request opens.

    SHA-256("durak.v1.table" ‖ request id, 16 bytes ‖ player id in UTF-8).
    """
    return _uuid8(b"durak.v1.table" + request_id + player_id.encode())


def rematch_id(match_id: bytes) -> bytes:
    """Return the id of the rematch of a match, where all its players meet.

    SHA-256("durak.v1.rematch" ‖ match id, 16 bytes).
    """
    return _uuid8(b"durak.v1.rematch" + match_id)


def dispute_id(request_id: bytes, player_id: str) -> bytes:
    """Return the id of the dispute that a player's request opens.

    SHA-256("durak.v1.dispute" ‖ request id, 16 bytes ‖ player id in UTF-8).
    """
    return _uuid8(b"durak.v1.dispute" + request_id + player_id.encode())


def _uuid8(text: bytes) -> bytes:
    digest = bytearray(sha256(text).digest()[:16])
    digest[6] = 0x80 | digest[6] & 0x0F
    digest[8] = 0x80 | digest[8] & 0x3F
    return bytes(digest)
