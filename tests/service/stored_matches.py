"""Random honest matches, stored in the database as the service does."""

from __future__ import annotations

from datetime import UTC
from itertools import groupby
from uuid import UUID

from domain.match.fold import Match
from domain.match.view import match_summary
from durak.v1.events_pb2 import Record
from eventstore import Append, EventStore, Head, LobbyRow, first_hash
from eventstore.ledger.books import CoinMove, ReturnStake, Settle, TakeStake
from tests.domain.audit.audit_matches import PlayedMatch, random_match

OPENING_COINS = 10_000_000


async def store_match(store: EventStore, played: PlayedMatch, commands: int | None = None) -> UUID:
    """Append a match, or its first commands, with coins and lobby rows.

    Commands that move no coins are appended together, to save time.
    """
    match = Match()
    players: dict[int, str] = {}
    head = Head(0, first_hash(UUID(bytes=played.match_id)))
    waiting: list[Record] = []
    groups = [list(group) for _, group in groupby(played.records, key=_command)]
    for records in groups[:commands]:
        moves = [move for record in records for move in _moves(record, match, players)]
        if moves or len(waiting) > 100:
            head = await _append(store, head, match, waiting, [])
            waiting = []
        for record in records:
            match.apply(record)
        waiting += records
        if moves:
            for player in [move.player for move in moves if isinstance(move, TakeStake)]:
                await store.ledger.open_account(player, OPENING_COINS)
            head = await _append(store, head, match, waiting, moves)
            waiting = []
    await _append(store, head, match, waiting, [])
    return UUID(bytes=played.match_id)


async def _append(
    store: EventStore, head: Head, match: Match, records: list[Record], moves: list[CoinMove]
) -> Head:
    if not records:
        return head
    datas = [record.SerializeToString() for record in records]
    match_id = UUID(bytes=match.match_id)
    return await store.append(Append(match_id, *head, datas, lobby=_lobby_row(match)), moves)


async def store_random(store: EventStore, seed: int, **wanted: int) -> UUID:
    """Store a whole random match with these settings."""
    return await store_match(store, random_match(seed, **wanted))


def _command(record: Record) -> tuple[int, str, bytes, int]:
    time_us = record.event_time.ToMicroseconds()
    return record.actor_kind, record.actor_id, record.request_id, time_us


def _moves(record: Record, match: Match, players: dict[int, str]) -> list[CoinMove]:
    if not match.version:
        return []  # the table is opened
    stake = match.table.settings.stake_coins
    event = record.event
    match event.WhichOneof("kind") if stake else None:
        case "seat_taken":
            players[event.seat_taken.seat] = event.seat_taken.player_id
            return [TakeStake(event.seat_taken.player_id, stake)]
        case "seat_vacated":
            return [ReturnStake(players.pop(event.seat_vacated.seat))]
        case "finished" if event.finished.results:
            shares = {players[one.seat]: one.share_coins for one in event.finished.results}
            return [Settle(shares)]
    return []


def _lobby_row(match: Match) -> LobbyRow:
    sitting = [seat for seat in match.table.seats if seat is not None and not seat.is_bot]
    shown = match_summary(match)
    return LobbyRow(
        status=match.phase,
        opened_at=shown.open_time.ToDatetime(UTC),
        summary=shown.SerializeToString(),
        players=tuple(seat.player_id for seat in sitting),
    )
