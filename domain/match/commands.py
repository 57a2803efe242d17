"""Commands: what an actor asks of a match, as plain values.

A command holds everything that deciding it needs except the match and the actor. Deciding it again
on the same state therefore gives the same events.
"""

from typing import Final, NamedTuple, TypeAlias

from domain.match.fold import Match
from durak.v1.events_pb2 import ACTOR_KIND_BOT, ACTOR_KIND_CLOCK, ACTOR_KIND_PLAYER, ActorKind
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import Move


class Actor(NamedTuple):
    """The actor of a command: a player with an id, a bot with a seat, or the clock with neither."""

    kind: ActorKind.ValueType
    player_id: str = ""
    seat: int | None = None


CLOCK: Final = Actor(ACTOR_KIND_CLOCK)


def by_player(player_id: str) -> Actor:
    """Return the player with this id as an actor."""
    return Actor(ACTOR_KIND_PLAYER, player_id)


def by_bot(seat: int) -> Actor:
    """Return the bot on this seat as an actor."""
    return Actor(ACTOR_KIND_BOT, seat=seat)


class OpenTable(NamedTuple):
    """Open a table (R2). The player who opens it owns it.

    ``settings`` are those asked for; deciding fills in the preset. ``server_seed`` is 32 bytes from
    a secure source, ``idle_limit_seconds`` the limit of R10.8, ``reveal_limit_seconds`` that of
    R3.6. ``start_series`` starts a series with the id of the match (R13.1). With ``invited`` or
    ``link_secret`` the table is private (R3.0).
    """

    settings: Settings
    server_seed: bytes
    idle_limit_seconds: int
    reveal_limit_seconds: int
    start_series: bool = False
    invited: tuple[str, ...] = ()
    link_secret: bytes = b""


class TakeSeat(NamedTuple):
    """Sit down (R3.0). Without ``seat``: on the seat kept for the player, or the lowest free one.

    ``client_seed_hash`` promises a secret for the shuffle (R3.6); it may be empty.
    ``link_secret`` is that of a private table, where the player has one.
    """

    display_name: str
    seat: int | None = None
    client_seed_hash: bytes = b""
    link_secret: bytes = b""


class SeatBot(NamedTuple):
    """Seat a bot (R14). Without ``seat``: on the lowest free one."""

    level: BotLevel.ValueType
    seat: int | None = None


class RevealSeed(NamedTuple):
    """Reveal the secret (32 bytes) that the actor's seat promised (R3.6)."""

    secret: bytes


class Leave(NamedTuple):
    """Give up the actor's seat (R3.0, R10.4)."""


class CancelTable(NamedTuple):
    """Close a table before the deal (R3.0)."""


class RemovePlayer(NamedTuple):
    """Remove a seated player before the deal, for the owner of the table (R3.0)."""

    player_id: str


class Play(NamedTuple):
    """Make a move on the actor's seat (R4 to R7, R11). Cards are numbers of the contract."""

    move: Move


class Rematch(NamedTuple):
    """Play the finished match ``old`` again (R13.1).

    The first player to ask opens the table and seats the bots; each player who asks sits down on
    the seat of before. The server seed and the limits are those of `OpenTable`.
    """

    old: Match
    display_name: str
    client_seed_hash: bytes
    server_seed: bytes
    idle_limit_seconds: int
    reveal_limit_seconds: int


class TimeOut(NamedTuple):
    """Act for the first seat whose time is over at ``now_us``, microseconds since the Unix epoch.

    Makes no event where no deadline has passed. Several seats can be due at once: decide again
    until there are no events (R10.2, R10.8).
    """

    now_us: int


Command: TypeAlias = (
    OpenTable
    | TakeSeat
    | SeatBot
    | RevealSeed
    | Leave
    | RemovePlayer
    | CancelTable
    | Play
    | Rematch
    | TimeOut
)
"""Every command that `domain.match.decide.decide` decides."""
