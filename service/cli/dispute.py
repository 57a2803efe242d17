"""`durak dispute`: open disputes as a player, rule as an auditor, decide as an operator."""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import click

from durak.v1 import dispute_service_pb2 as api
from durak.v1.dispute_service_pb2_grpc import DisputeServiceStub
from service.cli.client import new_request_id
from service.cli.connection import Connection, with_connection
from service.cli.options import MATCH
from service.cli.terminal import new_console, print_fields
from service.render.dispute import dispute_fields, dispute_lines, status
from service.render.texts import translator

_STATUSES: Final = {
    name.removeprefix("DISPUTE_STATUS_").lower().replace("_", "-"): number
    for name, number in api.DisputeStatus.items()
    if number
}
_RULINGS: Final = {"upheld": api.RULING_UPHELD, "rejected": api.RULING_REJECTED}
_DECISIONS: Final = {
    "approve": api.CORRECTION_DECISION_APPROVED,
    "decline": api.CORRECTION_DECISION_DECLINED,
}
_PAGE_SIZE: Final = 100

_DISPUTE: Final = click.argument("dispute_id", metavar="DISPUTE", type=click.UUID)
_REASON: Final = click.option(
    "--reason", required=True, help="Reason, shown to everybody who can read the dispute."
)
_EXPECTED_VERSION: Final = click.option(
    "--at",
    metavar="VERSION",
    type=click.IntRange(1),
    help="Fail unless the dispute is at this version.",
)


class CoinsType(click.ParamType[tuple[str, int]]):
    """``PLAYER=±COINS``: a player id, and a number of coins to add or take."""

    name = "PLAYER=±COINS"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Parse a value. The player id may contain any character."""
        player, equals, coins = str(value).rpartition("=")
        try:
            number = int(coins)
        except ValueError:
            number = 0
        if not (player and equals and number):
            self.fail(f"{value!r} is not of the form anna=+30", param, ctx)
        return player, number


@click.group("dispute")
def dispute_command() -> None:
    """Open, review and decide disputes about matches.

    docs/auditor.md shows the whole way from a complaint to a ruling.
    """


@dispute_command.command("open")
@MATCH
@click.option(
    "--version", metavar="N", type=click.IntRange(1), help="Dispute the event of this version."
)
@click.option("--payout", is_flag=True, help="Dispute the coins paid out at the end.")
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
    """Open a dispute about MATCH, as one of its players."""
    if payout == (version is not None):
        raise click.UsageError("give either --version or --payout")
    request = api.OpenDisputeRequest(
        request_id=new_request_id(), match_id=str(match_id), reason=reason
    )
    if version is None:
        request.payout.SetInParent()
    else:
        request.version = version
    opened = connection.call(DisputeServiceStub, lambda stub: stub.OpenDispute, request)
    _print_status(opened.dispute)


@dispute_command.command("list")
@click.option("--status", type=click.Choice(list(_STATUSES)), help="Only disputes in this status.")
@click.option("--match", "match_id", type=click.UUID, help="Only disputes about this match.")
@click.option("--by", "opened_by", metavar="PLAYER", help="Only disputes opened by this player.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    default=_PAGE_SIZE,
    show_default=True,
    help="Number of disputes to list.",
)
@with_connection("auditor")
def list_command(
    *,
    connection: Connection,
    status: str | None,
    match_id: UUID | None,
    opened_by: str | None,
    limit: int,
) -> None:
    """List disputes, newest first.

    Players see their own, auditors and operators see all.
    """
    request = api.ListDisputesRequest(
        status=_STATUSES[status] if status else api.DISPUTE_STATUS_UNSPECIFIED,
        match_id=str(match_id or ""),
        opened_by=opened_by or "",
        page_size=min(limit, _PAGE_SIZE),
    )
    console = new_console()
    for dispute in asyncio.run(_list(connection, request, limit)):
        print_fields(console, dispute_fields(dispute))


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


@dispute_command.command("show")
@_DISPUTE
@with_connection("auditor")
def show_command(*, connection: Connection, dispute_id: UUID) -> None:
    """Show DISPUTE, and to auditors the evidence.

    The evidence is the table before the event, the event, the verdict and the coins. It shows every
    hand.
    """
    request = api.GetDisputeRequest(dispute_id=str(dispute_id))
    found = connection.call(DisputeServiceStub, lambda stub: stub.GetDispute, request)
    for line in dispute_lines(found, translator(connection.language)):
        click.echo(line)


@dispute_command.command("rule")
@_DISPUTE
@click.argument("ruling", type=click.Choice(list(_RULINGS)))
@_REASON
@click.option(
    "--correct",
    "corrections",
    type=CoinsType(),
    multiple=True,
    help="Coins to give to or take from a player, such as anna=+30; repeatable. The sum must be 0.",
)
@_EXPECTED_VERSION
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
    """Rule on DISPUTE, as an auditor.

    The match must have ended. A ruling with --correct takes effect when an operator approves it.
    """
    request = api.RuleOnDisputeRequest(
        request_id=new_request_id(),
        dispute_id=str(dispute_id),
        ruling=_RULINGS[ruling],
        reason=reason,
        corrections=[api.Correction(player_id=who, coins=coins) for who, coins in corrections],
        expected_version=at,
    )
    ruled = connection.call(DisputeServiceStub, lambda stub: stub.RuleOnDispute, request)
    _print_status(ruled.dispute)


@dispute_command.command("decide", short_help="Decide on the corrections of a ruling.")
@_DISPUTE
@click.argument("decision", type=click.Choice(list(_DECISIONS)))
@_REASON
@_EXPECTED_VERSION
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

    To approve moves the coins and makes the ruling final. To decline opens the dispute again.
    """
    request = api.DecideCorrectionRequest(
        request_id=new_request_id(),
        dispute_id=str(dispute_id),
        decision=_DECISIONS[decision],
        reason=reason,
        expected_version=at,
    )
    decided = connection.call(DisputeServiceStub, lambda stub: stub.DecideCorrection, request)
    _print_status(decided.dispute)


def _print_status(dispute: api.Dispute) -> None:
    click.echo(f"{dispute.dispute_id}: {status(dispute)}, version {dispute.version}")
