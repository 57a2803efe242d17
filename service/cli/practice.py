"""`durak practice`: endgame puzzles at a terminal, then a full match against a bot."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import click
from click.core import ParameterSource

from domain.practice import DIFFICULTY_MAX
from durak.v1 import practice_service_pb2 as api
from durak.v1.practice_service_pb2_grpc import PracticeServiceStub
from service.cli.client import Client
from service.cli.connection import OPTION_NAMES, OPTIONS, RETRY_SECONDS
from service.cli.endpoint import Endpoint, endpoint_of
from service.cli.mine import MINING, MINING_NAMES, mine
from service.cli.options import load_config, with_options
from service.cli.play.command import play
from service.cli.terminal import new_console, print_item
from service.render.moves import parse_number
from service.text.localisation import Texts

_MENU: Final = ("menu-next", "menu-again", "menu-list", "menu-match", "menu-leave")


@click.command()
@click.argument("puzzle", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the puzzles and exit.")
@click.option(
    "--difficulty",
    metavar="N",
    type=click.IntRange(1, DIFFICULTY_MAX),
    help=f"List only puzzles of this difficulty, from 1 to {DIFFICULTY_MAX}.",
)
@with_options(*OPTIONS, *MINING)
@click.pass_context
def practice(context: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Solve endgame puzzles, starting with PUZZLE (an id) or with one from the list.

    After a puzzle you can play a full match against a bot, as `durak play` does. Only that match
    needs a token or a name.

    With --mine, no service is needed: puzzles are found in finished matches and written to a file.
    """
    config = load_config(given["data_dir"])
    _check_mining(context)
    if given["mine"]:
        mine(config, given)
        return
    endpoint = endpoint_of(given, config)
    with _Lesson(endpoint, given["language"]) as lesson:
        wants_match = lesson.run(
            given["puzzle"], only_list=given["only_list"], difficulty=given["difficulty"]
        )
    if wants_match:
        context.invoke(play, **{name: given[name] for name in OPTION_NAMES})


def _check_mining(context: click.Context) -> None:
    """Raise UsageError for options that do not go together."""
    used = [
        option.opts[-1]
        for option in context.command.params
        if option.name in MINING_NAMES
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]
    if used and not context.params["mine"]:
        raise click.UsageError(f"{used[0]} is for --mine only")
    if context.params["mine"] and context.params["puzzle"]:
        raise click.UsageError("--mine takes no PUZZLE")


class _Lesson:
    """A sequence of puzzles.

    Only the calls run in an event loop. Between them, the lesson blocks until a person answers, and
    Ctrl-C works.
    """

    def __init__(self, endpoint: Endpoint, language: str) -> None:
        self._connect: Callable[[], Client] = lambda: Client(
            endpoint, "", language=language, retry_seconds=RETRY_SECONDS
        )
        self._translate = Texts("practice").translator(language)
        self._console = new_console()
        self._print = self._console.print
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._client = self._runner.run(self._opened())
        self._stub = PracticeServiceStub(self._client.channel)
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._client.channel.close())
        self._runner.close()

    async def _opened(self) -> Client:
        return self._connect()  # a channel belongs to the event loop that it is made in

    def run(self, puzzle_id: str | None, *, only_list: bool, difficulty: int | None) -> bool:
        """Practise until the person leaves. Returns True if they want a full match."""
        puzzles = [puzzle for puzzle in self._all() if difficulty in {None, puzzle.difficulty}]
        ids = [puzzle.puzzle_id for puzzle in puzzles]
        if only_list:
            for puzzle in puzzles:
                self._print(f"{puzzle.puzzle_id:<26}{puzzle.difficulty}  {puzzle.title}")
            return False
        while True:
            current = puzzle_id or self._choose(puzzles)
            if current is None or not self._solve(current):
                return False
            answer = self._ask([self._translate(key) for key in _MENU])
            match None if answer is None else _MENU[answer]:
                case "menu-next":
                    puzzle_id = ids[(ids.index(current) + 1) % len(ids) if current in ids else 0]
                case "menu-again":
                    puzzle_id = current
                case "menu-list":
                    puzzle_id = None
                case key:
                    return key == "menu-match"

    def _all(self) -> list[api.PuzzleSummary]:
        """Return the summaries of all puzzles."""
        found: list[api.PuzzleSummary] = []
        request = api.ListPuzzlesRequest(page_size=100)
        while True:
            page = self._call(self._stub.ListPuzzles, request)
            found += page.puzzles
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def _choose(self, puzzles: Sequence[api.PuzzleSummary]) -> str | None:
        """Return the id of the puzzle that the person chooses; None if they leave."""
        self._print(self._translate("list-heading"))
        for number, puzzle in enumerate(puzzles, 1):
            line = self._translate(
                "list-line", number=number, title=puzzle.title, difficulty=puzzle.difficulty
            )
            self._print(f"  {line}")
        self._print(self._translate("ask-puzzle"))
        chosen = self._read_number(len(puzzles), default=1)
        return None if chosen is None else puzzles[chosen - 1].puzzle_id

    def _solve(self, puzzle_id: str) -> bool:
        """Show a position, ask for a choice and show its result. False if the person leaves."""
        request = api.GetPuzzleRequest(puzzle_id=puzzle_id)
        puzzle = self._call(self._stub.GetPuzzle, request).puzzle
        self._print("")
        self._print(puzzle.summary.title, style="bold")
        for text in (puzzle.situation, puzzle.question):
            self._print(text)
        self._print(puzzle.open_hand_note, style="dim")
        self._print(self._translate("ask-choice"))
        chosen = self._ask([choice.text for choice in puzzle.choices])
        if chosen is None:
            return False
        choice = puzzle.choices[chosen]
        attempt = api.TryMoveRequest(puzzle_id=puzzle_id)
        if choice.HasField("wait"):
            attempt.wait.CopyFrom(choice.wait)
        else:
            attempt.move.CopyFrom(choice.move)
        self._show(self._call(self._stub.TryMove, attempt))
        return True

    def _show(self, result: api.TryMoveResponse) -> None:
        for step in result.steps:
            self._print(f"  {step.text}")
        verdict = self._translate("verdict-right" if result.right else "verdict-wrong")
        self._print(f"{verdict} {result.result_text}", style="bold")
        self._print(result.explanation)
        if result.continuation:
            self._print(self._translate("continuation"), style="dim")
            for step in result.continuation:
                self._print(f"  {step.text}", style="dim")
        self._print("")

    def _ask(self, texts: Sequence[str]) -> int | None:
        """Ask for one of these texts. Returns its index; None at the end of the input."""
        for number, text in enumerate(texts, 1):
            print_item(self._console, f"{number}.", text)
        chosen = self._read_number(len(texts))
        return None if chosen is None else chosen - 1

    def _read_number(self, last: int, default: int = 0) -> int | None:
        """Return a typed number from 1 to `last`; `default` for an empty line, None at the end."""
        while True:
            if sys.stdin.isatty():
                self._print("> ", end="")
            line = read_line(sys.stdin.fileno())
            if line is None:
                return None
            number = parse_number(line) if line.strip() else default
            if number is not None and 1 <= number <= last:
                return number
            self._print(self._translate("ask-number", last=last))

    def _call(self, method: Any, request: Any) -> Any:  # noqa: ANN401 - a method, its messages
        return self._runner.run(self._client.call(method, request))


def read_line(descriptor: int) -> str | None:
    """Return the next line; None at the end.

    Reads no byte beyond it, since the rest of the input may be for the match.
    """
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            break
        line += byte
    return line.decode(errors="replace") if line else None
