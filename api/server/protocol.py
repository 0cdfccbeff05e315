"""HTTP connection with limits: how large and how slow its requests may be, and how slowly it reads its answers.

uvicorn reads the requests; this class measures them. It makes no timer of its own: `Server` checks every connection
twice a second and adds the time that the caller used up. Time in which this process did not read, because the
application or the machine was busy, is not charged to the caller.
"""

import time
from collections import Counter
from enum import Enum, auto
from typing import Any, Final  # Any: uvicorn's own signatures

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.server import refusal
from api.server.bounds import Bounds
from api.server.peers import Peers
from api.server.refusal import Refusal

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
        self._unplaced_bytes = self._body_bytes = self._arrived_bytes = 0

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
            self._refuse(refusal.many(), tell=False)
        else:
            self._refuse(refusal.many_from_there(self._bounds.connections_per_address), tell=False)

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
            self._refuse(refusal.large_header(self._bounds.header_bytes))

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  (uvicorn's words)
        """Answer an error at which the parser or one of our callbacks stopped."""
        self._refuse(self._refusal or refusal.malformed_request())

    def on_message_begin(self) -> None:
        """Note the begin of a request; its time counts from its first byte."""
        super().on_message_begin()
        if self._phase is not Phase.HEADER:
            self._enter(Phase.HEADER)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header field; ignore fields after a body (trailers)."""
        if self._phase is Phase.HEADER:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the header against its limits; the request then reaches the application."""
        most = self._bounds.header_bytes
        if max(self._unplaced_bytes, self._arrived_bytes) > most or len(self.headers) > _HEADER_LINES:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > most or len(self.headers) > _HEADER_LINES:
                self._refusal = refusal.large_header(most)
                raise Overstepped
        if len(self.pipeline) >= _PIPELINED:
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
        others = [each for each in self.connections if isinstance(each, BoundedProtocol) and each is not self]
        for phases in ((Phase.HEADER, Phase.REFUSED), (Phase.BODY,)):
            unfinished = [each for each in others if each._phase in phases]
            if unfinished:
                [(network, _)] = Counter(each._network for each in unfinished).most_common(1)
                oldest = sorted((each for each in unfinished if each._network == network), key=lambda each: each._begun)
                for each in oldest[: max(1, self._bounds.connections // _PLACES_AT_ONCE)]:
                    each._give_way()
                return

    def _give_way(self) -> None:
        self._peers.turn_away(self._host)
        self.connections.discard(self)  # its place is free now, and not when the loop comes to tell of the end
        self.transport.abort()

    def _look_at_header(self) -> None:
        if self._waited_seconds <= self._bounds.header_seconds:
            return
        if self._unplaced_bytes:
            self._refuse(refusal.slow_header(self._bounds.header_seconds))
        else:
            self.transport.close()

    def _look_at_body(self) -> None:
        rate = self._bounds.body_bytes_per_second
        if self._waited_seconds > self._bounds.body_seconds + self._body_bytes / rate:
            self._refuse(refusal.slow_body(self._bounds.body_seconds, rate))

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
        identifier = refusal.new_correlation_id()
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
