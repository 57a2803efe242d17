"""`durak dispute`: complain as a player, rule as an auditor, decide as an operator."""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import click

from durak.v1 import dispute_service_pb2 as api
from durak.v1.dispute_service_pb2_grpc import DisputeServiceStub
from service.cli.client import new_request_id
from service.cli.connection import Connection, with_connection
from service.render.dispute import dispute_line, dispute_lines, status
from service.render.texts import translator

_STATUSES: Final = {
    name.removeprefix("DISPUTE_STATUS_").lower().replace("_", "-"): number
    for name, number in api.DisputeStatus.items()
    if number
}
_RULINGS: Final = {"upheld": api.RULING_UPHELD, "rejected": api.RULING_REJECTED}
_PAGE: Final = 100

_DECISIONS: Final = {
    "approve": api.CORRECTION_DECISION_APPROVED,
    "decline": api.CORRECTION_DECISION_DECLINED,
}
_DISPUTE: Final = click.argument("dispute_id", metavar="DISPUTE", type=click.UUID)
_REASON: Final = click.option("--reason", required=True, help="Why: everybody concerned reads it.")
_AT: Final = click.option(
    "--at", type=click.IntRange(1), help="Only if the dispute is still at this version."
)


class Coins(click.ParamType[tuple[str, int]]):
    """``PLAYER=+30``: who, and how many coins are added or, below 0, taken off."""

    name = "PLAYER=±COINS"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Read it; the player's id may have any character."""
        player, equals, coins = str(value).rpartition("=")
        try:
            number = int(coins)
        except ValueError:
            number = 0
        if not (player and equals and number):
            self.fail(f"{value!r} is not like anna=+30", param, ctx)
        return player, number


@click.group("dispute")
def dispute_command() -> None:
    """Complain of a match, look at the evidence, rule, decide on corrections.

    All of it goes over the service. docs/auditor.md leads from a complaint to a ruling.
    """


@dispute_command.command("open")
@click.argument("match_id", metavar="MATCH", type=click.UUID)
@click.option("--version", type=click.IntRange(1), help="Complain of the event of this version.")
@click.option("--payout", is_flag=True, help="Complain of the coins that were paid at the end.")
@_REASON
@with_connection("player")
def open_command(
    *,
    connection: Connection,
    match_id: UUID,
    version: int | None,
    payout: bool,
    reason: str,
) -> None:
    """Complain, as a player of MATCH."""
    if payout == (version is not None):
        raise click.UsageError("name a --version, or --payout")
    request = api.OpenDisputeRequest(
        request_id=new_request_id(), match_id=str(match_id), reason=reason
    )
    if version is None:
        request.payout.SetInParent()
    else:
        request.version = version
    _print_status(asyncio.run(_open(connection, request)))


async def _open(connection: Connection, request: api.OpenDisputeRequest) -> api.Dispute:
    async with connection.client() as client:
        stub = DisputeServiceStub(client.channel)
        return (await client.call(stub.OpenDispute, request)).dispute


@dispute_command.command("list", short_help="List disputes, newest first.")
@click.option("--status", type=click.Choice(list(_STATUSES)), help="Only those that stand so.")
@click.option("--match", "match_id", type=click.UUID, help="Only those about this match.")
@click.option("--by", "opened_by", metavar="PLAYER", help="Only those that this player has opened.")
@click.option("--limit", type=click.IntRange(1), default=_PAGE, show_default=True)
@with_connection("auditor")
def list_command(
    *,
    connection: Connection,
    status: str | None,
    match_id: UUID | None,
    opened_by: str | None,
    limit: int,
) -> None:
    """List disputes, newest first: players see their own, auditors and operators all."""
    request = api.ListDisputesRequest(
        status=_STATUSES[status] if status else api.DISPUTE_STATUS_UNSPECIFIED,
        match_id=str(match_id or ""),
        opened_by=opened_by or "",
        page_size=min(limit, _PAGE),
    )
    for dispute in asyncio.run(_list(connection, request, limit)):
        click.echo(dispute_line(dispute))


async def _list(
    connection: Connection, request: api.ListDisputesRequest, limit: int
) -> Sequence[api.Dispute]:
    found: list[api.Dispute] = []
    async with connection.client() as client:
        stub = DisputeServiceStub(client.channel)
        while len(found) < limit:
            page = await client.call(stub.ListDisputes, request)
            found += page.disputes
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
    return found[:limit]


@dispute_command.command("show", short_help="Show a dispute, and to an auditor the evidence.")
@_DISPUTE
@with_connection("auditor")
def show_command(*, connection: Connection, dispute_id: UUID) -> None:
    """Show DISPUTE, and to an auditor the evidence: the table before, the move, the verdict, coins.

    To an auditor it shows every hand.
    """
    request = api.GetDisputeRequest(dispute_id=str(dispute_id))
    found = asyncio.run(_show(connection, request))
    for line in dispute_lines(found, translator(connection.language)):
        click.echo(line)


async def _show(connection: Connection, request: api.GetDisputeRequest) -> api.GetDisputeResponse:
    async with connection.client() as client:
        return await client.call(DisputeServiceStub(client.channel).GetDispute, request)


@dispute_command.command("rule")
@_DISPUTE
@click.argument("ruling", type=click.Choice(list(_RULINGS)))
@_REASON
@click.option(
    "--correct",
    "corrections",
    type=Coins(),
    multiple=True,
    help="Coins to put right; may be given several times, and adds up to 0.",
)
@_AT
@with_connection("auditor")
def rule_command(
    *,
    connection: Connection,
    dispute_id: UUID,
    ruling: str,
    reason: str,
    corrections: Sequence[tuple[str, int]],
    at: int | None,
) -> None:
    """Rule on DISPUTE, as an auditor, once the match has ended.

    With --correct the ruling waits for an operator, who approves it before any coin moves.
    """
    request = api.RuleOnDisputeRequest(
        request_id=new_request_id(),
        dispute_id=str(dispute_id),
        ruling=_RULINGS[ruling],
        reason=reason,
        corrections=[api.Correction(player_id=who, coins=coins) for who, coins in corrections],
        expected_version=at,
    )
    _print_status(asyncio.run(_rule(connection, request)))


async def _rule(connection: Connection, request: api.RuleOnDisputeRequest) -> api.Dispute:
    async with connection.client() as client:
        stub = DisputeServiceStub(client.channel)
        return (await client.call(stub.RuleOnDispute, request)).dispute


@dispute_command.command("decide", short_help="Decide on the corrections of a ruling.")
@_DISPUTE
@click.argument("decision", type=click.Choice(list(_DECISIONS)))
@_REASON
@_AT
@with_connection("operator")
def decide_command(
    *,
    connection: Connection,
    dispute_id: UUID,
    decision: str,
    reason: str,
    at: int | None,
) -> None:
    """Approve or decline the corrections of the ruling on DISPUTE, as an operator.

    Approved: the coins move, and the ruling is final. Declined: the dispute is open again.
    """
    request = api.DecideCorrectionRequest(
        request_id=new_request_id(),
        dispute_id=str(dispute_id),
        decision=_DECISIONS[decision],
        reason=reason,
        expected_version=at,
    )
    _print_status(asyncio.run(_decide(connection, request)))


async def _decide(connection: Connection, request: api.DecideCorrectionRequest) -> api.Dispute:
    async with connection.client() as client:
        stub = DisputeServiceStub(client.channel)
        return (await client.call(stub.DecideCorrection, request)).dispute


def _print_status(dispute: api.Dispute) -> None:
    click.echo(f"{dispute.dispute_id}: {status(dispute)}, version {dispute.version}")
