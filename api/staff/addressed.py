"""Checks by Host and Origin whether a browser sent a request to this service from one of its pages.

A name of another site may be made to lead to this machine (DNS rebinding), and any site may send requests here; no page
can change what a browser sends in these two headers.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from api.service import service_of

_FROM_OURS = ("same-origin", "none", "")
"""Sec-Fetch-Site of what a page of ours, or a person, has asked for; programs and older browsers do not say."""


def is_to_us(connection: HTTPConnection) -> bool:
    """Whether Host is the base address, or the very address that the connection came in at (loopback: by name, too)."""
    return connection.headers.get("host", "").lower() in _hosts(connection)


def is_by_us(connection: HTTPConnection) -> bool:
    """Whether Origin and Sec-Fetch-Site, where the sender says them, name a page of the host that was asked."""
    origin, host = connection.headers.get("origin"), connection.headers.get("host", "").lower()
    base = urlsplit(service_of(connection).settings.base_url)
    ours = f"{base.scheme if host == _without_default_port(base.netloc, base.scheme) else 'http'}://{host}"
    return (origin is None or origin.lower() == ours) and connection.headers.get("sec-fetch-site", "") in _FROM_OURS


def _hosts(connection: HTTPConnection) -> set[str]:
    settings = service_of(connection).settings
    base = urlsplit(settings.base_url)
    hosts = {_without_default_port(base.netloc, base.scheme)}
    address, port = connection.scope.get("server") or ("", None)
    try:
        reached = ip_address(address)
    except ValueError:  # a socket of the file system, or a test's own
        return hosts
    reached = getattr(reached, "ipv4_mapped", None) or reached
    names = [f"[{reached}]" if reached.version == 6 else str(reached), *(["localhost"] if reached.is_loopback else [])]
    return hosts | {_without_default_port(f"{name}:{port}", "http") for name in names}


def _without_default_port(netloc: str, scheme: str) -> str:
    """The form that a browser sends: without the port that the scheme has anyway."""
    return netloc.lower().removesuffix(":443" if scheme == "https" else ":80")
