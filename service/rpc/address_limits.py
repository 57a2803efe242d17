"""The rate limit of calls without a token, by network address."""

from service.config import Config
from service.rpc.call import Context
from service.rpc.limits import RateLimit, rate_limited


class PublicCalls:
    """The rate limit that all services without tokens share."""

    def __init__(self, config: Config) -> None:
        """Allow `public_calls_per_second` and `public_calls_burst` for each address."""
        self._rate = RateLimit(
            config.public_calls_per_second, config.public_calls_burst, config.callers_remembered_max
        )

    def admit(self, context: Context) -> None:
        """Count a call. Raises Refused RATE_LIMITED."""
        wait_seconds = self._rate.spend(address_of(context.peer()))
        if wait_seconds:
            raise rate_limited("calls without a token", wait_seconds)


def address_of(peer: str) -> str:
    """Return the address of a peer as gRPC names it, without the port.

    >>> address_of("ipv4:192.0.2.7:50123")
    'ipv4:192.0.2.7'
    >>> address_of("ipv6:%5B2001:db8::1%5D:50123")
    'ipv6:%5B2001:db8::1%5D'
    """
    return peer.rpartition(":")[0] if peer.startswith(("ipv4:", "ipv6:")) else peer
