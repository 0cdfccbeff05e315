"""Determines a request's origin: the client's address behind trusted proxies, and the origin that a write records."""

from typing import Final

from starlette.requests import Request

from api.service import service_of
from schemas.addresses import behind, network_of
from warehouse.audit.origin import Origin

_LONGEST_AGENT: Final = 500


def client_address(request: Request) -> str | None:
    """Return the address of the request's sender, seen through the proxies that the operator trusts."""
    peer, forwarded = request.client.host if request.client else "", request.headers.get("x-forwarded-for", "")
    return behind(peer, forwarded, service_of(request).settings.trusted_proxies)


def client_network(request: Request) -> str:
    """Return the network that an address limit counts: an IPv4 address, or 64 bits of IPv6 (RFC 4291, 2.5.4)."""
    return network_of(client_address(request) or "unknown")


def origin_of_actor(request: Request, actor_type: str, actor_id: str, actor_name: str | None) -> Origin:
    """Return the audit ledger's origin of a request by an actor of any type."""
    agent = request.headers.get("user-agent")
    return Origin(
        actor_type=actor_type,
        actor_id=actor_id,
        actor_name=actor_name,
        correlation_id=request.state.correlation_id,
        ip=client_address(request),
        user_agent=agent[:_LONGEST_AGENT] if agent else None,
    )
