"""Model of the token endpoint's answer."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.responses.base import Answer


class TokenResponse(Answer):
    """A bearer token (RFC 6749, section 5.1)."""

    access_token: Annotated[str, Field(description="The token. Send it as `Authorization: Bearer …`.")]
    token_type: Literal["Bearer"]
    expires_in: Annotated[int, Field(description="Seconds for which the token is valid.")]
    scope: Annotated[str, Field(description="Granted scopes: read, write or both, separated by a space.")]
