"""Compresses large answers of the REST API's reads for callers that take gzip.

Only answers to GET below /api/v1 are compressed: they hold no secret, so that their length tells nothing beside a text
that a caller chose (BREACH). Answers to writes show links and tokens once, pages have form keys: none of them is
compressed. Level 1 makes a page of 200 SKUs an eighth in a third of the usual level's time. No locked library has zstd.
"""

from typing import Final

from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from api.document import V1

LEAST_BYTES: Final = 32 * 2**10
"""Below this size an answer takes less time to send than to compress."""
_LEVEL: Final = 1
_COMPRESSED_ALREADY: Final = (
    *DEFAULT_EXCLUDED_CONTENT_TYPES,
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
)


class Compression:
    """ASGI middleware around the app; everything but reads of the REST API passes it unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._gzip = GZipMiddleware(app, LEAST_BYTES, _LEVEL, exclude_content_types=_COMPRESSED_ALREADY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and compress the answer where it is a large one of a read."""
        is_read = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(f"{V1}/")
        await (self._gzip if is_read else self.app)(scope, receive, send)
