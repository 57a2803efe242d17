"""Tables before and after play: opening, sitting down, leaving, cancelling, playing again.

Like `domain.match.decide`, these give the events of a command, or a refusal, and change nothing.
"""

import uuid
from typing import Final

from domain.cards import DECKS
from domain.match.consequences import with_consequences
from domain.match.deal import seed_hash
from domain.match.fold import Match
from domain.match.presets import PRESETS
from domain.match.refusal import FieldFault, Refusal
from durak.v1.errors_pb2 import ErrorReason as Reason
from durak.v1.events_pb2 import (
    Event,
    Left,
    LeftReason,
    Outcome,
    SeatTaken,
    SeatVacated,
    TableOpened,
)
from durak.v1.settings_pb2 import BotLevel, Settings, ThrowIn
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, PHASE_WAITING

RULES_VERSION: Final = "1.0.0"
SEATS_MAX: Final = 6
TURN_TIMER_SECONDS_MAX: Final = 86_400
STAKE_COINS_MAX: Final = 1_000_000_000
GIVE_UPS_MAX: Final = 16
"""How often one player can sit down at a table and give up the seat. Without an end to it, they
could make the log of a table so long that nobody can read it any more."""


def open_table(
    settings: Settings,
    *,
    start_series: bool,
    match_id: bytes,
    owner_id: str,
    server_seed: bytes,
    idle_limit_seconds: int,
) -> list[Event] | Refusal:
    """Open a table (R2).

    Args:
        settings: as the client asked for them; a preset is filled in here.
        start_series: the match starts a series, whose id is the match's (R13.1).
        match_id: 16 bytes.
        owner_id: the player who opens.
        server_seed: 32 bytes from a secure source.
        idle_limit_seconds: the service's idle limit (R10.8).
    """
    complete = complete_settings(settings)
    if isinstance(complete, Refusal):
        return complete
    if start_series:
        complete.series_id = str(uuid.UUID(bytes=match_id))
    return [
        Event(
            table_opened=TableOpened(
                settings=complete,
                rules_version=RULES_VERSION,
                owner_id=owner_id,
                server_seed_hash=seed_hash(server_seed),
                server_seed=server_seed,
                idle_limit_seconds=idle_limit_seconds,
            )
        )
    ]


def complete_settings(asked: Settings) -> Settings | Refusal:
    """The settings in full, with what a preset locks filled in, or why they are refused."""
    settings = Settings()
    settings.CopyFrom(asked)
    # Or they would stand in the log and in every view, with nobody to say how long they may be.
    settings.DiscardUnknownFields()
    locked = PRESETS.get(settings.preset, {})
    if settings.preset and not locked:
        return _refused(Reason.ERROR_REASON_UNKNOWN_PRESET, "R2.2", "preset", "no such preset")
    for field, value in locked.items():
        if getattr(settings, field) not in (value, 0):
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


def rematch_table(
    old: Match, *, caller_id: str, server_seed: bytes, idle_limit_seconds: int
) -> list[Event] | Refusal:
    """Open the table that plays a finished match again: same settings, seats kept (R13.1)."""
    if old.table.seat_of(caller_id) is None:
        return Refusal(Reason.ERROR_REASON_NOT_SEATED)
    if old.phase != PHASE_ENDED or old.result is None:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_ENDED, "R9")
    if old.result.outcome == Outcome.OUTCOME_CANCELLED:
        return Refusal(Reason.ERROR_REASON_REMATCH_IMPOSSIBLE, "R9.6")
    table = old.table
    return [
        Event(
            table_opened=TableOpened(
                settings=table.settings,
                rules_version=RULES_VERSION,
                owner_id=table.owner_id,
                server_seed_hash=seed_hash(server_seed),
                server_seed=server_seed,
                idle_limit_seconds=idle_limit_seconds,
                rematch_of=str(uuid.UUID(bytes=old.match_id)),
                reserved_for=[seat.player_id if seat else "" for seat in table.seats],
            )
        )
    ]


def take_seat(
    match: Match, player_id: str, display_name: str, seat: int | None, client_seed: bytes
) -> list[Event] | Refusal:
    """Sit a player down (R3.0); the last seat taken deals the cards.

    ``seat`` is the seat wanted; None is the one kept for the player, or the lowest free one.
    """
    if match.phase != PHASE_WAITING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_WAITING, "R3.0")
    if match.table.seat_of(player_id) is not None:
        return Refusal(Reason.ERROR_REASON_ALREADY_SEATED, "R3.0")
    if match.table.given_up.count(player_id) >= GIVE_UPS_MAX:
        return Refusal(Reason.ERROR_REASON_GIVEN_UP_TOO_OFTEN)
    reserved = match.table.reserved_for
    if seat is None and player_id in reserved:
        seat = reserved.index(player_id)
    number = _free_seat(match, seat)
    if isinstance(number, Refusal):
        return number
    if reserved and reserved[number] != player_id:
        return Refusal(Reason.ERROR_REASON_SEAT_RESERVED, "R13.1")
    taken = SeatTaken(
        seat=number, player_id=player_id, display_name=display_name, client_seed=client_seed
    )
    return with_consequences(match, Event(seat_taken=taken))


def seat_bot(
    match: Match, caller_id: str, seat: int | None, level: BotLevel.ValueType, bot_seed: int
) -> list[Event] | Refusal:
    """Sit a bot down, for the player who opened the table; the last seat taken deals the cards."""
    if match.phase != PHASE_WAITING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_WAITING, "R3.0")
    if caller_id != match.table.owner_id:
        return Refusal(Reason.ERROR_REASON_NOT_OWNER, "R3.0")
    if match.table.settings.stake_coins:
        return Refusal(Reason.ERROR_REASON_NO_BOTS_AT_STAKED_TABLE, "R12.7")
    number = _free_seat(match, seat)
    if isinstance(number, Refusal):
        return number
    if match.table.reserved_for and match.table.reserved_for[number]:
        return Refusal(Reason.ERROR_REASON_SEAT_RESERVED, "R13.1")
    taken = SeatTaken(seat=number, bot_level=level, bot_seed=bot_seed)
    return with_consequences(match, Event(seat_taken=taken))


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


def leave(match: Match, seat: int) -> list[Event] | Refusal:
    """Give up a seat: before the deal it is free again, after it the match is abandoned (R10.4).

    A seat that is out has nothing to give up any more (R9.1).
    """
    if match.phase == PHASE_WAITING:
        return with_consequences(match, Event(seat_vacated=SeatVacated(seat=seat)))
    if match.phase != PHASE_PLAYING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_IN_PLAY, "R10.4")
    if not match.in_play >> seat & 1:  # or a friend could save the durak (ADR 0004)
        return Refusal(Reason.ERROR_REASON_SEAT_IS_OUT, "R9.1")
    left = Left(seat=seat, reason=LeftReason.LEFT_REASON_RESIGNED)
    return with_consequences(match, Event(left=left))


def cancel(match: Match, caller_id: str) -> list[Event] | Refusal:
    """Close a table before the deal, for the player who opened it (R3.0).

    A rematch waits for all its players, so each of them may close it.
    """
    table = match.table
    if caller_id != table.owner_id and caller_id not in table.reserved_for:
        return Refusal(Reason.ERROR_REASON_NOT_OWNER, "R3.0")
    if match.phase != PHASE_WAITING:
        return Refusal(Reason.ERROR_REASON_MATCH_NOT_WAITING, "R3.0")
    return [Event(finished=match.result_due())]
