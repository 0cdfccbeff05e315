"""A proxy before a service that fails as a test says: it refuses requests, or loses answers to those that were done."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

LOSES = 0
"""In place of a status: the request is done, and its answer never comes."""


class Seen(NamedTuple):
    method: str
    path: str
    key: str | None
    fault: int | None


HALF = (LOSES, None, 503, None, 429, None, None, 500)
"""Faults of half of the requests, which may be repeated without end."""


class FailingProxy:
    def __init__(self) -> None:
        self.faults: Iterator[int | None] = iter(())
        """What happens to the next requests, in turn; None passes one on, and so does the end of it."""
        self.wait = 1
        """Seconds that a refusal asks to wait."""
        self.seen: list[Seen] = []
        self.url = ""


@contextmanager
def before(port: int) -> Iterator[FailingProxy]:
    proxy = FailingProxy()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            fault = next(proxy.faults, None)
            proxy.seen.append(Seen(self.command, self.path, self.headers["Idempotency-Key"], fault))
            if fault:
                refusal = b'{"error": "rate_limited", "correlationId": "x", "message": "x"}'
                self._say(fault, refusal, {"Retry-After": str(proxy.wait)})
                return
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            if fault == LOSES:
                self.close_connection = True
                return
            kept = ("Content-Type", "Content-Encoding")
            self._say(answer.status, text, {name: answer.headers[name] for name in kept if name in answer.headers})

        do_GET = do_PATCH = do_DELETE = do_POST  # noqa: N815  (the base class's names)

        def _say(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                **headers,
                "Content-Length": str(len(body)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
