"""Model of the token endpoint's answer."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.responses.base import Answer


class TokenResponse(Answer):
    """A bearer token (RFC 6749, section 5.1)."""

    access_token: Annotated[str, Field(description="Sent as `Authorization: Bearer …`.")]
    token_type: Literal["Bearer"]
    expires_in: Annotated[int, Field(description="Seconds that it lives.")]
    scope: Annotated[str, Field(description="What was granted: read, write or both, separated by a space.")]
