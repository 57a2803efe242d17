"""Suspends players who prevented the deal at several tables in a short time (R3.6)."""

from datetime import timedelta

from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from eventstore import EventStore
from service.config import Config
from service.rpc.errors import Refused
from service.times import to_datetime


class Suspensions:
    """Counts the deals that a player prevented, in the log of all replicas.

    A player who aborts deals could repeat that until a deck suits. The suspension bounds it. It
    costs no coins, because a server that drops a secret could cause it.
    """

    def __init__(self, store: EventStore, config: Config) -> None:
        self._store = store
        self._deals_max = config.prevented_deals_max
        self._window = timedelta(seconds=config.prevented_deals_window_seconds)

    async def refused(self, player_id: str, now_us: int) -> Refused | None:
        """Return the refusal of a seat at `now_us`, or None."""
        now = to_datetime(now_us)
        last = await self._store.lobby.read_prevented(
            player_id, since=now - self._window, rank=self._deals_max
        )
        if last is None:
            return None
        until = last + self._window
        refusal = Refusal(
            reasons.ERROR_REASON_SEATING_SUSPENDED,
            "R3.6",
            {"until": until.isoformat(timespec="seconds")},
        )
        return Refused(refusal, (until - now).total_seconds())
