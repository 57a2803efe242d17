"""How often one network address may make the calls that need no token."""

from typing import Any

from grpc import aio

from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from service.config import Config
from service.rpc.errors import Refused
from service.rpc.limits import RateLimit


class PublicCalls:
    """One bucket for each address, shared by all services that it is given to."""

    def __init__(self, config: Config) -> None:
        """Allow what `public_calls_per_second` and `public_calls_burst` say."""
        self._rate = RateLimit(
            config.public_calls_per_second, config.public_calls_burst, config.callers_remembered_max
        )

    def admit(self, context: aio.ServicerContext[Any, Any]) -> None:
        """Count a call. Raises Refused RATE_LIMITED."""
        wait_seconds = self._rate.spend(address_of(context.peer()))
        if wait_seconds:
            refusal = Refusal(
                reasons.ERROR_REASON_RATE_LIMITED, metadata={"quota": "calls without a token"}
            )
            raise Refused(refusal, wait_seconds)


def address_of(peer: str) -> str:
    """The address of a peer as gRPC names it, without the port.

    >>> address_of("ipv4:192.0.2.7:50123")
    'ipv4:192.0.2.7'
    >>> address_of("ipv6:%5B2001:db8::1%5D:50123")
    'ipv6:%5B2001:db8::1%5D'
    """
    return peer.rpartition(":")[0] if peer.startswith(("ipv4:", "ipv6:")) else peer
