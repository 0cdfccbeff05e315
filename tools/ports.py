"""Finds a port for a server that a test, a benchmark or a tool starts."""

import atexit
import socket
import sys


def free_port() -> int:
    """Return a free port of the loopback address that no other caller gets.

    On Linux a socket that never listens reserves it until this process ends: no other search for a free port and no
    outgoing connection gets it, and a server, which sets SO_REUSEADDR, may listen there. On other systems that would
    block the server, so the port is only free at this moment.
    """
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("127.0.0.1", 0))
    port = int(probe.getsockname()[1])
    if sys.platform == "linux":
        atexit.register(probe.close)
    else:
        probe.close()
    return port
