"""A person's terminal, or the pipe in its place: lines out in colour, lines in one at a time."""

import asyncio
import codecs
import os
import sys
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from service.render.cards import colour_cards

Answer = tuple[str | None, float]
"""A line and when it came, by the monotonic clock in seconds; None: there are no more lines."""

_CHUNK_BYTES: Final = 4096
_BETWEEN: Final = " · "
_CLEAR_LINE: Final = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


def new_console() -> Console:
    """Standard output: colours only at a terminal and without NO_COLOR, lines wrapped there."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())


class Terminal:
    """Prints lines, and reads answers when they are asked for.

    At a terminal an answer is always waited for, so that words can be typed at any time; from a
    pipe a line is only taken when a move is wanted, so that a script plays as it was written.
    """

    def __init__(self) -> None:
        self.is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._console = new_console()
        self._is_prompting = False
        self._wanted: SimpleQueue[None] = SimpleQueue()
        self._reader: threading.Thread | None = None

    def print(self, text: str, trump_suit: int = -1, style: str = "") -> None:
        """One line, the cards in it in colour. It takes the place of a prompt without an answer."""
        self._clear_prompt()
        for row in [text] if self._console.soft_wrap else wrap_parts(text, self._console.width):
            self._console.print(colour_cards(row, trump_suit), style=style or None)

    def hint(self, text: str) -> None:
        """A text that ends with a command, which is not broken: it is there to be copied."""
        self._clear_prompt()
        self._console.print(text, style="dim", soft_wrap=True)

    def prompt(self) -> None:
        """Show that an answer is waited for; a pipe needs no telling."""
        if self.is_interactive:
            self._console.print("> ", end="")
            self._is_prompting = True

    def _clear_prompt(self) -> None:
        if self._is_prompting:
            self._console.control(_CLEAR_LINE)
            self._is_prompting = False

    def answered(self) -> None:
        """The person has pressed Enter, so the prompt stands on a line above."""
        self._is_prompting = False

    def read(self, answers: "asyncio.Queue[Answer]") -> None:
        """Put the next line into `answers` when it has come; None when there are no more."""
        if self._reader is None:
            loop = asyncio.get_running_loop()
            # A daemon on the bare descriptor: the process can end while it waits for a person.
            self._reader = threading.Thread(
                target=self._serve, args=(loop, answers), name="answers", daemon=True
            )
            self._reader.start()
        self._wanted.put(None)

    def _serve(self, loop: asyncio.AbstractEventLoop, answers: "asyncio.Queue[Answer]") -> None:
        lines = _lines(sys.stdin.fileno())
        while True:
            self._wanted.get()
            line = next(lines, None)
            try:
                loop.call_soon_threadsafe(answers.put_nowait, (line, time.monotonic()))
            except RuntimeError:
                return  # the loop has ended
            if line is None:
                return


def wrap_parts(text: str, width: int) -> list[str]:
    """A line in parts, ``a · b · c``, broken between two parts where it is wider than `width`."""
    first, *others = text.split(_BETWEEN)
    rows = [first]
    for part in others:
        row = f"{rows[-1]}{_BETWEEN}{part}"
        if cell_len(row) <= width:
            rows[-1] = row
        else:
            rows.append(f"  {part}")
    return rows


def _lines(descriptor: int) -> Iterator[str]:
    """The lines of a descriptor as they come, without waiting for more than one."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        rest += decoder.decode(chunk)
        *whole, rest = rest.split("\n")
        yield from whole
    if rest:
        yield rest
