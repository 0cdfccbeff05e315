"""Where a request comes from: the client's address behind trusted proxies, and the origin that a write records."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from starlette.requests import Request

from api.service import service_of
from pipelines.steps.origin import Origin
from warehouse.queries.keys import Key

_LONGEST_AGENT: Final = 500


def client_address(request: Request) -> str | None:
    """The peer's address, or the proxy header's where the peer is a trusted proxy (decisions §11).

    Of X-Forwarded-For the last address that no trusted proxy has: those before it are the caller's own word.
    """
    trusted = service_of(request).settings.trusted_proxies
    address = _address(request.client.host if request.client else "")
    for hop in reversed(request.headers.get("x-forwarded-for", "").split(",")):
        before = _address(hop)
        if address is None or before is None or not any(address in network for network in trusted):
            break
        address = before
    return str(address) if address else None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None


def origin_of(request: Request, key: Key) -> Origin:
    """What the audit ledger says of a write made with a key."""
    agent = request.headers.get("user-agent")
    return Origin(
        actor_type="api_key",
        actor_id=str(key.client_id),
        actor_name=key.name,
        correlation_id=request.state.correlation_id,
        ip=client_address(request),
        user_agent=agent[:_LONGEST_AGENT] if agent else None,
    )
