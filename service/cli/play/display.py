"""What `durak play` prints: events, the table, and the moves on offer."""

import time
from datetime import UTC

from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_REVEALING, PHASE_WAITING, TableView
from service.cli.play.menu import Menu, MenuHistory
from service.cli.terminal import Terminal
from service.render.cards import format_hand
from service.render.moves import list_choices
from service.render.narration import LineKind, Narrator
from service.render.table import on_table, seat_names, table_lines, trump_suit
from service.text.localisation import Translate


class Display:
    """Prints one match at a terminal."""

    def __init__(self, terminal: Terminal, translate: Translate) -> None:
        self._terminal = terminal
        self._translate = translate
        self._narrator = Narrator(translate)
        self._last_menu = Menu()
        self.history = MenuHistory()

    def event(self, event: Event, *, silent: bool) -> None:
        """Print the next event of the match, or only keep count of it."""
        lines = self._narrator.describe(event)
        if silent:
            return
        for line in lines:
            if line.kind is not LineKind.EVENT:
                self._print("")
            self._print(line.text, style="" if line.kind is LineKind.EVENT else "bold")

    def table(self, view: TableView) -> None:
        """Print the whole table."""
        for line in table_lines(view, self._translate):
            self._print(line)

    def watching(self, view: TableView) -> None:
        """Print a hint for spectators of a running match."""
        if not view.HasField("your_seat") and view.phase != PHASE_ENDED:
            self._print(self._translate("watching"), "dim")

    def message(self, key: str, style: str = "", **variables: str) -> None:
        """Print a message of `table.ftl`."""
        self._print(self._translate(key, **variables), style)

    def refusal(self, text: str) -> None:
        """Print the text of a refused command."""
        self._print(text, "bold")

    def menu(self, view: TableView) -> Menu:
        """Return the menu of a view, without printing it."""
        names = seat_names(view.seats, self._translate)
        return Menu(list_choices(view, names, self._translate), on_table(view))

    def offer(self, view: TableView, menu: Menu, *, below_table: bool, again: bool = False) -> None:
        """Print the moves on offer, or the players that the table waits for.

        Prints the cards too, unless they are already shown `below_table`. A menu that looks like
        the last one is printed only if `again`.
        """
        is_new = again or not menu.looks_like(self._last_menu)
        self._last_menu = menu
        if view.phase == PHASE_WAITING:
            self._invite(view)
        elif view.phase == PHASE_REVEALING:
            names = seat_names(view.seats, self._translate)
            self.message("turn-reveal", "dim", players=names.join(view.on_clock))
        elif not menu.choices:
            names = seat_names(view.seats, self._translate)
            self.message("turn-others", "dim", players=names.join(view.on_clock))
        elif is_new:
            if not below_table:
                self._cards(view)
            self.message("turn-yours", "bold", until=_deadline(view))
            for number, text in enumerate(menu.texts, start=1):
                self._print(f"  {number:>2}  {text}")
            self.history.add(menu, time.monotonic())

    def _invite(self, view: TableView) -> None:
        free = sum(not seat.taken for seat in view.seats)
        option = f"--rematch {view.rematch_of}" if view.rematch_of else f"--match {view.match_id}"
        command = f"durak play {option}"
        self._terminal.print_hint(self._translate("seats-missing", count=free, command=command))

    def _cards(self, view: TableView) -> None:
        if view.table:
            self.message("on-table", cards=on_table(view))
            self._print(self._translate("attacks-left", count=view.attacks_left), "dim")
        self.message("hand", cards=format_hand(view.hand, trump_suit(view)))

    def _print(self, text: str, style: str = "") -> None:
        self._terminal.print(text, self._narrator.trump_suit, style)


def _deadline(view: TableView) -> str:
    """Return the local time of the deadline; ``none`` at a table without a timer."""
    if not view.settings.turn_timer_seconds or not view.HasField("deadline_time"):
        return "none"
    return view.deadline_time.ToDatetime(tzinfo=UTC).astimezone().strftime("%H:%M:%S")
