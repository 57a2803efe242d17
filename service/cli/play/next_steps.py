"""What a person is told who leaves `durak play`, or whose match is over: coins, and what next."""

import shlex
from collections.abc import Sequence
from typing import Final

from durak.v1 import wallet_service_pb2 as wallet
from durak.v1.events_pb2 import Outcome
from durak.v1.table_pb2 import PHASE_WAITING, TableView
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from service.cli.client import Client
from service.cli.coins import balance_line
from service.render.texts import Translate

_PLAYED: Final = (Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW)


class NextSteps:
    """Commands to go on with. They repeat the `options` by which the person called the server."""

    def __init__(self, options: Sequence[str], translate: Translate) -> None:
        self._options = options
        self._translate = translate

    def resume_hint(self, view: TableView) -> str:
        """How to come back to a table that waits, or to a match that goes on."""
        key = "come-back-waiting" if view.phase == PHASE_WAITING else "come-back"
        return self._hint(key, "play", "--match", view.match_id)

    def after(self, view: TableView) -> list[str]:
        """What to do after a match that is over."""
        hints = []
        if view.result.outcome in _PLAYED and not view.settings.tricky:
            hints.append(self._hint("review-it", "review", view.match_id))
        if view.result.outcome != Outcome.OUTCOME_CANCELLED:  # that one has no rematch (R13.1)
            hints.append(self._hint("play-again", "play", "--rematch", view.match_id))
        if view.settings.series_id:
            hints.append(self._hint("series-stands", "series", view.settings.series_id))
        return hints

    def _hint(self, key: str, command: str, *arguments: str) -> str:
        return self._translate(
            key, command=shlex.join(["durak", command, *self._options, *arguments])
        )


async def balance_after(client: Client, view: TableView, translate: Translate) -> str | None:
    """The coins of one who sits or sat at a staked table. Raises as `Client.call`."""
    if not view.settings.stake_coins:
        return None
    stub = WalletServiceStub(client.channel)
    answer = await client.call(stub.GetBalance, wallet.GetBalanceRequest())
    return balance_line(answer.balance, translate)
