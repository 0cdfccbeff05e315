"""Fetches one document from the internet and never from a private network (server-side request forgery).

The host is resolved first and all its addresses must be public; the connection then goes to one of these addresses, so
that a second resolution cannot lead elsewhere. No redirect is followed and no proxy used; size and time are bounded,
whatever the other side does.
"""

import ssl
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias
from urllib.parse import SplitResult

import anyio
import httpx2

Address: TypeAlias = IPv4Address | IPv6Address

MAX_BYTES: Final = 16 * 2**10
FETCH_SECONDS: Final = 5
_PORT: Final = 443
_NAT64: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""Addresses that a network may translate into any IPv4 address (RFC 6052, RFC 8215)."""


class Unreachable(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """The document cannot be fetched safely; the error gives no reason, which would help to probe the network."""

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


async def fetch(
    url: SplitResult,
    *,
    may_reach: Callable[[Address], bool] = is_public,
    port: int = _PORT,
    trust: ssl.SSLContext | None = None,
) -> bytes:
    """Return the bytes of a 200 answer with JSON. Raises `Unreachable` for everything else."""
    try:
        with anyio.fail_after(FETCH_SECONDS):
            address = await _resolved(url.hostname or "", port, may_reach)
            return await _got(url, address, port, trust or ssl.create_default_context())
    except (TimeoutError, OSError, UnicodeError, httpx2.HTTPError, httpx2.InvalidURL):
        raise Unreachable from None


async def _resolved(host: str, port: int, may_reach: Callable[[Address], bool]) -> Address:
    found = [ip_address(entry[4][0].partition("%")[0]) for entry in await anyio.getaddrinfo(host, port)]
    if not found or not all(may_reach(address) for address in found):
        raise Unreachable
    return found[0]


async def _got(url: SplitResult, address: Address, port: int, trust: ssl.SSLContext) -> bytes:
    place = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
    target = f"https://{place}:{port}{url.path or '/'}" + (f"?{url.query}" if url.query else "")
    headers = {"Host": url.netloc, "Accept": "application/json", "Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(verify=trust, trust_env=False, follow_redirects=False) as client,
        client.stream("GET", target, headers=headers, extensions={"sni_hostname": url.hostname}) as answer,
    ):
        if answer.status_code != 200 or "json" not in answer.headers.get("Content-Type", ""):
            raise Unreachable
        body = bytearray()
        async for chunk in answer.aiter_raw():
            body += chunk
            if len(body) > MAX_BYTES:
                raise Unreachable
        return bytes(body)
