"""`durak audit` on the database and on a service, and `durak verify` without either."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from pathlib import Path
from uuid import UUID

from eventstore import EventStore
from tests.conftest import Database, execute
from tests.domain.audit.audit_matches import random_match
from tests.domain.audit.audit_transcripts import OTHER_SECRET, PUBLIC_KEY, transcript_of
from tests.service.stored_matches import store_match
from tests.terminal import Terminal, durak

ENDED = random_match(11, stake_coins=100)


def stored(database: Database, *seeds: int) -> list[UUID]:
    async def store() -> list[UUID]:
        async with await EventStore.open(database.app_dsn) as opened:
            return [await store_match(opened, random_match(seed)) for seed in seeds]

    return asyncio.run(store())


def tamper(database: Database, *statements: str) -> None:
    disabled = [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in ("events", "accounts")]
    asyncio.run(execute(database.owner_dsn, *disabled, *statements))


def verify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `durak verify` without a database and a server, in a folder that must not change."""
    unset = {name: None for name in os.environ if "DURAK" in name}
    with contextlib.chdir(folder):
        return durak("verify", *arguments, environment=unset)


def test_an_honest_match_has_no_fault(terminal: Terminal) -> None:
    [match_id] = stored(terminal.database, 1)
    done = terminal.durak("audit", str(match_id))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{match_id}: no faults; ended, ")


def test_a_changed_record_is_a_fault_on_a_line_of_its_own(terminal: Terminal) -> None:
    [match_id] = stored(terminal.database, 1)
    tamper(terminal.database, "UPDATE events SET record = record || '\\x00' WHERE version = 2")
    done = terminal.durak("audit", str(match_id))
    assert done.returncode == 1
    assert done.stdout.startswith(f"{match_id}: FAULTS; ")
    assert "  fault chain (" in done.stdout
    assert " at version 2: " in done.stdout


def test_all_matches_and_the_ledger_are_checked(terminal: Terminal) -> None:
    ids = stored(terminal.database, *range(8))
    done = terminal.converse("audit", "--all", "--processes", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "8 matches audited, 0 with faults\n"

    tamper(
        terminal.database,
        f"UPDATE events SET hash = sha256(hash) WHERE version = 1 AND stream_id = '{ids[3]}'",
        "UPDATE accounts SET available_coins = available_coins + 5 WHERE player = "
        "(SELECT min(player) FROM accounts)",
    )
    done = terminal.durak("audit", "--all")
    assert done.returncode == 1
    *findings, issued, account, last = done.stdout.splitlines()
    assert findings
    assert all(line.startswith(f"{ids[3]}: fault chain ") for line in findings)
    assert issued.startswith("ledger: fault (R12.8): ")
    assert "coins issued" in issued
    assert "the balance of player-" in account
    assert last == "8 matches audited, 1 with faults"


def test_the_match_must_be_given_and_must_exist(terminal: Terminal) -> None:
    missing = "00000000-0000-8000-8000-000000000000"
    assert terminal.durak("audit", "match").returncode == 2
    assert terminal.durak("audit", missing, "--all").returncode == 2
    done = terminal.durak("audit", missing)
    assert done.returncode == 1
    assert done.stderr == f"durak: there is no match {missing} in this database\n"


def test_the_service_shows_auditors_the_same_as_the_database_and_players_nothing(
    terminal: Terminal,
) -> None:
    [match_id] = stored(terminal.database, 1)
    with terminal.serving() as server:
        place = ("--server", server.address)
        for command in (("records",), ("state", "--at", "9"), ("match",)):
            asked = ("audit", command[0], str(match_id), *command[1:])
            here = terminal.durak(*asked)
            there = terminal.durak(*asked, *place, "--name", "olga")
            assert (there.returncode, there.stderr) == (0, "")
            assert there.stdout == here.stdout != ""
        token = terminal.durak("token", "boris").stdout.strip()
        done = terminal.durak("audit", "state", str(match_id), *place, "--token", token)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "durak: Your account may not do this.\n"


def test_payouts_of_a_period(terminal: Terminal) -> None:
    stored(terminal.database, *range(3))  # of September 2026
    done = terminal.durak("audit", "payouts", "--since", "2026-09-01", "--before", "2026-10-01")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 matches audited, 0 with faults\nstaked ")
    tamper(terminal.database, "UPDATE events SET hash = sha256(hash) WHERE version = 1")
    assert terminal.durak("audit", "payouts").returncode == 1
    done = terminal.durak("audit", "payouts", "--before", "2026-09-01T00:00")
    assert done.stdout.startswith("0 matches audited, 0 with faults\n")


def test_a_missing_version_and_a_corrupt_match_give_one_clear_sentence(terminal: Terminal) -> None:
    [match_id] = stored(terminal.database, 1)
    done = terminal.durak("audit", "state", str(match_id), "--at", "99999")
    assert done.returncode == 1
    assert "the match has no version 99999: the last is " in done.stderr
    tamper(terminal.database, "UPDATE events SET record = '\\xff' WHERE version = 2")
    done = terminal.durak("audit", "state", str(match_id))
    assert done.returncode == 1
    assert done.stderr == "durak: the records up to this version do not make a match\n"
    last = terminal.durak("audit", "records", str(match_id)).stdout.splitlines()[1]
    assert last.endswith('"record": null}')


def test_a_transcript_is_proven_with_only_the_key(tmp_path: Path) -> None:
    (tmp_path / "match").write_bytes(transcript_of(ENDED).SerializeToString())
    (tmp_path / "key").write_text(f"{PUBLIC_KEY}\n")
    by_text = verify(tmp_path, "match", "--key", PUBLIC_KEY)
    assert by_text.returncode == 0, by_text.stdout
    first, second, *rest = by_text.stdout.splitlines()
    assert first.startswith("PROVEN: ")
    assert second == f"match {UUID(bytes=ENDED.match_id)}, {len(ENDED.records)} records"
    assert "Proven:" in rest
    assert "Not proven:" in rest
    assert "Findings:" not in rest
    assert verify(tmp_path, "match", "--key", "key").stdout == by_text.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "match"]


def test_an_unproven_transcript_has_exit_code_4(tmp_path: Path) -> None:
    (tmp_path / "match").write_bytes(transcript_of(ENDED).SerializeToString())
    done = verify(tmp_path, "match")
    assert done.returncode == 4
    assert done.stdout.startswith("CONSISTENT: ")
    assert "no public key was given" in done.stdout


def test_a_changed_transcript_is_refuted_with_its_findings(tmp_path: Path) -> None:
    transcript = transcript_of(ENDED)
    transcript.ledger[0].coins -= 1
    (tmp_path / "match").write_bytes(transcript.SerializeToString())
    done = verify(tmp_path, "match", "--key", PUBLIC_KEY)
    assert done.returncode == 1
    assert done.stdout.startswith("REFUTED: ")
    assert "  - fault stake (R12.2) at version " in done.stdout

    forged = transcript_of(ENDED, OTHER_SECRET).SerializeToString()
    (tmp_path / "match").write_bytes(forged)
    done = verify(tmp_path, "match", "--key", PUBLIC_KEY)
    assert done.returncode == 1
    assert "  - fault checkpoint (" in done.stdout


def test_a_wrong_key_a_missing_file_and_a_wrong_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "match").write_bytes(b"not a transcript")
    assert verify(tmp_path, "match", "--key", "nonsense").returncode == 2
    assert verify(tmp_path, "missing").returncode == 2
    done = verify(tmp_path, "match", "--key", PUBLIC_KEY)
    assert done.returncode == 1
    assert "fault format" in done.stdout
