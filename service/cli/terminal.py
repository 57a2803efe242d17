"""The terminal, or the pipe in its place: coloured and wrapped output, and typed lines."""

import asyncio
import codecs
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from textwrap import wrap
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from service.render.cards import colour_cards

Answer = tuple[str | None, float]
"""A typed line, or None at the end of the input, and its arrival time (monotonic, seconds)."""

_CHUNK_BYTES: Final = 4096
_CLEAR_LINE: Final = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


def new_console() -> Console:
    """Return a console for standard output.

    Only at a terminal it wraps lines and, unless NO_COLOR is set, uses colours.
    """
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def print_fields(console: Console, fields: Sequence[str]) -> None:
    """Print the fields of a list entry on one line; at a terminal on as many as they need."""
    if console.soft_wrap:
        console.print("  ".join(fields))
        return
    for row in wrap_fields(fields, console.width, separator="  ", indent="    "):
        console.print(row.rstrip())


def print_item(console: Console, bullet: str, text: str) -> None:
    """Print a list item. At a terminal, its further lines are indented like the first."""
    start = f"  {bullet} "
    if console.soft_wrap:
        console.print(f"{start}{text}")
        return
    for row in _wrap_words(text, console.width, start, " " * cell_len(start)):
        console.print(row)


def wrap_fields(
    fields: Sequence[str], width: int, *, separator: str = " · ", indent: str = "  "
) -> list[str]:
    """Return fields as rows of at most `width` cells, broken between fields where possible.

    >>> wrap_fields(["Bout 1", "stock 18", "hands Anna 6, Boris 6"], width=20)
    ['Bout 1 · stock 18', '  hands Anna 6,', '  Boris 6']
    """
    rows: list[str] = []
    for field in fields:
        row = f"{rows[-1]}{separator}{field}" if rows else field
        if cell_len(row) <= width:
            rows[-1:] = [row]
        else:
            rows += _wrap_words(field, width, indent if rows else "", indent)
    return rows


def _wrap_words(text: str, width: int, first_indent: str, indent: str) -> list[str]:
    """Return rows of at most `width` cells, broken between words only: ids stay whole."""
    return wrap(
        text,
        width,
        initial_indent=first_indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Terminal:
    """Prints lines and reads answers.

    At a terminal it always reads, so that a person can type at any time. From a pipe it reads a
    line only when a move is needed, so that a script plays the same match again.
    """

    def __init__(self) -> None:
        self.is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._console = new_console()
        self._is_prompting = False
        self._requests: SimpleQueue[None] = SimpleQueue()
        self._reader: threading.Thread | None = None

    def print(self, text: str, trump_suit: int = -1, style: str = "") -> None:
        """Print a line with its cards coloured. Replaces an unanswered prompt."""
        self._clear_prompt()
        if self._console.soft_wrap:
            rows = [text]
        else:
            rows = wrap_fields(text.split(" · "), self._console.width)
        for row in rows:
            self._console.print(colour_cards(row, trump_suit), style=style or None)

    def print_hint(self, text: str) -> None:
        """Print a text that ends with a command, unwrapped so that the command can be copied."""
        self._clear_prompt()
        self._console.print(text, style="dim", soft_wrap=True)

    def prompt(self) -> None:
        """Show a prompt, unless the input is a pipe."""
        if self.is_interactive:
            self._console.print("> ", end="")
            self._is_prompting = True

    def _clear_prompt(self) -> None:
        if self._is_prompting:
            self._console.control(_CLEAR_LINE)
            self._is_prompting = False

    def mark_answered(self) -> None:
        """Note that the person has pressed Enter, so there is no prompt to clear."""
        self._is_prompting = False

    def read(self, answers: "asyncio.Queue[Answer]") -> None:
        """Put the next line into `answers` once it arrives; None at the end of the input."""
        if self._reader is None:
            loop = asyncio.get_running_loop()
            # A daemon thread on the bare descriptor does not keep the process alive.
            self._reader = threading.Thread(
                target=self._serve, args=(loop, answers), name="answers", daemon=True
            )
            self._reader.start()
        self._requests.put(None)

    def _serve(self, loop: asyncio.AbstractEventLoop, answers: "asyncio.Queue[Answer]") -> None:
        lines = _lines(sys.stdin.fileno())
        while True:
            self._requests.get()
            line = next(lines, None)
            try:
                loop.call_soon_threadsafe(answers.put_nowait, (line, time.monotonic()))
            except RuntimeError:
                return  # the loop has ended
            if line is None:
                return


def _lines(descriptor: int) -> Iterator[str]:
    """Yield the lines of a descriptor as they arrive, without blocking for the next one."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        rest += decoder.decode(chunk)
        *whole, rest = rest.split("\n")
        yield from whole
    if rest:
        yield rest
