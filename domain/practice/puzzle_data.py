"""Reads and writes the plain data of puzzles, in the format of docs/practice-and-rules.md."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from domain.cards import CARD_BY_NAME, SUIT_SYMBOLS, CardMask, mask_of
from domain.endgame import EndgameMove, Value
from domain.practice.notation import format_cards, format_move, parse_move
from domain.practice.puzzle import SEATS, MinedAnswer, Puzzle, PuzzleError

TEXTS: Final = ("title", "question", "right")
DIFFICULTY_MAX: Final = 5
_DECK: Final = 36
_RESULTS: Final = MappingProxyType({"win": Value.WIN, "draw": Value.DRAW})
_KNOWN: Final = frozenset(
    {"difficulty", "deck", "trump", "transfer", "draw_allowed", "you", "opponent", "bout", "right"}
)
_NAMES: Final = MappingProxyType({seat: name for name, seat in SEATS.items()})


def parse_puzzle(puzzle_id: str, data: Mapping[str, Any]) -> Puzzle:
    """Return the puzzle of plain data. Raises PuzzleError."""
    answer = {"texts"} if "texts" in data else {"result", "mistake"}
    if unknown := set(data) - _KNOWN - answer:
        raise PuzzleError(f"{puzzle_id}: unknown keys {sorted(unknown)}")
    try:
        puzzle = Puzzle(
            id=puzzle_id,
            difficulty=data["difficulty"],
            deck=data.get("deck", _DECK),
            trump_suit=SUIT_SYMBOLS.index(data["trump"]),
            transfer=data.get("transfer", False),
            draw_allowed=data.get("draw_allowed", True),
            hands=(_hand(data["you"]), _hand(data["opponent"])),
            bout=tuple(_seat_and_move(text) for text in data.get("bout", ())),
            right=frozenset(parse_move(text) for text in data["right"]),
            texts=data.get("texts", {}),
            mined=None if "texts" in data else _mined_answer(data),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PuzzleError(f"{puzzle_id}: {error!r}") from error
    _check(puzzle)
    return puzzle


def parse_puzzles(data: Mapping[str, Any]) -> list[Puzzle]:
    """Return the mined puzzles of one file: a table for each, by id. Raises PuzzleError."""
    for puzzle_id, table in data.items():
        if not isinstance(table, Mapping) or "texts" in table:
            raise PuzzleError(f"{puzzle_id}: must be a table of a puzzle without texts")
    return [parse_puzzle(puzzle_id, table) for puzzle_id, table in data.items()]


def format_puzzles(puzzles: Iterable[Puzzle]) -> str:
    """Return a file of mined puzzles in TOML, as `parse_puzzles` reads it."""
    return "\n".join("\n".join((*_lines(puzzle), "")) for puzzle in puzzles)


def _hand(text: str) -> CardMask:
    return mask_of(CARD_BY_NAME[word] for word in text.split())


def _seat_and_move(text: str) -> tuple[int, EndgameMove]:
    name, _, move = text.partition(": ")
    return SEATS[name], parse_move(move)


def _mined_answer(data: Mapping[str, Any]) -> MinedAnswer:
    return MinedAnswer(_RESULTS[data["result"]], parse_move(data["mistake"]))


def _check(puzzle: Puzzle) -> None:
    if puzzle.difficulty not in range(1, DIFFICULTY_MAX + 1) or not puzzle.right:
        raise PuzzleError(f"{puzzle.id}: difficulty must be 1 to 5 and right must not be empty")
    if puzzle.mined and (len(puzzle.right) > 1 or puzzle.mined.mistake in puzzle.right):
        raise PuzzleError(f"{puzzle.id}: without texts, right must be one move and not the mistake")
    for language, texts in puzzle.texts.items():
        if set(texts) - {"wrong"} != set(TEXTS) or not all(texts.values()):
            raise PuzzleError(
                f"{puzzle.id}: texts.{language} must be {', '.join(TEXTS)} and at most wrong"
            )


def _lines(puzzle: Puzzle) -> Iterator[str]:
    """Yield the lines of a mined puzzle. Keys with their default value are left out."""
    assert puzzle.mined is not None, "a puzzle with texts has a file of its own"
    yield f"[{puzzle.id}]"
    yield f"difficulty = {puzzle.difficulty}"
    if puzzle.deck != _DECK:
        yield f"deck = {puzzle.deck}"
    yield f'trump = "{SUIT_SYMBOLS[puzzle.trump_suit]}"'
    if puzzle.transfer:
        yield "transfer = true"
    if not puzzle.draw_allowed:
        yield "draw_allowed = false"
    for name, seat in SEATS.items():
        yield f'{name} = "{format_cards(puzzle.hands[seat])}"'
    if puzzle.bout:
        yield f"bout = {_list(f'{_NAMES[seat]}: {format_move(it)}' for seat, it in puzzle.bout)}"
    yield f"right = {_list(map(format_move, puzzle.right))}"
    yield f'mistake = "{format_move(puzzle.mined.mistake)}"'
    yield f'result = "{puzzle.mined.result.name.lower()}"'


def _list(texts: Iterable[str]) -> str:
    quoted = ", ".join(f'"{text}"' for text in texts)
    return f"[{quoted}]"
