"""Writes the refusals of OAuth endpoints: a code of RFC 6749 (section 5.2), 7591, 8707 or 9728, and a sentence.

The body also has the `correlationId` of all errors. Sentences are plain ASCII, as the section requires.
"""

from collections.abc import Mapping
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
ANY_ORIGIN: Final = {"Access-Control-Allow-Origin": "*"}
"""These endpoints accept no cookie, so any page may call them (Fetch, section 3.2)."""
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="oauth"'}


class OAuthRefused(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """An endpoint refuses; `code` is the error code."""

    def __init__(
        self, code: str, sentence: str, *, status: int = 400, headers: Mapping[str, str] | None = None
    ) -> None:
        """Make the refusal; `sentence` says what would be right."""
        super().__init__(sentence)
        self.code, self.status, self.headers = code, status, dict(headers or {})


def invalid_grant() -> OAuthRefused:
    """Return the only answer for every invalid code and refresh token (interface v1, Errors)."""
    return OAuthRefused("invalid_grant", "The code or refresh token does not count; ask the person again.")


def invalid_client() -> OAuthRefused:
    """Return the same answer for an unknown client and a wrong secret."""
    sentence = "The client is unknown or its secret is wrong; register again."
    return OAuthRefused("invalid_client", sentence, status=401, headers=_CHALLENGE)


async def answer(request: Request, error: Exception) -> Response:
    """Handle the exception."""
    assert isinstance(error, OAuthRefused)
    body = {"error": error.code, "error_description": str(error), "correlationId": request.state.correlation_id}
    headers = {**NO_STORE, **ANY_ORIGIN, **error.headers}
    return Response(orjson.dumps(body), error.status, headers, media_type="application/json")
