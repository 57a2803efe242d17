"""Players' commands: requests of unary calls and sessions, made into commands of the domain."""

import asyncio
import secrets

from domain.match.commands import (
    CancelTable,
    Command,
    Leave,
    OpenTable,
    Play,
    Rematch,
    RemovePlayer,
    RevealSeed,
    SeatBot,
    TakeSeat,
    by_player,
)
from domain.match.deal import SEED_BYTES
from domain.match.refusal import match_not_found
from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import TableView
from service.ids import rematch_id, table_id
from service.matches import requests
from service.matches.envelope import Envelope
from service.matches.live_matches import LiveMatches
from service.rpc.call import Call
from service.rpc.errors import Refused
from service.rpc.limits import Limits
from service.rpc.validation import Target

Answer = asyncio.Future[TableView]
"""The view of the caller right after the command, or its error. With `omit_view` only the version
of the view is set."""


class Commands:
    """Takes each kind of command and queues it at its match.

    Commands for one match are decided in the order in which they are taken. Each method raises
    Refused MALFORMED_FIELD at once (`prefix` goes before the field paths); other refusals come with
    the answer.
    """

    def __init__(self, matches: LiveMatches, limits: Limits) -> None:
        """Take commands for `matches`; bots that are seated count against `limits`."""
        self._matches = matches
        self._limits = limits
        self._seat_bot_calls = matches.context.config.seat_bot_calls
        self._idle_limit_seconds = matches.context.config.idle_limit_seconds
        self._reveal_limit_seconds = matches.context.config.reveal_limit_seconds

    def open_table(self, request: api.OpenTableRequest, call: Call, prefix: str = "") -> Answer:
        """Open a table."""
        request_id = requests.open_table(request, prefix)
        target = Target(table_id(request_id, call.caller.subject), request_id, None)
        command = OpenTable(
            request.settings,
            secrets.token_bytes(SEED_BYTES),
            self._idle_limit_seconds,
            self._reveal_limit_seconds,
            request.start_series,
            tuple(request.invited),
            request.link_secret,
        )
        return self._perform(target, call, command)

    def take_seat(self, request: api.TakeSeatRequest, call: Call, prefix: str = "") -> Answer:
        """Sit the caller down."""
        target = requests.take_seat(request, prefix)
        seat = request.seat if request.HasField("seat") else None
        command = TakeSeat(call.caller.name, seat, request.client_seed_hash, request.link_secret)
        return self._perform(target, call, command)

    def seat_bot(self, request: api.SeatBotRequest, call: Call, prefix: str = "") -> Answer:
        """Seat a bot.

        It costs the caller several calls: the bot makes all its moves without further calls.
        """
        target = requests.seat_bot(request, prefix)
        seat = request.seat if request.HasField("seat") else None
        self._limits.charge(call.caller.subject, self._seat_bot_calls - 1)
        return self._perform(target, call, SeatBot(request.level, seat))

    def reveal_seed(self, request: api.RevealSeedRequest, call: Call, prefix: str = "") -> Answer:
        """Reveal the caller's secret."""
        target = requests.reveal_seed(request, prefix)
        return self._perform(target, call, RevealSeed(request.secret))

    def leave_match(self, request: api.LeaveMatchRequest, call: Call, prefix: str = "") -> Answer:
        """Give up the caller's seat."""
        return self._perform(requests.only_target(request, prefix), call, Leave())

    def remove_player(
        self, request: api.RemovePlayerRequest, call: Call, prefix: str = ""
    ) -> Answer:
        """Remove a seated player from the caller's table."""
        target = requests.remove_player(request, prefix)
        return self._perform(target, call, RemovePlayer(request.player_id))

    def cancel_table(self, request: api.CancelTableRequest, call: Call, prefix: str = "") -> Answer:
        """Close a table before the deal."""
        return self._perform(requests.only_target(request, prefix), call, CancelTable())

    def play(self, request: api.PlayRequest, call: Call, prefix: str = "") -> Answer:
        """Make a move."""
        target = requests.play(request, prefix)
        return self._perform(target, call, Play(request.move), omit_view=request.omit_view)

    def rematch(self, request: api.RematchRequest, call: Call, prefix: str = "") -> Answer:
        """Play a finished match again."""
        target = requests.rematch(request, prefix)
        return asyncio.ensure_future(self._rematch(target, request.client_seed_hash, call))

    async def _rematch(self, target: Target, client_seed_hash: bytes, call: Call) -> TableView:
        with self._matches.pinned(target.match_id) as live:
            await live.submit(live.catch_up)
            old = live.match  # stays as it is once it has ended; others are refused
        if not old.version:
            raise Refused(match_not_found(target.match_id))
        command = Rematch(
            old,
            call.caller.name,
            client_seed_hash,
            secrets.token_bytes(SEED_BYTES),
            self._idle_limit_seconds,
            self._reveal_limit_seconds,
        )
        target = target._replace(match_id=rematch_id(target.match_id))
        return await self._perform(target, call, command)

    def _perform(
        self, target: Target, call: Call, command: Command, *, omit_view: bool = False
    ) -> Answer:
        return self._matches.perform(
            Envelope(
                target.match_id,
                by_player(call.caller.subject),
                command,
                target.request_id,
                call.trace_id,
                target.expected_version,
                omit_view,
            )
        )
