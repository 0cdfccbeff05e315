"""What an OAuth endpoint answers when it refuses: a code of RFC 6749 (section 5.2), 7591, 8707 or 9728, and a sentence.

The body has the `correlationId` of all errors beside them. Sentences are plain ASCII, as the section asks.
"""

from collections.abc import Mapping
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
ANY_ORIGIN: Final = {"Access-Control-Allow-Origin": "*"}
"""These endpoints take no cookie, so that any page may ask them (Fetch, section 3.2)."""
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="oauth"'}


class OAuthRefused(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """An endpoint refuses; `code` is the error code."""

    def __init__(
        self, code: str, sentence: str, *, status: int = 400, headers: Mapping[str, str] | None = None
    ) -> None:
        """`sentence` says what would be right."""
        super().__init__(sentence)
        self.code, self.status, self.headers = code, status, dict(headers or {})


def invalid_grant() -> OAuthRefused:
    """One answer for every code and refresh token that does not count (interface v1, Errors)."""
    return OAuthRefused("invalid_grant", "The code or refresh token does not count; ask the person again.")


def invalid_client() -> OAuthRefused:
    """One answer for an unknown client and a wrong secret."""
    sentence = "The client is unknown or its secret is wrong; register again."
    return OAuthRefused("invalid_client", sentence, status=401, headers=_CHALLENGE)


async def answer(request: Request, error: Exception) -> Response:
    """The handler of the exception."""
    assert isinstance(error, OAuthRefused)
    body = {"error": error.code, "error_description": str(error), "correlationId": request.state.correlation_id}
    headers = {**NO_STORE, **ANY_ORIGIN, **error.headers}
    return Response(orjson.dumps(body), error.status, headers, media_type="application/json")
