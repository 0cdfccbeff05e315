"""A receiver of webhooks on loopback that a test tells what to answer, and that checks each signature."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from standardwebhooks import Webhook


class Got(NamedTuple):
    """A message as it came, and the status that was answered."""

    id: str
    body: str
    data: dict[str, Any]
    type: str
    signatures: list[str]
    timestamp: int
    status: int

    def is_signed_by(self, secret: str) -> bool:
        """Whether the specification's own library finds its signature among those sent."""
        at = datetime.fromtimestamp(self.timestamp, UTC)
        return Webhook(secret).sign(self.id, at, self.body) in self.signatures


class Receiver:
    def __init__(self) -> None:
        self.got: list[Got] = []
        self.answer: Callable[[str, dict[str, Any]], int] = lambda _id, _data: 204
        self.silence = threading.Event()
        self.silent = False
        self.connections = 0
        self.lock = threading.Lock()
        self.url = ""

    def taken(self) -> list[Got]:
        """What was answered with success."""
        return [each for each in self.got if each.status < 300]


@contextmanager
def opened(context: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if receiver.silent:
                receiver.silence.wait(60)
                return
            sent = json.loads(body)
            with receiver.lock:
                status = receiver.answer(self.headers["webhook-id"], sent["data"])
                receiver.got.append(
                    Got(
                        self.headers["webhook-id"],
                        body,
                        sent["data"],
                        sent["type"],
                        self.headers["webhook-signature"].split(" "),
                        int(self.headers["webhook-timestamp"]),
                        status,
                    )
                )
            self.send_response(status)
            if status in (301, 302, 307, 308):
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64  # a full queue costs each further connection a second

        def get_request(self) -> Any:
            receiver.connections += 1
            return super().get_request()

    with Server(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
        if context is not None:
            receiver.url = f"https://localhost:{server.server_port}/hook"
        try:
            yield receiver
        finally:
            receiver.silence.set()
            server.shutdown()
            thread.join()
