"""Where players' commands come in, from unary calls and sessions alike."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import TableView
from service.matches import commands, requests
from service.matches.live_matches import LiveMatches
from service.rpc.call import Call
from service.rpc.errors import refuse
from service.rpc.limits import Limits
from service.rpc.validation import Target

Answer = asyncio.Future[TableView]
Take = Callable[[Any, Call, str], Answer]


class Desk:
    """Takes each kind of command and answers with the caller's view.

    Commands for one match are decided in the order in which they are taken. Each method raises
    Refused MALFORMED_FIELD at once (`prefix` stands before the paths); other refusals come with the
    answer.
    """

    def __init__(self, matches: LiveMatches, limits: Limits) -> None:
        """Take commands for `matches`; new tables get the idle limit of its settings (R10.8)."""
        self._matches = matches
        self._limits = limits
        self._idle_limit_seconds = matches.config.idle_limit_seconds
        run = matches.run
        self.takes: Mapping[str, Take] = {
            "open_table": self._open_table,
            "take_seat": lambda request, call, prefix: run(
                commands.take_seat(request, call, prefix)
            ),
            "seat_bot": self._seat_bot,
            "leave_match": lambda request, call, prefix: run(
                commands.leave_match(request, call, prefix)
            ),
            "cancel_table": lambda request, call, prefix: run(
                commands.cancel_table(request, call, prefix)
            ),
            "play": lambda request, call, prefix: run(commands.play(request, call, prefix)),
            "rematch": self._rematch,
        }
        """What takes a command, by its name in PlaySessionRequest."""

    def _open_table(self, request: api.OpenTableRequest, call: Call, prefix: str) -> Answer:
        return self._matches.run(
            commands.open_table(request, call, self._idle_limit_seconds, prefix)
        )

    def _seat_bot(self, request: api.SeatBotRequest, call: Call, prefix: str) -> Answer:
        command = commands.seat_bot(request, call, prefix)
        # A bot makes all its moves for this one call, against other bots without a pause.
        self._limits.charge(call.caller.subject, self._matches.config.seat_bot_calls - 1)
        return self._matches.run(command)

    def _rematch(self, request: api.RematchRequest, call: Call, prefix: str) -> Answer:
        target = requests.rematch(request, prefix)
        return asyncio.ensure_future(self._play_again(target, request.client_seed, call))

    async def _play_again(self, target: Target, client_seed: bytes, call: Call) -> TableView:
        with self._matches.pinned(target.match_id) as live:
            await live.submit(live.catch_up)
            if not live.match.version:
                raise refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id=str(live.stream_id))
            old = live.match  # a match that has ended changes no more, and others are refused
        return await self._matches.run(
            commands.rematch(target, client_seed, call, old, self._idle_limit_seconds)
        )
