"""Compresses large answers of the REST API's reads for callers that take gzip.

Only answers to GET below /api/v1 are compressed: they hold no secret, so that their length tells nothing beside a text
that a caller chose (BREACH). Answers to writes show links and tokens once, pages have form keys: none of them is
compressed. Level 1 makes a page of 200 SKUs an eighth in a third of the usual level's time. No locked library has zstd.
"""

import re
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from api.document import V1

LEAST_BYTES: Final = 32 * 2**10
"""Below this size an answer takes less time to send than to compress."""
_LEVEL: Final = 1
_PLAIN: Final[tuple[list[str], ...]] = ([], ["gzip"], ["gzip, deflate"], ["identity"])
"""What most programs send, which the library reads rightly."""
_WEIGHT: Final = re.compile(r"(?:^|;)\s*[qQ]\s*=\s*([01](?:\.[0-9]{0,3})?)\s*(?:;|$)")
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
        if is_read and (sent := Headers(scope=scope).getlist("accept-encoding")) not in _PLAIN:
            # The library looks for the word gzip alone, and so finds it in `gzip;q=0` too, and not in `*`. The scope
            # stays the same object: the route that answers is noted in it, for the log.
            others = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
            coding = b"gzip" if takes_gzip(sent) else b"identity"
            scope["headers"] = [*others, (b"accept-encoding", coding)]
        await (self._gzip if is_read else self.app)(scope, receive, send)


def takes_gzip(sent: Iterable[str]) -> bool:
    """Return whether a caller takes gzip by its Accept-Encoding (RFC 9110, section 12.5.3); `sent` are its values.

    A coding of weight 0 is refused; `*` stands for those that are not named. Without the header nothing is compressed.
    """
    weights: dict[str, float] = {}
    for each in ",".join(sent).split(","):
        coding, _, parameters = each.partition(";")
        weights[coding.strip().lower()] = _weight(parameters)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


def _weight(parameters: str) -> float:
    """Return the weight of a coding; 1 where none is said, 0 for one that cannot be read."""
    found = _WEIGHT.search(parameters)
    if found is None:
        return 0.0 if parameters.strip() else 1.0
    return float(found[1])
