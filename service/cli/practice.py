"""`durak practice`: endings to be solved at a terminal, and then a full match against a bot."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self

import click

from durak.v1 import practice_service_pb2 as api
from durak.v1.practice_service_pb2_grpc import PracticeServiceStub
from service.cli.client import Client
from service.cli.connection import RETRY_SECONDS
from service.cli.options import (
    CERTIFICATE,
    KEY_DATA,
    LANGUAGE,
    SERVER,
    load_config,
    server_address,
    with_options,
)
from service.cli.play.command import EXIT_INTERRUPTED, play
from service.cli.terminal import new_console
from service.render.moves import parse_number
from service.text.localisation import Texts

_MENU: Final = ("menu-next", "menu-again", "menu-list", "menu-match", "menu-leave")


@click.command()
@click.argument("puzzle", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the puzzles, no more.")
@with_options(SERVER, CERTIFICATE)
@click.option("--token", envvar="DURAK_TOKEN", show_envvar=True, help="For the full match.")
@click.option("--name", help="Your name in the full match.")
@with_options(KEY_DATA, LANGUAGE)
@click.pass_context
def practice(context: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Solve endings, beginning with PUZZLE (an id) or one that you choose.

    You need no token. After a puzzle you can play a full match against a bot, as `durak play` does.
    """
    config = load_config(given["data_dir"])
    address = server_address(given["server"], config)
    try:
        with _Lesson(address, given["certificate"], given["language"]) as lesson:
            wants_match = lesson.run(given["puzzle"], only_list=given["only_list"])
    except KeyboardInterrupt:
        context.exit(EXIT_INTERRUPTED)
    if wants_match:
        shared = ("server", "certificate", "token", "name", "data_dir", "language")
        context.invoke(play, **{name: given[name] for name in shared})


class _Lesson:
    """Puzzles, one after the other.

    Only the calls run in an event loop: between them this waits for a person, who may press Ctrl-C.
    """

    def __init__(self, address: str, certificate: Path | None, language: str) -> None:
        self._connect: Callable[[], Client] = lambda: Client(
            address,
            "",
            language=language,
            certificate=certificate,
            retry_seconds=RETRY_SECONDS,
        )
        texts = Texts("practice")
        self._translate: Callable[..., str] = lambda key, **arguments: texts.format(
            key, language, arguments
        )
        self._print = new_console().print
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._client = self._runner.run(self._opened())
        self._stub = PracticeServiceStub(self._client.channel)
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._client.channel.close())
        self._runner.close()

    async def _opened(self) -> Client:
        return self._connect()  # a channel belongs to the loop that it is made in

    def run(self, puzzle_id: str | None, *, only_list: bool) -> bool:
        """Practise until the person leaves: True when it is for a full match."""
        puzzles = self._call(self._stub.ListPuzzles, api.ListPuzzlesRequest(page_size=100)).puzzles
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
                    puzzle_id = ids[(ids.index(current) + 1) % len(ids)]
                case "menu-again":
                    puzzle_id = current
                case "menu-list":
                    puzzle_id = None
                case key:
                    return key == "menu-match"

    def _choose(self, puzzles: Sequence[api.PuzzleSummary]) -> str | None:
        """The id of the puzzle that the person wants; None when they leave."""
        self._print(self._translate("list-heading"))
        for number, puzzle in enumerate(puzzles, 1):
            line = self._translate(
                "list-line", number=number, title=puzzle.title, difficulty=puzzle.difficulty
            )
            self._print(f"  {line}")
        self._print(self._translate("ask-puzzle"))
        chosen = self._number(len(puzzles), default=1)
        return None if chosen is None else puzzles[chosen - 1].puzzle_id

    def _solve(self, puzzle_id: str) -> bool:
        """One puzzle: the position, a choice, what comes of it. False when the person leaves."""
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

    def _show(self, made: api.TryMoveResponse) -> None:
        for step in made.steps:
            self._print(f"  {step.text}")
        verdict = self._translate("verdict-right" if made.right else "verdict-wrong")
        self._print(f"{verdict} {made.result_text}", style="bold")
        self._print(made.explanation)
        if made.continuation:
            self._print(self._translate("continuation"), style="dim")
            for step in made.continuation:
                self._print(f"  {step.text}", style="dim")
        self._print("")

    def _ask(self, texts: Sequence[str]) -> int | None:
        """Which of these the person wants, from 0; None when there is no more to read."""
        for number, text in enumerate(texts, 1):
            self._print(f"  {number}. {text}")
        chosen = self._number(len(texts))
        return None if chosen is None else chosen - 1

    def _number(self, last: int, default: int = 0) -> int | None:
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
    """The next line, not a byte more: what follows may be for the match. None at the end."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            break
        line += byte
    return line.decode(errors="replace") if line else None
