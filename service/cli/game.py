"""A match as a person plays it at a terminal: what happens is told, answers become moves."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import UTC
from typing import Any

from google.protobuf.message import Message

from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_WAITING, Move, TableView
from service.cli.client import CallRefused, Client, new_request_id
from service.cli.render.cards import spell_hand
from service.cli.render.moves import Choice, Mistake, Word, choices, understand
from service.cli.render.story import Part, Story
from service.cli.render.table import names_in, on_table, table_lines, trump_suit
from service.cli.render.texts import Say
from service.cli.terminal import Terminal


class Game:
    """One person at one table, or a spectator of it."""

    def __init__(self, client: Client, match_id: str, terminal: Terminal, say: Say) -> None:
        self._client = client
        self._match_id = match_id
        self._terminal = terminal
        self._say = say
        self._story = Story(say)
        self._view = TableView()
        self._offered: Sequence[Choice] = ()
        self._shown: tuple[list[str], str] = ([], "")  # the moves and the table last told
        self._caught_up = False
        self._leaving = False
        self._sending = False
        self._answered_version = 0  # what our last command led to; views before it are the past
        self._reading = False
        self._answers: asyncio.Queue[str | None] = asyncio.Queue()

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

    # What happens at the table.

    async def _watch(self) -> None:
        async with aclosing(self._client.watch(self._match_id)) as messages:
            async for message in messages:
                if message.HasField("event"):
                    self._on_event(message.event)
                elif message.HasField("view"):
                    self._on_view(message.view)

    def _on_event(self, event: api.MatchEvent) -> None:
        lines = self._story.tell(event.event)
        if not self._caught_up:
            return  # the past; the view tells where it has led
        for line in lines:
            if line.part is not Part.EVENT:
                self._print("")
            self._print(line.text, style="" if line.part is Part.EVENT else "bold")

    def _on_view(self, view: TableView) -> None:
        was_waiting = self._view.phase == PHASE_WAITING
        self._view = view
        self._leaving = False
        whole = not self._caught_up or (was_waiting and view.phase != PHASE_WAITING)
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
        self._terminal.print(text, self._story.trump_suit, style)

    def _print_table(self) -> None:
        for line in table_lines(self._view, self._say):
            self._print(line)

    def _offer(self, *, beside_table: bool) -> None:
        """Tell whose move it is, and what the person can do; cards only where they are not yet."""
        view, names = self._view, names_in(self._view.seats, self._say)
        before = self._shown
        self._offered = choices(view, names, self._say)
        self._shown = [choice.text for choice in self._offered], on_table(view)
        if view.phase == PHASE_WAITING:
            free = sum(not seat.taken for seat in view.seats)
            self._print(self._say("seats-missing", count=free, match=self._match_id), "dim")
        elif not self._offered:
            self._print(self._say("turn-others", players=names.join(view.on_clock)), "dim")
        elif self._shown != before:  # a pass of somebody else changes nothing for us
            if not beside_table:
                self._print_cards(view)
            self._print(self._say("turn-yours", until=_until(view)), "bold")
            for number, choice in enumerate(self._offered, start=1):
                self._print(f"  {number:>2}  {choice.text}")
        self._ask()

    def _print_cards(self, view: TableView) -> None:
        if view.table:
            self._print(self._say("on-table", cards=on_table(view)))
            self._print(self._say("attacks-left", count=view.attacks_left), "dim")
        self._print(self._say("hand", cards=spell_hand(view.hand, trump_suit(view))))

    # What the person answers.

    def _ask(self) -> None:
        """Read an answer, unless one is waited for already; from a pipe only for a move."""
        if self._terminal.is_interactive:
            self._terminal.prompt()
        elif not self._offered:
            return
        if not self._reading:
            self._reading = True
            self._terminal.read(self._answers)

    async def _answer(self) -> None:
        """Work on answers until the person quits or there are no more."""
        while True:
            answer = await self._answers.get()
            self._reading = False
            self._terminal.answered()
            if answer is None:
                return
            if answer.strip():
                meaning = understand(answer, self._offered, self._view)
                if meaning is Word.QUIT:
                    return
                await self._do(meaning)
            self._ask()

    async def _do(self, meaning: Move | Word | Mistake) -> None:
        leaving, self._leaving = self._leaving, False
        match meaning:
            case Mistake(key, arguments):
                nothing = key != "answer-ambiguous" and not self._offered
                self._print(self._say("answer-nothing" if nothing else key, **arguments))
            case Word.HELP:
                self._print(self._say("answer-help"))
            case Word.TABLE:
                self._print_table()
            case Word.LEAVE if not leaving:
                self._leaving = True
                self._print(self._say("answer-leave"))
            case Word.LEAVE:
                await self._send(
                    self._client.stub.LeaveMatch,
                    api.LeaveMatchRequest(match_id=self._match_id, request_id=new_request_id()),
                )
            case Move():
                await self._send(
                    self._client.stub.Play,
                    api.PlayRequest(
                        match_id=self._match_id, request_id=new_request_id(), move=meaning
                    ),
                )

    async def _send(self, method: Callable[..., Any], request: Message) -> None:
        """Send a command; what came of it, the watch tells."""
        offered, self._offered = self._offered, ()
        version = self._view.version
        self._sending = True
        try:
            reply = await self._client.call(method, request)
            self._answered_version = reply.view.version
        except CallRefused as refusal:
            self._print(str(refusal), "bold")
            if self._view.version == version:
                self._offered = offered  # nothing has changed, so nothing new will be offered
        finally:
            self._sending = False
        if self._view.version != version and self._is_current:
            self._offer(beside_table=False)  # it came while the answer was under way


def _until(view: TableView) -> str:
    """The deadline by the clock on the wall; ``none`` on a table without a timer."""
    if not view.settings.turn_timer_seconds or not view.HasField("deadline"):
        return "none"
    return view.deadline.ToDatetime(tzinfo=UTC).astimezone().strftime("%H:%M:%S")
