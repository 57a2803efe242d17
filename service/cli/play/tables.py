"""Finding, opening and joining a table before `durak play` shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import PHASE_WAITING
from service.cli.client import CallRefused, Client, new_request_id
from service.cli.exits import CommandError
from service.cli.play.fair_deal import FairDeal


@dataclass(frozen=True, slots=True)
class Plan:
    """The table to sit down at: a match, a rematch, any free seat, or a new table."""

    match_id: UUID | None
    rematch_of: UUID | None
    join: bool
    settings: Settings
    """Of a new table. With `join`, `stake_coins` is the highest stake accepted."""
    starts_series: bool
    bots: int | None
    """The number of bots at a new table. None: all other seats."""
    level: BotLevel.ValueType
    invited: tuple[str, ...] = ()
    """The players who may join a new table. With this or `link_secret` it is private."""
    link_secret: bytes = b""
    """Of a new private table, or of the one to join. Empty: none."""


async def open_tables(client: Client) -> Sequence[api.MatchSummary]:
    """Return the newest tables with free seats, at most 100."""
    request = api.ListMatchesRequest(phase=PHASE_WAITING, page_size=100)
    waiting = (await client.call(client.stub.ListMatches, request, retry=False)).matches
    # The seats of a rematch are reserved for the players of the first match (R13.1).
    return [match for match in waiting if not match.reserved_for]


async def sit_down(client: Client, plan: Plan, deal: FairDeal) -> str:
    """Take a seat as planned, and return the match id.

    A match that has begun without the caller is only watched. Raises CommandError, CallRefused or
    ServerUnreachable.
    """
    if plan.match_id is not None:
        return await _return_to(client, str(plan.match_id), deal, plan.link_secret)
    if plan.rematch_of is not None:
        request = api.RematchRequest(
            match_id=str(plan.rematch_of),
            request_id=new_request_id(),
            client_seed_hash=deal.promise_rematch(str(plan.rematch_of)),
        )
        return (await client.call(client.stub.Rematch, request)).view.match_id
    if plan.join:
        stake = plan.settings.stake_coins
        tables = [one for one in await open_tables(client) if one.settings.stake_coins <= stake]
        if not tables:
            raise CommandError("no table has a free seat: open one with `durak play`")
        return await _return_to(client, tables[0].match_id, deal)
    return await _open_table(client, plan, deal)


async def _return_to(
    client: Client, match_id: str, deal: FairDeal, link_secret: bytes = b""
) -> str:
    request = api.GetMatchRequest(match_id=match_id)
    view = (await client.call(client.stub.GetMatch, request, retry=False)).view
    if view.phase == PHASE_WAITING and not view.HasField("your_seat"):
        await _take_seat(client, match_id, deal, link_secret)
    return match_id


async def _open_table(client: Client, plan: Plan, deal: FairDeal) -> str:
    request = api.OpenTableRequest(
        request_id=new_request_id(),
        settings=plan.settings,
        start_series=plan.starts_series,
        invited=plan.invited,
        link_secret=plan.link_secret,
    )
    view = (await client.call(client.stub.OpenTable, request, retry=False)).view
    try:
        await _take_seat(client, view.match_id, deal)
    except CallRefused:  # for example for want of coins: do not leave an empty table behind
        closing = api.CancelTableRequest(match_id=view.match_id, request_id=new_request_id())
        await client.call(client.stub.CancelTable, closing)
        raise
    others = len(view.seats) - 1
    for _ in range(others if plan.bots is None else min(plan.bots, others)):
        await client.call(
            client.stub.SeatBot,
            api.SeatBotRequest(
                match_id=view.match_id, request_id=new_request_id(), level=plan.level
            ),
        )
    return view.match_id


async def _take_seat(
    client: Client, match_id: str, deal: FairDeal, link_secret: bytes = b""
) -> None:
    """Take a seat and promise a secret for the shuffle, so that nobody can choose the deck."""
    request = api.TakeSeatRequest(
        match_id=match_id,
        request_id=new_request_id(),
        client_seed_hash=deal.promise(match_id),
        link_secret=link_secret,
    )
    await client.call(client.stub.TakeSeat, request)
