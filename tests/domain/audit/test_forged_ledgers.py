"""T04: every kind of forged ledger is refuted, and the finding names the entry."""

from collections.abc import Callable, Iterable
from random import Random

import pytest

from domain.audit import Finding, Kind, audit
from domain.audit.transcript import Outcome, verify
from durak.v1.transcript_pb2 import LEDGER_ENTRY_KIND_PAYOUT, LedgerEntry, LedgerEntryKind
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.domain.audit.audit_transcripts import PUBLIC_KEY, field_changes, transcript_of

Ledger = list[LedgerEntry]


def paid_out(**wanted: int) -> PlayedMatch:
    """A staked match of three with two payouts, played out."""
    matches = (random_match(seed, stake_coins=100, seats=3, **wanted) for seed in range(1_000))
    return next(one for one in matches if one.records[-1].event.finished.outcome == 1)


PLAYED = paid_out()
LEDGER = PLAYED.ledger
END = PLAYED.records[-1]
FREE = random_match(2, stake_coins=0)


def pair(
    played: PlayedMatch, coins: int, player_id: str, kind: int = LEDGER_ENTRY_KIND_PAYOUT
) -> Ledger:
    """Two entries at the end of a match that add up to 0."""
    last = played.records[-1]
    return [
        LedgerEntry(
            transfer_id=bytes(range(16)),
            kind=LedgerEntryKind.ValueType(kind),
            match_id=played.match_id,
            version=last.version,
            player_id=whose,
            coins=change,
            event_time=last.event_time,
        )
        for whose, change in ((player_id, coins), ("", -coins))
    ]


def copied(entries: Iterable[LedgerEntry]) -> Ledger:
    return [LedgerEntry.FromString(entry.SerializeToString()) for entry in entries]


def split_in_two(ledger: Ledger) -> Ledger:
    """The first payout in two parts, each with its escrow."""
    at = next(n for n, it in enumerate(ledger) if it.kind == LEDGER_ENTRY_KIND_PAYOUT)
    one, other = copied(ledger[at : at + 2]), copied(ledger[at : at + 2])
    for entries, coins in ((one, 1), (other, ledger[at].coins - 1)):
        entries[0].coins, entries[1].coins = coins, -coins
    other[0].transfer_id = other[1].transfer_id = bytes(16)
    return [*ledger[:at], *one, *other, *ledger[at + 2 :]]


FORGERIES: dict[str, Callable[[Ledger], Ledger]] = {
    "coins for a stranger that go again": lambda it: [
        *it,
        *pair(PLAYED, 500, "stranger"),
        *pair(PLAYED, -500, "stranger"),
    ],
    "two entries of one account": lambda it: [
        *it,
        pair(PLAYED, 500, "stranger")[0],
        pair(PLAYED, -500, "stranger")[0],
    ],
    "an unknown kind": lambda it: [*it, *pair(PLAYED, 5, "player-0", 9)],
    "no kind": lambda it: [*it, *pair(PLAYED, 5, "player-0", 0)],
    "a payout in two parts": split_in_two,
    "transfers in another order": lambda it: [*it[2:4], *it[:2], *it[4:]],
    "the sides in another order": lambda it: [it[1], it[0], *it[2:]],
    "the ids of two stakes swapped": lambda it: swapped_ids(it, 0, 2),
    "an id of one's own": lambda it: with_id(it, 0, b"transfer of mine"),
    "nothing": lambda it: it[:0],
}


def with_id(ledger: Ledger, at: int, transfer_id: bytes) -> Ledger:
    ledger = copied(ledger)
    ledger[at].transfer_id = ledger[at + 1].transfer_id = transfer_id
    return ledger


def swapped_ids(ledger: Ledger, one: int, other: int) -> Ledger:
    ids = ledger[one].transfer_id, ledger[other].transfer_id
    return with_id(with_id(ledger, one, ids[1]), other, ids[0])


def findings(played: PlayedMatch, ledger: Ledger) -> list[Finding]:
    report = audit(played.stored, match_id=played.match_id, ledger=ledger)
    assert report.ok == (not report.findings)
    return list(report.findings)


def test_the_sample_has_stakes_and_payouts() -> None:
    assert findings(PLAYED, LEDGER) == []
    assert [entry.kind for entry in LEDGER] == [1] * 6 + [3] * 4


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_ledger_is_refuted_by_entry(forge: Callable[[Ledger], Ledger]) -> None:
    forged = forge(copied(LEDGER))
    transcript = transcript_of(PLAYED)
    del transcript.ledger[:]
    transcript.ledger.extend(forged)
    checked = verify(transcript.SerializeToString(), PUBLIC_KEY)
    assert checked.outcome is Outcome.REFUTED
    named = [it for it in checked.findings if it.kind is Kind.LEDGER]
    assert named
    entries = [f"entry {number}:" for number in range(1, len(forged) + 1)]
    for finding in named:
        assert finding.found == "no such entry" or finding.found.startswith(tuple(entries))
    wrong = [n for n, (due, it) in enumerate(zip(LEDGER, forged, strict=False), 1) if due != it]
    first = wrong[0] if wrong else len(LEDGER) + 1
    if forged:
        assert f"entry {first}:" in "".join(finding.found for finding in named)


def test_the_sentence_says_what_the_entry_is() -> None:
    extra = pair(PLAYED, 500, "stranger")
    [found, *_] = [it for it in findings(PLAYED, [*LEDGER, *extra]) if it.kind is Kind.LEDGER]
    assert found.version == END.version
    assert found.found.startswith("entry 11: payout of 500 coins for stranger at version")


@pytest.mark.parametrize("player_id", ["player-0", "stranger"])
def test_any_pair_on_a_free_table_is_refuted(player_id: str) -> None:
    assert findings(FREE, []) == []
    for ledger in (
        pair(FREE, 500, player_id),
        [*pair(FREE, 5, player_id), *pair(FREE, -5, player_id)],
    ):
        assert len([it for it in findings(FREE, ledger) if it.kind is Kind.LEDGER]) == len(ledger)


def test_every_changed_field_of_every_entry_is_refuted() -> None:
    for at, entry in enumerate(LEDGER):
        for path, other in field_changes(entry):
            assert isinstance(other, LedgerEntry)
            found = findings(PLAYED, [*LEDGER[:at], other, *LEDGER[at + 1 :]])
            assert f"entry {at + 1}:" in "".join(it.found for it in found), path


def test_any_other_order_or_choice_of_entries_is_refuted() -> None:
    for seed in range(300):
        random = Random(seed)
        forged = random.choices(LEDGER, k=random.randint(0, 12))
        if random.random() < 0.5:
            forged = random.sample(LEDGER, k=len(LEDGER))
        assert bool(findings(PLAYED, forged)) == (forged != LEDGER)


def test_stakes_come_back_in_the_order_in_which_they_were_made() -> None:
    """The store returns stakes by their age, and pays shares by seat."""
    matches = (random_match(seed, stake_coins=7, seats=4) for seed in range(1_000))
    for played in matches:
        sat = [it.event.seat_taken.seat for it in played.records if it.event.HasField("seat_taken")]
        if played.records[-1].event.finished.outcome == 3 and sat != sorted(sat):
            assert findings(played, played.ledger) == []
            return
    raise AssertionError("no such match")
