"""A match as a person plays it at a terminal: what happens is told, answers become moves."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC
from typing import Any

from google.protobuf.message import Message

from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, PHASE_WAITING, Move, TableView
from service.cli.client import CallRefused, Client, new_request_id
from service.cli.play.menu import Menu, MenuHistory, menu_of
from service.cli.terminal import Answer, Terminal
from service.render.cards import format_hand
from service.render.moves import InvalidAnswer, Keyword, choices, parse_answer, parse_number
from service.render.narration import LineKind, Narrator
from service.render.table import on_table, seat_names, table_lines, trump_suit
from service.render.texts import Translate


class Game:
    """One person at one table, or a spectator of it."""

    def __init__(
        self, client: Client, match_id: str, terminal: Terminal, translate: Translate
    ) -> None:
        self._client = client
        self._match_id = match_id
        self._terminal = terminal
        self._translate = translate
        self._narrator = Narrator(translate)
        self._view = TableView()
        self._menu = Menu()  # the moves of the view; none while a move of ours is under way
        self._shown = Menu()  # what was told last
        self._menu_history = MenuHistory()
        self._caught_up = False
        self._leaving = False
        self._sending = False
        self._answered_version = 0  # what our last command led to; views before it are the past
        self._newer = asyncio.Event()  # a view has come
        self._reading = False
        self._answers: asyncio.Queue[Answer] = asyncio.Queue()
        self.has_left = False
        """The person has given up the seat before the deal."""

    async def play(self) -> bool:
        """Play to the end of the match: True; False when the person leaves the terminal before."""
        watching = asyncio.create_task(self._watch())
        answering = asyncio.create_task(self._answer())
        try:
            done, _ = await asyncio.wait((watching, answering), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return watching in done
        finally:
            watching.cancel()
            answering.cancel()
            await asyncio.gather(watching, answering, return_exceptions=True)

    @property
    def view(self) -> TableView:
        """The table as it was seen last."""
        return self._view

    # What happens at the table.

    async def _watch(self) -> None:
        async with aclosing(self._client.watch(self._match_id)) as messages:
            async for message in messages:
                if message.HasField("event"):
                    self._on_event(message.event)
                elif message.HasField("view"):
                    self._on_view(message.view)

    def _on_event(self, event: api.MatchEvent) -> None:
        lines = self._narrator.describe(event.event)
        if not self._caught_up:
            return  # the past; the view tells where it has led
        for line in lines:
            if line.part is not LineKind.EVENT:
                self._print("")
            self._print(line.text, style="" if line.part is LineKind.EVENT else "bold")

    def _on_view(self, view: TableView) -> None:
        was_waiting = self._view.phase == PHASE_WAITING
        self._view = view
        self._newer.set()
        self._leaving = False
        whole = not self._caught_up or (was_waiting and view.phase == PHASE_PLAYING)
        self._caught_up = True
        if whole:
            self._print_table()
        if self._is_current:
            self._offer(beside_table=whole)

    @property
    def _is_current(self) -> bool:
        """The view is one to move on: nothing of ours is under way that it does not show yet."""
        is_past = self._sending or self._view.version < self._answered_version
        return not is_past and self._view.phase != PHASE_ENDED

    def _print(self, text: str, style: str = "") -> None:
        self._terminal.print(text, self._narrator.trump_suit, style)

    def _print_table(self) -> None:
        for line in table_lines(self._view, self._translate):
            self._print(line)

    def _offer(self, *, beside_table: bool, again: bool = False) -> None:
        """Tell whose move it is, and what the person can do; cards only where they are not yet."""
        view, names = self._view, seat_names(self._view.seats, self._translate)
        self._menu = self._menu_of_the_view()
        is_new = again or not self._menu.looks_like(self._shown)
        self._shown = self._menu
        if view.phase == PHASE_WAITING:
            free = sum(not seat.taken for seat in view.seats)
            way = f"--rematch {view.rematch_of}" if view.rematch_of else f"--match {self._match_id}"
            command = f"durak play {way}"
            self._terminal.hint(self._translate("seats-missing", count=free, command=command))
        elif not self._menu.choices:
            self._print(self._translate("turn-others", players=names.join(view.on_clock)), "dim")
        elif is_new:
            if not beside_table:
                self._print_cards(view)
            self._print(self._translate("turn-yours", until=_until(view)), "bold")
            for number, text in enumerate(self._menu.texts, start=1):
                self._print(f"  {number:>2}  {text}")
            self._menu_history.show(self._menu, time.monotonic())
        self._ask()

    def _print_cards(self, view: TableView) -> None:
        if view.table:
            self._print(self._translate("on-table", cards=on_table(view)))
            self._print(self._translate("attacks-left", count=view.attacks_left), "dim")
        self._print(self._translate("hand", cards=format_hand(view.hand, trump_suit(view))))

    # What the person answers.

    def _ask(self) -> None:
        """Read an answer, unless one is waited for already; from a pipe only for a move."""
        if self._terminal.is_interactive:
            self._terminal.prompt()
        elif not self._menu.choices:
            return
        if not self._reading:
            self._reading = True
            self._terminal.read(self._answers)

    async def _answer(self) -> None:
        """Work on answers until the person quits or there are no more."""
        while True:
            answer, arrived = await self._answers.get()
            self._reading = False
            self._terminal.answered()
            if answer is None:
                return
            if answer.strip() and not await self._obey(answer, arrived):
                return
            self._ask()

    async def _obey(self, answer: str, arrived: float) -> bool:
        """Do what an answer means; False: the person quits."""
        number = parse_number(answer)
        menu = self._menu
        if menu.choices and number is not None:
            seen = self._menu_history.seen(arrived)
            if seen.move(number) != menu.move(number):
                self._tell_that_the_moves_have_changed()
                return True
        meaning = parse_answer(answer, self._menu.choices, self._view)
        if meaning is Keyword.QUIT:
            return False
        leaving, self._leaving = self._leaving, False
        if meaning is Keyword.LEAVE and (leaving or self._can_leave_at_once):
            return await self._leave()
        await self._do(meaning, is_numbered=number is not None)
        return True

    async def _do(self, meaning: Move | Keyword | InvalidAnswer, *, is_numbered: bool) -> None:
        match meaning:
            case InvalidAnswer(key, arguments):
                nothing = key != "answer-ambiguous" and not self._menu.choices
                self._print(self._translate("answer-nothing" if nothing else key, **arguments))
            case Keyword.HELP:
                self._print(self._translate("answer-help"))
                if self._view.settings.tricky:
                    self._print(self._translate("answer-help-tricky"))
            case Keyword.TABLE:
                self._print_table()
            case Keyword.LEAVE if not self._view.HasField("your_seat"):
                self._print(self._translate("answer-watching"))
            case Keyword.LEAVE:
                self._leaving = True
                waits = self._view.phase == PHASE_WAITING
                self._print(self._translate("answer-leave-rematch" if waits else "answer-leave"))
            case Move():
                await self._play(meaning, is_numbered=is_numbered)

    @property
    def _can_leave_at_once(self) -> bool:
        """Leaving takes nothing from anybody: the table waits, and is no rematch to be closed."""
        view = self._view
        if view.phase != PHASE_WAITING or not view.HasField("your_seat"):
            return False
        return not (view.rematch_of and _is_ours_alone(view))

    async def _leave(self) -> bool:
        """Give up the seat; before the deal, where nobody else waits, close the table with it.

        Before the deal only as the table was shown: dealt meanwhile, leaving would end the match.
        False: the person has left, and the table stands.
        """
        stub, view = self._client.stub, self._view
        waits = view.phase == PHASE_WAITING
        closes = waits and _is_ours_alone(view)
        about: dict[str, Any] = {"match_id": self._match_id, "request_id": new_request_id()}
        if waits:
            about["expected_version"] = view.version
        if closes:
            reason = await self._send(stub.CancelTable, api.CancelTableRequest(**about))
        else:
            reason = await self._send(stub.LeaveMatch, api.LeaveMatchRequest(**about))
        if reason == "STALE_VERSION":
            self._tell_that_the_moves_have_changed()
        if reason or closes or not waits:
            return True  # the watch ends with the table, if it has come to that
        await self._wait_for_a_view_from(self._answered_version)
        self.has_left = True
        return False

    async def _play(self, move: Move, *, is_numbered: bool) -> None:
        """Make a move; one that was chosen by its number only on the table that was shown."""
        menu = self._menu
        while True:
            request = api.PlayRequest(
                match_id=self._match_id, request_id=new_request_id(), move=move
            )
            if is_numbered:
                request.expected_version = self._view.version
            if await self._send(self._client.stub.Play, request) != "STALE_VERSION":
                return
            if not menu.looks_like(self._menu):
                self._tell_that_the_moves_have_changed()
                return

    def _tell_that_the_moves_have_changed(self) -> None:
        if self._is_current:
            self._print(self._translate("answer-changed"), "bold")
            self._offer(beside_table=False, again=True)

    async def _send(self, method: Callable[..., Any], request: Message) -> str:
        """Send a command; what came of it, the watch tells. The reason if it was refused.

        At STALE_VERSION the table has moved on, to what is shown now.
        """
        menu, self._menu = self._menu, Menu()
        version = self._view.version
        self._sending = True
        reason = ""
        try:
            reply = await self._client.call(method, request)
            self._answered_version = reply.view.version
            self._menu_history.used()
        except CallRefused as refusal:
            if refusal.reason == "STALE_VERSION":
                await self._wait_for_a_view_from(version + 1)
                self._menu = self._menu_of_the_view()
                return refusal.reason
            self._print(str(refusal), "bold")
            reason = refusal.reason or "UNKNOWN"
            if self._view.version == version:
                self._menu = menu  # nothing has changed, so nothing new will be offered
        finally:
            self._sending = False
        if self._view.version != version and self._is_current:
            self._offer(beside_table=False)  # it came while the answer was under way
        return reason

    async def _wait_for_a_view_from(self, version: int) -> None:
        while self._view.version < version:
            self._newer.clear()
            await self._newer.wait()

    def _menu_of_the_view(self) -> Menu:
        names = seat_names(self._view.seats, self._translate)
        return menu_of(self._view, choices(self._view, names, self._translate))


def _is_ours_alone(view: TableView) -> bool:
    """Whether the reader may close the table, and no other person sits at it."""
    if not view.HasField("your_seat"):
        return False
    people = [seat.player_id for seat in view.seats if seat.player_id]
    own_id = view.seats[view.your_seat].player_id
    return people == [own_id] and (view.owner_id == own_id or bool(view.rematch_of))


def _until(view: TableView) -> str:
    """The deadline by the clock on the wall; ``none`` on a table without a timer."""
    if not view.settings.turn_timer_seconds or not view.HasField("deadline_time"):
        return "none"
    return view.deadline_time.ToDatetime(tzinfo=UTC).astimezone().strftime("%H:%M:%S")
