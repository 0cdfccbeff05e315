"""Models of the token endpoint's request, as the OpenAPI document publishes it.

`api.tokens` reads the request, with its two content types.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class TokenInput(BaseModel):
    """Client credentials for a bearer token (RFC 6749, section 4.4); unknown parameters are ignored.

    The client may be given here or as HTTP Basic, not both.
    """

    model_config = ConfigDict(extra="ignore")

    grant_type: Literal["client_credentials"]
    client_id: Annotated[str | None, Field(description="The id of the API key.")] = None
    client_secret: Annotated[str | None, Field(description="The API key itself.")] = None
    scope: Annotated[
        str | None, Field(description="read, write or both, separated by a space; default all that the key holds.")
    ] = None


class TokenForm(TokenInput):
    """The same parameters as a form: a name of its own, by which generated clients tell the two encodings apart."""
