"""Sends a request again where the service asks for it or does not answer; gives each write an Idempotency-Key.

With the same key at each attempt, a write of which the answer was lost is not done twice: the service sends the first
answer again. An answer is read to its end here, so that one that breaks off counts as none. A refusal is raised.
"""

import asyncio
import json
import random
import time
from typing import Any
from uuid import uuid4

import httpx

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_AGAIN = frozenset({429, 500, 502, 503, 504})
_LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)


class Refused(Exception):  # noqa: N818  (the service's own word)
    """The service's refusal: `status`, the code `error`, the sentence `message`, and `details` with single faults."""

    def __init__(self, status: int, headers: httpx.Headers, body: dict[str, Any]) -> None:
        """Take the body as it came; one that is no JSON object is a proxy's, and has neither code nor sentence."""
        self.status, self.headers = status, headers
        self.error, self.message = str(body.get("error", "")), str(body.get("message", ""))
        self.details: list[dict[str, Any]] = body.get("details") or []
        self.correlation_id = headers.get("X-Correlation-Id", "")
        super().__init__(f"{status} {self.error}: {self.message} ({self.correlation_id})")


class Retrying(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport of httpx, for its clients and its asynchronous clients, around the usual ones."""

    def __init__(
        self,
        *,
        attempts: int = 5,
        longest_wait: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        async_transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Count the first among `attempts`; return an answer that asks to wait longer than `longest_wait` seconds."""
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._transport = transport or httpx.HTTPTransport()
        self._async_transport = async_transport or httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request as often as needed."""
        _mark(request)
        attempt = 1
        while True:
            try:
                response = self._transport.handle_request(request)
                response.read()
            except _LOST:
                if attempt >= self._attempts:
                    raise
                seconds: float | None = _pause(attempt)
            else:
                seconds = self._seconds(response, attempt)
                if seconds is None:
                    return _accepted(response)
                response.close()
            time.sleep(seconds or 0)
            attempt += 1

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request as often as needed."""
        _mark(request)
        attempt = 1
        while True:
            try:
                response = await self._async_transport.handle_async_request(request)
                await response.aread()
            except _LOST:
                if attempt >= self._attempts:
                    raise
                seconds: float | None = _pause(attempt)
            else:
                seconds = self._seconds(response, attempt)
                if seconds is None:
                    return _accepted(response)
                await response.aclose()
            await asyncio.sleep(seconds or 0)
            attempt += 1

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    async def aclose(self) -> None:
        """Close the asynchronous connections."""
        await self._async_transport.aclose()

    def _seconds(self, response: httpx.Response, attempt: int) -> float | None:
        """Return how long to wait before the next attempt; None where this answer is the one to return."""
        if response.status_code not in _AGAIN or attempt >= self._attempts:
            return None
        asked = response.headers.get("Retry-After", "")
        seconds = float(asked) if asked.isdecimal() else _pause(attempt)
        return seconds if seconds <= self._longest_wait else None


def _accepted(response: httpx.Response) -> httpx.Response:
    """Return the answer, which was read; raise `Refused` where it is a refusal."""
    if response.status_code < 400:
        return response
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    raise Refused(response.status_code, response.headers, body if isinstance(body, dict) else {})


def _mark(request: httpx.Request) -> None:
    if request.method in _WRITES:
        request.headers.setdefault("Idempotency-Key", str(uuid4()))


def _pause(attempt: int) -> float:
    """Return about 1, 2, 4 … seconds; not exactly, so that many clients do not come back at once."""
    return float(2 ** (attempt - 1)) * random.uniform(0.75, 1.25)
