"""FeedService: opens the feeds of callers."""

from durak.v1 import feed_service_pb2 as api
from durak.v1 import feed_service_pb2_grpc as api_grpc
from service.feeds import requests
from service.feeds.feeds import Feeds
from service.feeds.lobby_watch import LobbyWatch
from service.feeds.player_feed import PlayerFeed
from service.feeds.position import unseal_position
from service.rpc.call import Context, current_call
from service.rpc.limits import Limits


class FeedService(api_grpc.FeedServiceServicer):
    """The servicer. The interceptor turns its exceptions into a status."""

    def __init__(self, feeds: Feeds, limits: Limits) -> None:
        """Serve the feeds of this process."""
        self._feeds = feeds
        self._limits = limits

    async def WatchPlayer(  # type: ignore[override] # grpc.aio also allows streams that write to the context
        self, request: api.WatchPlayerRequest, context: Context
    ) -> None:
        """Send what concerns the caller."""
        caller = current_call().caller
        after = request.after_position
        position = unseal_position(after, caller.subject) if after else None
        feed = PlayerFeed(self._feeds, self._limits, caller, position)
        await _open(context)
        await feed.run(context.write)

    async def WatchLobby(  # type: ignore[override]
        self, request: api.WatchLobbyRequest, context: Context
    ) -> None:
        """Send the open tables or the running matches."""
        phase = requests.watch_lobby(request)
        watch = LobbyWatch(
            self._feeds.board, self._limits, current_call().caller, phase, request.filter
        )
        await _open(context)
        await watch.run(context.write, self._feeds.matches.context.config)


async def _open(context: Context) -> None:
    # A stream that is cut off before its first message could otherwise not be given a status.
    await context.send_initial_metadata(())
