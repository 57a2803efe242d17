"""The numbered moves that a person has seen, and which of them a typed number means.

Other players' moves can change the menu while a person types. A number means the move that the
person saw beside it, or nothing. Cards and words are judged against the newest table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from durak.v1.table_pb2 import Move
from service.render.moves import Choice

REACTION_SECONDS: Final = 0.5
"""A number typed sooner than this after a new menu was meant for the previous one."""


@dataclass(frozen=True, slots=True)
class Menu:
    """The moves on offer, and the cards on the table at that time."""

    choices: Sequence[Choice] = ()
    on_table: str = ""

    @property
    def texts(self) -> list[str]:
        """The moves as text."""
        return [choice.text for choice in self.choices]

    def looks_like(self, other: "Menu") -> bool:
        """Return whether both menus show the same moves and the same table."""
        return (self.texts, self.on_table) == (other.texts, other.on_table)

    def move(self, number: int) -> Move | None:
        """Return the move with a number, counted from 1, or None."""
        return self.choices[number - 1].move if 1 <= number <= len(self.choices) else None


class MenuHistory:
    """The last two menus shown since the person last made a move."""

    def __init__(self) -> None:
        self._shown: list[tuple[float, Menu]] = []

    def add(self, menu: Menu, now: float) -> None:
        """Add a menu that is shown from `now` on (monotonic seconds)."""
        self._shown = [*self._shown[-1:], (now, menu)]

    def clear(self) -> None:
        """Forget all menus after a move: the next number is not meant for them."""
        self._shown.clear()

    def menu_at(self, time: float) -> Menu:
        """Return the menu that a person had read who pressed Enter at this time."""
        read = [menu for shown_at, menu in self._shown if shown_at <= time - REACTION_SECONDS]
        if read:
            return read[-1]
        return self._shown[0][1] if self._shown else Menu()
