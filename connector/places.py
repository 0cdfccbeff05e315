"""Under which names the connector is asked for, and from which pages.

So that a name which was bent to this machine (DNS rebinding) does not reach it.
"""

from urllib.parse import urlsplit

from warehouse.settings import Settings

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def hosts(settings: Settings) -> list[str]:
    """What `Host` may say: the base address, and where that is this machine alone, each of its names."""
    base = urlsplit(settings.base_url)
    named = [base.netloc]
    if base.hostname in ("127.0.0.1", "localhost", "::1"):
        named += [f"{name}:{base.port}" if base.port else name for name in _LOOPBACK]
    return list(dict.fromkeys(named))


def origins(settings: Settings) -> list[str]:
    """What `Origin` may say: the base address, and the pages that the operator lets in."""
    base = urlsplit(settings.base_url)
    return [f"{base.scheme}://{base.netloc}", *settings.connector_origins]
