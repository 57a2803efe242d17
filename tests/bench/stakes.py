"""Measure whole matches per second at staked tables and at free tables.

Two players at each table choose the moves of easy bots. (Bots do not sit at staked tables, R12.7.)
Their commands go directly to the engine, without gRPC, so that the cost of the ledger is visible.
Everything else is the same, and every command is durable. Rounds of both kinds alternate. Each
round plays the same number of matches, at all tables in parallel.

`python -m tests.bench.stakes` runs only this benchmark and prints one JSON object.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

from domain import bots
from domain.match.view import table_view
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase
from eventstore import EmbeddedPostgres, EventStore, migrate
from service.config import Config
from service.rpc.call import Call, Caller
from service.rpc.failures import Failures
from service.rpc.limits import Limits
from service.server import Engine, build_engine
from service.supervisor import Supervisor
from service.times import system_now_us
from service.watchdog import Watchdog

TABLES, MATCHES = 64, 5
ROUNDS = 5
STAKES = {"free": 0, "staked": 1}


def run(*, rounds: int = ROUNDS) -> dict[str, float]:
    """Measure. Return the ratio (median over rounds) and the rates of both kinds."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        with EmbeddedPostgres(Path(parent) / "postgres") as postgres:
            return asyncio.run(_measure(postgres, rounds))


async def _measure(postgres: EmbeddedPostgres, rounds: int) -> dict[str, float]:
    await migrate(postgres.owner_dsn())
    config = Config(opening_balance_coins=1_000_000, opening_free_matches_min=0)
    async with await EventStore.open(postgres.app_dsn()) as store:
        failures = Failures()
        engine = build_engine(store, config, Limits(config), failures, system_now_us)
        async with engine.running(Supervisor(failures, Watchdog(0.0))):
            await _round(engine, 1)  # warm up and open the accounts
            rates: dict[str, list[float]] = {kind: [] for kind in STAKES}
            for number in range(rounds):
                print(f"stakes: round {number + 1} of {rounds}", file=sys.stderr)
                for kind in sorted(STAKES, reverse=bool(number % 2)):
                    gc.collect()
                    rates[kind].append(await _round(engine, STAKES[kind]))
        check = await store.ledger.check()
        assert check.holds
        assert check.escrow == 0
    pairs = zip(rates["staked"], rates["free"], strict=True)
    return {
        "staked_match_vs_free_match": round(median(staked / free for staked, free in pairs), 4),
        **{f"{kind}_matches_per_s": round(median(found), 1) for kind, found in rates.items()},
    }


async def _round(engine: Engine, stake: int) -> float:
    """Play some matches at each table, all tables in parallel. Return matches per second."""
    start = time.perf_counter()
    await asyncio.gather(*(_play(engine, table, stake) for table in range(TABLES)))
    return TABLES * MATCHES / (time.perf_counter() - start)


async def _play(engine: Engine, table: int, stake: int) -> None:
    settings = Settings(
        deck=Deck.DECK_36,
        seats=2,
        throw_in=ThrowIn.THROW_IN_ALL,
        draw_allowed=True,
        stake_coins=stake,
    )
    people = [_call(f"{side}{table}") for side in ("ann", "bob")]
    for _ in range(MATCHES):
        opening = api.OpenTableRequest(request_id=str(uuid4()), settings=settings)
        match_id = (await engine.commands.open_table(opening, people[0])).match_id
        for call in people:
            sit = api.TakeSeatRequest(request_id=str(uuid4()), match_id=match_id)
            await engine.commands.take_seat(sit, call)
        live = engine.matches.get(UUID(match_id).bytes)
        while (match := live.match).phase == Phase.PHASE_PLAYING:
            seat = match.on_clock().bit_length() - 1
            move = bots.choose_move(BotLevel.BOT_LEVEL_EASY, table_view(match, seat), [], 0)
            play = api.PlayRequest(request_id=str(uuid4()), match_id=match_id, move=move)
            await engine.commands.play(play, people[seat])


def _call(player: str) -> Call:
    caller = Caller(player, player, frozenset({"player"}), float("inf"))
    return Call(caller, "en", b"", "")


if __name__ == "__main__":
    print(json.dumps(run()))
