"""Finds an address of a host on the internet, and never one of a private network (server-side request forgery).

The host is resolved first and all its addresses must be public; the caller connects to the address that is returned, so
that a second resolution cannot lead elsewhere (DNS rebinding). Who fetches or sends is `connector.oauth.clients` and
`pipelines.changes`.
"""

from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

import anyio
from anyio import to_thread

Address: TypeAlias = IPv4Address | IPv6Address

_NAT64: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""Addresses that a network may translate into any IPv4 address (RFC 6052, RFC 8215)."""


class Unreachable(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """What was asked for cannot be reached safely; the error gives no reason, which would help to probe the network."""

    code = "unreachable"


def is_public(address: Address) -> bool:
    """Return whether an address belongs to the public internet, in any form of writing it."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is not None:
            return is_public(inner)
        if any(address in network for network in _NAT64) or address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


async def resolved(host: str, port: int, may_reach: Callable[[Address], bool]) -> Address:
    """Return an address of a host whose addresses may all be reached. Raise `Unreachable` and `OSError`.

    The caller's deadline ends it even where the resolver hangs: it is asked in a loop of its own, because each loop
    waits for its threads when it is closed.
    """
    ask = partial(anyio.run, anyio.getaddrinfo, host, port)
    addresses = [
        ip_address(entry[4][0].partition("%")[0]) for entry in await to_thread.run_sync(ask, abandon_on_cancel=True)
    ]
    if not addresses or not all(may_reach(address) for address in addresses):
        raise Unreachable
    return addresses[0]


def place_of(address: Address) -> str:
    """Return an address as it stands in a URL."""
    return f"[{address}]" if isinstance(address, IPv6Address) else str(address)
