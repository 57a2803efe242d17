"""Puzzles from matches: which positions are taken, which are left out, and the file of puzzles."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from domain.cards import card_name, cards_in
from domain.endgame import EndgameMove, MoveKind, Position, Value, evaluate_moves
from domain.match.fold import CorruptLogError
from domain.practice import (
    Miner,
    Puzzle,
    PuzzleError,
    PuzzleMatch,
    format_puzzles,
    parse_puzzle,
    parse_puzzles,
    start_puzzle,
)
from domain.practice.notation import format_move, parse_move
from durak.v1.events_pb2 import ActorKind
from service.practice.puzzles import read_puzzles
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import Table, cards

MINED = [puzzle for puzzle in read_puzzles() if puzzle.mined]
HAND_MADE: dict[str, Any] = {"difficulty": 2, "trump": "♠", "you": "6♣ K♦", "opponent": "9♣ K♥"}
HAND_MADE |= {"right": ["K♦"], "mistake": "6♣", "result": "win"}


def no_advice(_: PuzzleMatch) -> list[EndgameMove]:
    return []


def ending(*hands: str, trump: str = "♠", **wanted: Any) -> Table:
    """A table of `endgame_table`. The moves before the ending were made by the clock."""
    table = endgame_table(*hands, trump=trump, **wanted)
    for record in table.records:
        record.actor_kind = ActorKind.ACTOR_KIND_CLOCK
    return table


def gave_away(mine: str = "6♣ K♦", theirs: str = "9♣ K♥", trump: str = "♠", **wanted: Any) -> Table:
    """A match in which A leads the low card and loses.

    Led first, the high card has to be taken, and A goes out with the low card: a win. Led first,
    the low card is beaten, and A has to take the last card of B.
    """
    low, beater, last = mine.split(maxsplit=1)[0], *theirs.split()
    table = ending(mine, theirs, trump=trump, **wanted)
    table.play(f"A: {low}", f"B: {beater} beats {low}", "A: pass", f"B: {last}", "A: take")
    return table


def kept() -> Table:
    """The same ending, in which A leads the high card."""
    table = ending("6♣ K♦", "9♣ K♥")
    table.play("A: K♦", "B: take", "A: pass", "A: 6♣", "B: take")
    return table


def mined(*tables: Table, advice: Any = no_advice, known: Any = ()) -> list[Puzzle]:
    miner = Miner(advice, known)
    for table in tables:
        miner.add(table.records)
    return miner.choose(100, seed=1)


# --- the positions of a match ------------------------------------------------------------------


def test_a_missed_move_becomes_a_puzzle() -> None:
    [puzzle] = mined(gave_away())
    expected = parse_puzzle(puzzle.id, HAND_MADE | {"difficulty": puzzle.difficulty})
    assert puzzle == expected
    assert 1 <= puzzle.difficulty <= 5


def test_a_position_that_nobody_missed_is_no_puzzle() -> None:
    assert mined(kept()) == []


def test_a_move_that_a_bot_would_miss_becomes_a_puzzle() -> None:
    def low_cards(started: PuzzleMatch) -> list[EndgameMove]:
        low = parse_move("6♣")
        return [low] if started.position.attacker_hand & low.card else []

    [puzzle] = mined(kept(), advice=low_cards)
    assert puzzle.mined is not None
    assert puzzle.mined.mistake == parse_move("6♣")
    assert puzzle.right == {parse_move("K♦")}


def test_R9_1_a_missed_defence_has_the_moves_of_its_bout() -> None:
    # beating the last card is a draw, taking it loses: seed 000
    table = ending("6♠", "A♥", attacker="B")
    table.play("B: A♥", "A: take")
    [puzzle] = mined(table)
    assert format_puzzles([puzzle]).splitlines()[2:] == [
        'trump = "♠"',
        'you = "6♠"',
        'opponent = ""',
        'bout = ["opponent: A♥"]',
        'right = ["6♠ x A♥"]',
        'mistake = "take"',
        'result = "draw"',
    ]
    assert mined(table, known=[puzzle]) == []


def test_a_transfer_table_gives_a_puzzle_with_transfers() -> None:
    [puzzle] = mined(gave_away(transfer=True))
    assert puzzle.transfer
    assert "transfer = true" in format_puzzles([puzzle]).splitlines()


def test_names_and_match_ids_are_removed() -> None:
    table = gave_away()
    written = format_puzzles(mined(table))
    assert "player-" not in written
    assert table.match.match_id.hex() not in written.replace("-", "")
    assert table.records[0].event.table_opened.server_seed.hex() not in written


@pytest.mark.parametrize(
    ("mine", "theirs", "trump"),
    [("6♥ K♣", "9♥ K♦", "♠"), ("6♠ K♦", "9♠ K♥", "♣"), ("6♦ K♥", "9♦ K♠", "♣")],
)
def test_positions_with_exchanged_suits_are_one_puzzle(mine: str, theirs: str, trump: str) -> None:
    first, other = mined(gave_away()), mined(gave_away(mine, theirs, trump))
    assert [puzzle.id for puzzle in first] == [puzzle.id for puzzle in other]
    assert mined(gave_away(), gave_away(mine, theirs, trump)) == first
    assert mined(gave_away(mine, theirs, trump), known=first) == []


def test_a_move_of_the_clock_is_not_a_mistake() -> None:
    table = gave_away()
    [lead] = [r for r in table.records if r.event.attacked.card == cards("6♣")[0]]
    lead.actor_kind = ActorKind.ACTOR_KIND_CLOCK
    assert mined(table) == []


def test_matches_that_have_no_puzzles_are_left_out() -> None:
    running = ending("6♣ K♦", "9♣ K♥")
    running.play("A: 6♣", "B: 9♣ beats 6♣", "A: pass")
    tricky = gave_away(tricky=True)
    three = ending("6♣ K♦", "9♣ K♥", "7♣ 8♥")
    three.play("A: leave")
    miner = Miner(no_advice)
    for table in (running, tricky, three):
        miner.add(table.records)
    miner.add([])
    assert miner.matches == 0
    assert miner.choose(100, seed=1) == []


def test_a_corrupt_match_is_refused() -> None:
    records = gave_away().records
    with pytest.raises(CorruptLogError):
        Miner(no_advice).add([*records[:5], *records[6:]])


# --- the puzzles that ship with the service ---------------------------------------------------


def test_there_are_many_puzzles_of_both_games_and_every_difficulty() -> None:
    assert len(MINED) >= 100
    for transfer in (False, True):
        some = [puzzle for puzzle in MINED if puzzle.transfer is transfer]
        assert len(some) >= 50
        assert {puzzle.difficulty for puzzle in some} == {1, 2, 3, 4, 5}
    rights = Counter(move.kind for puzzle in MINED for move in puzzle.right)
    assert set(rights) == set(MoveKind) - {MoveKind.WAIT}


def test_the_solver_proves_every_puzzle_from_a_match() -> None:
    for puzzle in MINED:
        assert puzzle.mined is not None
        found = evaluate_moves(start_puzzle(puzzle).position)
        best = [move for move, it in found.items() if it.value is puzzle.mined.result]
        assert all(it.exact for it in found.values()), puzzle.id
        assert puzzle.right == set(best), puzzle.id
        assert max(it.value for it in found.values()) is puzzle.mined.result > Value.LOSS
        assert found[puzzle.mined.mistake].value < puzzle.mined.result


def test_no_two_puzzles_differ_only_in_their_suits() -> None:
    positions = [start_puzzle(puzzle).position for puzzle in read_puzzles()]
    drawings = Counter(min(drawn(position)) for position in positions)
    assert [drawing for drawing, count in drawings.items() if count > 1] == []


def drawn(position: Position) -> Iterator[str]:
    """Write a position with every exchange of suits: the trump suit is T, the others a, b and c."""
    plain = [suit for suit in "♣♦♥♠" if suit != "♣♦♥♠"[position.trump_suit]]
    parts = (
        position.attacker_hand,
        position.defender_hand,
        position.unbeaten,
        position.beaten,
    )
    written = [[card_name(card) for card in cards_in(part)] for part in parts]
    facts = (position.turn, position.taking, position.transfer, position.draw_allowed)
    for letters in permutations("abc"):
        suits = dict(zip(plain, letters, strict=True))
        renamed = [sorted(c[:-1] + suits.get(c[-1], "T") for c in part) for part in written]
        yield f"{renamed} {facts}"


# --- the file of puzzles ----------------------------------------------------------------------


def test_a_written_file_is_read_back_alike() -> None:
    assert parse_puzzles(tomllib.loads(format_puzzles(MINED))) == MINED


def test_settings_of_unusual_tables_are_written() -> None:
    data = HAND_MADE | {"deck": 24, "draw_allowed": False, "you": "9♣ K♦", "opponent": "10♣ K♥"}
    puzzle = parse_puzzle("some", data | {"mistake": "9♣"})
    assert parse_puzzles(tomllib.loads(format_puzzles([puzzle]))) == [puzzle]


@pytest.mark.parametrize("text", ["6♥", "7♥ x 6♥", "> 6♣", "take", "pass", "wait"])
def test_moves_are_written_as_they_are_read(text: str) -> None:
    assert format_move(parse_move(text)) == text


@pytest.mark.parametrize(
    "change",
    [
        {"result": "loss"},
        {"mistake": "K♦"},
        {"right": ["K♦", "6♣"]},
        {"difficulty": "hard"},
        {"you": 6},
        {"texts": {}},
        {"title": "A title"},
    ],
)
def test_a_file_with_an_invalid_puzzle_is_refused(change: dict[str, Any]) -> None:
    parse_puzzles({"fine": HAND_MADE})
    with pytest.raises(PuzzleError, match="broken"):
        parse_puzzles({"fine": HAND_MADE, "broken": HAND_MADE | change})


def test_a_file_with_something_else_is_refused() -> None:
    with pytest.raises(PuzzleError, match="difficulty: must be a table"):
        parse_puzzles(HAND_MADE)
