"""Positions in a player's feed: made from the versions of matches and the numbers of the player."""

import struct
from dataclasses import dataclass, field
from typing import Final

from domain.match.refusal import FieldFault
from durak.v1 import errors_pb2 as reasons
from service.rpc.errors import Refused, refuse
from service.rpc.page_tokens import seal, unseal

_NUMBERS: Final = struct.Struct(">qq")
_PLACE: Final = struct.Struct(">16si")
POSITION_CHARS_MAX: Final = 48_000
"""Longer ones are refused. It is enough for more than 1,000 matches at the same time."""


@dataclass(slots=True)
class Position:
    """A position in a feed.

    `number` and `transfers` are the last numbers that were sent, of news and of transfers.
    `versions` has the last version of each match (16 bytes) that concerns the player now.
    """

    number: int
    transfers: int
    versions: dict[bytes, int] = field(default_factory=dict)

    def seal(self, player_id: str) -> str:
        """Return the text that a client keeps."""
        data = _NUMBERS.pack(self.number, self.transfers)
        data += b"".join(_PLACE.pack(*place) for place in self.versions.items())
        return seal(data, _feed_of(player_id))


def unseal_position(text: str, player_id: str) -> Position:
    """Return the position in a text. Raises Refused FEED_POSITION_INVALID.

    Its numbers are not negative, but can be those of no feed: the reader must check them.
    """
    if len(text) > POSITION_CHARS_MAX:
        raise position_invalid()
    try:
        data = unseal(text, _feed_of(player_id))
        number, transfers = _NUMBERS.unpack_from(data)
        places = list(_PLACE.iter_unpack(data[_NUMBERS.size :]))
    except (Refused, struct.error) as error:
        raise position_invalid() from error
    versions = dict(places)
    if min(number, transfers, *versions.values(), 0) < 0:
        raise position_invalid()
    return Position(number, transfers, versions)


def position_invalid() -> Refused:
    """Return the refusal of a position that is not one of the caller's feed."""
    fault = FieldFault("after_position", "is not a position of this feed")
    return refuse(reasons.ERROR_REASON_FEED_POSITION_INVALID, fault)


def _feed_of(player_id: str) -> bytes:
    return b"feed" + player_id.encode()
