"""Who calls, and how: what the interceptor knows of the running call."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as their token says.

    `subject` is the token's `sub` (the player id), `name` the name to show, `roles` the roles that
    this service knows, `expires_at` the end of the token in seconds since the epoch.
    """

    subject: str
    name: str
    roles: frozenset[str]
    expires_at: float


NOBODY = Caller(subject="", name="", roles=frozenset(), expires_at=float("inf"))
"""The caller of a method that needs no token."""


class Call(NamedTuple):
    """The running call.

    `language` is that of its answers, `trace_id` 16 bytes, `method` as in `/package.Service/Name`.
    """

    caller: Caller
    language: str
    trace_id: bytes
    method: str


_current: ContextVar[Call] = ContextVar("call")


def current_call() -> Call:
    """The call that this task works for; tasks that it starts inherit it.

    Raises LookupError outside of a call.
    """
    return _current.get()


def enter_call(call: Call) -> None:
    """Make `call` the current one. For the interceptor: gRPC gives each call its own context."""
    _current.set(call)
