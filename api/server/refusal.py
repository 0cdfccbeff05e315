"""Answers connections that never become a request: the error body of the service, as bytes of HTTP/1.1.

The connection ends after it. The codes are those of every answer (`schemas.errors`); the statuses are HTTP's own for
the case (RFC 9110, RFC 6585).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from uuid import uuid4

import orjson

from api.headers import ALWAYS


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


def new_correlation_id() -> str:
    """Return an id for a request whose own was not read."""
    return str(uuid4())


def malformed_request() -> Refusal:
    """Return the refusal of data that is no HTTP/1.1 request."""
    return Refusal(HTTPStatus.BAD_REQUEST, "invalid_body", "This is not a request of HTTP/1.1 (RFC 9112).")


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
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", message, {b"retry-after": b"1"})


def many() -> Refusal:
    """Return the refusal of a connection where this process has as many open as it may."""
    message = "The service holds as many connections as it can; send the request again."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "internal_error", message, {b"retry-after": b"1"})
