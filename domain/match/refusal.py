"""Refusals: why a command is not accepted, as a value."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from durak.v1.errors_pb2 import ErrorReason

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A faulty field of a request: its path, as in ``settings.seats``, and the fault."""

    path: str
    description: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is refused.

    ``reason`` is a value of the error catalogue (errors.proto), ``clause`` the rule that decided
    (as in ``R5.1``; empty if no rule of the table did), ``metadata`` what the catalogue promises
    with the reason, ``fields`` the faulty fields of the request. A refusal holds nothing that the
    caller may not see.
    """

    reason: ErrorReason.ValueType
    clause: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    fields: tuple[FieldFault, ...] = ()


def match_not_found(match_id: bytes) -> Refusal:
    """Return the refusal of a command for a match (16 bytes) that no event has opened."""
    return Refusal(
        ErrorReason.ERROR_REASON_MATCH_NOT_FOUND,
        metadata={"match_id": str(uuid.UUID(bytes=match_id))},
    )
