"""Finds ports of the loopback address for servers."""

import random
import socket
import time
from typing import Final

LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = range(20_000, 32_000)  # below the range that systems use for outgoing connections
_PORT_SECONDS: Final = 3.0


def becomes_free(port: int) -> bool:
    """Return whether the port is free, or becomes free: processes of a killed server release it in a moment."""
    deadline = time.monotonic() + _PORT_SECONDS
    while not (free := _is_free(port)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return free


def free_port() -> int:
    """Return a port that nobody listens on."""
    return next(port for port in random.sample(_PORTS, len(_PORTS)) if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
