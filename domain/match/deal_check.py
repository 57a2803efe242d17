"""A player's own check of the deal, from what the player saw (R3.6; DESIGN "Fair dealing").

A player does not see the cards of others. But the server seed and all secrets are public at the
end, so the player can recompute the deck, put the hidden cards back into the events, and fold them.
Every card that was seen must then be where the recomputed deck has it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from domain.match.consequences import next_event
from domain.match.fold import CorruptLogError, Match
from domain.match.state import Due
from domain.match.table import Table
from domain.match.view import redact
from durak.v1.events_pb2 import Event


class Promises(NamedTuple):
    """The promises that a player knew before they revealed their own secret.

    ``hashes`` has the hash of each seat, empty for a seat without one.
    """

    server_seed_hash: bytes
    hashes: tuple[bytes, ...]


class DealMismatch(Exception):  # noqa: N818 - the result of a check, not a fault of the program
    """The deal is not the one that follows from the promises, or an event does not fit it."""


def check_deal(
    match_id: bytes, player_id: str, secret: bytes, promises: Promises, events: Sequence[Event]
) -> None:
    """Check that the cards of a match follow from the promises and from the player's secret.

    Args:
        match_id: 16 bytes.
        player_id: the player whose secret it is.
        secret: 32 bytes.
        promises: what the player saw before the reveal.
        events: all events of the match, which must have been dealt, as the player saw them.

    Raises:
        DealMismatch: the text names the fault.
    """
    server_seed = events[-1].finished.server_seed
    match = Match(match_id)
    try:
        for version, seen in enumerate(events, start=1):
            whole = _with_hidden_cards(match, seen, server_seed)
            match.fold_event(whole)
            seat = match.table.seat_of(player_id)
            if whole is not seen and redact(whole, seat, match.trump_card) != seen:
                raise DealMismatch(f"version {version} shows other cards than the deck has")
            if seen.HasField("dealt"):
                _check_promises(match.table, player_id, secret, promises)
    except CorruptLogError as error:
        raise DealMismatch(str(error)) from error
    if not match.hands:
        raise DealMismatch("the cards were not dealt")


def _with_hidden_cards(match: Match, seen: Event, server_seed: bytes) -> Event:
    """Return an event with the hidden cards and the server seed, or the event itself."""
    if seen.HasField("table_opened"):
        opened = Event()
        opened.CopyFrom(seen)
        opened.table_opened.server_seed = server_seed
        return opened
    if (seen.HasField("dealt") and match.due is Due.DEAL) or (
        seen.HasField("drew") and match.due is Due.DRAW
    ):
        return next_event(match)
    return seen


def _check_promises(table: Table, player_id: str, secret: bytes, promises: Promises) -> None:
    seats = [seat for seat in table.seats if seat is not None]
    if table.server_seed_hash != promises.server_seed_hash:
        raise DealMismatch("the server promised another seed before")
    if tuple(seat.client_seed_hash for seat in seats) != promises.hashes:
        raise DealMismatch("the seats promised other secrets before")
    if not any(seat.player_id == player_id and seat.secret == secret for seat in seats):
        raise DealMismatch("your secret is not part of the deck")
