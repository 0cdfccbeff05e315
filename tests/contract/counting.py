"""A road to Postgres that counts: what an application sends over it passes unchanged, statement by statement.

Only the lengths and kinds of the client's messages are read (the frontend protocol, version 3): an Execute or a
simple Query is one statement. A Sync, a Flush or a simple Query is a wait: its answer is read before more is asked.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from psycopg.conninfo import conninfo_to_dict

_LENGTH = struct.Struct("!I")
_STATEMENTS = (b"E", b"Q")
_WAITS = (b"S", b"H", b"Q")


class Road:
    """Where to connect to instead of the database, and how many statements went through so far."""

    def __init__(self, url: str, listener: socket.socket) -> None:
        self._parts, self._listener = conninfo_to_dict(url), listener
        self._lock, self._count = threading.Lock(), 0
        self.waits = 0
        """How often the client waited for an answer so far."""

    @property
    def url(self) -> str:
        port = self._listener.getsockname()[1]
        user, password, name = (self._parts[part] for part in ("user", "password", "dbname"))
        return f"postgresql://{user}:{password}@127.0.0.1:{port}/{name}?sslmode=disable&gssencmode=disable"

    def counting(self, work: Callable[[], object]) -> int:
        """How many statements were sent while `work` ran."""
        before = self._count
        work()
        return self._count - before

    def serve(self) -> None:
        """Take connections until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = self._connected()
                threading.Thread(target=self._forth, args=(client, server), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _connected(self) -> socket.socket:
        host, port = str(self._parts.get("host", "localhost")), int(self._parts.get("port", 5432))
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _forth(self, client: socket.socket, server: socket.socket) -> None:
        """The client's messages: the first has no kind, every other begins with its own."""
        with client, server, client.makefile("rb") as messages, suppress(OSError, struct.error):
            kind = b""
            while True:
                length = messages.read(4)
                body = messages.read(_LENGTH.unpack(length)[0] - 4)
                with self._lock:
                    self._count += kind in _STATEMENTS
                    self.waits += kind in _WAITS
                server.sendall(kind + length + body)
                kind = messages.read(1)

    @staticmethod
    def _back(server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)


@contextmanager
def counted(url: str) -> Iterator[Road]:
    """A road to the database of a URL, open while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        road = Road(url, listener)
        thread = threading.Thread(target=road.serve, daemon=True)
        thread.start()
        yield road
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)
