"""`durak admin`: the acts of operators and auditors on record."""

import asyncio
from types import MappingProxyType
from typing import Final
from uuid import UUID

import click

from durak.v1 import audit_service_pb2 as api
from durak.v1.administration_pb2 import AdministrativeKind, StoredAdministrativeRecord
from durak.v1.administration_service_pb2 import RevokeTokensRequest
from durak.v1.administration_service_pb2_grpc import AdministrationServiceStub
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.wallet_service_pb2 import ApproveGrantRequest, ProposeGrantRequest
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from service.cli.client import new_request_id
from service.cli.coins import balance_line
from service.cli.connection import Connection, with_connection
from service.cli.terminal import new_console, print_fields
from service.render.texts import translator

_PAGE_SIZE: Final = 100
_KINDS: Final = MappingProxyType(
    {
        name.removeprefix("ADMINISTRATIVE_KIND_").lower().replace("_", "-"): kind
        for name, kind in AdministrativeKind.items()
        if kind
    }
)


@click.group("admin")
def admin_command() -> None:
    """Act as an operator or auditor, on record, and list all acts.

    docs/auditor.md explains the administrative log.
    """


@admin_command.command("log")
@click.option("--by", "actor_id", metavar="SUBJECT", default="", help="Only acts of this person.")
@click.option("--kind", type=click.Choice(list(_KINDS)), help="Only acts of this kind.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    default=_PAGE_SIZE,
    show_default=True,
    help="Number of acts to list.",
)
@with_connection("auditor")
def log_command(*, connection: Connection, actor_id: str, kind: str | None, limit: int) -> None:
    """List what operators and auditors did and why, newest first."""
    request = api.ListAdministrativeEventsRequest(
        actor_id=actor_id,
        kind=_KINDS[kind] if kind else AdministrativeKind.ADMINISTRATIVE_KIND_UNSPECIFIED,
        page_size=min(limit, _PAGE_SIZE),
    )
    console = new_console()
    for stored in asyncio.run(_list(connection, request, limit)):
        print_fields(console, act_fields(stored))


@admin_command.command("open")
@click.argument("match_id", metavar="MATCH", type=click.UUID)
@click.option("--reason", required=True, metavar="TEXT", help="Why you must see the cards.")
@with_connection("auditor")
def open_command(*, connection: Connection, match_id: UUID, reason: str) -> None:
    """Record that you open the running MATCH, as an auditor.

    You can then read it for some time. `durak admin log` lists the access and the reason.
    """
    request = api.OpenMatchRequest(
        request_id=new_request_id(), match_id=str(match_id), reason=reason
    )
    opened = connection.call(AuditServiceStub, lambda stub: stub.OpenMatch, request)
    click.echo(f"{match_id}: open to you until {opened.end_time.ToJsonString()}")


@admin_command.command("propose-grant")
@click.argument("player")
@click.argument("coins", type=click.IntRange(min=1))
@click.option("--reason", required=True, metavar="TEXT", help="Why the player gets coins.")
@with_connection("operator")
def propose_command(*, connection: Connection, player: str, coins: int, reason: str) -> None:
    """Propose to grant COINS to PLAYER, as an operator. Another operator must approve it.

    Prints the id of the grant and the end of the time for the approval.
    """
    request = ProposeGrantRequest(
        request_id=new_request_id(), player_id=player, coins=coins, reason=reason
    )
    proposed = connection.call(WalletServiceStub, lambda stub: stub.ProposeGrant, request)
    click.echo(f"{proposed.grant_id}  approve it before {proposed.expire_time.ToJsonString()}")


@admin_command.command("approve-grant")
@click.argument("grant", type=click.UUID)
@click.option("--reason", required=True, metavar="TEXT", help="Why the grant is right.")
@with_connection("operator")
def approve_command(*, connection: Connection, grant: UUID, reason: str) -> None:
    """Approve GRANT, which another operator proposed, and issue its coins."""
    request = ApproveGrantRequest(request_id=new_request_id(), grant_id=str(grant), reason=reason)
    approved = connection.call(WalletServiceStub, lambda stub: stub.ApproveGrant, request)
    balance = balance_line(approved.balance, translator(connection.language))
    click.echo(f"{approved.player_id}: {balance}")


@admin_command.command("revoke")
@click.argument("player")
@click.option("--token-id", metavar="JTI", default="", help="Only the token with this `jti`.")
@click.option("--reason", required=True, metavar="TEXT", help="Why the tokens end.")
@with_connection("operator")
def revoke_command(*, connection: Connection, player: str, token_id: str, reason: str) -> None:
    """Revoke the tokens that PLAYER has now, as an operator.

    Within seconds every replica refuses them. Revoke the sign-in at the issuer too: it can issue
    new tokens.
    """
    request = RevokeTokensRequest(
        request_id=new_request_id(), player_id=player, token_id=token_id, reason=reason
    )
    connection.call(AdministrationServiceStub, lambda stub: stub.RevokeTokens, request)
    which = f"the token {token_id}" if token_id else "all tokens issued until now"
    click.echo(f"{player}: {which} revoked")


async def _list(
    connection: Connection, request: api.ListAdministrativeEventsRequest, limit: int
) -> list[StoredAdministrativeRecord]:
    found: list[StoredAdministrativeRecord] = []
    async with connection.client() as client:
        stub = AuditServiceStub(client.channel)
        while len(found) < limit:
            page = await client.call(stub.ListAdministrativeEvents, request)
            found += page.records
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
    return found[:limit]


def act_fields(stored: StoredAdministrativeRecord) -> list[str]:
    """Return an act as the fields of one line."""
    if not stored.HasField("record"):
        return [str(stored.version), "UNREADABLE"]
    record = stored.record
    kind = record.event.WhichOneof("kind")
    event = getattr(record.event, kind) if kind else record.event
    values = " ".join(f"{field.name}={value}" for field, value in event.ListFields())
    return [
        str(stored.version),
        record.event_time.ToJsonString(),
        record.actor_id or "service",
        (kind or "unknown").replace("_", "-"),
        values,
        record.reason,
    ]
