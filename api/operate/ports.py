"""Reserves the ports of `pcds serve` before anything starts, or refuses and names who uses them and what to do.

What belongs here: which address is listened on, and which process occupies it. What does not: what answers there.
"""

import socket
from pathlib import Path
from typing import Any, Final  # Any: an address as `socket` takes it

import psutil

from warehouse.operate import dagster_home, leftovers
from warehouse.operate.settings import Settings, SettingsError

_API: Final = "--port or PCDS_PORT"
_DAGSTER: Final = "--dagster-port or PCDS_DAGSTER_PORT"


def refuse_taken(settings: Settings) -> None:
    """Raise `SettingsError` where another process uses one of the ports.

    This is checked before the database starts, which takes seconds.
    """
    _bind(settings.host, settings.port, _API).close()
    _bind(dagster_home.HOST, settings.dagster_port, _DAGSTER).close()  # always on loopback (decision 0032)


def bind_socket(settings: Settings) -> socket.socket:
    """Return the socket on which all API processes accept; no caller gets through before the first of them listens."""
    return _bind(settings.host, settings.port, _API)


def _bind(host: str, port: int, how: str) -> socket.socket:
    address: Any = (host, port)
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind)
    except OSError as error:
        raise SettingsError(f"{host}:{port} cannot be listened on ({error.strerror}).") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        holder = leftovers.listening(port)
        sentence = f"{host}:{port} cannot be listened on ({error.strerror}){_named(holder)}; choose another with {how}."
        raise SettingsError(sentence) from None
    return made


def _named(holder: psutil.Process | None) -> str:
    """Return which process has the port, and what to do about it."""
    if holder is None:
        return ""
    mark = leftovers.Mark.of(holder)
    try:
        name, place = holder.name(), holder.environ().get("PCDS_DATA_DIR") if mark else None
    except (psutil.Error, OSError):
        return ""
    if mark is None:
        return f": {name} (process {holder.pid}) listens there; end it"
    if mark.lives:
        return f": the service of {place} listens there (`pcds serve`, process {mark.pid}); end it"
    return f": process {holder.pid} of the service of {place} was left there; end it with `kill {holder.pid}`"


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
