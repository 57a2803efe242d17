"""The revoked tokens: which callers the authenticator no longer accepts."""

from service.rpc.call import Caller


class Revocations:
    """The tokens that operators have revoked, by player.

    >>> revocations = Revocations()
    >>> revocations.revoke_issued_until("ann", 1_000.0)
    >>> revocations.revoke_token("bob", "token-7")
    """

    def __init__(self) -> None:
        """Start without a revoked token."""
        self._issued_until: dict[str, float] = {}
        self._tokens: set[tuple[str, str]] = set()

    def revoke_issued_until(self, subject: str, time: float) -> None:
        """Revoke all tokens of a subject that were issued up to a time, in seconds (epoch)."""
        self._issued_until[subject] = max(time, self._issued_until.get(subject, time))

    def revoke_token(self, subject: str, token_id: str) -> None:
        """Revoke the token of a subject with this `jti`."""
        self._tokens.add((subject, token_id))

    def cover(self, caller: Caller) -> bool:
        """Return whether the caller's token is revoked."""
        until = self._issued_until.get(caller.subject)
        if until is not None and caller.issued_at <= until:
            return True
        return bool(caller.token_id) and (caller.subject, caller.token_id) in self._tokens
