"""Replicas follow each other, and notice when the database is put back under them."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from grpc import aio
from structlog.testing import capture_logs

from durak.v1.errors_pb2 import ErrorReason
from durak.v1.match_service_pb2 import GetMatchRequest
from tests.conftest import Database, execute
from tests.service.playing import (
    Player,
    Playing,
    easy_move,
    has_move,
    playing,
    reason_of,
    refused,
    rest_of,
    seated,
    take_until_caught_up,
)

__all__ = ["playing"]

NEVER_S = 3_600.0
UNLOCK = ("ALTER TABLE events DISABLE TRIGGER USER", "ALTER TABLE streams DISABLE TRIGGER USER")


async def next_version(watch: Any) -> int:
    async with asyncio.timeout(30):
        async for message in rest_of(watch):
            if message.HasField("event"):
                return int(message.event.version)
    raise AssertionError("the watch ended")


async def move(players: list[Player], match_id: str) -> int:
    """Let a player who can move do so. Return the version after it."""
    for player in players:
        view = await player.get(match_id)
        if has_move(view):
            return (await player.play(match_id, easy_move(view))).version
    raise AssertionError("nobody can move")


async def has_moved(players: list[Player], match_id: str) -> bool:
    """Try to move. What a player sees can be of the lost part of the log."""
    [answer] = await asyncio.gather(move(players, match_id), return_exceptions=True)
    return not isinstance(answer, aio.AioRpcError)


async def two_replicas(playing: Playing, heads_s: float) -> tuple[list[Player], Player]:
    """Two players on one replica, and a guest on another."""
    first = await playing.replica(heads_interval_seconds=heads_s)
    second = await playing.replica(heads_interval_seconds=heads_s)
    players = [await playing.player(first, name) for name in ("ann", "bob")]
    return players, await playing.player(second, "guest")


async def test_a_watch_on_another_replica_hears_of_a_move_by_a_hint(playing: Playing) -> None:
    players, guest = await two_replicas(playing, NEVER_S)
    match_id = await seated(players)
    watch = guest.watch(match_id, 0)
    seen = len(await take_until_caught_up(watch))
    assert seen
    for _ in range(3):
        version = await move(players, match_id)
        assert await next_version(watch) <= version


async def test_without_hints_the_comparison_of_heads_is_enough(
    playing: Playing, database: Database
) -> None:
    players, guest = await two_replicas(playing, 0.1)
    match_id = await seated(players)
    watch = guest.watch(match_id, 0)
    await take_until_caught_up(watch)
    for _ in range(3):
        await execute(
            database.owner_dsn,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE '%durak_hints%' AND datname = current_database() "
            "AND pid <> pg_backend_pid()",
        )
        version = await move(players, match_id)
        assert await next_version(watch) <= version


async def test_O16_an_idle_foreign_transaction_delays_nobody(
    playing: Playing, database: Database
) -> None:
    players, guest = await two_replicas(playing, NEVER_S)
    match_id = await seated(players)
    watch = guest.watch(match_id, 0)
    await take_until_caught_up(watch)
    foreign = await asyncpg.connect(database.owner_dsn)
    try:
        transaction = foreign.transaction()
        await transaction.start()
        await foreign.execute("SELECT pg_current_xact_id()")
        version = await move(players, match_id)
        assert await next_version(watch) <= version
        await transaction.rollback()
    finally:
        await foreign.close()


async def lose_the_end(database: Database, match_id: str, version: int) -> None:
    """Put a match back to a version, as a failover that lost commits does."""
    await execute(
        database.owner_dsn,
        *UNLOCK,
        f"DELETE FROM events WHERE stream_id = '{match_id}' AND version > {version}",
        f"UPDATE streams SET version = {version}, head_hash = (SELECT hash FROM events "
        f"WHERE stream_id = '{match_id}' AND version = {version}) WHERE stream_id = '{match_id}'",
    )


async def ends_with_log_changed(watch: Any) -> None:
    async def read() -> None:
        async for _ in rest_of(watch):
            pass

    with pytest.raises(aio.AioRpcError) as caught:
        await asyncio.wait_for(read(), 30)
    assert reason_of(caught.value) == ErrorReason.ERROR_REASON_LOG_CHANGED


@pytest.mark.parametrize("goes_on", [False, True], ids=["waits", "goes on"])
async def test_O09_a_failover_that_lost_commits_is_noticed_and_the_log_counts(
    playing: Playing, database: Database, goes_on: bool
) -> None:
    players, guest = await two_replicas(playing, 0.2)
    match_id = await seated(players)
    kept = await move(players, match_id)
    watches = [players[0].watch(match_id, 0), guest.watch(match_id, 0)]
    for watch in watches:
        await take_until_caught_up(watch)
    await move(players, match_id)
    for watch in watches:
        assert await next_version(watch) > kept
    with capture_logs() as lines:
        await lose_the_end(database, match_id, kept)
        if goes_on:  # commands come before the comparison, and use the log
            async with asyncio.timeout(30):
                while not await has_moved(players, match_id):
                    assert len(lines) < 100
        for watch in watches:
            await ends_with_log_changed(watch)
    changed = [line for line in lines if line["event"] == "log changed"]
    assert {line["match_id"] for line in changed} == {match_id}
    while True:
        view = await players[0].get(match_id)
        if view.HasField("result"):
            break
        await move(players, match_id)
    again = guest.watch(match_id, 0)
    versions = [one.event.version async for one in rest_of(again) if one.HasField("event")]
    assert versions == list(range(1, view.version + 1))


async def test_O10_a_match_that_an_older_backup_lacks_is_gone(
    playing: Playing, database: Database
) -> None:
    players, guest = await two_replicas(playing, 0.2)
    match_id = await seated(players)
    watches = [players[0].watch(match_id, 0), guest.watch(match_id, 0)]
    for watch in watches:
        await take_until_caught_up(watch)
    await execute(
        database.owner_dsn,
        *UNLOCK,
        f"DELETE FROM events WHERE stream_id = '{match_id}'",
        f"DELETE FROM streams WHERE stream_id = '{match_id}'",
    )
    for watch in watches:
        await ends_with_log_changed(watch)
    for player in (players[0], guest):
        async with refused(ErrorReason.ERROR_REASON_MATCH_NOT_FOUND):
            await player.call("GetMatch", GetMatchRequest(match_id=match_id))
