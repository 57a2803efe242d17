"""The table before the deal: opening, settings and seats (R2, R3.0, R12.7, R13.1)."""

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from domain.audit.deck import DECKS, promise, seed_hash
from domain.audit.findings import Kind, Notebook
from domain.audit.records import RECORD_CLAUSE, Command, Entry
from durak.v1.events_pb2 import (
    ACTOR_KIND_BOT,
    ACTOR_KIND_PLAYER,
    SeatTaken,
    SeatVacated,
    SeedRevealed,
    TableOpened,
)
from durak.v1.settings_pb2 import (
    BOT_LEVEL_UNSPECIFIED,
    THROW_IN_ALL,
    THROW_IN_NEIGHBOURS,
    BotLevel,
    Settings,
)

RULES_VERSIONS: Final = ("1.1.0",)
"""The versions of the rules that this audit judges by."""
SEED_CLAUSE: Final = "design: fair dealing"
HASH_BYTES: Final = 32
STAKE_COINS_MAX: Final = 1_000_000_000
TURN_TIMER_SECONDS_MAX: Final = 86_400

_OFF: Final = {"transfer": False, "five_card_opening": False, "tricky": False}
_DURAKA: Final = {"deck": 36, "seats": 2, "throw_in": 2, "draw_allowed": True, **_OFF}
_PRESETS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "": {},
        "duraka-net": _DURAKA,
        "duraka-net-transfer": {**_DURAKA, "transfer": True},
        "durak-peak": {"five_card_opening": True},
        "classic-1.0.0": {
            "deck": 36,
            "throw_in": 2,
            "draw_allowed": True,
            "stake_coins": 0,
            **_OFF,
        },
    }
)
"""R2.2: the settings that each preset locks, by field of `Settings`."""


class Occupant(NamedTuple):
    """The player or bot on a seat. The first two fields are those of its commands."""

    actor_kind: int
    player_id: str
    """Empty for a bot."""
    promise: bytes
    """The hash of the secret that the player promised, or empty."""
    secret: bytes = b""
    """The secret, once it is revealed."""


_BOT_LEVELS: Final = frozenset(BotLevel.values()) - {BOT_LEVEL_UNSPECIFIED}
_NOBODY: Final = Occupant(ACTOR_KIND_PLAYER, "", b"")


class Table:
    """The settings as plain values, and the seats."""

    def __init__(self, opened: TableOpened) -> None:
        settings = opened.settings
        self.deck: int = settings.deck
        self.size: int = settings.seats
        self.all_throw_in: bool = settings.throw_in == THROW_IN_ALL
        self.transfer: bool = settings.transfer
        self.draw_allowed: bool = settings.draw_allowed
        self.five_card_opening: bool = settings.five_card_opening
        self.tricky: bool = settings.tricky
        self.turn_us: int = settings.turn_timer_seconds * 1_000_000
        self.idle_us: int = opened.idle_limit_seconds * 1_000_000
        self.limit_us: int = self.turn_us or self.idle_us
        """How long a seat may be on the clock (R10.1, R10.8)."""
        self.reveal_us: int = opened.reveal_limit_seconds * 1_000_000
        self.stake: int = min(max(0, settings.stake_coins), STAKE_COINS_MAX)
        self.owner_id: str = opened.owner_id
        self.is_rematch: bool = bool(opened.rematch_of)
        self.reserved_for: tuple[str, ...] = tuple(opened.reserved_for)
        self.seed_hash: bytes = opened.server_seed_hash
        self.is_private: bool = opened.is_private
        self.invited: frozenset[str] = frozenset(opened.invited)
        self.has_link: bool = bool(opened.link_secret_hash)
        self.seats: dict[int, Occupant] = {}
        self.removed: set[str] = set()
        """The players whom the owner removed (R3.0)."""

    @property
    def is_full(self) -> bool:
        """Whether no seat is free."""
        return len(self.seats) == self.size

    @property
    def to_reveal(self) -> list[int]:
        """The seats that promised a secret and have not revealed it (R3.6)."""
        return [seat for seat, it in sorted(self.seats.items()) if it.promise and not it.secret]

    def belongs_to(self, player_id: str) -> bool:
        """Return whether this player may open the table, seat its bots, and cancel it.

        True for the owner, and at a rematch for each of its players: any of them opens it, with all
        its bots.
        """
        if not player_id:
            return False  # the seats of a rematch that are reserved for bots have no player id
        return player_id == self.owner_id or (self.is_rematch and player_id in self.reserved_for)

    def judge_actor(self, command: Command, seat: int, notes: Notebook) -> None:
        """Judge whether a command comes from the player or bot on the seat."""
        actor = self.seats.get(seat, _NOBODY)[:2]
        if command[:2] != actor:
            notes.fault(Kind.ACTOR, RECORD_CLAUSE, actor, command[:2], seat)

    def take_seat(self, entry: Entry, notes: Notebook) -> bool:
        """Judge that a player or bot sits down, and seat them.

        Returns False if the table has no such seat.
        """
        taken: SeatTaken = entry.body
        seat, actor = taken.seat, entry.command
        if not 0 <= seat < self.size:
            notes.fault(Kind.SEATING, "R3.0", f"a seat below {self.size}", seat)
            return False
        is_bot = taken.bot_level != BOT_LEVEL_UNSPECIFIED
        if seat in self.seats:
            notes.fault(Kind.SEATING, "R3.0", "a free seat", f"seat {seat}, taken", seat)
        if is_bot:
            self._judge_bot(taken, actor, notes)
        else:
            self._judge_player(taken, actor, notes)
        reserved = self.reserved_for[seat] if seat < len(self.reserved_for) else taken.player_id
        if reserved != taken.player_id:
            notes.fault(Kind.SEATING, "R13.1", reserved or "a bot", taken.player_id, seat)
        kind = ACTOR_KIND_BOT if is_bot else ACTOR_KIND_PLAYER
        self.seats[seat] = Occupant(kind, taken.player_id, taken.client_seed_hash)
        return True

    def _judge_bot(self, taken: SeatTaken, actor: Command, notes: Notebook) -> None:
        seat = taken.seat
        if self.stake:
            notes.fault(Kind.SEATING, "R12.7", "no bot at a staked table", "a bot", seat)
        if taken.bot_level not in _BOT_LEVELS:
            notes.fault(Kind.SEATING, "R14", "easy, normal or hard", taken.bot_level, seat)
        if taken.player_id or taken.display_name or taken.client_seed_hash:
            notes.fault(Kind.SEATING, "R14", "a bot without name and secret", "either", seat)
        if actor.actor_kind != ACTOR_KIND_PLAYER or not self.belongs_to(actor.actor_id):
            notes.fault(Kind.ACTOR, "R3.0", self.owner_id, actor.actor_id, seat)

    def _judge_player(self, taken: SeatTaken, actor: Command, notes: Notebook) -> None:
        seat, player_id = taken.seat, taken.player_id
        if any(occupant.player_id == player_id for occupant in self.seats.values()):
            notes.fault(Kind.SEATING, "R3.0", "one seat for each player", player_id, seat)
        if not self._may_sit(player_id):
            notes.fault(Kind.SEATING, "R3.0", "an invited player", player_id, seat)
        if player_id in self.removed:
            notes.fault(Kind.SEATING, "R3.0", "nobody whom the owner removed", player_id, seat)
        if len(taken.client_seed_hash) not in (0, HASH_BYTES):
            size = f"{len(taken.client_seed_hash)} bytes"
            notes.fault(Kind.SEATING, SEED_CLAUSE, f"a hash of {HASH_BYTES} bytes", size, seat)
        if taken.HasField("bot_seed"):
            notes.fault(Kind.SEATING, "R14", "no bot's seed", "one", seat)
        if actor.actor_kind != ACTOR_KIND_PLAYER or actor.actor_id != player_id:
            notes.fault(Kind.ACTOR, "R3.0", player_id, actor.actor_id or "nobody", seat)

    def _may_sit(self, player_id: str) -> bool:
        """Return whether the access to the table allows a player.

        A link allows everyone, because the log does not show who had it.
        """
        if not self.is_private or self.has_link or self.belongs_to(player_id):
            return True
        return player_id in self.invited

    def vacate_seat(self, entry: Entry, notes: Notebook) -> None:
        """Judge that a seat is given up or taken away, and free it."""
        body: SeatVacated = entry.body
        seat, actor = body.seat, entry.command
        if self.is_full:
            notes.fault(Kind.SEATING, "R3.0", "no seat given up at a full table", seat, seat)
        occupant = self.seats.pop(seat, None)
        if occupant is None or occupant.actor_kind == ACTOR_KIND_BOT:
            notes.fault(Kind.SEATING, "R3.0", "the seat of a player", f"seat {seat}", seat)
        elif body.removed:
            self._judge_removal(occupant, seat, actor, notes)
        elif actor.actor_kind != ACTOR_KIND_PLAYER or actor.actor_id != occupant.player_id:
            notes.fault(Kind.ACTOR, "R3.0", occupant.player_id, actor.actor_id or "nobody", seat)

    def _judge_removal(
        self, occupant: Occupant, seat: int, actor: Command, notes: Notebook
    ) -> None:
        """R3.0: only the owner removes players, and nobody from a rematch."""
        self.removed.add(occupant.player_id)
        if actor.actor_kind != ACTOR_KIND_PLAYER or actor.actor_id != self.owner_id:
            notes.fault(Kind.ACTOR, "R3.0", self.owner_id, actor.actor_id or "nobody", seat)
        if occupant.player_id == self.owner_id:
            notes.fault(Kind.SEATING, "R3.0", "a player other than the owner", self.owner_id, seat)
        if self.is_rematch:
            notes.fault(Kind.SEATING, "R13.1", "a seat kept for its player", "a removal", seat)

    def reveal_secret(self, entry: Entry, match_id: bytes, notes: Notebook) -> None:
        """Judge that a seat reveals the secret that it promised, and keep the secret (R3.6)."""
        body: SeedRevealed = entry.body
        seat, actor = body.seat, entry.command
        occupant = self.seats.get(seat)
        if not self.is_full or occupant is None or seat not in self.to_reveal:
            notes.fault(Kind.REVEAL, "R3.6", "a seat that has to reveal now", f"seat {seat}", seat)
            return
        if actor.actor_kind != ACTOR_KIND_PLAYER or actor.actor_id != occupant.player_id:
            notes.fault(Kind.ACTOR, "R3.6", occupant.player_id, actor.actor_id or "nobody", seat)
        found = promise(match_id, occupant.player_id, body.secret)
        if found != occupant.promise:
            expected = f"a secret of hash {occupant.promise.hex()}"
            notes.fault(Kind.REVEAL, SEED_CLAUSE, expected, found.hex(), seat)
        self.seats[seat] = occupant._replace(secret=body.secret)


def open_table(entry: Entry, match_id: bytes, notes: Notebook) -> Table | None:
    """Judge the first event. Returns None if no match can be played at such a table."""
    opened: TableOpened = entry.body
    table = Table(opened)
    actor = entry.command
    if opened.rules_version not in RULES_VERSIONS:
        known = " or ".join(RULES_VERSIONS)
        notes.fault(Kind.RULES_VERSION, "rules", known, opened.rules_version)
    if actor.actor_kind != ACTOR_KIND_PLAYER or not table.belongs_to(actor.actor_id):
        notes.fault(Kind.ACTOR, "R3.0", table.owner_id or "an owner", actor.actor_id or "nobody")
    promised = seed_hash(opened.server_seed)
    if len(opened.server_seed) != 32 or promised != table.seed_hash:
        notes.fault(Kind.SEED, SEED_CLAUSE, promised.hex(), table.seed_hash.hex())
    if table.reserved_for and len(table.reserved_for) != table.size:
        reserved = f"{table.size} seats reserved"
        notes.fault(Kind.OPENING, "R13.1", reserved, len(table.reserved_for))
    if table.is_rematch != bool(table.reserved_for):
        only_then = "seats reserved in a rematch alone"
        notes.fault(Kind.OPENING, "R13.1", only_then, opened.rematch_of)
    _judge_access(opened, notes)
    _judge_series(opened, match_id, notes)
    return table if _judge_settings(opened.settings, notes) else None


def _judge_access(opened: TableOpened, notes: Notebook) -> None:
    """R3.0: a table is private because of its invitations or its link, and as a rematch of one."""
    is_restricted = bool(opened.invited or opened.link_secret_hash)
    is_fine = opened.is_private == is_restricted or (opened.is_private and opened.rematch_of)
    if not is_fine:
        notes.fault(Kind.OPENING, "R3.0", f"private: {is_restricted}", opened.is_private)


def _judge_series(opened: TableOpened, match_id: bytes, notes: Notebook) -> None:
    """R13.1: a series is named after its first match, and only rematches continue it."""
    series_id, before = opened.settings.series_id, opened.rematch_of
    own = str(uuid.UUID(bytes=match_id)) if len(match_id) == 16 else ""
    if series_id not in ("", own) and not before:
        notes.fault(Kind.OPENING, "R13.1", own, series_id)
    for name, text in (("series", series_id), ("rematch of", before)):
        if text and not _is_uuid(text):
            notes.fault(Kind.OPENING, "R13.1", f"{name}: a UUID", text)


def _is_uuid(text: str) -> bool:
    """Return whether a text is a UUID in its usual form, with small letters."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _judge_settings(settings: Settings, notes: Notebook) -> bool:
    """R2: the settings make a table that can be dealt, and keep what their preset locks."""
    fault = notes.fault
    can_be_dealt = (
        settings.deck in DECKS and 2 <= settings.seats <= 6 and 6 * settings.seats <= settings.deck
    )
    if not can_be_dealt:
        found = f"{settings.deck} cards for {settings.seats} seats"
        fault(Kind.SETTINGS, "R2.1", "six cards for each of 2 to 6 seats", found)
    if settings.throw_in not in (THROW_IN_NEIGHBOURS, THROW_IN_ALL):
        fault(Kind.SETTINGS, "R5.2", "neighbours or all", settings.throw_in)
    if not 0 <= settings.turn_timer_seconds <= TURN_TIMER_SECONDS_MAX:
        fault(Kind.SETTINGS, "R10", "at most a day", settings.turn_timer_seconds)
    if not 0 <= settings.stake_coins <= STAKE_COINS_MAX:
        fault(Kind.SETTINGS, "R12", f"at most {STAKE_COINS_MAX} coins", settings.stake_coins)
    locked = _PRESETS.get(settings.preset)
    if locked is None:
        fault(Kind.SETTINGS, "R2.2", "a known preset", settings.preset)
        locked = {}
    for name, value in locked.items():
        if getattr(settings, name) != value:
            found = f"{name} = {getattr(settings, name)}"
            fault(Kind.SETTINGS, "R2.2", f"{name} = {value}", found)
    return can_be_dealt
