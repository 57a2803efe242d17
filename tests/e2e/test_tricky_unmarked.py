"""R11.2 for a running service: no reply, log line, span or metric shows that a play was illegal.

Three players cheat in about half of their plays and no player challenges. All log lines and spans
about plays are identical, except for the fields that identify the call.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from grpc import aio

from domain.match.fold import Match
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import AttackMove, DefendMove, Move, Phase, TableView, TransferMove
from eventstore import EventStore
from tests.conftest import Database
from tests.e2e.test_nothing_lost import Service, serving
from tests.service.collector import Collector, collecting
from tests.service.playing import easy_move, without_server_time

NAMES = ("ann", "bob", "cid")
TRICKY = Settings(
    deck=Deck.DECK_52,
    seats=len(NAMES),
    throw_in=ThrowIn.THROW_IN_ALL,
    transfer=True,
    draw_allowed=True,
    tricky=True,
)
LAID = ("attacked", "defended", "transferred")
PLAY = "/durak.v1.MatchService/Play"
OF_THE_CALL = {"timestamp", "trace_id", "caller", "milliseconds"}


def cheating(view: TableView, chance: random.Random) -> Move:
    """Return an illegal play (R11.1) if there is one, otherwise a legal move."""
    moves, hand = view.moves, set(view.hand)
    if moves.transfer:  # easy bots would not
        return Move(transfer=TransferMove(card=moves.transfer[0]))
    unbeaten = [laid.attack_card for laid in view.table if not laid.defence.card]
    found: list[Move] = []
    if view.your_seat == view.defender and unbeaten and not view.taking:
        right = {card for option in moves.defend for card in option.cards}
        wrong = hand - right
        found += [Move(defend=DefendMove(attack_card=unbeaten[0], card=card)) for card in wrong]
        found += [Move(transfer=TransferMove(card=card)) for card in wrong - {*moves.transfer}]
    elif view.table and view.your_seat != view.defender and view.attacks_left:
        found += [Move(attack=AttackMove(card=card)) for card in hand - {*moves.attack}]
    return chance.choice(found) if found and chance.random() < 0.5 else easy_move(view)


async def play(server: Service, channel: aio.Channel) -> str:
    """Play a match for up to 600 moves. Check that each reply equals the view of the player."""
    stub: Any = MatchServiceStub(channel)

    async def call(who: str, method: str, **fields: Any) -> TableView:
        request = getattr(api, f"{method}Request")(**fields)
        view: TableView = (await getattr(stub, method)(request, metadata=server.metadata(who))).view
        return view

    opened = await call("ann", "OpenTable", request_id=str(uuid4()), settings=TRICKY)
    match_id = opened.match_id
    view = opened
    for name in NAMES:
        view = await call(name, "TakeSeat", match_id=match_id, request_id=str(uuid4()))
    chance = random.Random(11)
    for _ in range(600):
        if view.phase != Phase.PHASE_PLAYING:
            break
        name = NAMES[chance.choice(view.on_clock)]
        view = await call(name, "GetMatch", match_id=match_id)
        fields = {"match_id": match_id, "request_id": str(uuid4())}
        try:
            view = await call(name, "Play", move=cheating(view, chance), **fields)
        except aio.AioRpcError:  # too many cards to transfer: play a legal move instead
            fields["request_id"] = str(uuid4())
            view = await call(name, "Play", move=easy_move(view), **fields)
        again = await call(name, "GetMatch", match_id=match_id)
        assert without_server_time(view) == without_server_time(again)
    return match_id


async def cheats_by_kind(dsn: str, match_id: str) -> Counter[tuple[str, bool]]:
    """Count the illegal and the legal plays of each kind."""
    found: Counter[tuple[str, bool]] = Counter()
    match = Match()
    async with await EventStore.open(dsn) as store:
        for stored in await store.read(UUID(match_id)):
            record = Record.FromString(stored.record)
            match.apply(record)
            kind = record.event.WhichOneof("kind") or ""
            if kind in LAID:
                found[kind, record.version in match.cheats] += 1
    return found


def said_of_plays(log: Path) -> set[tuple[tuple[str, str], ...]]:
    """Return the distinct log lines of successful plays, without the fields of the call."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return {
        tuple(sorted((name, str(value)) for name, value in line.items() if name not in OF_THE_CALL))
        for line in lines
        if line.get("method") == PLAY and line.get("code") == "OK"
    }


def sent_of_plays(kept: Collector) -> set[str]:
    """Return the distinct spans of successful plays, without the fields of the call."""
    found = set()
    for span in kept.spans:
        if span.name != PLAY.removeprefix("/"):
            continue
        attributes = {entry.key: str(entry.value) for entry in span.attributes}
        if '"OK"' in attributes["rpc.response.status_code"]:
            found.add(f"{sorted(attributes.items())} {span.status} {list(span.events)}")
    return found


async def test_R11_2_no_log_line_span_or_metric_shows_an_illegal_play(
    database: Database, tmp_path: Path
) -> None:
    async with collecting() as (kept, endpoint):
        settings = {
            "DURAK_LOG_LEVEL": "debug",
            "DURAK_OTLP_ENDPOINT": endpoint,
            "DURAK_TRACE_SAMPLE_RATIO": "1",
        }
        async with (
            serving(database.app_dsn, tmp_path, **settings) as server,
            aio.insecure_channel(server.address) as channel,
        ):
            matches = [await play(server, channel) for _ in range(4)]
            await server.stop()

    plays: Counter[tuple[str, bool]] = Counter()
    for match_id in matches:
        plays += await cheats_by_kind(database.app_dsn, match_id)
    assert {kind for kind, _ in plays} == {*LAID}
    assert min(plays[kind, was_illegal] for kind in LAID for was_illegal in (True, False)) >= 1

    said, sent = said_of_plays(server.log), sent_of_plays(kept)
    assert len(said) == 1, said
    assert len(sent) == 1, sent
    log = server.log.read_text()
    for word in ("cheat", "illegal", "legal", "challenge", "upheld", "CARD_"):
        assert word not in log
        # A metric counts refused calls by reason, and has an entry for each reason from the start.
        metrics = f"{kept.spans}{kept.metrics}".replace("CARD_NOT_HELD", "")
        assert word not in metrics
    names = {metric.name for metric in kept.metrics}
    assert "rpc.server.call.duration" in names
    calls = next(one for one in kept.metrics if one.name == "rpc.server.call.duration")
    keys = {entry.key for point in calls.histogram.data_points for entry in point.attributes}
    assert keys <= {"rpc.method", "rpc.service", "rpc.system", "rpc.system.name", "error.type",
                    "rpc.response.status_code"}, keys  # fmt: skip
