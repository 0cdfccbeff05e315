"""Runs one API process: `python -m api.operate.server`, uvicorn with limits of its connections' size, speed and number.

`pcds serve` starts it with `--fd`, the number of a listening socket that all API processes of the machine share.
Without it the process listens itself, at the address of the settings. With `--after` it loads its code while the
supervisor prepares the database, and opens it when that pipe is closed.

uvicorn reads the requests; `BoundedProtocol` measures them. It makes no timer of its own: `Server` checks every
connection twice a second and adds the time that the caller used up. Time in which this process did not read, because
the application or the machine was busy, is not charged to the caller. What does not belong here: limits of a request
(`api.http.auth`, `api.http.requests`).
"""

import argparse
import gc
import os
import resource
import socket
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import (
    Any,  # Any: uvicorn's own signatures
    Final,
    Self,
)
from uuid import uuid4

import orjson
import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.http import ALWAYS
from schemas.addresses import Network, coarse_network_of
from warehouse.operate.settings import Settings


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits; the setting of the same name describes each with its unit (`warehouse.operate.settings`)."""

    header_bytes: int
    header_seconds: float
    body_seconds: float
    body_bytes_per_second: int
    answer_seconds: float
    connections: int
    connections_per_address: int
    trusted_proxies: tuple[Network, ...] = ()

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the limits in these settings."""
        return cls(**{name: getattr(settings, name) for name in cls.__dataclass_fields__})


_NETWORK_BITS: Final = 64
"""Fixed bits of an IPv6 line's network; its owner may use every address in it."""


class Peers:
    """Counts the open connections of each network, except a trusted proxy's, which carry many callers."""

    def __init__(self, most: int, trusted: Collection[Network]) -> None:
        """`most` connections of one network; `trusted` are networks of proxies."""
        self._most, self._trusted = most, trusted
        self._held: Counter[str] = Counter()
        self.turned_away: Counter[str] = Counter()
        """Connections refused or ended for others since this was last cleared, by the network as a log may show it."""

    def enter(self, host: str) -> float:
        """Count one more connection; return the used share of its network's limit, above 1 where it is exceeded.

        It counts until `leave`, also where it is refused.
        """
        name = self.network(host)
        if name is None:
            return 0
        self._held[name] += 1
        return self._held[name] / self._most

    def leave(self, host: str) -> None:
        """Count one connection less."""
        name = self.network(host)
        if name is not None:
            self._held[name] -= 1
            if self._held[name] <= 0:
                del self._held[name]

    def turn_away(self, host: str) -> None:
        """Count a connection that was refused, or ended so that others find a place."""
        self.turned_away[coarse_network_of(host) or "this machine"] += 1

    def network(self, host: str) -> str | None:
        """Return the network that an address counts under; None where it does not count."""
        try:
            address = ip_address(host)
        except ValueError:  # a socket of the machine itself has no address
            return None
        if isinstance(address, IPv6Address):
            address = address.ipv4_mapped or address
        if any(address in network for network in self._trusted):
            return None
        if isinstance(address, IPv6Address):
            return (int(address) >> (address.max_prefixlen - _NETWORK_BITS)).to_bytes(_NETWORK_BITS // 8, "big").hex()
        return str(address)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status, a stable code, and a sentence with the remedy."""

    status: HTTPStatus
    code: str
    message: str
    headers: Mapping[bytes, bytes] = field(default_factory=dict)

    def as_bytes(self, correlation_id: str) -> bytes:
        """Return the whole answer."""
        body = orjson.dumps({"error": self.code, "correlationId": correlation_id, "message": self.message})
        lines = {
            b"content-type": b"application/json",
            b"content-length": str(len(body)).encode(),
            b"connection": b"close",
            b"x-correlation-id": correlation_id.encode(),
            **dict(ALWAYS),
            **self.headers,
        }
        head = b"".join(b"%s: %s\r\n" % line for line in lines.items())
        return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (self.status, self.status.phrase.encode(), head, body)


_AGAIN: Final = {b"retry-after": b"1"}
MALFORMED: Final = Refusal(HTTPStatus.BAD_REQUEST, "invalid_body", "This is not a request of HTTP/1.1 (RFC 9112).")
"""Of data that is no request."""
NO_HOST: Final = Refusal(
    HTTPStatus.BAD_REQUEST, "invalid_body", "A request of HTTP/1.1 has one header Host (RFC 9112, section 3.2)."
)
UNKNOWN_CODING: Final = Refusal(
    HTTPStatus.NOT_IMPLEMENTED,
    "not_implemented",
    "Of transfer codings only chunked is taken (RFC 9112, section 6.1); send the body without another.",
)
FULL: Final = Refusal(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "internal_error",
    "The service holds as many connections as it can; send the request again.",
    _AGAIN,
)
"""Of a connection where this process has as many open as it may."""


def large_header(most: int) -> Refusal:
    """Return the refusal of a header of more than `most` bytes."""
    message = f"Request line and headers have at most {most} bytes and 200 lines here; send the rest in the body."
    return Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "payload_too_large", message)


def slow_header(seconds: float) -> Refusal:
    """Return the refusal of a header that was not complete in time."""
    message = f"Request line and headers must be complete within {seconds:g} seconds; send the request again."
    return Refusal(HTTPStatus.REQUEST_TIMEOUT, "invalid_body", message)


def slow_body(seconds: float, bytes_per_second: int) -> Refusal:
    """Return the refusal of a body that did not arrive in time."""
    message = (
        f"A body must come with at least {bytes_per_second} bytes a second after the first {seconds:g} seconds; send "
        "it again, in smaller parts where the line is slow."
    )
    return Refusal(HTTPStatus.REQUEST_TIMEOUT, "invalid_body", message)


def many_from_there(most: int) -> Refusal:
    """Return the refusal of a connection where `most` of one address are open."""
    message = f"At most {most} connections of one address are open at once; use fewer, and each for many requests."
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", message, _AGAIN)


_HEADER_LINES: Final = 200
_PIPELINED: Final = 16
"""Requests that may wait on one connection behind a running one; browsers and clients send none."""
_PLACES_AT_ONCE: Final = 20
"""The part of all places, one of so many, that is freed at once where they are short."""
_LINGER_SECONDS: Final = 10.0
"""How long a body may continue after an answer that did not wait for its rest, so that the caller reads the answer."""

log = structlog.get_logger(__name__)


class Phase(Enum):
    """What the connection is waiting for."""

    HEADER = auto()
    BODY = auto()
    ANSWER = auto()
    """The request has arrived as a whole; also between requests, where uvicorn's own timer ends idle connections."""
    REFUSED = auto()
    """An answer was sent that ends the connection; further bytes are discarded."""


class Overstepped(Exception):  # noqa: N818  (ends the reading of what the caller sent)
    """Raised in a callback of the parser, which stops there."""


class BoundedProtocol(HttpToolsProtocol):
    """A connection whose size and speed are measured."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        """`config` has `bounds` and `peers` beside uvicorn's own fields."""
        super().__init__(config, server_state, app_state, _loop)
        self._bounds: Bounds = config.bounds
        self._peers: Peers = config.peers
        self._host = ""
        self._phase = Phase.HEADER
        self._refusal: Refusal | None = None
        self._begun, self._network = time.monotonic(), ""
        self._waited_seconds = self._untaken_seconds = 0.0
        self._unplaced_bytes = self._body_bytes = self._arrived_bytes = self._hosts = 0

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection above the limit; above that of all, those that have sent no whole request go first."""
        super().connection_made(transport)
        self._host = self.client[0] if self.client else ""
        self._network = self._peers.network(self._host) or self._host
        of_network = self._peers.enter(self._host)
        if len(self.connections) > self._bounds.connections:
            self._make_places()
        of_all = len(self.connections) / self._bounds.connections
        if max(of_network, of_all) <= 1:
            return
        self._peers.turn_away(self._host)
        if of_network > 2:  # answers need memory too
            transport.abort()
        elif of_all > 1:
            self._refuse(FULL, tell=False)
        else:
            self._refuse(many_from_there(self._bounds.connections_per_address), tell=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count one connection of its address less."""
        self._peers.leave(self._host)
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Pass the connection to another protocol, which reports its end."""
        self._peers.leave(self._host)
        super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        """Parse the data; refuse more bytes than a header's limit that are neither body nor a whole header."""
        if self._phase is Phase.REFUSED:
            return
        if self._phase is Phase.ANSWER and (self.cycle is None or self.cycle.response_complete):
            self._enter(Phase.HEADER)  # blank lines begin no request, but end uvicorn's timer
        self._arrived_bytes = len(data)
        self._unplaced_bytes += len(data)
        super().data_received(data)
        if self._unplaced_bytes > self._bounds.header_bytes:
            self._refuse(large_header(self._bounds.header_bytes))

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  (uvicorn's words)
        """Answer an error at which the parser or one of our callbacks stopped."""
        self._refuse(self._refusal or MALFORMED)

    def on_message_begin(self) -> None:
        """Note the begin of a request; its time counts from its first byte."""
        super().on_message_begin()
        self._hosts = 0
        if self._phase is not Phase.HEADER:
            self._enter(Phase.HEADER)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header field; ignore fields after a body (trailers)."""
        if self._phase is not Phase.HEADER:
            return
        super().on_header(name, value)
        name = self.headers[-1][0]
        self._hosts += name == b"host"
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            self._refusal = UNKNOWN_CODING
            raise Overstepped

    def on_headers_complete(self) -> None:
        """Check the header against its limits; the request then reaches the application."""
        most = self._bounds.header_bytes
        if max(self._unplaced_bytes, self._arrived_bytes) > most or len(self.headers) > _HEADER_LINES:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > most or len(self.headers) > _HEADER_LINES:
                self._refusal = large_header(most)
                raise Overstepped
        if len(self.pipeline) >= _PIPELINED:
            raise Overstepped
        if self._hosts != 1 and (self._hosts or self.parser.get_http_version() != "1.0"):
            self._refusal = NO_HOST
            raise Overstepped
        self._enter(Phase.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Measure a part of the body."""
        self._unplaced_bytes = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request has arrived as a whole."""
        self._enter(Phase.ANSWER)
        super().on_message_complete()

    def resume_writing(self) -> None:
        """Note that the caller has read the buffered answer."""
        self._untaken_seconds = 0.0
        super().resume_writing()

    def look(self, seconds: float) -> None:
        """Add the seconds since the last check to the time that the caller used, and end what is over its time."""
        if self.transport.get_write_buffer_size():
            self._untaken_seconds += seconds
            if self._untaken_seconds > self._bounds.answer_seconds:
                self._abort("answer_not_taken")
                return
        else:
            self._untaken_seconds = 0.0
        if self._phase is Phase.ANSWER or self.flow.read_paused:
            return
        self._waited_seconds += seconds
        if self._phase is Phase.HEADER:
            self._look_at_header()
        elif self._phase is Phase.BODY and not self.cycle.response_complete:
            self._look_at_body()
        elif self._waited_seconds > _LINGER_SECONDS:
            self._abort("went_on_after_the_answer")

    def _make_places(self) -> None:
        """End some connections that have sent no whole request: of the network with the most, the oldest.

        Those within a header, or that were refused, go before those within a body. Some at once, because each time
        all connections are looked through.
        """
        others = [peer for peer in self.connections if isinstance(peer, BoundedProtocol) and peer is not self]
        for phases in ((Phase.HEADER, Phase.REFUSED), (Phase.BODY,)):
            unfinished = [peer for peer in others if peer._phase in phases]
            if unfinished:
                [(network, _)] = Counter(peer._network for peer in unfinished).most_common(1)
                oldest = sorted((peer for peer in unfinished if peer._network == network), key=lambda peer: peer._begun)
                for peer in oldest[: max(1, self._bounds.connections // _PLACES_AT_ONCE)]:
                    peer._give_way()
                return

    def _give_way(self) -> None:
        self._peers.turn_away(self._host)
        self.connections.discard(self)  # its place is free now, and not when the loop comes to tell of the end
        self.transport.abort()

    def _look_at_header(self) -> None:
        if self._waited_seconds <= self._bounds.header_seconds:
            return
        if self._unplaced_bytes:
            self._refuse(slow_header(self._bounds.header_seconds))
        else:
            self.transport.close()

    def _look_at_body(self) -> None:
        rate = self._bounds.body_bytes_per_second
        if self._waited_seconds > self._bounds.body_seconds + self._body_bytes / rate:
            self._refuse(slow_body(self._bounds.body_seconds, rate))

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._waited_seconds = 0.0
        self._unplaced_bytes = self._body_bytes = 0

    def _refuse(self, refused: Refusal, *, tell: bool = True) -> None:
        """Answer if no other answer is running, and end the connection; `tell` logs it."""
        if self._phase is Phase.REFUSED or self.transport.is_closing():
            return
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering and (self._phase is not Phase.BODY or self.cycle.response_started or self.pipeline):
            self._abort(refused.code)
            return
        identifier = str(uuid4())
        if tell:
            log.info("connection.refused", status=int(refused.status), code=refused.code, correlation_id=identifier)
        self.transport.write(refused.as_bytes(identifier))
        self._enter(Phase.REFUSED)
        if answering:  # the application learns that its caller disconnected
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.flow.resume_reading()  # closing with unread bytes would discard the answer
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _abort(self, reason: str) -> None:
        log.info("connection.aborted", reason=reason)
        self.transport.abort()


GRACE_SECONDS: Final = 5
"""How long requests may run after SIGTERM; those left then get an answer that says so (`api.http.middleware`)."""
_LOOK_TICKS: Final = 5
"""Number of uvicorn's ticks, ten a second, between two checks of every connection."""
_NAMED_NETWORKS: Final = 8
"""Networks that a log line of refused connections names: those with the most."""
_LONGEST_STEP_SECONDS: Final = 1.0
"""More than this between two checks is this machine's fault, and no caller's."""
_DESCRIPTORS: Final = 512
"""Files, database sockets and pipes that a process may open beside its callers' connections."""
_OBJECTS_WHILE_LOADING: Final = 100_000
"""New objects to a garbage collection until the app sets its own number (decision 0024): what is loaded stays."""

log = structlog.get_logger(__name__)


class Config(uvicorn.Config):
    """uvicorn's configuration with the limits."""

    def __init__(self, settings: Settings, app: Any = "api.app:app_of_process", **options: Any) -> None:
        """`app` and `options` as uvicorn takes them."""
        super().__init__(
            app,
            host=settings.host,
            port=settings.port,
            factory=isinstance(app, str),
            http=BoundedProtocol,
            timeout_keep_alive=settings.keep_alive_seconds,
            timeout_graceful_shutdown=GRACE_SECONDS,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            **{"log_level": "warning", **options},
        )
        self.bounds = Bounds.from_settings(settings)
        self.peers = Peers(self.bounds.connections_per_address, self.bounds.trusted_proxies)


class Server(uvicorn.Server):
    """uvicorn's server, which also checks its connections."""

    def __init__(self, config: Config) -> None:
        """`config` has the limits."""
        super().__init__(config)
        self._peers = config.peers
        self._looked = time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        """Check every connection at intervals."""
        if counter % _LOOK_TICKS == 0:
            now = time.monotonic()
            step, self._looked = min(now - self._looked, _LONGEST_STEP_SECONDS), now
            for connection in tuple(self.server_state.connections):
                if isinstance(connection, BoundedProtocol):
                    connection.look(step)
            self._tell_of_refused()
        return await super().on_tick(counter)

    def _tell_of_refused(self) -> None:
        """Log one line for many refused connections: opening thousands must not fill the log."""
        if away := self._peers.turned_away:
            networks = dict(away.most_common(_NAMED_NETWORKS))
            log.warning(
                "connections.refused", count=away.total(), networks=networks, open=len(self.server_state.connections)
            )
            away.clear()


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m api.operate.server", description=main.__doc__)
    parser.add_argument("--fd", type=int, help="a listening socket that was inherited")
    parser.add_argument("--after", type=int, help="an inherited pipe, closed when the database is ready")
    arguments = parser.parse_args()
    gc.set_threshold(_OBJECTS_WHILE_LOADING, *gc.get_threshold()[1:])
    settings = Settings.load()
    _allow_descriptors(settings.connections + _DESCRIPTORS)
    config = Config(settings)
    if arguments.after is not None:
        config.load()  # imports the app, the greater part of a start
        os.read(arguments.after, 1)
    Server(config).run([socket.socket(fileno=arguments.fd)] if arguments.fd is not None else None)


def _allow_descriptors(wanted: int) -> None:
    """Raise the limit of open files to what the connections need, where the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


if __name__ == "__main__":
    main()
