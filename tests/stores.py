"""Stores that hang, fail or lie, for the time of a block: what an operator's S3 does on a bad day."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import obstore
import pytest
from obstore.exceptions import PermissionDeniedError

_CALLS: Final = ("put_async", "get_async", "open_reader_async", "delete_async")


class Store:
    """What a process's stores do now: they answer, or hang until they are told to answer again."""

    def __init__(self) -> None:
        self.hangs = False
        self.asked = 0

    def call(self, real: Any) -> Any:
        """A call of the store that hangs where the store does."""

        async def called(*given: object, **named: object) -> object:
            self.asked += 1
            while self.hangs:
                await asyncio.sleep(0.02)
            return await real(*given, **named)

        return called


@contextmanager
def hanging() -> Iterator[Store]:
    """Every store of this process hangs, while the value says so."""
    store = Store()
    store.hangs = True
    with pytest.MonkeyPatch.context() as patched:
        for name in _CALLS:
            patched.setattr(obstore, name, store.call(getattr(obstore, name)))
        try:
            yield store
        finally:
            store.hangs = False


@contextmanager
def silent_server() -> Iterator[str]:
    """An address that takes connections and requests, and never answers."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=take, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for each in held:
                each.close()


@contextmanager
def lying() -> Iterator[None]:
    """Every store of this process takes a file and keeps other bytes."""
    real = obstore.put_async

    async def put(store: Any, place: str, data: Any, **named: Any) -> object:
        return await real(store, place, bytes(len(data)), **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(obstore, "put_async", put)
        yield


@contextmanager
def without_bucket() -> Iterator[str]:
    """An address of an S3 server whose bucket is missing."""

    class Answer(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b"<Error><Code>NoSuchBucket</Code></Error>"
            self.send_response(404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815  (the library's names)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextmanager
def refusing() -> Iterator[None]:
    """Every store of this process refuses to take a file."""

    async def put(*_: object, **__: object) -> None:
        raise PermissionDeniedError("no")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(obstore, "put_async", put)
        yield
