"""Serves the discovery documents: the protected resource (RFC 9728) and its authorization server (RFC 8414)."""

import secrets
from typing import Annotated, Final, Literal

import orjson
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from connector.oauth import authorization
from connector.oauth.addresses import (
    AUTHORIZE,
    REGISTER,
    RESOURCE,
    RESOURCE_METADATA,
    REVOKE,
    SCOPES,
    SERVER_METADATA,
    TOKEN,
    resource,
)
from connector.oauth.forms import read
from connector.oauth.refusals import ANY_ORIGIN, NO_STORE, OAuthRefused
from connector.service import Service, service_of
from schemas.addresses import behind, network_of
from schemas.messages import LANGUAGES
from warehouse import assistants
from warehouse.accounts.keys import digest
from warehouse.assistants import Client

router = APIRouter()

_MAX_BYTES: Final = 64 * 2**10
_PUBLIC: Final = "none"
_USUAL: Final = "client_secret_basic"
"""Method of an application that names none (RFC 7591, section 2)."""
GRANTS: Final = ("authorization_code", "refresh_token")
Text = Annotated[str, Field(max_length=200)]


class Metadata(BaseModel):
    """The metadata of an application, as far as it is used here (RFC 7591, section 2)."""

    model_config = ConfigDict(extra="ignore", strict=True)

    redirect_uris: Annotated[list[str], Field(min_length=1, max_length=20)]
    client_name: Text | None = None
    token_endpoint_auth_method: Literal["none", "client_secret_basic", "client_secret_post"] = _USUAL
    grant_types: list[Text] = ["authorization_code"]
    response_types: list[Text] = ["code"]

    @property
    def is_public(self) -> bool:
        """Return whether the application has no secret."""
        return self.token_endpoint_auth_method == _PUBLIC

    @property
    def name(self) -> str:
        """Return the displayed name: the application's own without invisible characters, else its redirect's host."""
        named = "".join(letter for letter in self.client_name or "" if letter.isprintable()).strip()
        return named or authorization.host(self.redirect_uris[0])


def metadata(document: object) -> Metadata:
    """Check metadata and return it. Raises `OAuthRefused` with the codes of RFC 7591, section 3.2.2."""
    try:
        read = Metadata.model_validate(document)
    except ValidationError as error:
        field = str((*error.errors(include_input=False, include_url=False)[0]["loc"], "body")[0])
        code = "invalid_redirect_uri" if field == "redirect_uris" else "invalid_client_metadata"
        raise OAuthRefused(code, f"The value of {field} is missing or cannot be used here.") from None
    if not all(authorization.is_allowed(address) for address in read.redirect_uris):
        raise OAuthRefused(
            "invalid_redirect_uri",
            "A redirect address is https, http on the same computer, or of a scheme that is the application's own: "
            "app://host/path.",
        )
    if "authorization_code" not in read.grant_types or "code" not in read.response_types:
        raise OAuthRefused("invalid_client_metadata", "Only the grant authorization_code with code is served.")
    return read


async def _said(request: Request) -> Metadata:
    body = await read(request, _MAX_BYTES)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise OAuthRefused("invalid_client_metadata", "The body is no JSON object.") from None
    return metadata(document)


@router.post(REGISTER)
def post_register(request: Request, said: Annotated[Metadata, Depends(_said)]) -> Response:
    """Register an application; return its id, and a secret that is shown only once, where it can keep one."""
    service = service_of(request)
    secret = None if said.is_public else f"scs_{secrets.token_urlsafe(32)}"
    client = Client(
        f"app_{secrets.token_urlsafe(16)}",
        said.name,
        said.redirect_uris,
        said.token_endpoint_auth_method,
        digest(secret) if secret else None,
        service.clock.now(),
    )
    _hold(service, client, _network(request, service))
    answer = {
        "client_id": client.id,
        "client_id_issued_at": int(client.held_since.timestamp()),
        "client_name": client.name,
        "redirect_uris": said.redirect_uris,
        "token_endpoint_auth_method": client.auth_method,
        "grant_types": list(GRANTS),
        "response_types": ["code"],
        "scope": " ".join(SCOPES),
        **({"client_secret": secret, "client_secret_expires_at": 0} if secret else {}),
    }
    return Response(orjson.dumps(answer), 201, {**NO_STORE, **ANY_ORIGIN}, media_type="application/json")


def _hold(service: Service, client: Client, network: str) -> None:
    with service.writes.system() as connection:
        wait = assistants.seconds_to_wait(connection, network, client.held_since)
        if wait:
            sentence = f"At most {assistants.PER_ADDRESS} registrations a minute come from one address."
            raise OAuthRefused("rate_limited", sentence, status=429, headers={"Retry-After": str(wait)})
        assistants.hold(connection, client)


def _network(request: Request, service: Service) -> str:
    peer, forwarded = request.client.host if request.client else "", request.headers.get("x-forwarded-for", "")
    return network_of(behind(peer, forwarded, service.settings.trusted_proxies) or "unknown")


_NAME: Final = "Packaging Compliance Data Service"
_KEPT: Final = {"Cache-Control": "public, max-age=300"}
_READ: Final = ["GET", "HEAD"]
"""Clients send HEAD to well-known addresses too (RFC 8615; RFC 9110, section 9.1)."""
_METHODS: Final = ["none", "client_secret_basic", "client_secret_post"]


@router.api_route(RESOURCE_METADATA, methods=_READ)
@router.api_route(RESOURCE_METADATA.removesuffix(RESOURCE), methods=_READ)
async def get_resource_metadata(request: Request) -> Response:
    """Return the server that issues tokens for the connector, and the scopes."""
    base = service_of(request).settings.base_url
    return _public(
        {
            "resource": resource(base),
            "resource_name": _NAME,
            "authorization_servers": [base],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
        }
    )


@router.api_route(SERVER_METADATA, methods=_READ)
async def get_server_metadata(request: Request) -> Response:
    """Return the server's endpoints and the parameters that they support."""
    base = service_of(request).settings.base_url
    return _public(
        {
            "issuer": base,
            "authorization_endpoint": base + AUTHORIZE,
            "token_endpoint": base + TOKEN,
            "registration_endpoint": base + REGISTER,
            "revocation_endpoint": base + REVOKE,
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(GRANTS),
            "token_endpoint_auth_methods_supported": _METHODS,
            "revocation_endpoint_auth_methods_supported": _METHODS,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
            "ui_locales_supported": list(LANGUAGES),
        }
    )


def _public(document: dict[str, object]) -> Response:
    return Response(orjson.dumps(document), headers={**_KEPT, **ANY_ORIGIN}, media_type="application/json")
