"""The player's part in the fair deal: promise a secret, reveal it, check the deal at the end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from domain.match.deal_check import DealMismatch
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import PHASE_REVEALING, TableView
from service.cli.client import CallRefused, Client, new_request_id
from service.cli.play.promises import PromiseFolder
from service.ids import rematch_id

_ALREADY_DONE = frozenset({"ALREADY_REVEALED", "MATCH_NOT_REVEALING"})
"""Reasons that a repeated reveal can get, for example from a second terminal of the player."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of ``table.ftl`` for the player, and its style."""

    key: str
    style: str = "bold"
    variables: dict[str, str] = field(default_factory=dict)


class FairDeal:
    """Keeps the player's secrets, and uses them at the right moment."""

    def __init__(self, client: Client, promises: PromiseFolder, player_id: str) -> None:
        self._client = client
        self._promises = promises
        self._player_id = player_id

    def promise(self, match_id: str) -> bytes:
        """Return the hash to sit down with."""
        return self._promises.make(match_id, self._player_id).client_seed_hash

    def promise_rematch(self, match_id: str) -> bytes:
        """Return the hash to sit down with at the rematch of a match."""
        new_id = rematch_id(UUID(match_id).bytes)
        return self.promise(str(UUID(bytes=new_id)))

    async def reveal(self, view: TableView) -> Message | None:
        """Reveal the secret if the table waits for it. Returns a message if that is impossible."""
        if view.phase != PHASE_REVEALING or not view.HasField("your_seat"):
            return None
        if view.your_seat not in view.on_clock:
            return None
        promise = self._promises.find(view.match_id, self._player_id)
        if promise is None:
            return Message("secret-missing")
        if promise.client_seed_hash != view.seats[view.your_seat].client_seed_hash:
            return Message("secret-missing")
        # From here on nothing that the server shows can change what the deal is checked against.
        promise = self._promises.record_known(promise, view)
        request = api.RevealSeedRequest(
            match_id=view.match_id, request_id=new_request_id(), secret=promise.secret
        )
        try:
            await self._client.call(self._client.stub.RevealSeed, request)
        except CallRefused as refusal:
            if refusal.reason not in _ALREADY_DONE:
                return Message("secret-refused", variables={"reason": str(refusal)})
        return None

    def check(self, match_id: str, events: Sequence[Event]) -> Message | None:
        """Check the deal of a finished match, from all events that the player saw.

        Returns None if the player promised no secret here, or no cards were dealt.
        """
        promise = self._promises.find(match_id, self._player_id)
        if promise is None or not any(event.HasField("dealt") for event in events):
            return None
        try:
            promise.check(events)
        except DealMismatch as mismatch:
            return Message("deal-false", variables={"fault": str(mismatch)})
        return Message("deal-verified", style="dim")
