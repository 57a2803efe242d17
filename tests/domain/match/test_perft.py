"""Perft: the number of legal lines by depth guards the move generator.

A line is a sequence of legal moves by any seats. The counts are in `perft.tsv`. Its decks depend on
seeds, so the counts also guard the shuffle.

Two rows are worked out by hand to depth 2. With 36 cards, two seats, transfer and seed 4, diamonds
are trumps, and B leads from 8♣ 7♦ 7♥ J♥ 7♠ Q♠ against 7♣ A♣ 9♦ 9♥ Q♥ 6♠: six lines of one move.
Lines of two moves:

- 8♣: A beats it with A♣ or 9♦, or takes: 3
- 7♦: A beats it with 9♦, transfers with 7♣ or takes, B throws in 7♥ or 7♠: 5
- 7♥: A beats it with 9♥, Q♥ or 9♦, transfers with 7♣ or takes, B throws in 7♦ or 7♠: 7
- J♥: A beats it with Q♥ or 9♦, or takes: 3
- 7♠: A beats it with 9♦, transfers with 7♣ or takes, B throws in 7♦ or 7♥: 5
- Q♠: A beats it with 9♦, transfers with Q♥ or takes: 3. The sum is 26.

Without transfer and with seed 3, clubs are trumps, and B leads from J♣ 9♦ 10♥ J♥ K♥ 10♠ against
6♦ J♦ 6♥ 7♥ 6♠ A♠. A can always take: 6. A beats 9♦ with J♦ and 10♠ with A♠: 2. B throws in J♥ after
J♣, J♣ after J♥, 10♠ after 10♥ and 10♥ after 10♠: 4. The sum is 12.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from domain.match.commands import Play
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.move_messages import challenge, list_moves
from domain.match.moves import legal_moves
from domain.match.outcome import Outcome
from tests.domain.random_play import dealt_by_seed
from tests.domain.tables import Table, settings, sitting

with (Path(__file__).parent / "perft.tsv").open() as lines:
    ROWS = list(csv.DictReader(lines, delimiter="\t"))
DEPTHS = ("1", "2", "3", "4")


def perft(match: Match, depth: int) -> int:
    """The number of legal lines of this many moves."""
    if depth == 0:
        return 1
    count = 0
    for seat in range(len(match.hands)):
        legal = legal_moves(match, seat)
        moves = list_moves(legal) + [challenge(version) for version in legal.challenge]
        if depth == 1:
            count += len(moves)
            continue
        for move in moves:
            outcome = decide(match, sitting(seat), Play(move))
            assert isinstance(outcome, Outcome)
            count += perft(outcome.after, depth - 1)
    return count


def table_of(row: dict[str, Any]) -> Table:
    wanted = settings(
        deck=int(row["deck"]),
        seats=int(row["seats"]),
        throw_in=int(row["throw_in"]),
        transfer=row["transfer"] == "on",
        tricky=row["tricky"] == "on",
    )
    return dealt_by_seed(wanted, int(row["seed"]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(list(row.values())[:6]))
def test_legal_lines_by_depth(row: dict[str, Any]) -> None:
    table = table_of(row)
    for depth in DEPTHS:
        if row[depth]:
            assert perft(table.match, int(depth)) == int(row[depth])


def test_the_table_has_the_rows_worked_out_by_hand() -> None:
    found = {(row["transfer"], row["seed"]): (row["1"], row["2"]) for row in ROWS}
    assert found["on", "4"] == ("6", "26")
    assert found["off", "3"] == ("6", "12")
