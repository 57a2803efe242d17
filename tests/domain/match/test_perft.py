"""Perft: the number of legal lines by depth guards the move generator.

A line is a sequence of legal moves by any seats. The counts are in `perft.tsv`. Its decks depend on
seeds, so the counts also guard the shuffle.

Two rows are worked out by hand to depth 2. With 36 cards, two seats, transfer and seed 4, spades
are trumps, and A leads from J♣ 8♥ 7♠ 10♠ J♠ K♠ against 10♣ A♣ 6♦ A♦ 7♥ J♥: six lines of one move.
Lines of two moves:

- J♣: B beats it with A♣, transfers with J♥ or takes, A throws in J♠: 4
- 8♥: B beats it with J♥ or takes: 2
- 7♠: B transfers with 7♥ or takes: 2
- 10♠: B transfers with 10♣ or takes: 2
- J♠: B transfers with J♥ or takes, A throws in J♣: 3
- K♠: B takes: 1. The sum is 14.

Without transfer and with seed 3, diamonds are trumps, and A leads from Q♣ 9♦ A♥ 8♠ 9♠ 10♠ against
6♣ 10♣ 7♠ J♠ Q♠ K♠. B can always take: 6. B beats 8♠, 9♠ and 10♠ with each of J♠ Q♠ K♠: 9. A throws
in 9♠ after 9♦ and 9♦ after 9♠: 2. The sum is 17.
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
    assert found["on", "4"] == ("6", "14")
    assert found["off", "3"] == ("6", "17")
