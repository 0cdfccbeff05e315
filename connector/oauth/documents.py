"""Reads applications from a document that they publish: the client id is its https address (CIMD, draft -00).

A document is fetched on behalf of a person who is signed in, and stored for an hour. It may contain the same metadata
as a registration; such an application has no secret.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

import orjson

from connector.oauth.outside import fetch
from connector.oauth.refusals import OAuthRefused
from connector.oauth.registration import metadata
from pipelines.outside import Unreachable
from warehouse.accounts.oauth_clients import Client

KEPT: Final = timedelta(hours=1)
_LONGEST: Final = 500

Fetch = Callable[[SplitResult], Awaitable[bytes]]


def is_document(client_id: str) -> bool:
    """Return whether a client id is the address of a document, and not an id from a registration."""
    return client_id.startswith("https://")


def address(client_id: str) -> SplitResult | None:
    """Return the address of a document; None where it is not a host name and a path without port or odd characters."""
    try:
        parts = urlsplit(client_id)
        has_port = parts.port is not None
    except ValueError:
        return None
    plain = client_id.isascii() and client_id.isprintable() and not set(client_id) & set(' \\#@"<>')
    segments = parts.path.split("/")
    if not (plain and is_document(client_id)) or len(client_id) > _LONGEST or has_port:
        return None
    if parts.path in ("", "/") or {".", ".."} & set(segments):
        return None
    return parts if "." in (parts.hostname or "") and not _is_number(parts.hostname or "") else None


async def fetch_client(client_id: str, at: datetime, fetched: Fetch = fetch) -> Client | None:
    """Return the application as its document describes it now; None where it cannot be fetched or used."""
    parts = address(client_id)
    if parts is None:
        return None
    try:
        document = orjson.loads(await fetched(parts))
        if not isinstance(document, dict) or document.get("client_id") != client_id or "client_secret" in document:
            return None
        client = metadata({"token_endpoint_auth_method": "none", **document})
    except (Unreachable, OAuthRefused, orjson.JSONDecodeError):
        return None
    if not client.is_public:
        return None
    return Client(client_id, client.name, client.redirect_uris, client.token_endpoint_auth_method, None, at)


def _is_number(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return host.rpartition(".")[2].isdecimal()  # 127.1 is an address to some resolvers
    return True
