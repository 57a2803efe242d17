"""What a person is told when a match at `durak play` is over: coins, and how to play on."""

from durak.v1 import wallet_service_pb2 as wallet
from durak.v1.table_pb2 import TableView
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from service.cli.client import Client
from service.cli.coins import balance_line
from service.cli.render.texts import Say


async def lines_after(client: Client, view: TableView, say: Say) -> list[str]:
    """The lines for one who sat at the table; none for who looked on. Raises as `Client.call`."""
    if not view.HasField("your_seat"):
        return []
    settings, lines = view.settings, []
    if settings.stake_coins:
        stub = WalletServiceStub(client.channel)
        balance = (await client.call(stub.GetBalance, wallet.GetBalanceRequest())).balance
        lines.append(balance_line(balance, say))
    lines.append(say("play-again", match=view.match_id))
    if settings.series_id:
        lines.append(say("series-stands", series=settings.series_id))
    return lines
