"""Whether a request was addressed to this service, by a page of it: Host and Origin, for a browser's sake.

A name of another site may be made to lead to this machine (DNS rebinding), and any site may send requests here; what a
browser says in these two headers no page can change.
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
    ours = {f"http://{host}"} if host != base.netloc.lower() else {f"{base.scheme}://{host}"}
    is_ours = origin is None or origin.lower() in ours
    return is_ours and connection.headers.get("sec-fetch-site", "") in _FROM_OURS


def _hosts(connection: HTTPConnection) -> set[str]:
    settings = service_of(connection).settings
    hosts = {urlsplit(settings.base_url).netloc.lower()}
    address, port = connection.scope.get("server") or ("", None)
    try:
        reached = ip_address(address)
    except ValueError:  # a socket of the file system, or a test's own
        return hosts
    names = [f"[{reached}]" if reached.version == 6 else str(reached), *(["localhost"] if reached.is_loopback else [])]
    return hosts | {f"{name}:{port}" for name in names}
