"""Transcripts of honest matches as the service exports them, and functions that change them."""

from collections.abc import Iterable, Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from domain.audit import Stored
from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, VerifierKey
from durak.v1 import transcript_pb2 as transcripts
from durak.v1.events_pb2 import Record
from tests.domain.audit.audit_matches import PlayedMatch, stored

NAME = "durak.example/log"
SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_SECRET = Ed25519PrivateKey.from_private_bytes(bytes(32))
PUBLIC_KEY = str(VerifierKey.of(NAME, SECRET))
LEAF_INDEX = 5
TREE_SIZE = 11


def transcript_of(
    played: PlayedMatch, secret: Ed25519PrivateKey = SECRET
) -> transcripts.Transcript:
    """Return the export of a match that is a leaf of a tree."""
    chain = played.stored
    leaf = merkle.stream_leaf(merkle.MATCH_LEAF, played.match_id, len(chain), chain[-1][2])
    others = [merkle.leaf_hash(bytes((number,))) for number in range(TREE_SIZE)]
    others[LEAF_INDEX] = merkle.leaf_hash(leaf)
    tree = merkle.Tree(others)
    head = Checkpoint(NAME, TREE_SIZE, merkle.root(TREE_SIZE, tree.node))
    return transcripts.Transcript(
        format_version=1,
        match_id=played.match_id,
        records=transcript_records(chain),
        ledger=played.ledger,
        inclusion=transcripts.InclusionProof(
            leaf_index=LEAF_INDEX,
            tree_size=TREE_SIZE,
            hashes=merkle.inclusion_proof(LEAF_INDEX, TREE_SIZE, tree.node),
        ),
        checkpoint=checkpoint.sign(head.text(), NAME, secret),
    )


def transcript_records(chain: Iterable[Stored]) -> list[transcripts.TranscriptRecord]:
    """Return stored records as messages of a transcript."""
    return [transcripts.TranscriptRecord(record=data, hash=link) for _, data, link in chain]


def with_records(
    transcript: transcripts.Transcript, chain: Iterable[Stored]
) -> transcripts.Transcript:
    """Return the transcript with other records."""
    changed = transcripts.Transcript()
    changed.CopyFrom(transcript)
    del changed.records[:]
    changed.records.extend(transcript_records(chain))
    return changed


def rechained(played: PlayedMatch, position: int, record: Record) -> list[Stored]:
    """Return the log with one record replaced, and all hashes after it recomputed."""
    datas = [other.SerializeToString() for other in played.records]
    datas[position] = record.SerializeToString()
    return stored(played.match_id, datas)


# --- changing any field --------------------------------------------------------------------------


def field_changes(message: Message, path: str = "") -> Iterator[tuple[str, Message]]:
    """Yield (path, message) for each field that is set and each way to change it."""
    for descriptor, value in message.ListFields():
        where = f"{path}{descriptor.name}"
        if descriptor.message_type is not None:
            yield from _in_messages(message, descriptor, value, where)
        else:
            for other in _other_values(descriptor, value):
                changed = _copy(message)
                if descriptor.is_repeated:
                    del getattr(changed, descriptor.name)[:]
                    getattr(changed, descriptor.name).extend(other)
                else:
                    setattr(changed, descriptor.name, other)
                yield where, changed


def _in_messages(
    message: Message, descriptor: FieldDescriptor, value: Any, where: str
) -> Iterator[tuple[str, Message]]:
    if not descriptor.is_repeated:
        for inner, changed in field_changes(value, f"{where}."):
            whole = _copy(message)
            getattr(whole, descriptor.name).CopyFrom(changed)
            yield inner, whole
        return
    for at, element in enumerate(value):
        for inner, changed in field_changes(element, f"{where}."):
            whole = _copy(message)
            getattr(whole, descriptor.name)[at].CopyFrom(changed)
            yield inner, whole
    for elements in _other_lists(list(value)):
        whole = _copy(message)
        del getattr(whole, descriptor.name)[:]
        getattr(whole, descriptor.name).extend(elements)
        yield where, whole


def _copy(message: Message) -> Message:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _other_lists(elements: list[Any]) -> Iterator[list[Any]]:
    yield elements[:-1]
    yield [*elements, elements[0]]
    if len(elements) > 1 and elements[0] != elements[1]:
        yield [elements[1], elements[0], *elements[2:]]


def _other_values(descriptor: FieldDescriptor, value: Any) -> Iterator[Any]:
    if descriptor.is_repeated:
        yield from _other_lists(list(value))
        yield [_other_value(value[0]), *value[1:]]
    else:
        yield _other_value(value)


def _other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1 if value < 2**31 - 1 else value - 1
    if isinstance(value, bytes):
        return value[:-1] + bytes((value[-1] ^ 1,))
    return f"{value}x"
