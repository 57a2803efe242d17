"""T01: the operator, who owns the database, and the last player together cannot choose the deck.

Seat 0 is honest. Its client keeps the promises that it saw before it revealed its secret. At the
end it checks the deal. The operator reads the server seed from the database, may change every row,
and restarts the service.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import asyncpg
import pytest

from domain.match.deal import secret_hash, seed_hash
from domain.match.deal_check import DealMismatch, Promises, check_deal
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Record
from durak.v1.table_pb2 import Phase
from eventstore import first_hash, next_hash
from tests.conftest import Database, execute
from tests.service.matches.test_reveal import SECRETS, leave, promised, reveal
from tests.service.playing import Player, Playing, playing, refused

__all__ = ["playing"]

CHOSEN = b"\x07" * 32


async def rewrite(database: Database, match_id: str, change: Callable[[Record], None]) -> None:
    """Change the records of a match as the owner of the database, and chain them again."""
    tables = ("events", "streams")
    await execute(
        database.owner_dsn, *(f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in tables)
    )
    owner = await asyncpg.connect(database.owner_dsn)
    rows = await owner.fetch(
        "SELECT version, record FROM events WHERE stream_id = $1 ORDER BY version", UUID(match_id)
    )
    link = first_hash(UUID(match_id))
    for version, data in rows:
        record = Record.FromString(data)
        change(record)
        changed = record.SerializeToString()
        link = next_hash(link, changed)
        await owner.execute(
            "UPDATE events SET record = $3, hash = $4 WHERE stream_id = $1 AND version = $2",
            UUID(match_id), version, changed, link,
        )  # fmt: skip
    await owner.execute(
        "UPDATE streams SET head_hash = $2 WHERE stream_id = $1", UUID(match_id), link
    )
    await owner.close()


async def stored_seed(playing: Playing, match_id: str) -> bytes:
    """Read the server seed, as the operator can before the deal."""
    connection = await asyncpg.connect(playing.dsn)
    data = await connection.fetchval(
        "SELECT record FROM events WHERE stream_id = $1 AND version = 1", UUID(match_id)
    )
    await connection.close()
    return Record.FromString(data).event.table_opened.server_seed


async def half_revealed(playing: Playing) -> tuple[list[Player], str, Promises]:
    """A full table at which only the honest ann has revealed; and the promises that she saw."""
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await promised(ann, bob)
    seen = await ann.get(match_id)
    known = Promises(seen.server_seed_hash, tuple(one.client_seed_hash for one in seen.seats))
    await reveal(ann, match_id)
    return [ann, bob], match_id, known


async def check_of_ann(ann: Player, bob: Player, match_id: str, known: Promises) -> None:
    """End the match and check its deal as ann's client does. Raises DealMismatch."""
    await leave(bob, match_id)
    events = [one.event.event async for one in ann.watch(match_id) if one.HasField("event")]
    check_deal(UUID(match_id).bytes, "ann", SECRETS["ann"], known, events)


async def test_T01_who_knows_the_seed_can_only_keep_the_promise_or_prevent_the_deal(
    playing: Playing,
) -> None:
    (ann, bob), match_id, known = await half_revealed(playing)
    assert len(await stored_seed(playing, match_id)) == 32  # no secret to the operator
    for number in range(50):
        async with refused(reasons.ERROR_REASON_SECRET_DOES_NOT_FIT):
            await reveal(bob, match_id, secret=number.to_bytes(32, "big"))
    view = await reveal(bob, match_id)
    assert view.phase == Phase.PHASE_PLAYING
    await check_of_ann(ann, bob, match_id, known)


async def test_T01_leaving_instead_prevents_the_deal_and_names_the_seat(playing: Playing) -> None:
    (ann, bob), match_id, _ = await half_revealed(playing)
    await leave(bob, match_id)
    view = await ann.get(match_id)
    assert view.phase == Phase.PHASE_ENDED
    events = [one.event.event async for one in ann.watch(match_id) if one.HasField("event")]
    assert list(events[-1].finished.prevented_by) == [1]


def another_promise(record: Record) -> None:
    """Let bob have promised the chosen secret."""
    taken = record.event.seat_taken
    if taken.player_id == "bob":
        taken.client_seed_hash = secret_hash(record.match_id, "bob", CHOSEN)


def another_seed(record: Record) -> None:
    """Let the server have promised the chosen seed."""
    if record.event.HasField("table_opened"):
        record.event.table_opened.server_seed = CHOSEN
        record.event.table_opened.server_seed_hash = seed_hash(CHOSEN)


@pytest.mark.parametrize("change", [another_promise, another_seed])
async def test_T01_a_promise_that_was_changed_in_the_database_fails_the_check_of_the_honest_player(
    playing: Playing, database: Database, change: Callable[[Record], None]
) -> None:
    _, match_id, known = await half_revealed(playing)
    await rewrite(database, match_id, change)
    restarted = await playing.replica()  # it has not seen the first log
    ann, bob = [await playing.player(restarted, name) for name in ("ann", "bob")]
    secret = CHOSEN if change is another_promise else SECRETS["bob"]
    view = await reveal(bob, match_id, secret=secret)
    assert view.phase == Phase.PHASE_PLAYING  # the deck is the chosen one
    with pytest.raises(DealMismatch):
        await check_of_ann(ann, bob, match_id, known)
