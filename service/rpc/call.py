"""The running call: its caller, language, trace and method."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grpc import aio

Context = aio.ServicerContext[Any, Any]
"""The context that gRPC passes to every method of a servicer."""


class Credential(NamedTuple):
    """What vouches for a caller: the verifying key, and the `kid` by which their token names it."""

    key_id: str | None
    key: object


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a method, as their token identifies them.

    `subject` is the token's `sub` (the player id), `name` the display name, `roles` the roles that
    this service knows, `expires_at` the end of the token in seconds since the epoch. `credential`
    is None for callers without a token. `issued_at` is the token's `iat`, 0 if it has none, and
    `token_id` its `jti`.
    """

    subject: str
    name: str
    roles: frozenset[str]
    expires_at: float
    credential: Credential | None = field(default=None, compare=False, repr=False)
    issued_at: float = field(default=0.0, compare=False)
    token_id: str = field(default="", compare=False)


NOBODY = Caller(subject="", name="", roles=frozenset(), expires_at=float("inf"))
"""The caller of a method that needs no token."""


class Call(NamedTuple):
    """The running call.

    `language` is the language of its answers, `trace_id` has 16 bytes, `method` is
    `/package.Service/Name`.
    """

    caller: Caller
    language: str
    trace_id: bytes
    method: str


_current: ContextVar[Call] = ContextVar("call")


def current_call() -> Call:
    """Return the call that this task works for. Tasks that it starts inherit it.

    Raises LookupError outside of a call.
    """
    return _current.get()


def answer_language(requested: str) -> str:
    """Return the language that a request asks for, or else the language of the running call."""
    return requested or current_call().language


def enter_call(call: Call) -> None:
    """Make `call` the current one. gRPC gives each call its own context."""
    _current.set(call)
