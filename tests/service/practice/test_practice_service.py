"""PracticeService over a real channel, without a token."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode, aio

from domain.cards import card_name
from domain.endgame import Value
from durak.v1 import practice_service_pb2 as api
from durak.v1.cards_pb2 import CARD_9C, CARD_AH, CARD_AS
from durak.v1.table_pb2 import AttackMove, DefendMove, EndgameResult, Move
from service.practice.puzzles import read_puzzles
from service.text.localisation import LANGUAGES
from tests.service.without_token import practice, public_services, refused, speaking

LATIN_FACES = re.compile(r"[JQKA][♣♦♥♠]")


@pytest.fixture
async def channel(tmp_path: Path) -> AsyncIterator[aio.Channel]:
    async with public_services(tmp_path, public_calls_per_second=0) as channel:
        yield channel


async def puzzle_of(channel: aio.Channel, puzzle_id: str, language: str = "en") -> api.Puzzle:
    request = api.GetPuzzleRequest(puzzle_id=puzzle_id, language=language)
    answer: api.GetPuzzleResponse = await practice(channel).GetPuzzle(request)
    return answer.puzzle


async def try_choice(
    channel: aio.Channel, puzzle_id: str, choice: api.PuzzleChoice, language: str = "en"
) -> api.TryMoveResponse:
    request = api.TryMoveRequest(puzzle_id=puzzle_id, language=language)
    if choice.HasField("wait"):
        request.wait.SetInParent()
    else:
        request.move.CopyFrom(choice.move)
    answer: api.TryMoveResponse = await practice(channel).TryMove(request)
    return answer


async def test_puzzles_come_in_pages_the_easiest_first(channel: aio.Channel) -> None:
    stub = practice(channel)
    found: list[api.PuzzleSummary] = []
    token = ""
    while True:
        answer = await stub.ListPuzzles(api.ListPuzzlesRequest(page_size=7, page_token=token))
        assert 0 < len(answer.puzzles) <= 7
        found += answer.puzzles
        token = answer.next_page_token
        if not token:
            break
    assert sorted(p.puzzle_id for p in found) == [p.id for p in read_puzzles()]
    assert [p.difficulty for p in found] == sorted(p.difficulty for p in found)
    assert {p.role for p in found} == {1, 2, 3}
    assert len((await stub.ListPuzzles(api.ListPuzzlesRequest())).puzzles) == 20


async def test_a_puzzle_shows_the_position_and_mentions_the_open_hand(
    channel: aio.Channel,
) -> None:
    puzzle = await puzzle_of(channel, "last-trump-win")
    assert puzzle.situation == (
        "Trumps are spades (♠); the stock is empty. On the table: A♥. "
        "You hold 6♠; the opponent holds 8♣ 9♦."
    )
    assert [card_name(card) for card in puzzle.opponent_hand] == ["8♣", "9♦"]
    assert "In a match you would have to remember" in puzzle.open_hand_note
    assert [card_name(card) for card in puzzle.view.hand] == ["6♠"]
    assert puzzle.view.stock_count == 0
    assert not puzzle.view.HasField("deadline_time")
    assert [choice.text for choice in puzzle.choices] == ["Beat A♥ with 6♠", "Take"]
    assert puzzle.choices[0].move.defend.attack_card == CARD_AH


async def test_seed_000_the_same_answer_has_two_results(channel: aio.Channel) -> None:
    for puzzle_id, result, last in (
        ("last-trump-draw", EndgameResult.ENDGAME_RESULT_DRAW, "A draw."),
        ("last-trump-win", EndgameResult.ENDGAME_RESULT_WIN, "The opponent is the durak."),
    ):
        choice = (await puzzle_of(channel, puzzle_id)).choices[0]
        answer = await try_choice(channel, puzzle_id, choice)
        assert answer.right
        assert answer.result == answer.best_result == result
        assert answer.steps[0].text == "You beat A♥ with 6♠."
        assert answer.steps[-1].text == last
        assert answer.steps[-1].event.event.HasField("finished")
        assert not answer.continuation
        assert answer.view.HasField("result")


async def test_a_wrong_choice_is_explained(channel: aio.Channel) -> None:
    choice = (await puzzle_of(channel, "last-trump-draw", "ru")).choices[1]
    assert choice.text == "Взять"
    answer = await try_choice(channel, "last-trump-draw", choice, "ru")
    assert not answer.right
    assert answer.result == EndgameResult.ENDGAME_RESULT_LOSS
    assert answer.best_result == EndgameResult.ENDGAME_RESULT_DRAW
    assert [step.text for step in answer.steps] == [
        "Вы говорите «беру».",
        "Вы забираете 1 карту.",
        "У соперника больше нет карт, он вышел.",
        "Вы в дураках.",
    ]
    assert answer.result_text == "Вы проиграли."
    assert answer.explanation.startswith("Если взять, у вас две карты")


async def test_waiting_can_be_a_choice(channel: aio.Channel) -> None:
    puzzle = await puzzle_of(channel, "throw-in-later")
    wait = next(choice for choice in puzzle.choices if choice.HasField("wait"))
    answer = await try_choice(channel, "throw-in-later", wait)
    assert answer.right
    # waiting adds no event: the next event is the defender's
    assert answer.steps[0].text == "The opponent beats 10♥ with K♥."
    assert [card_name(card) for card in answer.opponent_hand] == ["8♣", "Q♦", "K♠"]
    assert answer.result_text == "With best play by both, you win from here."
    assert answer.continuation[-1].text == "The opponent is the durak."


async def test_the_texts_of_a_puzzle_from_a_match_are_generated(channel: aio.Channel) -> None:
    stored = next(p for p in read_puzzles() if p.mined and p.mined.result is Value.WIN)
    assert stored.mined is not None
    for language, question, only in (
        ("en", "Only one choice wins. Which one?", "Only “{}” wins."),
        ("ru", "Выигрывает только один ход. Какой?", "Выигрывает только «{}»."),
        ("el", "Μόνο μία επιλογή κερδίζει. Ποια;", "Κερδίζει μόνο το «{}»."),
    ):
        puzzle = await puzzle_of(channel, stored.id, language)
        assert puzzle.question == question
        answers = [
            (it, await try_choice(channel, stored.id, it, language)) for it in puzzle.choices
        ]
        [(right, praise)] = [(choice, answer) for choice, answer in answers if answer.right]
        wrong = [(choice, answer) for choice, answer in answers if not answer.right]
        assert {answer.explanation for _, answer in wrong} == {only.format(right.text)}
        assert sum(f"{choice.text}" in praise.explanation for choice, _ in wrong) >= 1


@pytest.mark.parametrize("language", LANGUAGES)
async def test_all_texts_are_in_the_language(channel: aio.Channel, language: str) -> None:
    stub = practice(channel)
    listed = await stub.ListPuzzles(
        api.ListPuzzlesRequest(page_size=100), metadata=speaking(language)
    )
    assert listed.language == language
    known = read_puzzles()
    mined = [puzzle.id for puzzle in known if puzzle.mined]
    for puzzle_id in (*(puzzle.id for puzzle in known if not puzzle.mined), *mined[::20]):
        puzzle = await puzzle_of(channel, puzzle_id, language)
        texts = [puzzle.summary.title, puzzle.situation, puzzle.question, puzzle.open_hand_note]
        for choice in puzzle.choices:
            answer = await try_choice(channel, puzzle_id, choice, language)
            texts += [choice.text, answer.result_text, answer.explanation]
            texts += [step.text for step in (*answer.steps, *answer.continuation)]
        for text in texts:
            assert text.strip() == text != ""
            assert "{" not in text
            assert bool(LATIN_FACES.search(text)) <= (language == "en"), text


@pytest.mark.parametrize(
    ("request_", "code", "reason"),
    [
        (api.TryMoveRequest(), StatusCode.INVALID_ARGUMENT, "MALFORMED_FIELD"),
        (
            api.TryMoveRequest(puzzle_id="last-trump-draw"),
            StatusCode.INVALID_ARGUMENT,
            "MALFORMED_FIELD",
        ),
        (
            api.TryMoveRequest(puzzle_id="last-trump-draw", wait=api.WaitChoice()),
            StatusCode.INVALID_ARGUMENT,
            "MALFORMED_FIELD",
        ),
        (
            api.TryMoveRequest(puzzle_id="x" * 65, wait=api.WaitChoice()),
            StatusCode.INVALID_ARGUMENT,
            "MALFORMED_FIELD",
        ),
        (
            api.TryMoveRequest(puzzle_id="no-such", wait=api.WaitChoice()),
            StatusCode.NOT_FOUND,
            "PUZZLE_NOT_FOUND",
        ),
        (
            api.TryMoveRequest(
                puzzle_id="last-trump-draw", move=Move(attack=AttackMove(card=CARD_9C))
            ),
            StatusCode.FAILED_PRECONDITION,
            "NOT_YOUR_TURN",
        ),
        (
            api.TryMoveRequest(
                puzzle_id="last-trump-draw",
                move=Move(defend=DefendMove(attack_card=CARD_AH, card=CARD_AS)),
            ),
            StatusCode.FAILED_PRECONDITION,
            "CARD_NOT_HELD",
        ),
    ],
)
async def test_refusals(
    channel: aio.Channel, request_: api.TryMoveRequest, code: StatusCode, reason: str
) -> None:
    with pytest.raises(aio.AioRpcError) as caught:
        await practice(channel).TryMove(request_)
    assert refused(caught.value) == (code, reason)


async def test_a_page_token_of_another_list_is_refused(channel: aio.Channel) -> None:
    with pytest.raises(aio.AioRpcError) as caught:
        await practice(channel).ListPuzzles(api.ListPuzzlesRequest(page_token="elsewhere"))
    assert refused(caught.value) == (StatusCode.INVALID_ARGUMENT, "PAGE_TOKEN_INVALID")


async def test_practice_and_rules_share_the_rate_limit_of_an_address(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"public_calls_per_second": 0.001, "public_calls_burst": 2}
    async with public_services(tmp_path, **limits) as channel:
        for _ in range(2):
            await practice(channel).ListPuzzles(api.ListPuzzlesRequest())
        with pytest.raises(aio.AioRpcError) as caught:
            await puzzle_of(channel, "last-trump-draw")
        assert refused(caught.value) == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
