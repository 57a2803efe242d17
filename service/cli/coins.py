"""`durak coins` and `durak grant`: what a player has and how it came about; coins of operators."""

import asyncio
from types import MappingProxyType
from typing import Final

import click

from durak.v1 import wallet_service_pb2 as api
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from service.cli.client import new_request_id
from service.cli.connection import Connection, with_connection
from service.render.texts import Translate, translator

_TAKES: Final = frozenset(
    {
        api.TRANSFER_KIND_STAKE,
        api.TRANSFER_KIND_CORRECTION_OUT,
    }
)
_KINDS: Final = MappingProxyType(
    {
        kind: name.removeprefix("TRANSFER_KIND_").lower().replace("_", "-")
        for name, kind in api.TransferKind.items()
    }
)


@click.command("coins")
@click.option(
    "--transfers",
    type=click.IntRange(0, 100),
    default=10,
    show_default=True,
    help="How many transfers to list, the newest first.",
)
@with_connection("player")
def coins_command(*, connection: Connection, transfers: int) -> None:
    """Tell your coins, and the latest transfers that made them so.

    Coins cannot be handed to others or taken out of the game (R12.1).
    """
    translate = translator(connection.language)
    for line in asyncio.run(_asked(connection, transfers, translate)):
        click.echo(line)


async def _asked(connection: Connection, count: int, translate: Translate) -> list[str]:
    async with connection.client() as client:
        stub = WalletServiceStub(client.channel)
        balance = (await client.call(stub.GetBalance, api.GetBalanceRequest())).balance
        lines = [balance_line(balance, translate)]
        if count:
            request = api.ListTransfersRequest(page_size=count)
            answer = await client.call(stub.ListTransfers, request)
            lines += [_transfer_line(transfer, translate) for transfer in answer.transfers]
    return lines


def balance_line(balance: api.Balance, translate: Translate) -> str:
    """A balance in one line."""
    return translate(
        "coins-balance", available=balance.available_coins, escrow=balance.escrow_coins
    )


def _transfer_line(transfer: api.Transfer, translate: Translate) -> str:
    sign = "-" if transfer.kind in _TAKES else "+"
    if transfer.kind == api.TRANSFER_KIND_POST:
        sign = " "  # out of escrow into the bank: nothing of what can be spent
    cause = transfer.match_id or transfer.dispute_id
    return (
        f"{transfer.number:>5}  {sign}{transfer.coins:<9} = {transfer.available_after_coins:<9} "
        f"{translate('coins-transfer', kind=_KINDS[transfer.kind])}  {cause}"
    ).rstrip()


@click.command("grant")
@click.argument("player")
@click.argument("coins", type=click.IntRange(min=1))
@with_connection("operator")
def grant_command(*, connection: Connection, player: str, coins: int) -> None:
    """Issue COINS to PLAYER, as an operator; DURAK_GRANT_COINS_MAX is the most at once."""
    translate = translator(connection.language)
    click.echo(balance_line(asyncio.run(_granted(connection, player, coins)), translate))


async def _granted(connection: Connection, player: str, coins: int) -> api.Balance:
    request = api.GrantCoinsRequest(request_id=new_request_id(), player_id=player, coins=coins)
    async with connection.client() as client:
        stub = WalletServiceStub(client.channel)
        return (await client.call(stub.GrantCoins, request)).balance
