"""Damaged rows and files stop only themselves. They are reported once, until they are repaired."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from structlog.testing import capture_logs

from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from eventstore import EventStore
from service.checkpoints import signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.checkpoints.publishing import PUBLISHED
from service.config import Config
from service.rpc.failures import Failures
from service.rpc.set_aside import PAUSE_SECONDS_MAX, PAUSE_SECONDS_MIN, SetAside
from service.standings.scorekeeper import Scorekeeper
from tests.conftest import Database, execute
from tests.domain.audit.audit_matches import random_match
from tests.service.playing import Playing, kinds, play_out, playing, rest_of, seated
from tests.service.stored_matches import store_match, store_random

__all__ = ["playing"]

TIMED = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, turn_timer_seconds=1)
LATER = timedelta(days=9)


def test_pauses_double_and_the_first_failure_alone_is_reported() -> None:
    now = 0.0
    failures = Failures()
    aside: SetAside[str] = SetAside("lists", failures, clock=lambda: now)
    pauses = []
    with capture_logs() as lines:
        for _ in range(12):
            aside.add("row", ValueError("no message"))
            start = now
            while aside.list_waiting():
                now += 1
            pauses.append(now - start)
    assert pauses[:3] == [PAUSE_SECONDS_MIN, 2 * PAUSE_SECONDS_MIN, 4 * PAUSE_SECONDS_MIN]
    assert pauses[-1] == PAUSE_SECONDS_MAX
    assert [line["set_aside"] for line in lines] == ["row"]
    assert (failures.work["lists"], failures.set_aside["lists"]) == (1, 1)
    aside.remove("row")
    assert failures.set_aside["lists"] == 0


async def test_O08_a_lobby_row_that_is_no_message_is_left_out_of_lists(
    playing: Playing, database: Database
) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    ids = [(await ann.open()).match_id for _ in range(3)]
    good = await damage(database, ids[1])
    with capture_logs() as lines:
        for _ in range(2):
            answer = await ann.call("ListMatches", api.ListMatchesRequest(page_size=10))
            assert {one.match_id for one in answer.matches} == {ids[0], ids[2]}
    assert [line["set_aside"] for line in lines if "set_aside" in line] == [ids[1]]
    await execute(database.owner_dsn, good)
    answer = await ann.call("ListMatches", api.ListMatchesRequest(page_size=10))
    assert {one.match_id for one in answer.matches} == set(ids)


async def damage(database: Database, match_id: str | UUID) -> str:
    """Make the summary of a match no message. Return the statement that repairs it."""
    summary = "get_byte(summary, 0)"
    change = "UPDATE matches SET summary = set_byte(summary, 0, {}) WHERE match_id = '{}'"
    wrong = change.format(f"{summary} | 7", match_id)  # an impossible wire type
    await execute(database.owner_dsn, wrong)
    return change.format(f"{summary} & 250", match_id)  # field 1, length-delimited


async def test_O08_standings_count_the_others_and_the_damaged_match_once_it_is_repaired(
    playing: Playing, database: Database
) -> None:
    replica = await playing.replica()
    standings = replica.store.standings
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    ids = [(await play_out(players, await seated(players))).match_id for _ in range(4)]
    honest = Scorekeeper(replica.store, Config(), Failures())
    assert await honest.count(datetime.now(UTC) + LATER) == 4
    expected = await standings.list_ratings(limit=100)

    await standings.clear()
    good = await damage(database, ids[2])
    failures = Failures()
    keeper = Scorekeeper(replica.store, Config(standings_batch_matches=1), failures)
    with capture_logs() as lines:
        counted = [await keeper.count(datetime.now(UTC) + LATER) for _ in range(3)]
    assert sum(counted) == 3 + 1  # the damaged one was seen, but not counted
    assert [line["set_aside"] for line in lines if "set_aside" in line] == [ids[2]]
    assert failures.set_aside["standings"] == 1
    assert sum(one.matches for _, one in await standings.list_ratings(limit=100)) == 2 * 3

    await execute(database.owner_dsn, good)
    again = Scorekeeper(replica.store, Config(), failures)  # the same after the pause
    await again.count(datetime.now(UTC) + LATER)
    assert await standings.list_ratings(limit=100) == expected


async def test_O08_a_published_checkpoint_in_another_encoding_stops_signing_until_it_is_repaired(
    store: EventStore, tmp_path: Path
) -> None:
    config = Config(data_dir=tmp_path, checkpoint_folder=tmp_path, checkpoint_interval_seconds=0.01)
    signing_keys.make(config.note_key_file, "durak.example/log")
    checkpointer = Checkpointer(store, config)
    await checkpointer.work()
    published = tmp_path / PUBLISHED
    good = published.read_text("utf-8")
    published.write_text(good, "utf-16")
    await store_random(store, 1)
    with capture_logs() as lines:
        running = asyncio.create_task(checkpointer.run())
        async with asyncio.timeout(30):
            while not checkpointer.is_failing:  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.01)
            published.write_text(good, "utf-8")
            while published.read_text("utf-8") == good:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        running.cancel()
    [line] = [one for one in lines if one["event"] == "no checkpoint"]
    assert "is not UTF-8" in line["error"]


async def test_O14_matches_that_this_version_cannot_read_do_not_stop_the_clocks_of_others(
    playing: Playing, database: Database
) -> None:
    replica = await playing.replica(deadline_scan_batch_matches=20, deadline_scan_grace_seconds=0)
    unreadable = [await store_match(replica.store, random_match(n), commands=3) for n in range(45)]
    ids = ", ".join(f"'{one}'" for one in unreadable)
    await execute(
        database.owner_dsn,
        "ALTER TABLE events DISABLE TRIGGER USER",
        f"UPDATE events SET record = '\\xff' || record WHERE stream_id IN ({ids})",
    )
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players, TIMED)
    watch = players[0].watch(match_id, 4)
    with capture_logs() as lines:
        due = f"UPDATE streams SET due_at = '2020-01-01' WHERE stream_id IN ({ids})"
        await execute(database.owner_dsn, due)
        timed_out = []
        async with asyncio.timeout(60):
            async for message in rest_of(watch):
                if message.HasField("event"):
                    timed_out.append(message.event.event)
                if len(timed_out) == 6:
                    break
    assert kinds(timed_out).count("timed_out") == 3
    reported = [line["set_aside"] for line in lines if "set_aside" in line]
    assert sorted(reported) == sorted({one.hex for one in unreadable})  # each of them once
    assert len(lines) < 60
