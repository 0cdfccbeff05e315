"""A port for a server that a test, a benchmark or a tool starts."""

import atexit
import socket
import sys


def free_port() -> int:
    """A port of the loopback address that nobody listens on, and that nobody else is given.

    On Linux it is kept until this process ends, by a socket that never listens: no other look for a free port and no
    outgoing connection finds it, and a server, which asks for the address to be reusable, may listen there. Elsewhere
    that would refuse the server, so that the port is free only now.
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
