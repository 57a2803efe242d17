"""The wire format of PlaySession's answers: serialized PlaySessionResponses.

Views and messages of watches come here already serialized. They are put behind a hand-made request
id field as they are: parsing and copying them into a PlaySessionResponse costs more than everything
else about an answer. All other answers are made by protobuf.
"""

from collections.abc import Sequence
from typing import Final

from google.rpc.status_pb2 import Status

from durak.v1.match_service_pb2 import PlaySessionResponse, WatchEnded

_LENGTH_DELIMITED: Final = 2  # the wire type of messages and strings


def _tag(field_number: int) -> bytes:
    assert field_number < 16, "the tag is one byte"
    return bytes((field_number << 3 | _LENGTH_DELIMITED,))


_REQUEST_ID: Final = _tag(PlaySessionResponse.REQUEST_ID_FIELD_NUMBER)
_VIEW: Final = _tag(PlaySessionResponse.VIEW_FIELD_NUMBER)
_WATCH: Final = _tag(PlaySessionResponse.WATCH_FIELD_NUMBER)
_MORE: Final = _tag(PlaySessionResponse.MORE_FIELD_NUMBER)


def view_answer(request_id: str, view: bytes) -> bytes:
    """Return the answer to a command; `view` is a serialized TableView."""
    return _request_id_field(request_id) + _VIEW + _varint(len(view)) + view


def version_answer(request_id: str, version: int) -> bytes:
    """Return the answer to a command without a view."""
    return PlaySessionResponse(request_id=request_id, version=version).SerializeToString()


def watch_prefix(request_id: str) -> bytes:
    """Return the first bytes of every message of a watch, for `watch_message`."""
    return _request_id_field(request_id) + _WATCH


def watch_message(prefix: bytes, message: bytes) -> bytes:
    """Return one message of a watch; `message` is a serialized WatchMatchResponse."""
    return prefix + _varint(len(message)) + message


def watch_ended(request_id: str, version: int) -> bytes:
    """Return the last message of a watch. `version` is the last that was sent, 0 for none."""
    ended = WatchEnded(version=version)
    return PlaySessionResponse(request_id=request_id, watch_ended=ended).SerializeToString()


def error_answer(request_id: str, status: Status) -> bytes:
    """Return the answer to a request that failed."""
    return PlaySessionResponse(request_id=request_id, error=status).SerializeToString()


def joined_answers(answers: Sequence[bytes]) -> bytes:
    """Return one message with all these answers: the first, and the others as its `more`."""
    first, *others = answers
    return first + b"".join(_MORE + _varint(len(answer)) + answer for answer in others)


def _request_id_field(request_id: str) -> bytes:
    text = request_id.encode()
    return _REQUEST_ID + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    """Return a length as protobuf writes it: seven bits a byte, the lowest first."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(0x80 | number & 0x7F)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
