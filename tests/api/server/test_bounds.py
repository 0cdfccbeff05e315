"""What a stranger can make the server hold: headers, bodies, answers and connections end where the settings say.

Raw sockets, because a client library sends nothing of this. Time does not pass by itself here: a test says how long a
caller let a connection wait (`Served.pass_seconds`), and waits for what comes of it.
"""

import asyncio
import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path

import pytest
import structlog

from api.operate.server import Config, Server
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.operate.settings import Settings

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
OPEN_HEADER = b"GET / HTTP/1.1\r\nHost: h\r\n"
HEADER_BYTES = 4_096
AN_HOUR = 3_600.0


class Application:
    """Answers with the size of the body; `/large` with 64 MiB, `/at-once` before the body is there."""

    def __init__(self) -> None:
        self.began = 0
        self.gone = 0

    async def __call__(self, scope, receive, send) -> None:
        self.began += 1
        size, more = 0, scope["path"] != "/at-once"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone += 1
                return
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
        parts = [bytes(65_536)] * 1_024 if scope["path"] == "/large" else [str(size).encode()]
        length = str(sum(map(len, parts))).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Served:
    def __init__(self, server: Server, port: int, application: Application) -> None:
        self.server, self.port, self.application = server, port, application
        self._clients = list[socket.socket]()

    def connect(self, host: str = "127.0.0.1") -> socket.socket:
        """Connect from an address of this machine."""
        client = socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS, (host, 0))
        self._clients.append(client)
        return client

    def send(self, data: bytes, host: str = "127.0.0.1") -> socket.socket:
        client = self.connect(host)
        with suppress(ConnectionError):  # it may have made place for others already
            client.sendall(data)
        return client

    def held(self, count: int) -> None:
        """Wait until so many connections are known to the server."""
        wait_until(lambda: len(self.server.server_state.connections) == count, otherwise=self._counted)

    def _counted(self) -> str:
        return f"{len(self.server.server_state.connections)} are held"

    def read(self, something: bytes = b"") -> None:
        """Wait until the server has read what was sent: it has seen so many bytes of a header or a body."""
        connections = self.server.server_state.connections
        wait_until(
            lambda: any(each._unplaced_bytes + each._body_bytes >= len(something) > 0 for each in tuple(connections))
        )

    def pass_seconds(self, seconds: float) -> None:
        """Let the server see that every caller let it wait for so long."""

        def look() -> None:
            for connection in tuple(self.server.server_state.connections):
                connection.look(seconds)

        self.server.loop.call_soon_threadsafe(look)

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def serving(**settings: object) -> Iterator[Served]:
    chosen = {"header_bytes": HEADER_BYTES, "keep_alive_seconds": 3600, **settings}
    application = Application()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = Config(Settings.load(data_dir=Path("/nonexistent"), **chosen), application, lifespan="off")
        server = _Told(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        served = Served(server, listener.getsockname()[1], application)
        try:
            wait_until(lambda: server.started)
            yield served
        finally:
            served.close()
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)


class _Told(Server):
    """Does not look by itself."""

    async def on_tick(self, counter: int) -> bool:
        self.loop = asyncio.get_running_loop()
        self._looked = time.monotonic() + AN_HOUR
        return await super().on_tick(counter)


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as place:
        yield place


def answer(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer after which the server ends the connection."""
    text = b""
    while part := client.recv(65_536):
        text += part
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.lower().split(": ", 1) for line in lines), body


def refused(client: socket.socket, status: int, code: str) -> dict[str, str]:
    got, headers, body = answer(client)
    said = json.loads(body)
    assert (got, said["error"]) == (status, code)
    assert said["message"].endswith(".")
    assert said["correlationId"] == headers["x-correlation-id"]
    assert headers["connection"] == "close"
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    return headers


def takes(client: socket.socket, count: int = 1) -> bytes:
    """So many answers to small requests, on a connection that stays open."""
    text = b""
    while text.count(b"\r\n\r\n") < count or not text.rpartition(b"\r\n\r\n")[2]:
        part = client.recv(65_536)
        assert part, text
        text += part
    assert text.count(b"HTTP/1.1 200 OK") == count, text
    return text


def ended(client: socket.socket) -> bool:
    """Whether the server has ended the connection without a word more."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "header",
    [
        b"GET /" + b"a" * 100_000,
        OPEN_HEADER + b"X: " + b"a" * 100_000,
        OPEN_HEADER + b"a:b\r\n" * 20_000,
        OPEN_HEADER + b"X: " + b"a" * HEADER_BYTES + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nX: " + b"a" * HEADER_BYTES + b"\r\n\r\nabc",
        OPEN_HEADER + b"a:b\r\n" * 201 + b"\r\n",
    ],
    ids=["line", "value", "fields", "complete", "complete with a body", "many short ones"],
)
def test_a_large_header_is_refused_wherever_it_is_large(served: Served, header: bytes) -> None:
    refused(served.send(header), 431, "payload_too_large")
    assert served.application.began == 0


def test_a_header_without_end_is_not_kept(served: Served) -> None:
    client = served.send(OPEN_HEADER + b"X: " + b"a" * 1_000_000)
    refused(client, 431, "payload_too_large")
    served.pass_seconds(AN_HOUR)  # it has been told, and goes on all the same

    def is_ended() -> bool:
        try:
            client.sendall(b"a" * 1_000_000)
        except ConnectionError:
            return True
        return False

    wait_until(is_ended)
    assert served.application.began == 0


@pytest.mark.parametrize(
    "more", [b"0\r\n" + b"X: " + b"a" * 1_000_000, b"1;" + b"a" * 1_000_000], ids=["trailer", "chunk extension"]
)
def test_what_is_no_body_between_and_after_chunks_is_bounded_too(served: Served, more: bytes) -> None:
    client = served.send(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + more)
    refused(client, 431, "payload_too_large")
    wait_until(lambda: served.application.gone == served.application.began)


def test_a_header_within_the_bound_is_served_and_the_connection_goes_on(served: Served) -> None:
    client = served.connect()
    for _ in range(3):
        client.sendall(OPEN_HEADER + b"X: " + b"a" * (HEADER_BYTES - 200) + b"\r\n\r\n")
        takes(client)
        served.pass_seconds(AN_HOUR)  # between requests uvicorn's own timer counts
    assert served.application.began == 3


def test_a_second_request_is_bounded_like_the_first(served: Served) -> None:
    client = served.send(GET)
    takes(client)
    client.sendall(OPEN_HEADER + b"X: " + b"a" * 9_000)
    refused(client, 431, "payload_too_large")


@pytest.mark.parametrize("begun", [b"G", OPEN_HEADER, b"\r\n"], ids=["one byte", "no end", "blank lines"])
def test_a_slow_header_is_answered_and_ended(served: Served, begun: bytes) -> None:
    client = served.send(begun)
    served.read(begun)
    served.pass_seconds(19)
    served.pass_seconds(2)
    refused(client, 408, "invalid_body")


def test_blank_lines_after_an_answer_do_not_hold_the_connection(served: Served) -> None:
    client = served.send(GET)
    takes(client)
    client.sendall(b"\r\n")
    served.read(b"\r\n")
    served.pass_seconds(21)
    refused(client, 408, "invalid_body")


def test_a_connection_that_says_nothing_is_ended_without_a_word(served: Served) -> None:
    client = served.connect()
    served.held(1)
    served.pass_seconds(21)
    assert ended(client)
    served.held(0)


def test_a_slow_body_is_answered_and_the_application_hears_that_its_caller_is_gone(served: Served) -> None:
    client = served.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nab")
    wait_until(lambda: served.application.began)
    served.pass_seconds(29)
    served.pass_seconds(2)
    refused(client, 408, "invalid_body")
    wait_until(lambda: served.application.gone)


def test_a_body_that_keeps_its_pace_may_take_as_long_as_it_needs(served: Served) -> None:
    size = 60 * 8_192
    client = served.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % size)
    client.sendall(bytes(size - 1))
    connections = served.server.server_state.connections
    wait_until(lambda: any(each._body_bytes == size - 1 for each in tuple(connections)))
    served.pass_seconds(80)
    client.sendall(b"z")
    assert takes(client).endswith(str(size).encode())


def test_a_body_that_goes_on_after_its_answer_is_ended(served: Served) -> None:
    client = served.send(b"POST /at-once HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nab")
    takes(client)
    served.pass_seconds(11)
    assert ended(client)


def test_an_answer_that_nobody_takes_is_ended(served: Served) -> None:
    client = served.connect()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
    wait_until(lambda: any(each.transport.get_write_buffer_size() for each in served.server.server_state.connections))
    served.pass_seconds(59)
    served.held(1)
    served.pass_seconds(2)
    served.held(0)


def test_what_is_no_http_gets_the_error_body(served: Served) -> None:
    refused(served.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), 400, "invalid_body")


def test_a_header_with_a_nul_is_no_http(served: Served) -> None:
    """So no handler sees one in a header; the other places are in tests/api/test_nul_bytes."""
    refused(served.send(OPEN_HEADER + b"X-API-Key: a\0b\r\n\r\n"), 400, "invalid_body")


def test_a_few_requests_sent_without_waiting_are_answered_in_order(served: Served) -> None:
    takes(served.send(GET * 4), 4)


def test_thousands_of_requests_sent_without_waiting_are_not_kept(served: Served) -> None:
    flood = served.connect()
    flood.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    flood.sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n" + GET * 5_000)
    wait_until(lambda: served.application.began)
    served.held(0)
    assert served.application.began == 1


def test_one_connection_too_many_is_told_to_come_again() -> None:
    with serving(connections=3) as served:
        for _ in range(3):
            served.send(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")  # nobody reads the answer
        wait_until(lambda: served.application.began == 3)
        assert refused(served.send(GET), 503, "internal_error")["retry-after"] == "1"


@pytest.mark.parametrize("sent", [b"", OPEN_HEADER, b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"])
def test_connections_without_a_whole_request_make_place_for_others(sent: bytes) -> None:
    """Five addresses fill every place, and again, while somebody else is answered and a request under way goes on."""
    with serving(connections=30, connections_per_address=10) as served, structlog.testing.capture_logs() as logged:
        under_way = served.send(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n", host="127.0.0.9")
        wait_until(lambda: served.application.began)
        for _ in range(25):
            for address in range(1, 6):
                served.send(sent, host=f"127.0.1.{address}")
        for _ in range(3):
            takes(served.send(GET, host="127.0.0.8"))
        assert len(served.server.server_state.connections) <= 31
        assert under_way.recv(15) == b"HTTP/1.1 200 OK"
        served.server._tell_of_refused()
    told = [line for line in logged if line["event"] == "connections.refused"]
    assert sum(line["networks"]["127.0.1.0/24"] for line in told) >= 90
    assert "127.0.1.1" not in str(told), "no whole address"


def test_five_thousand_connections_at_once_keep_the_loop_from_nobody_for_long() -> None:
    """Five addresses open all before the server runs again; measured is its own thread's time, whoever else works."""
    longest, last = 0.0, 0.0

    with serving() as served, ExitStack() as opened:

        def look() -> None:
            nonlocal longest, last
            now = time.thread_time()
            longest, last = max(longest, now - (last or now)), now
            served.server.loop.call_later(0.001, look)

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(12_000, hard), hard))
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        served.server.loop.call_soon_threadsafe(look)
        for number in range(5_000):
            client = opened.enter_context(socket.socket())
            client.bind((f"127.0.1.{number % 5 + 1}", 0))
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", served.port))
            with suppress(OSError):
                client.sendall(OPEN_HEADER)
        takes(served.send(GET, host="127.0.0.8"))
    assert 0 < longest < 0.3


def test_one_address_holds_its_share_and_a_trusted_proxy_all() -> None:
    with serving(connections_per_address=2) as served:
        first, _ = served.connect(), served.connect()
        served.held(2)
        assert refused(served.send(GET), 429, "rate_limited")["retry-after"] == "1"
        first.close()
        served.held(2)  # the one that stayed, and the one that was refused and has not closed yet
        served.close()
        served.held(0)
        takes(served.send(GET))
    with serving(connections_per_address=2, trusted_proxies=[ip_network("127.0.0.0/8")]) as served:
        for _ in range(5):
            served.connect()
        served.held(5)
        takes(served.send(GET))
