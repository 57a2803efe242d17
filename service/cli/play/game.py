"""An interactive match: shows what happens and turns typed answers into commands."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

from google.protobuf.message import Message

from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import (
    PHASE_ENDED,
    PHASE_PLAYING,
    PHASE_REVEALING,
    PHASE_WAITING,
    Move,
    TableView,
)
from service.cli.client import CallRefused, Client, new_request_id
from service.cli.play.display import Display
from service.cli.play.fair_deal import FairDeal
from service.cli.play.menu import Menu
from service.cli.terminal import Answer, Terminal
from service.render.moves import InvalidAnswer, Keyword, parse_answer, parse_number
from service.text.localisation import Translate

_BEFORE_DEAL: Final = (PHASE_WAITING, PHASE_REVEALING)
_LEAVE_QUESTIONS: Final = {
    PHASE_WAITING: "answer-leave-rematch",
    PHASE_REVEALING: "answer-leave-revealing",
}


class Game:
    """One match with one player or spectator at the terminal."""

    def __init__(
        self,
        client: Client,
        match_id: str,
        deal: FairDeal,
        terminal: Terminal,
        translate: Translate,
    ) -> None:
        self._client = client
        self._match_id = match_id
        self._deal = deal
        self.events: list[Event] = []
        """All events of the match, from the first on."""
        self._terminal = terminal
        self._display = Display(terminal, translate)
        self._view = TableView()
        self._view_changed = asyncio.Event()
        self._menu = Menu()
        """The moves of the view; empty while a command is being sent."""
        self._is_caught_up = False
        self._is_sending = False
        self._answered_version = 0
        """The version that the last command led to. Older views are out of date."""
        self._is_leave_confirmed = False
        """The last answer was "leave", so the next one leaves."""
        self._is_reading = False
        self._answers: asyncio.Queue[Answer] = asyncio.Queue()
        self.has_left_seat = False
        """The player gave up the seat before the deal."""

    async def play(self) -> bool:
        """Play until the match ends (True) or the person leaves the terminal (False)."""
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
        """The last view received."""
        return self._view

    # Events and views.

    async def _watch(self) -> None:
        async with aclosing(self._client.watch(self._match_id)) as messages:
            async for message in messages:
                if message.HasField("event"):
                    # Events before the first view are past; the view shows their result.
                    self.events.append(message.event.event)
                    self._display.event(message.event.event, silent=not self._is_caught_up)
                elif message.HasField("view"):
                    self._on_view(message.view)
                    if trouble := await self._deal.reveal(message.view):
                        self._display.message(trouble.key, trouble.style, **trouble.variables)

    def _on_view(self, view: TableView) -> None:
        was_dealt = self._view.phase in _BEFORE_DEAL and view.phase == PHASE_PLAYING
        self._view = view
        self._view_changed.set()
        self._is_leave_confirmed = False
        is_new = not self._is_caught_up or was_dealt
        show_table = is_new and view.phase != PHASE_REVEALING  # the deal follows in a moment
        if show_table:
            self._display.table(view)
        if not self._is_caught_up:
            self._display.watching(view)
        self._is_caught_up = True
        if self._is_current:
            self._offer(below_table=show_table)

    @property
    def _is_current(self) -> bool:
        """Whether the view includes the player's own last command, and the match goes on."""
        is_past = self._is_sending or self._view.version < self._answered_version
        return not is_past and self._view.phase != PHASE_ENDED

    def _offer(self, *, below_table: bool, again: bool = False) -> None:
        self._menu = self._display.menu(self._view)
        self._display.offer(self._view, self._menu, below_table=below_table, again=again)
        self._ask()

    # Answers.

    def _ask(self) -> None:
        """Request an answer, unless one is pending. A pipe is read only when a move is needed."""
        if self._terminal.is_interactive:
            self._terminal.prompt()
        elif not self._menu.choices:
            return
        if not self._is_reading:
            self._is_reading = True
            self._terminal.read(self._answers)

    async def _answer(self) -> None:
        """Obey answers until the person quits or the input ends."""
        while True:
            answer, arrived = await self._answers.get()
            self._is_reading = False
            self._terminal.mark_answered()
            if answer is None:
                return
            if answer.strip() and not await self._obey(answer, arrived):
                return
            self._ask()

    async def _obey(self, answer: str, arrived: float) -> bool:
        """Carry out an answer. Returns False if the person quits."""
        number = parse_number(answer)
        menu = self._menu
        if menu.choices and number is not None:
            seen = self._display.history.menu_at(arrived)
            if seen.move(number) != menu.move(number):
                self._report_changed_moves()
                return True
        meaning = parse_answer(answer, self._menu.choices, self._view)
        if meaning is Keyword.QUIT:
            return False
        is_confirmed, self._is_leave_confirmed = self._is_leave_confirmed, False
        if meaning is Keyword.LEAVE and (is_confirmed or self._can_leave_unasked):
            return await self._leave()
        await self._act(meaning, is_numbered=number is not None)
        return True

    async def _act(self, meaning: Move | Keyword | InvalidAnswer, *, is_numbered: bool) -> None:
        show = self._display
        match meaning:
            case InvalidAnswer(key, variables):
                has_no_move = key != "answer-ambiguous" and not self._menu.choices
                show.message("answer-nothing" if has_no_move else key, **variables)
            case Keyword.HELP:
                show.message("answer-help")
                if self._view.settings.tricky:
                    show.message("answer-help-tricky")
            case Keyword.TABLE:
                show.table(self._view)
            case Keyword.LEAVE if not self._view.HasField("your_seat"):
                show.message("answer-watching")
            case Keyword.LEAVE:
                self._is_leave_confirmed = True
                show.message(_LEAVE_QUESTIONS.get(self._view.phase, "answer-leave"))
            case Move():
                await self._play(meaning, is_numbered=is_numbered)

    # Commands.

    @property
    def _can_leave_unasked(self) -> bool:
        """Whether leaving needs no confirmation: the table waits, and no rematch is closed."""
        view = self._view
        if view.phase != PHASE_WAITING or not view.HasField("your_seat"):
            return False
        return not (view.rematch_of and _is_alone(view))

    async def _leave(self) -> bool:
        """Give up the seat. Before the deal, close the table if no other person sits there.

        Before the deal the command carries the version seen: if the cards have been dealt in the
        meantime, it is refused instead of ending the match. Returns False if the person has left
        and the table stays.
        """
        stub, view = self._client.stub, self._view
        is_waiting = view.phase == PHASE_WAITING
        closes = is_waiting and _is_alone(view)
        fields: dict[str, Any] = {"match_id": self._match_id, "request_id": new_request_id()}
        if is_waiting:
            fields["expected_version"] = view.version
        if closes:
            reason = await self._send(stub.CancelTable, api.CancelTableRequest(**fields))
        else:
            reason = await self._send(stub.LeaveMatch, api.LeaveMatchRequest(**fields))
        if reason == "STALE_VERSION":
            self._report_changed_moves()
        if reason or closes or not is_waiting:
            return True  # if the match has ended, the watch ends too
        await self._wait_for_version(self._answered_version)
        self.has_left_seat = True
        return False

    async def _play(self, move: Move, *, is_numbered: bool) -> None:
        """Make a move. A move chosen by number is made only on the table that was shown."""
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
                self._report_changed_moves()
                return

    def _report_changed_moves(self) -> None:
        if self._is_current:
            self._display.message("answer-changed", "bold")
            self._offer(below_table=False, again=True)

    async def _send(self, method: Callable[..., Any], request: Message) -> str:
        """Send a command. Returns the reason if it was refused, or an empty string.

        The watch shows the result. After STALE_VERSION the view is up to date again.
        """
        menu, self._menu = self._menu, Menu()
        version = self._view.version
        self._is_sending = True
        reason = ""
        try:
            reply = await self._client.call(method, request)
            self._answered_version = reply.view.version
            self._display.history.clear()
        except CallRefused as refusal:
            if refusal.reason == "STALE_VERSION":
                await self._wait_for_version(version + 1)
                self._menu = self._display.menu(self._view)
                return refusal.reason
            self._display.refusal(str(refusal))
            reason = refusal.reason or "UNKNOWN"
            if self._view.version == version:
                self._menu = menu  # the table has not changed, so no new menu will follow
        finally:
            self._is_sending = False
        if self._view.version != version and self._is_current:
            self._offer(below_table=False)  # the view arrived before the reply
        return reason

    async def _wait_for_version(self, version: int) -> None:
        while self._view.version < version:
            self._view_changed.clear()
            await self._view_changed.wait()


def _is_alone(view: TableView) -> bool:
    """Return whether the reader may close the table, and no other person sits at it."""
    if not view.HasField("your_seat"):
        return False
    people = [seat.player_id for seat in view.seats if seat.player_id]
    own_id = view.seats[view.your_seat].player_id
    return people == [own_id] and (view.owner_id == own_id or bool(view.rematch_of))
