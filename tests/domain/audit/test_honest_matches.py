"""Without false findings: every match that the game played is faultless.

DURAK_TEST_AUDITS sets the number of matches. 10,000 take about three minutes.
"""

import ast
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import domain.audit
from domain.audit import AuditReport, Kind, Severity, audit
from domain.audit.transcript import Outcome, verify
from domain.match.commands import CancelTable, by_player
from domain.match.decide import decide
from durak.v1.events_pb2 import ACTOR_KIND_CLOCK
from durak.v1.events_pb2 import Outcome as Ending
from tests.domain.audit.audit_matches import PlayedMatch, opened_again, random_match, random_rematch
from tests.domain.audit.audit_transcripts import PUBLIC_KEY, transcript_of
from tests.domain.tables import accepted

MATCHES = int(os.environ.get("DURAK_TEST_AUDITS", "160"))
PARTS = 16


def ending(played: PlayedMatch) -> str:
    assert played.match.result is not None
    return Ending.Name(played.match.result.outcome)


def audited(played: PlayedMatch) -> AuditReport:
    return audit(played.stored, match_id=played.match_id, ledger=played.ledger)


@pytest.mark.parametrize("part", range(PARTS))
def test_honest_matches_are_faultless(part: int) -> None:
    for seed in range(part, MATCHES, PARTS):
        played = random_match(seed)
        report = audited(played)
        assert report.ok, f"seed {seed}: {report.findings[0]}"
        assert {finding.kind for finding in report.findings} <= {Kind.LATE_MOVE}
        assert report.facts.is_ended
        assert report.coins_checked


@pytest.mark.parametrize("part", range(PARTS))
def test_honest_rematches_are_faultless(part: int) -> None:
    for seed in range(part, MATCHES // 4, PARTS):
        played = random_match(seed)
        if ending(played) != "OUTCOME_CANCELLED":
            report = audited(random_rematch(played, seed))
            assert report.ok, f"seed {seed}: {report.findings[0]}"


def test_R3_0_only_players_of_a_rematch_may_cancel_it() -> None:
    old = random_match(12, deck=36, seats=3, stake_coins=10)
    players = [seat.player_id for seat in old.match.table.seats if seat is not None]
    for closer_id in (*players, "a stranger"):
        played = opened_again(old, Random(1))
        events = accepted(decide(played.match, by_player(players[0]), CancelTable()))
        played.store(by_player(closer_id), events)
        found = [(finding.kind, finding.version) for finding in audited(played).findings]
        assert found == ([] if closer_id in players else [(Kind.ACTOR, 3)])


def test_the_honest_matches_cover_every_kind_of_event_and_outcome() -> None:
    seen: Counter[str] = Counter()
    for seed in range(160):
        played = random_match(seed)
        report = audited(played)
        settings = played.records[0].event.table_opened.settings
        seen[ending(played)] += 1
        seen["cheat caught"] += any(cheat.caught_by for cheat in report.cheats)
        seen["cheat that passed"] += any(not cheat.caught_by for cheat in report.cheats)
        seen["false accusation"] += any(not verdict.upheld for verdict in report.verdicts)
        seen["stake"] += settings.stake_coins > 0
        seen[f"{settings.deck} cards"] += 1
        seen[f"{settings.seats} seats"] += 1
        for record in played.records:
            seen[str(record.event.WhichOneof("kind"))] += 1
            seen["removed"] += record.event.seat_vacated.removed
            if record.event.finished.prevented_by:
                is_late = record.actor_kind == ACTOR_KIND_CLOCK
                seen["not revealed in time" if is_late else "left before the deal"] += 1
            if record.event.HasField("left"):
                seen[f"left {record.event.left.reason}"] += 1
    wanted = {
        *(name for name, _ in Ending.items() if name != "OUTCOME_UNSPECIFIED"),
        *("cheat caught", "cheat that passed", "false accusation", "stake"),
        *("24 cards", "36 cards", "52 cards", *(f"{seats} seats" for seats in range(2, 7))),
        *(
            "seat_vacated",
            "removed",
            "transferred",
            "timed_out",
            "went_out",
            "left 1",
            "left 2",
            "left 3",
        ),
        *("seed_revealed", "not revealed in time", "left before the deal"),
    }
    assert {name for name in wanted if not seen[name]} == set()


def with_one_request_id(players: int) -> AuditReport:
    """Audit a match at which some players sat down with the same request id."""
    played = random_match(0, seats=3, deck=36)
    seated = [record for record in played.records if record.event.HasField("seat_taken")]
    for record in seated[:players]:
        record.request_id = bytes(16)
    return audited(played)


def test_players_may_choose_the_same_request_id() -> None:
    """A player who copies the request id of another one does not make the match faulty."""
    assert with_one_request_id(players=2).ok


def test_a_player_uses_a_request_id_once() -> None:
    played = random_match(0, seats=3, deck=36)
    attacks = [record for record in played.records if record.event.HasField("attacked")]
    other = next(it for it in attacks[1:] if it.actor_id == attacks[0].actor_id)
    other.request_id = attacks[0].request_id
    report = audited(played)
    assert (Kind.REQUEST, other.version) in [(it.kind, it.version) for it in report.findings]


def test_a_running_match_has_no_fault() -> None:
    played = random_match(4, turn_timer_seconds=0)
    commands = [at for at, record in enumerate(played.records) if starts_command(played, at)]
    for at in commands[1:]:
        report = audit(played.stored[:at], match_id=played.match_id)
        assert report.ok
        assert not report.facts.is_ended
        assert not report.coins_checked


def starts_command(played: PlayedMatch, at: int) -> bool:
    """Return whether a command starts with this record."""
    same = played.records[at - 1]
    return played.records[at].trace_id != same.trace_id


def test_honest_transcripts_are_proven_with_their_claims() -> None:
    for seed in range(12):
        played = random_match(seed)
        checked = verify(transcript_of(played).SerializeToString(), PUBLIC_KEY)
        assert checked.outcome is Outcome.PROVEN
        assert not [it for it in checked.findings if it.severity is Severity.FAULT]
        assert checked.checkpoint is not None
        assert any("leaf 5 in the tree of 11" in claim for claim in checked.proven)
        assert any("shown the same tree" in gap for gap in checked.not_proven)
        paid = any("Every coin" in claim for claim in checked.proven)
        assert paid == bool(played.ledger) or ending(played) == "OUTCOME_CANCELLED"


def test_the_audit_shares_no_code_with_the_game() -> None:
    """It imports only the Merkle tree and the signed notes from the rest of `domain`."""
    folder = Path(domain.audit.__file__).parent
    imported = {
        module
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for module in (
            [node.module]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        if module and module.startswith("domain") and not module.startswith("domain.audit")
    }
    assert imported == {"domain.transparency", "domain.transparency.checkpoint"}
