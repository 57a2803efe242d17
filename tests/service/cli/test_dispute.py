"""`durak dispute` as a player, an auditor and an operator, against a server."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from durak.v1.dispute_service_pb2 import DisputeRecord
from durak.v1.events_pb2 import OUTCOME_PLAYED_OUT
from eventstore import EventStore, next_hash
from eventstore.disputes import first_dispute_hash
from tests.conftest import Database
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.service.stored_matches import store_match
from tests.terminal import Server, Terminal

NO_END = "31536000"
"""Seconds. The stored matches ended in the past."""


def played_for_coins() -> PlayedMatch:
    """Return a staked match of two people with a winner."""
    for seed in range(200):
        told = random_match(seed, stake_coins=100, seats=2)
        if told.records[-1].event.finished.outcome == OUTCOME_PLAYED_OUT:
            return told
    raise AssertionError


TOLD = played_for_coins()
WINNER = next(entry.player_id for entry in TOLD.ledger if entry.kind == 3 and entry.player_id)
LOSER = next(entry.player_id for entry in TOLD.ledger if entry.player_id not in {"", WINNER})
BEATEN = next(record for record in TOLD.records if record.event.HasField("defended"))


class Office:
    """A terminal and a server with one match."""

    def __init__(self, terminal: Terminal, server: Server, match_id: UUID) -> None:
        self.terminal = terminal
        self.server = server
        self.match_id = str(match_id)

    def run(self, who: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        place = ("--server", self.server.address, "--name", who)
        return self.terminal.durak("dispute", *arguments, *place)

    def said(self, who: str, *arguments: str) -> str:
        done = self.run(who, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def open(self, *arguments: str) -> str:
        """Open a dispute as the loser, and return its id."""
        said = self.said(LOSER, "open", self.match_id, "--reason", "no", *arguments)
        dispute_id, _, rest = said.partition(": ")
        assert rest == "open, version 1\n"
        return dispute_id


@pytest.fixture
def office(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setenv("DURAK_DISPUTE_WINDOW_SECONDS", NO_END)
    monkeypatch.setenv("DURAK_CHECKPOINT_INTERVAL_SECONDS", "0.3")
    terminal = Terminal(database, tmp_path)
    with terminal.serving() as server:
        yield Office(terminal, server, asyncio.run(_stored(database)))


async def _stored(database: Database) -> UUID:
    async with await EventStore.open(database.app_dsn) as store:
        return await store_match(store, TOLD)


def test_an_auditor_sees_the_evidence_and_rejects_a_complaint(office: Office) -> None:
    dispute = office.open("--version", str(BEATEN.version))
    mine = office.said(LOSER, "list", "--role", "player")
    assert mine.startswith(f"{dispute}  open ")
    assert mine.rstrip().endswith(f"match {office.match_id}, version {BEATEN.version}")

    shown = office.said("olga", "show", dispute)
    before, _, after = shown.partition("\nWhat happened\n")
    assert f"\nBefore version {BEATEN.version}\n" in before
    assert before.count("Hand of ") == 2
    assert f"{BEATEN.version:>5}  " in after
    assert " beats " in after
    assert "  legal (R1.3, R4.2)\n" in after
    assert f"{office.match_id}: no faults; ended, {len(TOLD.records)} records\n" in after
    assert f"payout  {WINNER}  +200\n" in after

    ruled = office.said("olga", "rule", dispute, "rejected", "--reason", "it beats", "--at", "1")
    assert ruled == f"{dispute}: rejected, version 2\n"
    to_player = office.said(LOSER, "show", dispute, "--role", "player")
    assert "olga rules: rejected: it beats\n" in to_player
    assert "Hand of" not in to_player
    assert "Verdict" not in to_player


def test_coins_move_when_an_operator_approves(office: Office) -> None:
    dispute = office.open("--payout")
    coins = ("--correct", f"{LOSER}=+30", "--correct", f"{WINNER}=-30")
    ruling = office.said("olga", "rule", dispute, "upheld", "--reason", "so", *coins)
    assert ruling == f"{dispute}: correction pending, version 2\n"
    waiting = office.said("otto", "list", "--role", "operator", "--status", "correction-pending")
    assert waiting.startswith(dispute)
    declined = office.said("otto", "decide", dispute, "decline", "--reason", "look again")
    assert declined == f"{dispute}: open, version 3\n"
    office.said("olga", "rule", dispute, "upheld", "--reason", "so", *coins)
    signed = office.said("otto", "decide", dispute, "approve", "--reason", "checked", "--at", "4")
    assert signed == f"{dispute}: upheld, version 5\n"
    shown = office.said("olga", "show", dispute)
    assert f"rules: upheld, coins {LOSER} +30, {WINNER} -30: so\n" in shown
    assert "otto declines the correction: look again\n" in shown
    assert "otto approves the correction: checked\n" in shown


def test_a_refusal_is_one_clear_sentence(office: Office) -> None:
    dispute = office.open("--payout")
    rule = ("rule", dispute, "upheld", "--reason", "so")
    for who, arguments, words in (
        (WINNER, rule, "played in this match"),
        ("olga", (*rule, "--correct", f"{LOSER}=5"), "corrections"),
        ("otto", ("decide", dispute, "approve", "--reason", "so"), "correction"),
    ):
        done = office.run(who, *arguments)
        assert done.returncode == 1
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    for arguments in (
        ("open", office.match_id, "--reason", "no", "--payout", "--version", "3"),
        (*rule, "--correct", f"{LOSER}=much"),
    ):
        assert office.run("olga", *arguments).returncode == 2


def test_a_dispute_is_proven_until_its_records_are_changed(
    office: Office, database: Database
) -> None:
    """T03 for disputes: the owner of the database rewrites a reason and chains it again."""
    assert office.terminal.durak("key", "new", "durak.example/log").returncode == 0
    dispute = office.open("--version", str(BEATEN.version))
    sources = ((), ("--server", office.server.address, "--name", "olga"))
    proof = ("audit", "proof", dispute, "--dispute")
    end = time.monotonic() + 30
    while (done := office.terminal.durak(*proof)).returncode != 0:
        assert time.monotonic() < end, done.stderr
    for source in sources:
        said = office.terminal.durak(*proof, *source)
        assert said.returncode == 0, said.stderr
        assert said.stdout.startswith(f"dispute {dispute}: version 1, hash ")
    assert "NOT THOSE THAT WERE SIGNED" not in office.said("olga", "show", dispute)

    asyncio.run(_rewrite_reason(database, UUID(dispute)))
    for source in sources:
        refuted = office.terminal.durak(*proof, *source)
        assert refuted.returncode == 1
        assert "the stored records are not the signed ones" in refuted.stderr
    assert "NOT THOSE THAT WERE SIGNED" in office.said("olga", "show", dispute)


async def _rewrite_reason(database: Database, dispute_id: UUID) -> None:
    async with await EventStore.open(database.app_dsn) as store:
        [stored] = await store.disputes.read(dispute_id)
    record = DisputeRecord.FromString(stored.record)
    record.event.opened.reason = "yes"
    changed = record.SerializeToString(deterministic=True)
    link = next_hash(first_dispute_hash(dispute_id), changed)
    owner = await asyncpg.connect(database.owner_dsn)
    try:
        await owner.execute("ALTER TABLE dispute_events DISABLE TRIGGER USER")
        await owner.execute(
            "UPDATE dispute_events SET record = $2, hash = $3 WHERE dispute_id = $1",
            *(dispute_id, changed, link),
        )
    finally:
        await owner.close()
