"""Lists the host names and the origins from which the connector may be called.

The check stops requests under a foreign name that resolves to this machine (DNS rebinding).
"""

from urllib.parse import urlsplit

from warehouse.settings import Settings

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def hosts(settings: Settings) -> list[str]:
    """Return the values that `Host` may have: the base address, and where that is a loopback name, all of these."""
    base = urlsplit(settings.base_url)
    named = [base.netloc]
    if base.hostname in ("127.0.0.1", "localhost", "::1"):
        named += [f"{name}:{base.port}" if base.port else name for name in _LOOPBACK]
    return list(dict.fromkeys(named))


def origins(settings: Settings) -> list[str]:
    """Return the values that `Origin` may have: the base address, and the origins that the operator allows."""
    base = urlsplit(settings.base_url)
    return [f"{base.scheme}://{base.netloc}", *settings.connector_origins]
