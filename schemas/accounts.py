"""The roles of people, and the models of the token endpoint's request and answer as the OpenAPI document has them."""

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from schemas.answers import Answer


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


Role = Literal["viewer", "editor", "approver", "administrator"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""Each role may do what the one before may: a viewer reads; an editor also sends files, asks suppliers and drafts; an
approver also decides reviews and issues declarations of conformity; an administrator also manages people."""


def includes(role: Role, needed: Role) -> bool:
    """Return whether a person with `role` may do what needs `needed`."""
    return ROLES.index(role) >= ROLES.index(needed)


class TokenResponse(Answer):
    """A bearer token (RFC 6749, section 5.1)."""

    access_token: Annotated[str, Field(description="The token. Send it as `Authorization: Bearer …`.")]
    token_type: Literal["Bearer"]
    expires_in: Annotated[int, Field(description="Seconds for which the token is valid.")]
    scope: Annotated[str, Field(description="Granted scopes: read, write or both, separated by a space.")]
