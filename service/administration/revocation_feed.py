"""Reads revocations of tokens from the administrative log, and passes them to the authenticator."""

from collections.abc import Callable
from typing import Final

from durak.v1.administration_pb2 import AdministrativeEvent, TokensRevoked
from eventstore import EventStore
from service.administration.log import parse
from service.rpc.revocations import Revocations
from service.watchdog import rest

_KIND: Final = AdministrativeEvent.TOKENS_REVOKED_FIELD_NUMBER
_PAGE: Final = 1_000
_MICROSECONDS: Final = 1_000_000


class RevocationFeed:
    """Keeps the revocations of this process complete. Any replica may record new ones."""

    def __init__(
        self,
        store: EventStore,
        revocations: Revocations,
        interval_seconds: float,
        changed: Callable[[], None],
    ) -> None:
        """Call `changed` after new revocations were added."""
        self._log = store.administration
        self._revocations = revocations
        self._interval_seconds = interval_seconds
        self._changed = changed
        self._version = 0

    async def load(self) -> None:
        """Add the revocations recorded since the last call. Raises StoreError or Refused."""
        is_changed = False
        while page := await self._log.read_of_kind(_KIND, self._version, _PAGE):
            for stored in page:
                self._add(parse(stored).event.tokens_revoked)
                self._version = stored.version
            is_changed = True
        if is_changed:
            self._changed()

    async def run(self) -> None:
        """Load new revocations without end."""
        while True:
            await rest(self._interval_seconds)
            await self.load()

    def _add(self, revoked: TokensRevoked) -> None:
        if revoked.token_id:
            self._revocations.revoke_token(revoked.player_id, revoked.token_id)
        else:
            until = revoked.issued_time_max.ToMicroseconds() / _MICROSECONDS
            self._revocations.revoke_issued_until(revoked.player_id, until)
