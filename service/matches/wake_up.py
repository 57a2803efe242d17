"""Wake-ups: the time, kept in the store, by which some replica must look at a match again."""

from domain.bots import off_clock_seat
from domain.match.fold import Match
from domain.match.view import seats_in


def bot_to_move(match: Match) -> int | None:
    """Return the first seat with a bot that the table waits for (R10.1), or None."""
    if not match.table.has_bots:
        return None
    seats = match.table.seats
    for seat in seats_in(match.on_clock()):
        occupant = seats[seat]
        if occupant is not None and occupant.is_bot:
            return seat
    return None


def bot_off_clock(match: Match) -> int | None:
    """Return the seat with a bot that may challenge though no one waits for it (R11.5), or None."""
    seat = off_clock_seat(match) if match.table.has_bots else None
    occupant = None if seat is None else match.table.seats[seat]
    return seat if occupant is not None and occupant.is_bot else None


def next_wake_up_us(match: Match, now_us: int, bot_turn_us: int) -> int | None:
    """Return the next wake-up of a match: its deadline (R10.5), or the end of a bot's turn.

    The replica that stored a change moves the bots; if it does not within `bot_turn_us`, another
    replica does. None: the match has ended. Times are in microseconds.
    """
    deadline_us = match.deadline_us()
    if deadline_us is None or bot_to_move(match) is None:
        return deadline_us
    return min(deadline_us, now_us + bot_turn_us)
