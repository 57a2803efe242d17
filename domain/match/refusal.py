"""Refusals: what a decision answers instead of events, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from durak.v1.errors_pb2 import ErrorReason

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A faulty field of a request: its path, as in ``settings.seats``, and what is wrong."""

    path: str
    description: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is refused.

    ``reason`` is the value of the error catalogue (errors.proto), ``clause`` the rule that decided
    (as in ``R5.1``, empty where no rule of the table did), ``metadata`` what the catalogue promises
    beside it, ``fields`` the faulty fields of the request. A refusal holds nothing that the caller
    may not see.
    """

    reason: ErrorReason.ValueType
    clause: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    fields: tuple[FieldFault, ...] = ()
