"""The example verifiers in docs/, on real transcripts. One needs Python alone, the other Node."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from durak.v1.events_pb2 import Record
from durak.v1.transcript_pb2 import Transcript
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.domain.audit.audit_transcripts import (
    OTHER_SECRET,
    PUBLIC_KEY,
    rechained,
    transcript_of,
    with_records,
)

DOCS = Path(__file__).resolve().parents[3] / "docs"
NODE = shutil.which("node")
PYTHON = [sys.executable, "-I", "-S", str(DOCS / "verify_example.py")]
COMMANDS = [
    pytest.param(PYTHON, id="python"),
    pytest.param(
        [str(NODE), str(DOCS / "verify_example.mjs")],
        id="node",
        marks=pytest.mark.skipif(NODE is None, reason="no node on this machine"),
    ),
]
every_verifier = pytest.mark.parametrize("command", COMMANDS)


def said(command: list[str], folder: Path, transcript: Transcript, *more: str) -> tuple[int, str]:
    """Return the exit code of the verifier and its output."""
    file = folder / "match.transcript"
    file.write_bytes(transcript.SerializeToString())
    done = subprocess.run(
        [*command, str(file), *more], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def played_match(**wanted: int) -> PlayedMatch:
    return next(
        match for match in (random_match(seed, **wanted) for seed in range(99)) if match.match.hands
    )


def changed(match: PlayedMatch, kind: str) -> Transcript:
    """Return a transcript with one event of this kind changed, and the chain recomputed."""
    at = next(at for at, it in enumerate(match.records) if it.event.WhichOneof("kind") == kind)
    record = Record()
    record.CopyFrom(match.records[at])
    event = record.event
    if kind == "dealt":
        hands = event.dealt.hands
        hands[0].cards[0], hands[1].cards[0] = hands[1].cards[0], hands[0].cards[0]
    elif kind == "seed_revealed":
        event.seed_revealed.secret = bytes(32)
    elif kind == "table_opened":
        event.table_opened.server_seed = bytes(32)
    else:
        event.finished.server_seed = bytes(32)
    return with_records(transcript_of(match), rechained(match, at, record))


@every_verifier
@pytest.mark.parametrize(
    ("deck", "seats"), [(24, 2), (24, 4), (36, 2), (36, 5), (36, 6), (52, 3), (52, 6)]
)
def test_an_export_is_verified(command: list[str], tmp_path: Path, deck: int, seats: int) -> None:
    match = played_match(deck=deck, seats=seats)
    code, text = said(command, tmp_path, transcript_of(match))
    assert code == 0, text
    assert f"ok   the hash chain is valid over {len(match.records)} records" in text
    assert "ok   the hands follow from the shuffle" in text
    assert "ok   the match is in the tree of 11" in text


@every_verifier
@pytest.mark.parametrize(
    ("kind", "claim"),
    [
        ("dealt", "the hands follow from the shuffle"),
        ("seed_revealed", "each secret has the hash that its seat promised"),
        ("table_opened", "the server seed matches its commitment"),
        ("finished", "the seed revealed at the end is the same"),
    ],
)
def test_a_changed_deal_is_found(command: list[str], tmp_path: Path, kind: str, claim: str) -> None:
    code, text = said(command, tmp_path, changed(played_match(deck=36, seats=3), kind))
    assert (code, f"FALSE {claim}" in text) == (1, True), text


@every_verifier
def test_a_changed_byte_breaks_the_chain(command: list[str], tmp_path: Path) -> None:
    transcript = transcript_of(played_match(deck=36, seats=2))
    record = transcript.records[4]
    record.record = record.record[:-1] + bytes((record.record[-1] ^ 1,))
    code, text = said(command, tmp_path, transcript)
    assert (code, "FALSE the hash chain is valid at version 5" in text) == (1, True), text


@every_verifier
def test_records_that_are_not_in_the_tree_are_found(command: list[str], tmp_path: Path) -> None:
    match = played_match(deck=36, seats=2)
    record = Record()
    record.CopyFrom(match.records[1])
    record.trace_id = bytes(16)
    transcript = with_records(transcript_of(match), rechained(match, 1, record))
    code, text = said(command, tmp_path, transcript)
    assert (code, "FALSE the match is in the tree of 11" in text) == (1, True), text


@every_verifier
def test_an_empty_file_is_refuted(command: list[str], tmp_path: Path) -> None:
    code, text = said(command, tmp_path, Transcript())
    assert (code, "FALSE" in text) == (1, True), text


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
def test_node_checks_the_signature(tmp_path: Path) -> None:
    match = played_match(deck=36, seats=2)
    command = [str(NODE), str(DOCS / "verify_example.mjs")]
    signed = "durak.example/log has signed the checkpoint"
    code, text = said(command, tmp_path, transcript_of(match), PUBLIC_KEY)
    assert (code, f"ok   {signed}" in text) == (0, True), text
    code, text = said(command, tmp_path, transcript_of(match, OTHER_SECRET), PUBLIC_KEY)
    assert (code, f"FALSE {signed}" in text) == (1, True), text
