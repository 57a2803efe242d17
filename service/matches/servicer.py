"""MatchService: passes each call of the contract to the part that does the work."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from uuid import UUID

import grpc
from grpc import aio

from durak.v1 import match_service_pb2 as api
from durak.v1 import match_service_pb2_grpc as api_grpc
from durak.v1.match_service_pb2 import DESCRIPTOR
from service.matches import requests
from service.matches.commands import Commands
from service.matches.live_matches import LiveMatches
from service.matches.lobby import list_matches
from service.matches.review import Reviews
from service.matches.session import Session
from service.matches.watch import Watch
from service.rpc.call import Context, current_call
from service.rpc.failures import Failures
from service.rpc.limits import Limits
from service.rpc.set_aside import SetAside


class MatchService(api_grpc.MatchServiceServicer):
    """The servicer. The interceptor turns its exceptions into a status."""

    def __init__(
        self,
        matches: LiveMatches,
        commands: Commands,
        reviews: Reviews,
        limits: Limits,
        failures: Failures,
    ) -> None:
        """Serve these matches; `service.server` connects the parts."""
        self._matches = matches
        self._commands = commands
        self._reviews = reviews
        self._limits = limits
        self._failures = failures
        self._set_aside: SetAside[UUID] = SetAside("lists", failures)

    async def OpenTable(
        self, request: api.OpenTableRequest, context: Context
    ) -> api.OpenTableResponse:
        """Open a table."""
        view = await self._commands.open_table(request, current_call())
        return api.OpenTableResponse(view=view)

    async def TakeSeat(
        self, request: api.TakeSeatRequest, context: Context
    ) -> api.TakeSeatResponse:
        """Sit the caller down."""
        view = await self._commands.take_seat(request, current_call())
        return api.TakeSeatResponse(view=view)

    async def SeatBot(self, request: api.SeatBotRequest, context: Context) -> api.SeatBotResponse:
        """Seat a bot."""
        view = await self._commands.seat_bot(request, current_call())
        return api.SeatBotResponse(view=view)

    async def RevealSeed(
        self, request: api.RevealSeedRequest, context: Context
    ) -> api.RevealSeedResponse:
        """Reveal the caller's secret."""
        return api.RevealSeedResponse(
            view=await self._commands.reveal_seed(request, current_call())
        )

    async def LeaveMatch(
        self, request: api.LeaveMatchRequest, context: Context
    ) -> api.LeaveMatchResponse:
        """Give up the caller's seat."""
        return api.LeaveMatchResponse(
            view=await self._commands.leave_match(request, current_call())
        )

    async def RemovePlayer(
        self, request: api.RemovePlayerRequest, context: Context
    ) -> api.RemovePlayerResponse:
        """Remove a seated player from the caller's table."""
        return api.RemovePlayerResponse(
            view=await self._commands.remove_player(request, current_call())
        )

    async def CancelTable(
        self, request: api.CancelTableRequest, context: Context
    ) -> api.CancelTableResponse:
        """Close a table before the deal."""
        return api.CancelTableResponse(
            view=await self._commands.cancel_table(request, current_call())
        )

    async def Play(self, request: api.PlayRequest, context: Context) -> api.PlayResponse:
        """Make a move."""
        view = await self._commands.play(request, current_call())
        if request.omit_view:
            return api.PlayResponse(version=view.version)
        return api.PlayResponse(view=view)

    async def Rematch(self, request: api.RematchRequest, context: Context) -> api.RematchResponse:
        """Play a finished match again."""
        view = await self._commands.rematch(request, current_call())
        return api.RematchResponse(view=view)

    async def GetMatch(
        self, request: api.GetMatchRequest, context: Context
    ) -> api.GetMatchResponse:
        """Return the table as the caller sees it, in the newest state of the log."""
        live = self._matches.get(requests.match_id(request))
        player_id = current_call().caller.subject
        return api.GetMatchResponse(view=await live.submit(partial(live.view, player_id)))

    async def ListMatches(
        self, request: api.ListMatchesRequest, context: Context
    ) -> api.ListMatchesResponse:
        """Return a page of matches, newest first."""
        caller_id = current_call().caller.subject
        return await list_matches(self._matches.context.store, request, caller_id, self._set_aside)

    async def ReviewMatch(
        self, request: api.ReviewMatchRequest, context: Context
    ) -> api.ReviewMatchResponse:
        """Judge the moves of an ended match."""
        match_id = requests.match_id(request)
        moves = await self._reviews.review(match_id, current_call().caller)
        return api.ReviewMatchResponse(moves=moves)

    async def WatchMatch(  # type: ignore[override] # grpc.aio also allows streams that write to the context
        self, request: api.WatchMatchRequest, context: Context
    ) -> None:
        """Send the events of a match, past and future, already serialized."""
        match_id = requests.watch_match(request)
        watch = Watch(
            self._matches,
            self._limits,
            current_call().caller,
            match_id,
            request.after_version,
            include_views=request.include_views,
        )
        await _open(context)
        await watch.run(context.write)

    async def PlaySession(  # type: ignore[override]
        self, request_iterator: AsyncIterator[bytes], context: Context
    ) -> None:
        """Take commands and watches on one stream. Messages are serialized in both directions."""
        call = current_call()
        session = Session(self._commands, self._matches, self._limits, self._failures, call)
        await _open(context)
        await session.run(request_iterator, context.write)


async def _open(context: Context) -> None:
    # gRPC would otherwise send the metadata with the first message. A stream that is cut off while
    # its first message waits for the reader could then not be given a status.
    await context.send_initial_metadata(())


def add_to_server(servicer: MatchService, server: aio.Server) -> None:
    """Register the servicer like the generated function, but let the streams carry bytes."""
    service = DESCRIPTOR.services_by_name["MatchService"]
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
    for method in service.methods:
        behaviour = getattr(servicer, method.name)
        request: Any = getattr(api, method.input_type.name)
        response: Any = getattr(api, method.output_type.name)
        if method.name == "PlaySession":
            handlers[method.name] = grpc.stream_stream_rpc_method_handler(behaviour, bytes, bytes)
        elif method.name == "WatchMatch":
            handlers[method.name] = grpc.unary_stream_rpc_method_handler(
                behaviour, request.FromString, bytes
            )
        else:
            handlers[method.name] = grpc.unary_unary_rpc_method_handler(
                behaviour, request.FromString, response.SerializeToString
            )
    name = service.full_name
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
