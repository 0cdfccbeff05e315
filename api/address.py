"""Determines the base URL of a data directory's service, for commands that make links while it runs or is stopped.

`pcds serve` may get its port or its public address as an option, which a command's own settings do not have.
"""

from pathlib import Path

from warehouse.settings import Settings


def keep(settings: Settings) -> None:
    """Store the base address with which the service is started."""
    _file(settings).write_text(settings.base_url, encoding="utf-8")


def known_address(settings: Settings) -> str:
    """Return the address in these settings, else the one with which the service was last started."""
    if settings.public_url is not None:
        return settings.base_url
    try:
        return _file(settings).read_text(encoding="utf-8")
    except FileNotFoundError:
        return settings.base_url


def _file(settings: Settings) -> Path:
    return settings.data_dir / "base_url"
