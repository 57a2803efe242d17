"""The system under test of test_coin_conservation.py.

Two replicas run on one database, and players have few coins. The expected balances are computed
from the logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import grpc
from grpc import aio

from domain.match.fold import Match
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.events_pb2 import Record
from durak.v1.table_pb2 import Phase, TableView
from eventstore import EventStore
from eventstore import Limits as StoreLimits
from eventstore.errors import StoreError, StoreUnavailable
from eventstore.ledger.transfers import TransferKind
from service.config import Config
from tests.eventstore.support import grant as issue
from tests.service.playing import Clock, Player, Replica, easy_move, reason_of, without_server_time
from tests.service.wire import Wire, wire_to_database

OPENING = 1000
QUIET_S = 600.0
PATIENCE_S = 1.0
TRIES = 25

REFUSALS = {
    reasons.ERROR_REASON_INSUFFICIENT_COINS,
    reasons.ERROR_REASON_MATCH_NOT_WAITING,
    reasons.ERROR_REASON_MATCH_NOT_IN_PLAY,
    reasons.ERROR_REASON_MATCH_NOT_ENDED,
    reasons.ERROR_REASON_ALREADY_SEATED,
    reasons.ERROR_REASON_NOT_SEATED,
    reasons.ERROR_REASON_SEAT_IS_OUT,
    reasons.ERROR_REASON_TABLE_FULL,
    reasons.ERROR_REASON_REMATCH_IMPOSSIBLE,
    reasons.ERROR_REASON_STALE_VERSION,
    reasons.ERROR_REASON_MATCH_NOT_FOUND,
    reasons.ERROR_REASON_SEAT_RESERVED,
    reasons.ERROR_REASON_MATCH_NOT_REVEALING,
    reasons.ERROR_REASON_SEATING_SUSPENDED,
}
"""The allowed reasons for refusals of commands at any moment. Other reasons fail the test."""


def is_contention(error: aio.AioRpcError) -> bool:
    """Return whether an error is CONTENTION, after which clients repeat the request."""
    return (
        error.code() is grpc.StatusCode.ABORTED
        and reason_of(error) == reasons.ERROR_REASON_CONTENTION
    )


@dataclass
class Request:
    """A command of a player, which can be sent several times, and its answer or refusal so far."""

    player: str
    method: str
    message: Any
    answer: TableView | None = None
    refusal: ErrorReason.ValueType | None = None


@dataclass
class Lease:
    """A replica, the wire to its database, and the channels of its players."""

    replica: Replica
    wire: Wire
    stack: AsyncExitStack
    players: dict[str, Player] = field(default_factory=dict)


class Trouble(NamedTuple):
    """A failure during a piece of work.

    The connection of a replica to the database is cut, or it is cut and the replica dies, or the
    database terminates all connections of the service.
    """

    kind: str
    """``cut``, ``crash`` or ``terminate``."""
    step: int
    """Cut before the n-th message to the database from now on."""
    swallow: bool
    """The n-th message still arrives, but its answer is lost."""
    repeats: bool
    """Clients without an answer repeat their request."""


class Coins(NamedTuple):
    """The coins of a player: available, and in escrow."""

    available: int
    escrow: int


class House:
    """The replicas on a database, with methods to use them and to make them fail."""

    def __init__(self, app_dsn: str, owner_dsn: str) -> None:
        self.clock = Clock()
        self._app_dsn = app_dsn
        self._owner_dsn = owner_dsn
        self._leases: list[Lease] = []
        self._dying: list[asyncio.Task[None]] = []
        self._matches: dict[UUID, Match] = {}

    async def open(self, replicas: int) -> None:
        self._outside = await asyncpg.connect(self._owner_dsn)
        self._leases = [await self._lease() for _ in range(replicas)]

    async def close(self) -> None:
        await asyncio.gather(*self._dying)
        for lease in self._leases:
            await lease.replica.stop()
            await lease.stack.aclose()
        await self._outside.close()

    async def _lease(self) -> Lease:
        """Start a replica with an empty memory. It scans for deadlines only when the test asks."""
        stack = AsyncExitStack()
        wire, dsn = await wire_to_database(self._app_dsn)
        stack.push_async_callback(wire.close)
        limits = StoreLimits(
            retry_timeout_seconds=PATIENCE_S,
            read_connections_max=2,
            coin_connections_max=2,
        )
        store = await stack.enter_async_context(await EventStore.open(dsn, limits))
        config = Config(
            caller_calls_per_second=0,
            deadline_scan_interval_seconds=QUIET_S,
            heads_interval_seconds=QUIET_S,
            deadline_scan_grace_seconds=0,
            opening_balance_coins=OPENING,
            opening_free_matches_min=0,
        )
        replica = Replica(store, config, self.clock)
        await replica.start()
        return Lease(replica, wire, stack)

    # --- use ------------------------------------------------------------------------------------

    async def _player(self, at: int, name: str) -> Player:
        lease = self._leases[at]
        if name not in lease.players:
            channel = aio.insecure_channel(
                lease.replica.address, options=[("grpc.use_local_subchannel_pool", 1)]
            )
            lease.stack.push_async_callback(channel.close)
            lease.players[name] = Player(channel, name)
        return lease.players[name]

    async def send(self, request: Request, at: int, tries: int = TRIES) -> None:
        """Send a request to a replica until it is answered, or `tries` times.

        Check that a request that was answered before gets the same answer.
        """
        player = await self._player(at, request.player)
        for _ in range(tries):
            try:
                view = without_server_time(
                    (await player.call(request.method, request.message)).view
                )
            except aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.UNAVAILABLE or is_contention(error):
                    continue
                reason = reason_of(error)
                assert reason in REFUSALS, ErrorReason.Name(reason)
                assert request.answer is None, "a repeated request is refused"
                request.refusal = reason
                return
            assert request.answer in (None, view), "a repeated request gets another answer"
            request.answer = view
            return
        assert tries < TRIES, "the request is never answered"

    async def send_all(
        self, requests: Sequence[Request], at: int, trouble: Trouble | None = None
    ) -> None:
        """Send requests at the same time, alternating between replicas, with a failure at one."""
        tries = 1 if trouble is not None and trouble.kind == "crash" else TRIES

        async def send() -> None:
            await asyncio.gather(
                *(
                    self.send(request, (at + number) % len(self._leases), tries)
                    for number, request in enumerate(requests)
                )
            )

        await self._amid(trouble, at, send())
        if trouble is not None and trouble.repeats:
            await asyncio.gather(*(self.send(request, at) for request in requests))

    async def play(
        self,
        match_id: str,
        moves: int,
        at: int,
        make_id: Callable[[], str],
        trouble: Trouble | None = None,
    ) -> None:
        """Make up to this number of moves like easy bots, for the seats on the clock.

        The failure comes with the first move, and with the last one if that ends the match.
        """
        view: TableView | None = None
        for number in range(moves):
            view = view or await self._look("guest", match_id, at)
            if view is None or view.phase != Phase.PHASE_PLAYING:
                return
            name = view.seats[view.on_clock[0]].player_id
            mine = await self._look(name, match_id, at)
            view = None
            if mine is None or mine.your_seat not in mine.on_clock:
                continue
            message = api.PlayRequest(
                match_id=match_id,
                request_id=make_id(),
                expected_version=mine.version,  # the clock may have acted since
                move=easy_move(mine),
            )
            request = Request(name, "Play", message)
            first_or_last = number == 0 or (mine.stock_count == 0 and sum(mine.hand) < 3)
            await self.send_all([request], at, trouble if first_or_last else None)
            view = request.answer

    async def _look(self, name: str, match_id: str, at: int) -> TableView | None:
        request = Request(name, "GetMatch", api.GetMatchRequest(match_id=match_id))
        await self.send(request, at)
        return request.answer

    async def sweep(self, at: int, trouble: Trouble | None) -> None:
        """Let all replicas scan for deadlines at once, with a failure at one. Then scan again."""

        async def sweep() -> None:
            found = await asyncio.gather(
                *(lease.replica.engine.clock.scan() for lease in self._leases),
                return_exceptions=True,
            )
            assert all(isinstance(one, int | StoreError) for one in found), found

        await self._amid(trouble, at, sweep())
        await sweep()

    async def grant(
        self, at: int, grant_id: UUID, player: str, coins: int, trouble: Trouble | None
    ) -> None:
        """Issue coins, and repeat it until it certainly happened."""

        async def grant() -> None:
            store = self._leases[at].replica.store
            with suppress(StoreUnavailable):
                await store.ledger.open_account(player, OPENING)
                await issue(store, grant_id, player, coins)

        await self._amid(trouble, at, grant())
        for _ in range(2):
            await grant()

    # --- failures -------------------------------------------------------------------------------

    async def _amid(self, trouble: Trouble | None, at: int, work: Awaitable[None]) -> None:
        """Do some work during a failure of a replica. At the end the failure is repaired."""
        if trouble is None:
            await work
            return
        if trouble.kind == "terminate":
            await asyncio.gather(work, self._terminate_connections())
            return
        crashes = trouble.kind == "crash"
        wire = self._leases[at].wire
        cut = self._cut_at(wire, trouble, repairs=not crashes)
        if not crashes:
            await work
            wire.repair()
            return
        working, cutting = asyncio.ensure_future(work), asyncio.ensure_future(cut.wait())
        await asyncio.wait({working, cutting}, return_when=asyncio.FIRST_COMPLETED)
        cutting.cancel()
        await self._crash(at)
        await working

    def _cut_at(self, wire: Wire, trouble: Trouble, *, repairs: bool) -> asyncio.Event:
        """Cut a wire at the step of the failure. Return an event that is set then."""
        left = trouble.step
        happened = asyncio.Event()

        async def count() -> None:
            nonlocal left
            left -= 1
            if left == 0 and trouble.swallow:
                wire.swallowed.clear()
                wire.swallows_answers = True
                self._cutting = asyncio.create_task(cut_when_swallowed())
            elif left == 0:
                cut()

        async def cut_when_swallowed() -> None:
            await wire.swallowed.wait()
            cut()

        def cut() -> None:
            happened.set()
            wire.cut()
            if repairs:
                wire.repair()

        wire.before_request = count
        return happened

    async def _crash(self, at: int) -> None:
        """Kill a replica, with its memory, and replace it by another."""
        lease = self._leases[at]
        lease.wire.cut()
        self._dying.append(asyncio.create_task(_bury(lease)))
        self._leases[at] = await self._lease()

    async def _terminate_connections(self) -> None:
        await self._outside.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )

    # --- the coins ------------------------------------------------------------------------------

    async def has_free_seats(self, match_id: str) -> bool:
        """Return whether a match has a free seat."""
        view = await self._look("guest", match_id, 0)
        return view is not None and view.phase == Phase.PHASE_WAITING

    async def list_to_reveal(self, match_id: str) -> list[str]:
        """Return the players of a match who have to reveal a secret now."""
        view = await self._look("guest", match_id, 0)
        if view is None or view.phase != Phase.PHASE_REVEALING:
            return []
        return [view.seats[seat].player_id for seat in view.on_clock]

    def owner_of(self, match_id: str) -> str:
        """Return the player who opened a match, or "" if it was never opened."""
        match = self._matches.get(UUID(match_id))
        return "" if match is None else match.table.owner_id

    def players_of(self, match_id: str) -> list[str]:
        """Return the players of a match."""
        match = self._matches.get(UUID(match_id))
        return [] if match is None else [one.player_id for one in match.table.seats if one]

    async def escrow(self) -> int:
        """Return the number of coins in escrow."""
        coins: int = await self._outside.fetchval("SELECT sum(escrow_coins)::bigint FROM accounts")
        return coins or 0

    async def check_short(self, player: str, match_id: str) -> None:
        """Check that a player refused with INSUFFICIENT_COINS has too few coins."""
        available = await self._outside.fetchval(
            "SELECT available_coins FROM accounts WHERE player = $1", player
        )
        assert available < self._matches[UUID(match_id)].table.settings.stake_coins

    async def check(self, granted: dict[str, int]) -> None:
        """Check R12.8 in one snapshot, and every balance against the transfers and the logs."""
        async with self._outside.transaction(isolation="repeatable_read", readonly=True):
            accounts = {
                row["player"]: Coins(row["available_coins"], row["escrow_coins"])
                for row in await self._outside.fetch("SELECT * FROM accounts")
            }
            transfers = await self._outside.fetch(
                "SELECT player, kind, coins, available_after, number FROM transfers"
                " ORDER BY player, number"
            )
            known = {match_id: match.version for match_id, match in self._matches.items()}
            events = await self._outside.fetch(
                "SELECT e.stream_id, e.record FROM events e LEFT JOIN unnest($1::uuid[], $2::int[])"
                " AS k (stream_id, version) USING (stream_id)"
                " WHERE e.version > coalesce(k.version, 0) ORDER BY e.stream_id, e.version",
                list(known),
                list(known.values()),
            )
        for row in events:
            match = self._matches.setdefault(row["stream_id"], Match())
            match.apply(Record.FromString(row["record"]))
        assert all(min(coins) >= 0 for coins in accounts.values())
        assert accounts == _fold(transfers), "the balances differ from the fold of the transfers"
        issued = {player: OPENING + granted.get(player, 0) for player in accounts}
        assert sum(map(sum, accounts.values())) == sum(issued.values())
        assert accounts == _follow(issued, list(self._matches.values())), (
            "the balances differ from the logs"
        )


async def _bury(lease: Lease) -> None:
    """Release the resources of a dead replica. It can no longer reach the database."""
    await lease.replica.die()
    await lease.stack.aclose()


def _fold(transfers: Sequence[asyncpg.Record]) -> dict[str, Coins]:
    """Compute the balances by player from transfers in the order of their numbers."""
    balances: dict[str, Coins] = {}
    counted: dict[str, int] = {}
    for row in transfers:
        player, coins = row["player"], row["coins"]
        available, escrow = balances.get(player, Coins(0, 0))
        match TransferKind(row["kind"]):
            case TransferKind.ISSUE | TransferKind.PAYOUT:
                available += coins
            case TransferKind.STAKE:
                available, escrow = available - coins, escrow + coins
            case TransferKind.REFUND:
                available, escrow = available + coins, escrow - coins
            case TransferKind.POST:
                escrow -= coins
            case other:
                raise AssertionError(f"no dispute was ruled on: {other}")
        counted[player] = counted.get(player, 0) + 1
        assert (row["number"], row["available_after"]) == (counted[player], available)
        balances[player] = Coins(available, escrow)
    return balances


def _follow(issued: dict[str, int], matches: Sequence[Match]) -> dict[str, Coins]:
    """Compute the balances by player from the issued coins and the logs of all matches."""
    available, escrow = dict(issued), dict.fromkeys(issued, 0)
    for match in matches:
        stake = match.table.settings.stake_coins
        if not stake:
            continue
        shares = {} if match.result is None else {
            one.seat: one.share_coins for one in match.result.results
        }  # fmt: skip
        for number, seat in enumerate(match.table.seats):
            if seat is None:
                continue
            available[seat.player_id] -= stake
            if match.result is None:
                escrow[seat.player_id] += stake
            else:
                available[seat.player_id] += shares[number]
        assert match.result is None or sum(shares.values()) == stake * sum(
            seat is not None for seat in match.table.seats
        ), "the shares do not add up to the bank"
    return {player: Coins(available[player], escrow[player]) for player in issued}
