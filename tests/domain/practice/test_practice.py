"""Puzzles: the solver proves their answers, and their matches follow the rules."""

from __future__ import annotations

import os
from typing import Any

import pytest

from domain.cards import SUIT_OF, cards_in, mask_of
from domain.endgame import MoveKind, Value, evaluate_moves, legal_moves, solve
from domain.endgame.conversion import to_move_message
from domain.match.deal import lowest_trump_holder
from domain.match.refusal import Refusal
from domain.practice import (
    OPPONENT,
    PLAYER,
    Puzzle,
    PuzzleError,
    find_choice,
    make_attempt,
    parse_puzzle,
    start_puzzle,
)
from domain.practice.deal_reconstruction import reconstruct_deal
from domain.practice.notation import parse_move
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.events_pb2 import Outcome
from durak.v1.table_pb2 import AttackMove, Move
from service.practice.puzzles import read_puzzles
from service.text.localisation import LANGUAGES

PUZZLES = [puzzle for puzzle in read_puzzles() if not puzzle.mined]
MINED = [puzzle for puzzle in read_puzzles() if puzzle.mined]
EACH = pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda puzzle: puzzle.id)
MINED_STEP = 1 if os.environ.get("DURAK_TEST_EVERY_PUZZLE") else 10
DATA = {"difficulty": 1, "trump": "♠", "you": "6♠", "opponent": "", "right": ["6♠ x A♥"]}
DATA |= {"bout": ["opponent: A♥"], "texts": {}}


def named(puzzle_id: str) -> Puzzle:
    return next(puzzle for puzzle in PUZZLES if puzzle.id == puzzle_id)


def values(puzzle_id: str) -> dict[str, Value]:
    """The value of each choice, in the notation of puzzles."""
    puzzle = named(puzzle_id)
    found = evaluate_moves(start_puzzle(puzzle).position)
    return {text: found[parse_move(text)].value for text in CHOICES[puzzle_id]}


# Worked out by hand: R15, and seed 000.
CHOICES = {
    "last-trump-draw": {"6♠ x A♥": Value.DRAW, "take": Value.LOSS},
    "last-trump-win": {"6♠ x A♥": Value.WIN, "take": Value.WIN},
    "last-transfer": {"> 6♣": Value.DRAW, "take": Value.LOSS},
    "unbeatable-first": {"K♦": Value.WIN, "6♣": Value.LOSS},
    "no-draw-lead": {"9♥": Value.WIN, "6♠": Value.LOSS},
}


# --- the stated answers -----------------------------------------------------------------------


@EACH
def test_the_solver_proves_that_exactly_the_right_choices_are_best(puzzle: Puzzle) -> None:
    found = evaluate_moves(start_puzzle(puzzle).position)
    best = max(value.value for value in found.values())
    assert all(value.exact for value in found.values())
    assert {move for move, value in found.items() if value.value is best} == puzzle.right
    assert len(found) > 1
    assert solve(start_puzzle(puzzle).position).value is best


@pytest.mark.parametrize("puzzle_id", CHOICES)
def test_R15_endings_worked_out_by_hand(puzzle_id: str) -> None:
    assert values(puzzle_id) == CHOICES[puzzle_id]


@EACH
def test_every_puzzle_has_all_texts_in_every_language(puzzle: Puzzle) -> None:
    has_wrong = set(legal_moves(start_puzzle(puzzle).position)) != puzzle.right
    for language in LANGUAGES:
        texts = puzzle.texts[language]
        assert ("wrong" in texts) is has_wrong
        assert all(text.strip() == text != "" for text in texts.values())
    titles = {puzzle.texts[language]["title"] for language in LANGUAGES}
    assert len(titles) == len(LANGUAGES)


def test_there_are_puzzles_of_all_kinds() -> None:
    assert len(PUZZLES) >= 15
    assert {puzzle.difficulty for puzzle in PUZZLES} == {1, 2, 3, 4, 5}
    assert {puzzle.transfer for puzzle in PUZZLES} == {False, True}
    assert {puzzle.draw_allowed for puzzle in PUZZLES} == {False, True}
    kinds = {move.kind for puzzle in PUZZLES for move in puzzle.right}
    assert kinds == set(MoveKind)
    positions = [start_puzzle(puzzle).match for puzzle in PUZZLES]
    assert {(m.defender == PLAYER, bool(m.attacks)) for m in positions} == {
        (True, True),
        (False, True),
        (False, False),
    }


def test_only_one_puzzle_has_no_wrong_choice() -> None:
    all_right = [p.id for p in PUZZLES if set(legal_moves(start_puzzle(p).position)) == p.right]
    assert all_right == ["last-trump-win"]


# --- the matches of the puzzles ---------------------------------------------------------------


@pytest.mark.parametrize("puzzle", [*PUZZLES, *MINED], ids=lambda puzzle: puzzle.id)
def test_the_match_of_a_puzzle_reaches_its_position(puzzle: Puzzle) -> None:
    match = start_puzzle(puzzle).match
    assert tuple(match.hands) == puzzle.hands
    assert match.stock == []
    assert match.trump_suit == puzzle.trump_suit
    everywhere = [*match.hands, match.discard, match.on_table]
    assert sum(cards.bit_count() for cards in everywhere) == puzzle.deck
    assert match.bouts_without_discard < 10


@pytest.mark.parametrize(
    ("you", "opponent", "leader", "deck"),
    [
        ("6♠", "A♥", PLAYER, 36),
        ("6♠", "A♥", OPPONENT, 36),
        ("6♠", "A♥ 7♥ 8♥", PLAYER, 36),
        ("6♠ 7♠ 8♠", "A♥", PLAYER, 36),
        ("6♠ 7♦ 8♦ 9♦ 10♦ J♦", "A♥ 7♥ 8♥ K♠ Q♠ J♠", OPPONENT, 36),
        ("9♠ 10♠", "J♠ K♥", PLAYER, 24),
        ("2♠ 3♦", "4♠ K♥ 2♥ 3♥", OPPONENT, 52),
    ],
)
def test_R3_4_in_a_reconstructed_deal_the_lowest_trump_leads(
    you: str, opponent: str, leader: int, deck: int
) -> None:
    spades = 3
    hands = [mask_of(card_of(word) for word in hand.split()) for hand in (you, opponent)]
    past = reconstruct_deal(hands, leader, spades, deck)
    held = [mask_of(hand.cards) for hand in past.dealt.hands]
    assert lowest_trump_holder(held, spades) == past.dealt.first_attacker
    assert past.bouts[0].attacker == past.dealt.first_attacker
    assert SUIT_OF[past.dealt.trump_card] == spades == SUIT_OF[past.dealt.stock[-1]]
    assert len(past.dealt.stock) == deck - 12


def card_of(word: str) -> Any:
    return next(iter(cards_in(parse_move(word).card)))


@pytest.mark.parametrize(
    ("you", "opponent", "fault"),
    [
        ("6♠ 7♠", "A♥", "an even number"),
        ("6♠", "", "both hands must hold cards"),
        ("6♠ 7♠ 8♠ 9♠ 10♠ J♠ Q♠", "A♥ K♥ Q♥ J♥ 10♥ 9♥ 8♥", "at most twelve"),
        ("6♠ 7♠ 8♠ 9♠ 10♠", "J♠ Q♠ K♠ A♠ 6♥", "too few trumps"),
    ],
)
def test_no_deal_leads_to_impossible_hands(you: str, opponent: str, fault: str) -> None:
    hands = [mask_of(card_of(word) for word in hand.split()) for hand in (you, opponent)]
    with pytest.raises(ValueError, match=fault):
        reconstruct_deal(hands, PLAYER, 3, 36)


# --- choices ----------------------------------------------------------------------------------


@pytest.mark.parametrize("puzzle", [*PUZZLES, *MINED[::MINED_STEP]], ids=lambda puzzle: puzzle.id)
def test_every_choice_is_played_to_the_result_that_the_solver_predicts(puzzle: Puzzle) -> None:
    started = start_puzzle(puzzle)
    predicted = evaluate_moves(started.position)
    version = started.match.version
    for choice in legal_moves(started.position):
        made = make_attempt(puzzle, started, choice)
        records = [*made.steps, *made.continuation]
        assert [r.version for r in records] == list(range(version + 1, version + 1 + len(records)))
        finished = records[-1].event.finished
        came_out = Value.LOSS if finished.durak == PLAYER else Value.WIN
        if finished.outcome == Outcome.OUTCOME_DRAW:
            came_out = Value.DRAW
        assert made.value is came_out is predicted[choice].value
        assert made.right is (choice in puzzle.right) is (made.value is made.best)
        assert made.view.version == version + len(made.steps)
        assert list(made.view.hand) == [card for card in cards_in(mask_of(made.view.hand)) if card]
        assert made.opponent_hand.bit_count() == made.view.seats[OPPONENT].card_count
    assert started.match.version == version, "a choice does not change the puzzle"


def test_R9_1_the_same_defence_has_different_results() -> None:
    for puzzle_id, outcome in (
        ("last-trump-draw", Outcome.OUTCOME_DRAW),
        ("last-trump-win", Outcome.OUTCOME_PLAYED_OUT),
    ):
        puzzle = named(puzzle_id)
        made = make_attempt(puzzle, start_puzzle(puzzle), parse_move("6♠ x A♥"))
        kinds = [record.event.WhichOneof("kind") for record in made.steps]
        assert kinds == ["defended", "discarded", "went_out", "finished"]
        assert made.steps[-1].event.finished.outcome == outcome
        assert made.continuation == ()


def test_R7_1_after_a_choice_play_goes_on_until_the_players_next_choice() -> None:
    puzzle = named("draw-out-the-trump")
    made = make_attempt(puzzle, start_puzzle(puzzle), parse_move("7♣"))
    kinds = [record.event.WhichOneof("kind") for record in made.steps]
    # A♠ beats 7♣, the player can only pass, and the opponent leads
    assert kinds == ["attacked", "defended", "passed", "discarded", "attacked"]
    assert made.view.moves.can_take


def test_R5_1_the_opponent_transfers_before_the_player_can_add_a_card() -> None:
    # Of two sixes led together the opponent could transfer neither. Led alone, 6♦ is transferred.
    data: dict[str, Any] = {"difficulty": 4, "trump": "♥", "transfer": True, "right": ["10♦"]}
    data |= {"you": "6♦ 10♦ J♦ 6♠", "opponent": "6♣ J♣", "mistake": "6♦", "result": "win"}
    puzzle = parse_puzzle("six-or-ten", data)
    made = make_attempt(puzzle, start_puzzle(puzzle), parse_move("6♦"))
    kinds = [record.event.WhichOneof("kind") for record in made.steps]
    assert kinds[:2] == ["attacked", "transferred"]
    assert made.value is not Value.WIN is made.best


def test_a_move_message_selects_its_choice() -> None:
    for puzzle in PUZZLES:
        started = start_puzzle(puzzle)
        for choice in legal_moves(started.position):
            assert find_choice(started, to_move_message(choice)) == choice


def test_an_illegal_move_is_refused_with_its_reason() -> None:
    started = start_puzzle(named("last-trump-draw"))
    ace_of_spades = Move(attack=AttackMove(card=card_of("A♠")))
    refusal = find_choice(started, ace_of_spades)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == ErrorReason.ERROR_REASON_NOT_YOUR_TURN
    assert find_choice(started, None) is None  # the defender cannot wait


# --- invalid data -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"difficulty": 6},
        {"trump": "x"},
        {"you": "1♠"},
        {"right": []},
        {"bout": ["somebody: A♥"]},
        {"texts": {"en": {"title": "One"}}},
    ],
)
def test_invalid_data_are_refused(change: dict[str, Any]) -> None:
    parse_puzzle("fine", DATA)
    with pytest.raises(PuzzleError, match="broken"):
        parse_puzzle("broken", DATA | change)


@pytest.mark.parametrize(
    "change",
    [
        {"you": "6♠ 7♠"},  # an odd number of cards
        {"bout": ["you: A♥"]},  # then the player cannot defend
        {"bout": ["opponent: A♥", "you: 6♠ x A♥"]},  # over already, and 6♠ in two places
        {"deck": 24},  # has no sixes
    ],
)
def test_positions_that_no_match_reaches_are_refused(change: dict[str, Any]) -> None:
    start_puzzle(parse_puzzle("fine", DATA))
    with pytest.raises((PuzzleError, ValueError)):
        start_puzzle(parse_puzzle("broken", DATA | change))
