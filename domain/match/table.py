"""A table: its settings as the core reads them, and who sits where.

A table is immutable; sitting down makes a new one. `Match` holds the one in force, so copies of a
match share it.
"""

import uuid
from dataclasses import dataclass
from functools import cached_property

from durak.v1.events_pb2 import SeatTaken, TableOpened
from durak.v1.settings_pb2 import BOT_LEVEL_UNSPECIFIED, BotLevel, Settings, ThrowIn
from durak.v1.table_pb2 import SeatView, TableView

MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits on a seat: a person with a ``player_id``, or a bot with a level and no id."""

    player_id: str
    display_name: str
    client_seed: bytes
    bot_level: BotLevel.ValueType
    bot_seed: int

    @property
    def is_bot(self) -> bool:
        """A bot sits here."""
        return self.bot_level != BOT_LEVEL_UNSPECIFIED


@dataclass(frozen=True)
class Table:
    """What was fixed when the table was opened, and the seats (None is a free one)."""

    match_id: bytes
    settings: Settings
    rules_version: str
    owner_id: str
    server_seed: bytes
    server_seed_hash: bytes
    rematch_of: str
    reserved_for: tuple[str, ...]
    seats: tuple[Seat | None, ...]
    given_up: tuple[str, ...]
    """The players who gave up a seat (R3.0), once for each time."""
    # The settings as plain values: reading them from the message costs ten times as much.
    throw_in_all: bool
    transfer: bool
    draw_allowed: bool
    five_card_opening: bool
    tricky: bool
    turn_us: int
    idle_us: int

    @classmethod
    def opened(cls, match_id: bytes, event: TableOpened) -> "Table":
        """The table as it stands after its first event: nobody sits yet."""
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
            seats=(None,) * settings.seats,
            given_up=(),
            throw_in_all=settings.throw_in == ThrowIn.THROW_IN_ALL,
            transfer=settings.transfer,
            draw_allowed=settings.draw_allowed,
            five_card_opening=settings.five_card_opening,
            tricky=settings.tricky,
            turn_us=settings.turn_timer_seconds * MICROSECONDS,
            idle_us=event.idle_limit_seconds * MICROSECONDS,
        )

    def seated(self, event: SeatTaken) -> "Table":
        """The table with one more seat taken."""
        seat = Seat(
            event.player_id,
            event.display_name,
            event.client_seed,
            event.bot_level,
            event.bot_seed,
        )
        return self._with(event.seat, seat)

    def vacated(self, number: int) -> "Table":
        """The table with this seat free again."""
        seat = self.seats[number]
        return self._with(number, None, () if seat is None else (seat.player_id,))

    def _with(self, number: int, seat: Seat | None, given_up: tuple[str, ...] = ()) -> "Table":
        # `dataclasses.replace` sets every field anew, which takes ten times as long.
        table = object.__new__(Table)
        vars(table).update(
            vars(self),
            seats=(*self.seats[:number], seat, *self.seats[number + 1 :]),
            given_up=self.given_up + given_up,
        )
        vars(table).pop("face", None)
        return table

    @cached_property
    def face(self) -> bytes:
        """A serialized TableView of all that no move changes.

        Every view of the table starts from it, which costs a tenth of setting the same fields one
        by one. Made when first asked for: matches are folded more often than seen.
        """
        face = TableView(
            match_id=str(uuid.UUID(bytes=self.match_id)) if self.match_id else "",
            settings=self.settings,
            rules_version=self.rules_version,
            owner_id=self.owner_id,
            server_seed_hash=self.server_seed_hash,
            seats=[_seat_view(number, seat) for number, seat in enumerate(self.seats)],
            rematch_of=self.rematch_of,
            reserved_for=self.reserved_for,
        )
        return face.SerializeToString()

    @property
    def is_full(self) -> bool:
        """No seat is free."""
        return None not in self.seats

    def seat_of(self, player_id: str) -> int | None:
        """The seat of a player, or None where they do not sit here."""
        if player_id:  # a bot has none
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
        client_seed=seat.client_seed,
    )
