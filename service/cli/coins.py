"""`durak coins` and `durak grant`: a player's balance and transfers, and an operator's grants."""

import asyncio
from types import MappingProxyType
from typing import Final

import click

from durak.v1 import wallet_service_pb2 as api
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from service.cli.client import new_request_id
from service.cli.connection import Connection, with_connection
from service.cli.terminal import new_console, print_fields
from service.render.texts import translator
from service.text.localisation import Translate

_DEBITS: Final = frozenset({api.TRANSFER_KIND_STAKE, api.TRANSFER_KIND_CORRECTION_OUT})
_KINDS: Final = MappingProxyType(
    {
        kind: name.removeprefix("TRANSFER_KIND_").lower().replace("_", "-")
        for name, kind in api.TransferKind.items()
    }
)


@click.command("coins")
@click.option(
    "--transfers",
    metavar="N",
    type=click.IntRange(0, 100),
    default=10,
    show_default=True,
    help="Number of transfers to list.",
)
@with_connection("player")
def coins_command(*, connection: Connection, transfers: int) -> None:
    """Show your coins and your latest transfers, newest first.

    Coins are play money: they cannot be given to others or exchanged (R12.1).
    """
    translate = translator(connection.language)
    balance, latest = asyncio.run(_fetch(connection, transfers))
    console = new_console()
    console.print(balance_line(balance, translate))
    for transfer in latest:
        print_fields(console, _transfer_fields(transfer, translate))


async def _fetch(connection: Connection, count: int) -> tuple[api.Balance, list[api.Transfer]]:
    async with connection.client() as client:
        stub = WalletServiceStub(client.channel)
        balance = (await client.call(stub.GetBalance, api.GetBalanceRequest())).balance
        if not count:
            return balance, []
        request = api.ListTransfersRequest(page_size=count)
        return balance, [*(await client.call(stub.ListTransfers, request)).transfers]


def balance_line(balance: api.Balance, translate: Translate) -> str:
    """Return a balance in one line."""
    return translate(
        "coins-balance", available=balance.available_coins, escrow=balance.escrow_coins
    )


def transfer_kind(transfer: api.Transfer, translate: Translate) -> str:
    """Return the kind of a transfer in words."""
    return translate("coins-transfer", kind=_KINDS[transfer.kind])


def _transfer_fields(transfer: api.Transfer, translate: Translate) -> list[str]:
    sign = "-" if transfer.kind in _DEBITS else "+"
    if transfer.kind == api.TRANSFER_KIND_POST:
        sign = " "  # from escrow into the bank: the available coins do not change
    amounts = f"{sign}{transfer.coins:<9} = {transfer.available_after_coins:<9}"
    fields = [f"{transfer.number:>5}", f"{amounts} {transfer_kind(transfer, translate)}"]
    cause = transfer.match_id or transfer.dispute_id
    return [*fields, cause] if cause else fields


@click.command("grant")
@click.argument("player")
@click.argument("coins", type=click.IntRange(min=1))
@click.option("--reason", required=True, metavar="TEXT", help="Why the player gets coins.")
@with_connection("operator")
def grant_command(*, connection: Connection, player: str, coins: int, reason: str) -> None:
    """Grant COINS to PLAYER, as an operator.

    The grant goes on record with the reason: see `durak admin log`. The service limits the coins of
    one grant (DURAK_GRANT_COINS_MAX) and of one operator (DURAK_GRANT_COINS_PER_DAY_MAX). For more,
    `durak admin propose-grant` asks a second operator.
    """
    request = api.GrantCoinsRequest(
        request_id=new_request_id(), player_id=player, coins=coins, reason=reason
    )
    granted = connection.call(WalletServiceStub, lambda stub: stub.GrantCoins, request)
    click.echo(balance_line(granted.balance, translator(connection.language)))
