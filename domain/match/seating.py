"""Tables before and after play: opening, seating, leaving, removing, cancelling, playing again.

Each function returns the event of one command without its consequences, or the refusal, and changes
nothing. `domain.match.decide` is the entry to all of them.
"""

import uuid
from collections.abc import Iterator
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from domain.cards import DECKS
from domain.match.commands import Actor, OpenTable, Rematch, RevealSeed, SeatBot, TakeSeat
from domain.match.deal import secret_hash, seed_hash
from domain.match.fold import Match
from domain.match.presets import PRESETS
from domain.match.refusal import FieldFault, Refusal
from domain.match.table import Table
from durak.v1.errors_pb2 import ErrorReason as Reason
from durak.v1.events_pb2 import (
    Event,
    Left,
    LeftReason,
    Outcome,
    SeatTaken,
    SeatVacated,
    SeedRevealed,
    TableOpened,
)
from durak.v1.settings_pb2 import Settings, ThrowIn
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, PHASE_REVEALING, PHASE_WAITING

RULES_VERSION: Final = "1.1.0"
SEATS_MAX: Final = 6
TURN_TIMER_SECONDS_MAX: Final = 86_400
STAKE_COINS_MAX: Final = 1_000_000_000
_SWITCHES: Final = ("transfer", "draw_allowed", "five_card_opening", "tricky")
GIVE_UPS_MAX: Final = 16
"""How often one player can sit down at a table and give up the seat.

Without this limit one player could make the log of a table too long to read.
"""


def open_table(match: Match, actor: Actor, command: OpenTable) -> Event | Refusal:
    """Open a table (R2)."""
    if match.version:  # the id of a table follows from the request that opens it
        return Refusal(Reason.ERROR_REASON_REQUEST_ID_REUSED)
    settings = complete_settings(command.settings)
    if isinstance(settings, Refusal):
        return settings
    if command.start_series:
        settings.series_id = str(uuid.UUID(bytes=match.match_id))
    return Event(
        table_opened=TableOpened(
            settings=settings,
            rules_version=RULES_VERSION,
            owner_id=actor.player_id,
            server_seed_hash=seed_hash(command.server_seed),
            server_seed=command.server_seed,
            idle_limit_seconds=command.idle_limit_seconds,
            reveal_limit_seconds=command.reveal_limit_seconds,
            is_private=bool(command.invited or command.link_secret),
            invited=command.invited,
            link_secret_hash=link_hash(match.match_id, command.link_secret),
        )
    )


def link_hash(match_id: bytes, link_secret: bytes) -> bytes:
    """Return the public hash of the link secret of a table; empty if it has none."""
    return sha256(b"durak.v1.link" + match_id + link_secret).digest() if link_secret else b""


def complete_settings(asked: Settings) -> Settings | Refusal:
    """Return the settings in full, with what the preset locks filled in, or the refusal (R2)."""
    settings = Settings()
    settings.CopyFrom(asked)
    # Unknown fields would be stored and shown in every view, and nothing limits their size.
    settings.DiscardUnknownFields()
    given = {field.name for field, _ in settings.ListFields()}
    for field in _SWITCHES:  # recorded even where they are off
        setattr(settings, field, getattr(settings, field))
    locked = PRESETS.get(settings.preset, {})
    if settings.preset and not locked:
        return _refused(Reason.ERROR_REASON_UNKNOWN_PRESET, "R2.2", "preset", "no such preset")
    for field, value in locked.items():
        if field in given and getattr(settings, field) != value:
            text = f"the preset {settings.preset} locks this"
            return _refused(Reason.ERROR_REASON_PRESET_LOCKED, "R2.2", field, text)
        setattr(settings, field, value)
    if settings.seats == 2 and not settings.throw_in:
        settings.throw_in = ThrowIn.THROW_IN_ALL  # the circles do not differ
    faults = tuple(_faults(settings))
    if faults:
        return Refusal(Reason.ERROR_REASON_MALFORMED_FIELD, "R2", fields=faults)
    if settings.seats * 6 > settings.deck:
        text = f"{settings.seats} seats need {settings.seats * 6} cards"
        return _refused(Reason.ERROR_REASON_NOT_DEALABLE, "R2.1", "seats", text)
    return settings


def _refused(reason: Reason.ValueType, clause: str, field: str, text: str) -> Refusal:
    return Refusal(reason, clause, fields=(FieldFault(f"settings.{field}", text),))


def _faults(settings: Settings) -> list[FieldFault]:
    checks = {
        "deck": (settings.deck in DECKS, "24, 36 or 52 cards"),
        "seats": (2 <= settings.seats <= SEATS_MAX, "2 to 6 seats"),
        "throw_in": (settings.throw_in in (1, 2), "neighbours or all"),
        "turn_timer_seconds": (
            settings.turn_timer_seconds <= TURN_TIMER_SECONDS_MAX,
            f"at most {TURN_TIMER_SECONDS_MAX} seconds",
        ),
        "stake_coins": (
            settings.stake_coins <= STAKE_COINS_MAX,
            f"at most {STAKE_COINS_MAX} coins",
        ),
        "series_id": (not settings.series_id, "set by the server: ask with start_series"),
    }
    return [
        FieldFault(f"settings.{field}", text) for field, (fine, text) in checks.items() if not fine
    ]


def check_rematch(actor: Actor, old: Match) -> Refusal | None:
    """Return why the actor may not play ``old`` again, or None (R13.1)."""
    if old.table.seat_of(actor.player_id) is None:
        return Refusal(Reason.ERROR_REASON_NOT_SEATED)
    if old.phase != PHASE_ENDED or old.result is None:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_ENDED, "R9")
    if old.result.outcome == Outcome.OUTCOME_CANCELLED:
        return Refusal(Reason.ERROR_REASON_REMATCH_IMPOSSIBLE, "R9.6")
    return None


def open_rematch(command: Rematch) -> Event:
    """Open the table of a rematch: same settings, each seat reserved for its player (R13.1)."""
    old = command.old
    table = old.table
    return Event(
        table_opened=TableOpened(
            settings=table.settings,
            rules_version=RULES_VERSION,
            owner_id=table.owner_id,
            server_seed_hash=seed_hash(command.server_seed),
            server_seed=command.server_seed,
            idle_limit_seconds=command.idle_limit_seconds,
            reveal_limit_seconds=command.reveal_limit_seconds,
            rematch_of=str(uuid.UUID(bytes=old.match_id)),
            reserved_for=[seat.player_id if seat else "" for seat in table.seats],
            is_private=table.is_private,
            invited=table.invited,
        )
    )


def bots_of(old: Match) -> Iterator[SeatBot]:
    """Yield the commands that seat the bots of ``old`` again, each on its seat (R13.1)."""
    for number, seat in enumerate(old.table.seats):
        if seat is not None and seat.is_bot:
            yield SeatBot(seat.bot_level, number)


def take_seat(match: Match, actor: Actor, command: TakeSeat) -> Event | Refusal:
    """Sit a player down (R3.0)."""
    player_id, seat = actor.player_id, command.seat
    if match.phase != PHASE_WAITING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_WAITING, "R3.0")
    if match.table.seat_of(player_id) is not None:
        return Refusal(Reason.ERROR_REASON_ALREADY_SEATED, "R3.0")
    if player_id in match.table.removed:
        return Refusal(Reason.ERROR_REASON_REMOVED_FROM_TABLE, "R3.0")
    if match.table.given_up.count(player_id) >= GIVE_UPS_MAX:
        return Refusal(Reason.ERROR_REASON_GIVEN_UP_TOO_OFTEN)
    if not _has_access(match.table, player_id, command.link_secret):
        return Refusal(Reason.ERROR_REASON_NOT_INVITED, "R3.0")
    reserved = match.table.reserved_for
    if seat is None and player_id in reserved:
        seat = reserved.index(player_id)
    number = _free_seat(match, seat)
    if isinstance(number, Refusal):
        return number
    if reserved and reserved[number] != player_id:
        return Refusal(Reason.ERROR_REASON_SEAT_RESERVED, "R13.1")
    return Event(
        seat_taken=SeatTaken(
            seat=number,
            player_id=player_id,
            display_name=command.display_name,
            client_seed_hash=command.client_seed_hash,
        )
    )


def _has_access(table: Table, player_id: str, link_secret: bytes) -> bool:
    """Return whether a player may sit down as far as the access to the table decides (R3.0)."""
    if not table.is_private or player_id == table.owner_id:
        return True
    if player_id in table.invited or player_id in table.reserved_for:
        return True
    found = link_hash(table.match_id, link_secret)
    return bool(found) and compare_digest(found, table.link_secret_hash)


def seat_bot(match: Match, actor: Actor, command: SeatBot) -> Event | Refusal:
    """Seat a bot for the owner of the table (R14, R12.7)."""
    if match.phase != PHASE_WAITING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_WAITING, "R3.0")
    if actor.player_id != match.table.owner_id:
        return Refusal(Reason.ERROR_REASON_NOT_OWNER, "R3.0")
    if match.table.settings.stake_coins:
        return Refusal(Reason.ERROR_REASON_NO_BOTS_AT_STAKED_TABLE, "R12.7")
    number = _free_seat(match, command.seat)
    if isinstance(number, Refusal):
        return number
    if match.table.reserved_for and match.table.reserved_for[number]:
        return Refusal(Reason.ERROR_REASON_SEAT_RESERVED, "R13.1")
    return Event(
        seat_taken=SeatTaken(seat=number, bot_level=command.level, bot_seed=_bot_seed(match))
    )


def _bot_seed(match: Match) -> int:
    """Return the seed of a bot that sits down now. It is secret until the server seed is revealed.

    The first 8 bytes, big-endian, of SHA-256("durak.v1.bot" ‖ server seed ‖ version, 4 bytes).
    """
    text = b"durak.v1.bot" + match.table.server_seed + match.version.to_bytes(4)
    return int.from_bytes(sha256(text).digest()[:8])


def _free_seat(match: Match, wanted: int | None) -> int | Refusal:
    seats = match.table.seats
    if wanted is None:
        free = [seat for seat, occupant in enumerate(seats) if occupant is None]
        return free[0] if free else Refusal(Reason.ERROR_REASON_TABLE_FULL, "R3.0")
    if wanted >= len(seats):
        fault = FieldFault("seat", f"the table has {len(seats)} seats, numbered from 0")
        return Refusal(Reason.ERROR_REASON_MALFORMED_FIELD, "R2", fields=(fault,))
    if seats[wanted] is not None:
        return Refusal(Reason.ERROR_REASON_SEAT_TAKEN, "R3.0")
    return wanted


def reveal_seed(match: Match, seat: int, command: RevealSeed) -> Event | Refusal:
    """Reveal the secret that a seat promised (R3.6)."""
    occupant = match.table.seats[seat]
    assert occupant is not None
    if occupant.secret:
        return Refusal(Reason.ERROR_REASON_ALREADY_REVEALED, "R3.6")
    if match.phase != PHASE_REVEALING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_REVEALING, "R3.6")
    if not occupant.client_seed_hash:
        return Refusal(Reason.ERROR_REASON_NO_SECRET_PROMISED, "R3.6")
    found = secret_hash(match.match_id, occupant.player_id, command.secret)
    if found != occupant.client_seed_hash:
        return Refusal(Reason.ERROR_REASON_SECRET_DOES_NOT_FIT, "R3.6")
    return Event(seed_revealed=SeedRevealed(seat=seat, secret=command.secret))


def leave(match: Match, seat: int) -> Event | Refusal:
    """Give up a seat.

    While seats are free it is free again. While secrets are being revealed the table is cancelled:
    a new player on the seat could choose a promise that suits the secrets known by then (R3.6).
    After the deal the match is abandoned (R10.4).
    """
    if match.phase == PHASE_WAITING:
        return Event(seat_vacated=SeatVacated(seat=seat))
    if match.phase == PHASE_REVEALING:
        return Event(finished=match.prevented_deal((seat,)))
    if match.phase != PHASE_PLAYING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_IN_PLAY, "R10.4")
    if not match.in_play >> seat & 1:  # or a seat that is out could save the durak (ADR 0004)
        return Refusal(Reason.ERROR_REASON_SEAT_IS_OUT, "R9.1")
    return Event(left=Left(seat=seat, reason=LeftReason.LEFT_REASON_RESIGNED))


def remove_player(match: Match, actor: Actor, player_id: str) -> Event | Refusal:
    """Take the seat of another player away, for the owner of the table (R3.0).

    A rematch waits for all its players, so none of them can be removed.
    """
    table = match.table
    if actor.player_id != table.owner_id:
        return Refusal(Reason.ERROR_REASON_NOT_OWNER, "R3.0")
    if match.phase != PHASE_WAITING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_WAITING, "R3.0")
    if player_id == actor.player_id:
        fault = FieldFault("player_id", "is your own: give up your seat with LeaveMatch")
        return Refusal(Reason.ERROR_REASON_MALFORMED_FIELD, "R3.0", fields=(fault,))
    seat = table.seat_of(player_id)
    if seat is None:
        return Refusal(Reason.ERROR_REASON_PLAYER_NOT_SEATED, "R3.0")
    if table.reserved_for:
        return Refusal(Reason.ERROR_REASON_SEAT_RESERVED, "R13.1")
    return Event(seat_vacated=SeatVacated(seat=seat, removed=True))


def cancel_table(match: Match, actor: Actor) -> Event | Refusal:
    """Close a table that waits for players, for its owner (R3.0).

    A rematch waits for all its players, so each of them may close it. While secrets are being
    revealed nobody may: the owner could repeat that until the deck suits.
    """
    table = match.table
    if actor.player_id != table.owner_id and actor.player_id not in table.reserved_for:
        return Refusal(Reason.ERROR_REASON_NOT_OWNER, "R3.0")
    if match.phase != PHASE_WAITING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_WAITING, "R3.0")
    return Event(finished=match.result_due())
