"""Adds the headers that every answer has: it must not be cached, and its media type must not be guessed.

A cacheable answer sets its own header (`api.answers.cacheable`), which is left unchanged. The headers are added where
every answer passes (`api.correlation`), and to the few answers without a request (`api.server.refusal`).
"""

from collections.abc import Iterable
from typing import Any, Final  # Any: ASGI's list of headers

from warehouse.access.keys import Rate

NO_STORE: Final = (b"cache-control", b"no-store")
NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
ALWAYS: Final = (NO_STORE, NO_SNIFFING)


def of_rate(rate: Rate | None) -> list[tuple[bytes, bytes]]:
    """Return the headers that say what is left of a key's limit; none of a request that counts for no key.

    They are those of the IETF's draft-ietf-httpapi-ratelimit-headers-10, which has two structured fields.
    """
    if rate is None:
        return []
    policy = f'"key";q={rate.quota};w=60'
    left = f'"key";r={rate.remaining};t={rate.reset}'
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", left.encode())]


def of_sandbox(*, is_sandbox: bool) -> list[tuple[bytes, bytes]]:
    """Return the header that marks what a test key is answered; none for any other request."""
    return [(b"sandbox", b"true")] if is_sandbox else []


def with_common_headers(headers: Iterable[tuple[bytes, bytes]], *more: tuple[bytes, bytes]) -> list[Any]:
    """Return the headers of an answer, adding the common ones that it lacks and replacing its own by `more`."""
    kept_headers = [each for each in headers if not any(each[0].lower() == name for name, _ in more)]
    names = {name.lower() for name, _ in kept_headers}
    return [*kept_headers, *(each for each in ALWAYS if each[0] not in names), *more]
