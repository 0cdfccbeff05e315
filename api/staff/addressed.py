"""Checks by Host and Origin whether a browser sent a request to this service from one of its pages.

A name of another site may be made to lead to this machine (DNS rebinding), and any site may send requests here; no page
can change what a browser sends in these two headers.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from api.pages.forms import OWN_FETCH_SITES
from api.service import service_of


def is_to_us(connection: HTTPConnection) -> bool:
    """Return whether Host is the base address, or the address of the connection itself (on loopback, also by name)."""
    return connection.headers.get("host", "").lower() in _own_hosts(connection)


def is_from_our_page(connection: HTTPConnection) -> bool:
    """Return whether Origin and Sec-Fetch-Site, where sent, name a page of the requested host."""
    origin, host = connection.headers.get("origin"), connection.headers.get("host", "").lower()
    base = urlsplit(service_of(connection).settings.base_url)
    own_origin = f"{base.scheme if host == _without_default_port(base.netloc, base.scheme) else 'http'}://{host}"
    fetch_site = connection.headers.get("sec-fetch-site", "")
    return (origin is None or origin.lower() == own_origin) and fetch_site in OWN_FETCH_SITES


def _own_hosts(connection: HTTPConnection) -> set[str]:
    settings = service_of(connection).settings
    base = urlsplit(settings.base_url)
    hosts = {_without_default_port(base.netloc, base.scheme)}
    address, port = connection.scope.get("server") or ("", None)
    try:
        own_address = ip_address(address)
    except ValueError:  # a socket of the file system, or a test's own
        return hosts
    own_address = getattr(own_address, "ipv4_mapped", None) or own_address
    names = [
        f"[{own_address}]" if own_address.version == 6 else str(own_address),
        *(["localhost"] if own_address.is_loopback else []),
    ]
    return hosts | {_without_default_port(f"{name}:{port}", "http") for name in names}


def _without_default_port(netloc: str, scheme: str) -> str:
    """Return the form that a browser sends: without the default port of the scheme."""
    return netloc.lower().removesuffix(":443" if scheme == "https" else ":80")
