"""T02: numbers that no card has are findings, not exceptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from domain.audit import audit
from domain.audit.transcript import Outcome, verify
from durak.v1.events_pb2 import Record
from durak.v1.transcript_pb2 import Transcript
from eventstore import first_hash, next_hash

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "tricky.transcript"


def with_cards(number: int, change: Callable[[Record, int], None]) -> Transcript:
    """Return the example with changed cards of the deal, chained again."""
    transcript = Transcript.FromString(EXAMPLE.read_bytes())
    link = first_hash(UUID(bytes=transcript.match_id))
    for stored in transcript.records:
        record = Record.FromString(stored.record)
        change(record, number)
        stored.record = record.SerializeToString()
        link = next_hash(link, stored.record)
        stored.hash = link
    return transcript


def stock_and_trump(record: Record, number: int) -> None:
    if record.event.HasField("dealt"):
        record.event.dealt.stock[0] = number  # type: ignore[call-overload]
        record.event.dealt.stock[-1] = number  # type: ignore[call-overload]


def hand(record: Record, number: int) -> None:
    if record.event.HasField("dealt"):
        record.event.dealt.hands[0].cards[0] = number  # type: ignore[call-overload]


def attack(record: Record, number: int) -> None:
    if record.event.HasField("attacked"):
        record.event.attacked.card = number  # type: ignore[assignment]


@pytest.mark.parametrize("number", [0, 53, 60, 2**31 - 1, -1])
@pytest.mark.parametrize("change", [stock_and_trump, hand, attack])
def test_T02_an_impossible_card_is_a_finding(
    number: int, change: Callable[[Record, int], None]
) -> None:
    changed = with_cards(number, change)
    stored = [
        (version, one.record, one.hash) for version, one in enumerate(changed.records, start=1)
    ]
    assert audit(stored).findings
    verdict = verify(changed.SerializeToString(), None)
    assert verdict.outcome is Outcome.REFUTED
