"""Every change of a good log is found, and the finding names the changed record.

DURAK_TEST_EVERY_BYTE=1 flips every byte of the sample instead of some.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from domain.audit import AuditReport, Kind, Severity, Stored, audit
from domain.audit.transcript import Outcome, verify
from durak.v1.events_pb2 import Record
from durak.v1.transcript_pb2 import LedgerEntry, Transcript
from tests.domain.audit.audit_matches import PlayedMatch, ledger_of, random_match, stored
from tests.domain.audit.audit_transcripts import (
    OTHER_SECRET,
    PUBLIC_KEY,
    field_changes,
    rechained,
    transcript_of,
    with_records,
)

STEP = 1 if os.environ.get("DURAK_TEST_EVERY_BYTE") else 97

# Only the checkpoint proves these fields: neither the rules nor the other records depend on their
# values. (docs/transcript-format.md lists them.)
UNPROVABLE = {
    "event_time.seconds",  # if it stays in order and no deadline depends on it
    "event_time.nanos",
    "actor_id",  # of the player who opened the table, together with the owner's id
    "request_id",
    "trace_id",
    "event.table_opened.idle_limit_seconds",
    "event.table_opened.reveal_limit_seconds",  # if all secrets were revealed in time
    "event.table_opened.owner_id",
    "event.table_opened.settings.draw_allowed",  # if no event depended on it
    "event.table_opened.settings.five_card_opening",
    "event.table_opened.settings.series_id",
    "event.table_opened.settings.throw_in",
    "event.table_opened.settings.transfer",
    "event.table_opened.settings.tricky",
    "event.table_opened.settings.turn_timer_seconds",
    "event.seat_taken.display_name",
    "event.seat_taken.bot_level",
    "event.seat_taken.bot_seed",
    "event.challenged.play_version",  # another illegal play of the same seat
}


def staked_tricky() -> PlayedMatch:
    """A staked match with cheats, challenges and timeouts, played out."""
    for seed in range(10_000):
        played = random_match(
            seed, stake_coins=7, tricky=1, turn_timer_seconds=15, seats=3, deck=36
        )
        kinds = {str(record.event.WhichOneof("kind")) for record in played.records}
        wanted = {"challenged", "timed_out", "discarded", "took", "drew", "went_out"}
        if wanted <= kinds and "left" not in kinds and len(played.records) < 180:
            return played
    raise AssertionError("no such match")


PLAYED = staked_tricky()
TRANSCRIPT = transcript_of(PLAYED)


def audited(chain: Sequence[Stored], ledger: Sequence[LedgerEntry] | None = None) -> AuditReport:
    return audit(
        chain, match_id=PLAYED.match_id, ledger=PLAYED.ledger if ledger is None else ledger
    )


def faults(report: AuditReport) -> list[tuple[Kind, int]]:
    return [(it.kind, it.version) for it in report.findings if it.severity is Severity.FAULT]


def refuted(chain: Sequence[Stored]) -> bool:
    """Return whether the transcript with these records is refuted, with an invalid proof."""
    checked = verify(with_records(TRANSCRIPT, chain).SerializeToString(), PUBLIC_KEY)
    kinds = {finding.kind for finding in checked.findings}
    return checked.outcome is Outcome.REFUTED and Kind.INCLUSION in kinds


def position(kind: str, nth: int = 0) -> int:
    found = [at for at, it in enumerate(PLAYED.records) if it.event.HasField(kind)]  # type: ignore[arg-type]
    return found[nth]


def changed(
    kind: str, change: Callable[[Record], object], nth: int = 0
) -> tuple[int, list[Stored]]:
    """Change an event of a kind, and return its version and the log with a recomputed chain."""
    at = position(kind, nth)
    record = Record()
    record.CopyFrom(PLAYED.records[at])
    change(record)
    return at + 1, rechained(PLAYED, at, record)


def test_the_sample_is_good() -> None:
    assert faults(audited(PLAYED.stored)) == []
    assert verify(TRANSCRIPT.SerializeToString(), PUBLIC_KEY).outcome is Outcome.PROVEN


# --- bytes ---------------------------------------------------------------------------------------


def test_a_flipped_byte_of_a_record_breaks_the_chain_at_its_version() -> None:
    chain = PLAYED.stored
    flat = [(at, byte) for at, it in enumerate(chain) for byte in range(len(it[1]))]
    for at, byte in flat[::STEP]:
        version, data, link = chain[at]
        flipped = data[:byte] + bytes((data[byte] ^ 0x10,)) + data[byte + 1 :]
        report = audited([*chain[:at], (version, flipped, link), *chain[at + 1 :]])
        assert (Kind.CHAIN, version) in faults(report)


def test_a_flipped_byte_of_a_hash_breaks_the_chain_there() -> None:
    chain = PLAYED.stored
    for at in range(0, len(chain), 5):
        version, data, link = chain[at]
        flipped = bytes((link[0] ^ 1,)) + link[1:]
        report = audited([*chain[:at], (version, data, flipped), *chain[at + 1 :]])
        assert (Kind.CHAIN, version) in faults(report)


def test_every_flipped_byte_of_a_transcript_is_found() -> None:
    data = TRANSCRIPT.SerializeToString()
    for at in range(0, len(data), STEP):
        flipped = data[:at] + bytes((data[at] ^ 0x10,)) + data[at + 1 :]
        checked = verify(flipped, PUBLIC_KEY)
        assert checked.outcome is Outcome.REFUTED, at
        assert checked.findings


def test_every_shortened_transcript_is_found() -> None:
    """Two cuts leave a possible file: a match without its proof, and one that has just begun."""
    data = TRANSCRIPT.SerializeToString()
    just_begun = next(end for end in range(1, len(data)) if has_records(data[:end], 1))
    unproven = len(without("inclusion", "checkpoint"))
    for end in range(0, len(data), STEP):
        if end not in {just_begun, unproven}:
            checked = verify(data[:end], PUBLIC_KEY)
            assert checked.outcome is Outcome.REFUTED, end
            assert checked.findings
    for end in (just_begun, unproven):
        checked = verify(data[:end], PUBLIC_KEY)
        assert checked.outcome is Outcome.CONSISTENT
        assert any("no checkpoint" in gap for gap in checked.not_proven)
    kinds = {finding.kind for finding in verify(data[:just_begun], PUBLIC_KEY).findings}
    assert Kind.UNFINISHED in kinds


def has_records(data: bytes, count: int) -> bool:
    try:
        return len(Transcript.FromString(data).records) == count
    except DecodeError:
        return False


# --- fields --------------------------------------------------------------------------------------


def test_every_changed_field_breaks_the_chain_or_if_recomputed_rules_or_proof() -> None:
    chain = PLAYED.stored
    unseen = set()
    for at, record in enumerate(PLAYED.records):
        for path, other in field_changes(record):
            assert isinstance(other, Record)
            data = other.SerializeToString()
            broken = [*chain[:at], (at + 1, data, chain[at][2]), *chain[at + 1 :]]
            found = faults(audited(broken))
            assert (Kind.CHAIN, at + 1) in found, path
            recomputed = rechained(PLAYED, at, other)
            report = audited(recomputed)
            assert Kind.CHAIN not in {kind for kind, _ in faults(report)}
            if report.ok:
                unseen.add(path)
                assert refuted(recomputed), path
    assert unseen <= UNPROVABLE


# --- whole records -------------------------------------------------------------------------------


def test_a_dropped_record_is_named() -> None:
    chain = PLAYED.stored
    for at in range(len(chain) - 1):
        found = faults(audited([*chain[:at], *chain[at + 1 :]]))
        assert (Kind.CHAIN, at + 2) in found
        assert (Kind.VERSION, at + 2) in found


def test_a_repeated_record_is_named() -> None:
    chain = PLAYED.stored
    for at in range(len(chain)):
        found = faults(audited([*chain[: at + 1], chain[at], *chain[at + 1 :]]))
        assert (Kind.CHAIN, at + 1) in found
        assert (Kind.VERSION, at + 1) in found


def test_two_swapped_records_are_named() -> None:
    chain = PLAYED.stored
    for at in range(len(chain) - 1):
        swapped = [*chain[:at], chain[at + 1], chain[at], *chain[at + 2 :]]
        found = faults(audited(swapped))
        assert {(Kind.VERSION, at + 1), (Kind.VERSION, at + 2)} <= set(found)


def test_a_log_cut_short_is_refuted_by_its_proof_and_by_its_coins() -> None:
    chain = PLAYED.stored
    for end in range(len(chain)):
        assert faults(audited(chain[:end]))
        assert refuted(chain[:end])


def test_dropped_repeated_or_swapped_records_with_a_recomputed_chain_are_refuted() -> None:
    for at in range(0, len(PLAYED.records) - 1, 3):
        before, one, other, after = (
            PLAYED.records[:at],
            PLAYED.records[at],
            PLAYED.records[at + 1],
            PLAYED.records[at + 2 :],
        )
        for order in ([other], [one], [one, one, other], [other, one]):
            assert refuted(numbered([*before, *order, *after]))


def numbered(records: Sequence[Record]) -> list[Stored]:
    datas = []
    for version, record in enumerate(records, start=1):
        other = Record()
        other.CopyFrom(record)
        other.version = version
        datas.append(other.SerializeToString())
    return stored(PLAYED.match_id, datas)


# --- profitable changes ------------------------------------------------------------------------


def swap_in_hidden_hands(record: Record) -> None:
    hands = record.event.dealt.hands
    hands[0].cards[0], hands[1].cards[0] = hands[1].cards[0], hands[0].cards[0]


def swap_drawn_cards(record: Record) -> None:
    draws = record.event.drew.draws
    draws[0].cards[0], draws[-1].cards[-1] = draws[-1].cards[-1], draws[0].cards[0]


def swap_places(record: Record) -> None:
    results = record.event.finished.results
    results[0].place, results[1].place = results[1].place, results[0].place


def move_share(record: Record) -> None:
    results = record.event.finished.results
    winner = max(results, key=lambda result: result.share_coins)
    loser = min(results, key=lambda result: result.share_coins)
    winner.share_coins -= 1
    loser.share_coins += 1


def turn_verdict(record: Record) -> None:
    record.event.challenged.upheld = not record.event.challenged.upheld


def come_early(record: Record) -> None:
    record.event_time.seconds -= 20


FIRST_DRAW_OF_TWO = next(
    nth
    for nth, record in enumerate(it for it in PLAYED.records if it.event.HasField("drew"))
    if len(record.event.drew.draws) > 1
)


class Deceit(NamedTuple):
    kind: str
    change: Callable[[Record], object]
    found: Kind
    nth: int = 0


DECEITS = {
    "two cards of hidden hands swapped": Deceit("dealt", swap_in_hidden_hands, Kind.SHUFFLE),
    "two drawn cards swapped": Deceit("drew", swap_drawn_cards, Kind.DREW, FIRST_DRAW_OF_TWO),
    "a verdict turned": Deceit("challenged", turn_verdict, Kind.VERDICT),
    "places swapped": Deceit("finished", swap_places, Kind.PLACE, -1),
    "a coin moved": Deceit("finished", move_share, Kind.SHARE, -1),
    "another durak": Deceit(
        "finished",
        lambda it: setattr(it.event.finished, "durak", (it.event.finished.durak + 1) % 3),
        Kind.OUTCOME,
        -1,
    ),
    "another seed revealed": Deceit(
        "finished",
        lambda it: setattr(it.event.finished, "server_seed", bytes(32)),
        Kind.SEED,
        -1,
    ),
    "another seed promised": Deceit(
        "table_opened",
        lambda it: setattr(it.event.table_opened, "server_seed_hash", bytes(32)),
        Kind.SEED,
    ),
    "another first attacker": Deceit(
        "dealt",
        lambda it: setattr(
            it.event.dealt, "first_attacker", (it.event.dealt.first_attacker + 1) % 3
        ),
        Kind.FIRST_ATTACKER,
    ),
    "the table picked up by another": Deceit(
        "took", lambda it: setattr(it.event.took, "seat", (it.event.took.seat + 1) % 3), Kind.TOOK
    ),
    "another went out": Deceit(
        "went_out",
        lambda it: it.event.went_out.seats.__setitem__(0, (it.event.went_out.seats[0] + 1) % 3),
        Kind.WENT_OUT,
    ),
    "a place given away": Deceit(
        "went_out", lambda it: setattr(it.event.went_out, "place", 2), Kind.WENT_OUT
    ),
    "a timeout before the deadline": Deceit("timed_out", come_early, Kind.TIME),
    "a move by another": Deceit(
        "attacked", lambda it: setattr(it, "actor_id", "another"), Kind.ACTOR
    ),
}


@pytest.mark.parametrize("deceit", DECEITS.values(), ids=DECEITS.keys())
def test_a_deceit_with_a_recomputed_chain_is_named(deceit: Deceit) -> None:
    version, chain = changed(deceit.kind, deceit.change, deceit.nth)
    assert (deceit.found, version) in faults(audited(chain))
    assert refuted(chain)


def test_a_forged_deal_that_the_log_follows_is_one_finding_and_not_many() -> None:
    """Cards dealt by another seed, and then an honest match with them."""
    other = random_match(12, deck=36, seats=2, tricky=0, turn_timer_seconds=0, stake_coins=0)
    opened = other.records[0]
    opened.event.table_opened.server_seed = bytes(32)
    chain = other.stored
    report = audit(chain, match_id=other.match_id)
    kinds = {kind for kind, _ in faults(report)}
    assert kinds == {Kind.SEED}  # the seed that was kept is revealed at the end
    for record in (opened, other.records[-1]):
        event = record.event
        holder = event.finished if event.HasField("finished") else event.table_opened
        holder.server_seed = bytes(32)
    opened.event.table_opened.server_seed_hash = bytes.fromhex(
        "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"  # SHA-256 of 32 zeros
    )
    report = audit(other.stored, match_id=other.match_id)
    assert {kind for kind, _ in faults(report)} <= {Kind.SHUFFLE, Kind.FIRST_ATTACKER}
    assert report.facts.followed_log == (3 if len(chain) < 3 else report.facts.followed_log[0],)


# --- coins ---------------------------------------------------------------------------------------


def altered(entry: LedgerEntry, **fields: Any) -> LedgerEntry:
    """A copy of a ledger entry with other fields."""
    other = LedgerEntry()
    other.CopyFrom(entry)
    for field in fields:
        other.ClearField(field)  # type: ignore[arg-type] # named by the test
    other.MergeFrom(LedgerEntry(**fields))
    return other


def later(time: Timestamp, nanos: int) -> Timestamp:
    return Timestamp(seconds=time.seconds, nanos=time.nanos + nanos)


LEDGER_CHANGES: dict[str, Callable[[LedgerEntry], LedgerEntry]] = {
    "transfer_id": lambda it: altered(it, transfer_id=bytes(16)),
    "kind": lambda it: altered(it, kind=it.kind % 3 + 1),
    "unknown kind": lambda it: altered(it, kind=9),
    "match_id": lambda it: altered(it, match_id=bytes(16)),
    "version": lambda it: altered(it, version=it.version + 1),
    "player_id": lambda it: altered(it, player_id="another"),
    "coins": lambda it: altered(it, coins=it.coins + 1),
    "a microsecond": lambda it: altered(it, event_time=later(it.event_time, 1000)),
    "a nanosecond": lambda it: altered(it, event_time=later(it.event_time, 1)),
}
COIN_KINDS = {Kind.STAKE, Kind.REFUND, Kind.PAYOUT, Kind.ESCROW, Kind.LEDGER}


@pytest.mark.parametrize("change", LEDGER_CHANGES.values(), ids=LEDGER_CHANGES.keys())
def test_a_changed_ledger_entry_is_named(change: Callable[[LedgerEntry], LedgerEntry]) -> None:
    ledger = PLAYED.ledger
    for at, entry in enumerate(ledger):
        found = faults(audited(PLAYED.stored, [*ledger[:at], change(entry), *ledger[at + 1 :]]))
        versions = {version for _, version in found}
        assert found
        assert {kind for kind, _ in found} <= COIN_KINDS
        assert versions & {entry.version, change(entry).version}


def test_a_missing_or_repeated_ledger_entry_is_named() -> None:
    ledger = PLAYED.ledger
    for at, entry in enumerate(ledger):
        for other in ([*ledger[:at], *ledger[at + 1 :]], [*ledger, entry]):
            found = faults(audited(PLAYED.stored, other))
            assert (Kind.LEDGER, entry.version) in found


def test_a_missing_or_repeated_transfer_is_named() -> None:
    ledger = PLAYED.ledger
    for at in range(0, len(ledger), 2):
        pair = ledger[at : at + 2]
        again = [altered(entry, transfer_id=bytes(16)) for entry in pair]
        for other in ([*ledger[:at], *ledger[at + 2 :]], [*ledger, *again]):
            found = faults(audited(PLAYED.stored, other))
            assert pair[0].version in {version for _, version in found}
            assert {kind for kind, _ in found} & {Kind.STAKE, Kind.PAYOUT}


def test_coins_of_a_free_table_are_found() -> None:
    played = random_match(2, stake_coins=0)
    entry = altered(PLAYED.ledger[0], match_id=played.match_id)
    report = audit(played.stored, match_id=played.match_id, ledger=[entry])
    assert {Kind.STAKE, Kind.ESCROW} & {kind for kind, _ in faults(report)}
    assert ledger_of(played.match_id, played.records) == []


# --- the proof -----------------------------------------------------------------------------------


def test_another_key_is_found() -> None:
    checked = verify(transcript_of(PLAYED, OTHER_SECRET).SerializeToString(), PUBLIC_KEY)
    assert checked.outcome is Outcome.REFUTED
    assert [it.kind for it in checked.findings if it.severity is Severity.FAULT] == [
        Kind.CHECKPOINT
    ]


def without(*fields: str) -> bytes:
    transcript = Transcript()
    transcript.CopyFrom(TRANSCRIPT)
    for field in fields:
        transcript.ClearField(field)  # type: ignore[arg-type] # named by the test
    return transcript.SerializeToString()


def test_without_key_or_checkpoint_a_good_transcript_is_consistent_and_the_gap_is_named() -> None:
    no_key = verify(TRANSCRIPT.SerializeToString(), None)
    assert no_key.outcome is Outcome.CONSISTENT
    assert any("no public key" in gap for gap in no_key.not_proven)
    no_checkpoint = verify(without("checkpoint", "inclusion"), PUBLIC_KEY)
    assert no_checkpoint.outcome is Outcome.CONSISTENT
    assert any("no checkpoint" in gap for gap in no_checkpoint.not_proven)


@pytest.mark.parametrize("field", ["checkpoint", "inclusion", "format_version", "match_id"])
def test_a_transcript_with_a_part_cut_out_is_refuted(field: str) -> None:
    assert verify(without(field), PUBLIC_KEY).outcome is Outcome.REFUTED


def test_unknown_fields_are_refuted() -> None:
    unknown = TRANSCRIPT.SerializeToString() + b"\xfa\x3f\x01x"  # field 1023
    checked = verify(unknown, PUBLIC_KEY)
    assert [it.kind for it in checked.findings if it.severity is Severity.FAULT] == [Kind.FORMAT]


def test_the_same_content_in_other_bytes_is_refuted() -> None:
    """A varint with more bytes than it needs: every reader reads the same transcript."""
    data = TRANSCRIPT.SerializeToString()
    assert data[:2] == b"\x08\x01"  # the format version
    longer = b"\x08\x81\x00" + data[2:]
    assert Transcript.FromString(longer) == TRANSCRIPT
    [fault] = [it for it in verify(longer, PUBLIC_KEY).findings if it.severity is Severity.FAULT]
    assert (fault.kind, fault.found) == (Kind.FORMAT, f"{len(longer)} bytes, others from 1 on")


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 40, b"\x08\x01", b"\x08\x02"])
def test_other_bytes_than_a_transcript_are_refuted(data: bytes) -> None:
    assert verify(data, PUBLIC_KEY).outcome is Outcome.REFUTED
