"""`durak audit flags`: unusual numbers of results, with the matches as evidence."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

import click

from durak.v1 import audit_service_pb2 as api
from service.cli.audit.source import Access, with_audit_access

_TIME: Final = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])
_TEXTS: Final = (
    (api.FLAG_KIND_PAIR_LOSSES, "lost to {flag.other_player_id}"),
    (api.FLAG_KIND_LOSSES_TO_ONE, "lost mostly to {flag.other_player_id}"),
    (api.FLAG_KIND_MATCHES_LEFT, "left"),
    (api.FLAG_KIND_LOST_POSITIONS_LEFT, "left in lost positions"),
    (api.FLAG_KIND_NEW_ACCOUNT_WINS, "won against new accounts"),
)


@click.command("flags", short_help="List players with unusual results.")
@click.option("--since", metavar="TIME", type=_TIME, help="Start of the period, inclusive (UTC).")
@click.option("--before", metavar="TIME", type=_TIME, help="End of the period, exclusive (UTC).")
@click.option("--player", metavar="ID", default="", help="Only flags that name this player.")
@with_audit_access
def flags_command(
    *, access: Access, since: datetime | None, before: datetime | None, player: str
) -> None:
    """List unusual numbers of losses to one player, matches left, and wins against new accounts.

    Below each flag are its newest matches, at most 20. A flag is a reason to look at them, and no
    proof. The thresholds are settings (DURAK_FLAG_…).
    """
    request = api.ListFlagsRequest(player_id=player, page_size=100)
    if since is not None:
        request.start_time.FromDatetime(since.replace(tzinfo=UTC))
    if before is not None:
        request.end_time.FromDatetime(before.replace(tzinfo=UTC))
    asyncio.run(_print(access, request))


async def _print(access: Access, request: api.ListFlagsRequest) -> None:
    count = 0
    async for line in _lines(access, request):
        count += not line.startswith(" ")
        click.echo(line)
    click.echo(f"{count} flags")


async def _lines(access: Access, request: api.ListFlagsRequest) -> AsyncIterator[str]:
    async with access.open() as source:
        for request.kind, text in _TEXTS:
            request.page_token = ""
            while True:
                page = await source.flags(request)
                for flag in page.flags:
                    first, last = (
                        time.ToDatetime().strftime("%Y-%m-%d %H:%M")
                        for time in (flag.first_time, flag.last_time)
                    )
                    yield (
                        f"{flag.player_id}: {text.format(flag=flag)}: {flag.cases} of "
                        f"{flag.matches} matches, {first} to {last}"
                    )
                    for match_id in flag.match_ids:
                        yield f"  {match_id}"
                request.page_token = page.next_page_token
                if not request.page_token:
                    break
