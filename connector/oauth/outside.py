"""Fetches one document from the internet and never from a private network (server-side request forgery).

The address is one that `pipelines.outside` has looked at. No redirect is followed and no proxy used; size and time are
bounded, whatever the other side does.
"""

import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult

import anyio
import httpx2

from pipelines.outside import Address, Unreachable, is_public, place_of, resolved

MAX_BYTES: Final = 16 * 2**10
FETCH_SECONDS: Final = 5
_PORT: Final = 443


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
            address = await resolved(url.hostname or "", port, may_reach)
            return await _got(url, address, port, trust or ssl.create_default_context())
    except (TimeoutError, OSError, UnicodeError, httpx2.HTTPError, httpx2.InvalidURL):
        raise Unreachable from None


async def _got(url: SplitResult, address: Address, port: int, trust: ssl.SSLContext) -> bytes:
    target = f"https://{place_of(address)}:{port}{url.path or '/'}" + (f"?{url.query}" if url.query else "")
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
