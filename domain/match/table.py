"""The table of a match: its settings and the occupants of its seats.

A table never changes; a seat that is taken or given up makes a new one. Copies of a match therefore
share their table.
"""

import uuid
from dataclasses import dataclass, field, replace
from typing import Final

from durak.v1.events_pb2 import SeatTaken, SeatVacated, TableOpened
from durak.v1.settings_pb2 import BOT_LEVEL_UNSPECIFIED, BotLevel, Settings, ThrowIn
from durak.v1.table_pb2 import SeatView, TableView

MICROSECONDS: Final = 1_000_000
"""Microseconds in a second."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The occupant of a seat: a person with a ``player_id``, or a bot with a level and no id.

    ``client_seed_hash`` is the promise of a secret (32 bytes), or empty. ``secret`` is empty until
    it is revealed (R3.6).
    """

    player_id: str
    display_name: str
    client_seed_hash: bytes
    bot_level: BotLevel.ValueType
    bot_seed: int
    secret: bytes = b""

    @property
    def is_bot(self) -> bool:
        """True if the occupant is a bot."""
        return self.bot_level != BOT_LEVEL_UNSPECIFIED


@dataclass(slots=True)
class Table:
    """The facts of a match that no move changes.

    The settings from ``throw_in_all`` on are plain copies of fields of ``settings``: reading a
    field of a message costs ten times as much.

    Attributes:
        match_id: 16 bytes.
        settings: the settings of the table.
        rules_version: the version of the rules that the match follows.
        owner_id: the player who opened the table.
        server_seed: the server's seed of the shuffle; secret until the end of the match.
        server_seed_hash: its SHA-256, which is public.
        rematch_of: the match id of the earlier match, or empty.
        reserved_for: the players of a rematch; empty if anyone may sit down.
        is_private: only some players may sit down (R3.0).
        invited: the players who may sit down at a private table.
        link_secret_hash: the hash of the link secret of a private table, or empty.
        seats: the occupant of each seat, or None for a free seat.
        given_up: the player of each seat that was given up (R3.0), once for each time.
        removed: the players whom the owner removed (R3.0). They cannot sit down again.
        turn_us: the turn timer in microseconds, 0 for none.
        idle_us: the idle limit in microseconds (R10.8).
        reveal_us: the time to reveal promised secrets in microseconds (R3.6).
        to_reveal: the seats that promised a secret and have not revealed it, ascending.
    """

    match_id: bytes
    settings: Settings
    rules_version: str
    owner_id: str
    server_seed: bytes
    server_seed_hash: bytes
    rematch_of: str
    reserved_for: tuple[str, ...]
    is_private: bool
    invited: tuple[str, ...]
    link_secret_hash: bytes
    seats: tuple[Seat | None, ...]
    given_up: tuple[str, ...]
    removed: tuple[str, ...]
    throw_in_all: bool
    transfer: bool
    draw_allowed: bool
    five_card_opening: bool
    tricky: bool
    turn_us: int
    idle_us: int
    reveal_us: int
    has_bots: bool = field(init=False, compare=False, repr=False)
    to_reveal: tuple[int, ...] = field(init=False, compare=False, repr=False)
    _view_template: bytes | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.has_bots = any(seat is not None and seat.is_bot for seat in self.seats)
        self.to_reveal = tuple(
            number
            for number, seat in enumerate(self.seats)
            if seat is not None and seat.client_seed_hash and not seat.secret
        )

    @classmethod
    def opened(cls, match_id: bytes, event: TableOpened) -> "Table":
        """Return the table after its first event, with all seats free."""
        settings = Settings()
        settings.CopyFrom(event.settings)
        return cls(
            match_id=match_id,
            settings=settings,
            rules_version=event.rules_version,
            owner_id=event.owner_id,
            server_seed=event.server_seed,
            server_seed_hash=event.server_seed_hash,
            rematch_of=event.rematch_of,
            reserved_for=tuple(event.reserved_for),
            is_private=event.is_private,
            invited=tuple(event.invited),
            link_secret_hash=event.link_secret_hash,
            seats=(None,) * settings.seats,
            given_up=(),
            removed=(),
            throw_in_all=settings.throw_in == ThrowIn.THROW_IN_ALL,
            transfer=settings.transfer,
            draw_allowed=settings.draw_allowed,
            five_card_opening=settings.five_card_opening,
            tricky=settings.tricky,
            turn_us=settings.turn_timer_seconds * MICROSECONDS,
            idle_us=event.idle_limit_seconds * MICROSECONDS,
            reveal_us=event.reveal_limit_seconds * MICROSECONDS,
        )

    def with_seat_taken(self, event: SeatTaken) -> "Table":
        """Return the table with one more seat taken."""
        seat = Seat(
            event.player_id,
            event.display_name,
            event.client_seed_hash,
            event.bot_level,
            event.bot_seed,
        )
        return self._with_seat(event.seat, seat, self.given_up, self.removed)

    def with_seat_vacated(self, event: SeatVacated) -> "Table":
        """Return the table with one seat free again."""
        seat = self.seats[event.seat]
        given_up, removed = self.given_up, self.removed
        if seat is not None and event.removed:
            removed = (*removed, seat.player_id)
        elif seat is not None:
            given_up = (*given_up, seat.player_id)
        return self._with_seat(event.seat, None, given_up, removed)

    def with_secret(self, number: int, secret: bytes) -> "Table":
        """Return the table with the secret of a taken seat revealed."""
        seat = self.seats[number]
        assert seat is not None
        return self._with_seat(number, replace(seat, secret=secret), self.given_up, self.removed)

    def _with_seat(
        self,
        number: int,
        seat: Seat | None,
        given_up: tuple[str, ...],
        removed: tuple[str, ...],
    ) -> "Table":
        # `dataclasses.replace` takes several times as long.
        return Table(
            self.match_id,
            self.settings,
            self.rules_version,
            self.owner_id,
            self.server_seed,
            self.server_seed_hash,
            self.rematch_of,
            self.reserved_for,
            self.is_private,
            self.invited,
            self.link_secret_hash,
            (*self.seats[:number], seat, *self.seats[number + 1 :]),
            given_up,
            removed,
            self.throw_in_all,
            self.transfer,
            self.draw_allowed,
            self.five_card_opening,
            self.tricky,
            self.turn_us,
            self.idle_us,
            self.reveal_us,
        )

    @property
    def view_template(self) -> bytes:
        """A serialized TableView with all fields that no move changes.

        Every view of the table starts from it, which costs a tenth of setting the fields one by
        one. It is built at first use because most matches are folded more often than viewed.
        """
        if self._view_template is None:
            view = TableView(
                match_id=str(uuid.UUID(bytes=self.match_id)) if self.match_id else "",
                settings=self.settings,
                rules_version=self.rules_version,
                owner_id=self.owner_id,
                server_seed_hash=self.server_seed_hash,
                seats=[_seat_view(number, seat) for number, seat in enumerate(self.seats)],
                rematch_of=self.rematch_of,
                reserved_for=self.reserved_for,
                is_private=self.is_private,
                invited=self.invited,
            )
            self._view_template = view.SerializeToString()
        return self._view_template

    @property
    def is_full(self) -> bool:
        """True if no seat is free."""
        return None not in self.seats

    def seat_of(self, player_id: str) -> int | None:
        """Return the seat of a player, or None if the player has no seat here."""
        if player_id:  # bots have no id
            for number, seat in enumerate(self.seats):
                if seat is not None and seat.player_id == player_id:
                    return number
        return None


def _seat_view(number: int, seat: Seat | None) -> SeatView:
    if seat is None:
        return SeatView(seat=number)
    return SeatView(
        seat=number,
        taken=True,
        player_id=seat.player_id,
        display_name=seat.display_name,
        bot_level=seat.bot_level,
        client_seed_hash=seat.client_seed_hash,
        client_secret=seat.secret,
    )
