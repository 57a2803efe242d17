"""The network address of a caller, for the limits of each address."""

from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import unquote

Network = IPv4Network | IPv6Network
_SITE_BITS: Final = 64


def address_of(
    peer: str, metadata: Iterable[tuple[str, str | bytes]], trusted_proxies: Collection[Network]
) -> str:
    """Return the address of the client of a call, without the port.

    All addresses of an IPv6 network of 64 bits count as one: everybody who gets any gets all of
    them.

    `peer` is the other end of the connection as gRPC names it. A trusted proxy adds the address of
    its own peer to the end of `x-forwarded-for`. So the entries are read from the end, as long as
    the one before is a trusted proxy. What a client writes itself is never reached.

    >>> address_of("ipv4:192.0.2.7:50123", [("x-forwarded-for", "198.51.100.1")], [])
    '192.0.2.7'
    >>> address_of("ipv6:%5B2001:db8::1%5D:50123", [], [])
    '2001:db8::/64'
    >>> proxies = [IPv4Network("192.0.2.0/24")]
    >>> address_of("ipv4:192.0.2.7:50123", [("x-forwarded-for", "8.8.8.8, 198.51.100.1")], proxies)
    '198.51.100.1'
    """
    own = peer.rpartition(":")[0] if peer.startswith(("ipv4:", "ipv6:")) else peer
    found = _parse(unquote(own.partition(":")[2]).strip("[]"))
    values = [_text(value) for key, value in metadata if key == "x-forwarded-for"]
    forwarded = ",".join(values).split(",") if trusted_proxies else []
    while forwarded and found is not None and any(found in network for network in trusted_proxies):
        entry = _parse(forwarded.pop().strip())
        if entry is None:
            break
        found = entry
    if found is None:
        return own
    return str(found if found.version == 4 else IPv6Network((found, _SITE_BITS), strict=False))


def _parse(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
