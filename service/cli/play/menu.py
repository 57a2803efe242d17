"""Which menu a number was meant for: moves of others change what a person can do while they type.

A number means the move beside which the person saw it, or nothing. A card or a word says by itself
what is meant, and is judged against the newest table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from durak.v1.table_pb2 import Move, TableView
from service.render.moves import Choice
from service.render.table import on_table

REACTION_SECONDS: Final = 0.5
"""A number that comes sooner than this after a menu was meant for the one before."""


@dataclass(frozen=True, slots=True)
class Menu:
    """The moves offered, and what lay on the table then."""

    choices: Sequence[Choice] = ()
    on_table: str = ""

    @property
    def texts(self) -> list[str]:
        """The moves as they are shown."""
        return [choice.text for choice in self.choices]

    def looks_like(self, other: "Menu") -> bool:
        """It shows the same: a pass of somebody else changes nothing for the reader."""
        return (self.texts, self.on_table) == (other.texts, other.on_table)

    def move(self, number: int) -> Move | None:
        """The move with this number, counted from 1."""
        return self.choices[number - 1].move if 1 <= number <= len(self.choices) else None


def menu_of(view: TableView, choices: Sequence[Choice]) -> Menu:
    """The menu of a view."""
    return Menu(choices, on_table(view))


class MenuHistory:
    """The menus that were shown since the person last made a move."""

    def __init__(self) -> None:
        self._shown: list[tuple[float, Menu]] = []

    def show(self, menu: Menu, now: float) -> None:
        """A menu comes on the screen at this time (seconds)."""
        self._shown = [*self._shown[-1:], (now, menu)]

    def used(self) -> None:
        """A move was made: what the person types from now on is not for an earlier menu."""
        self._shown.clear()

    def seen(self, arrived: float) -> Menu:
        """The menu that somebody read who pressed Enter at this time."""
        read = [menu for shown, menu in self._shown if shown <= arrived - REACTION_SECONDS]
        if read:
            return read[-1]
        return self._shown[0][1] if self._shown else Menu()
