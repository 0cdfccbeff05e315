"""Serves the authorization server's endpoints for programs; they are not in the published document.

Discovery: the protected resource (RFC 9728) and its authorization server (RFC 8414). POST /oauth/register registers an
application (RFC 7591). POST /oauth/token exchanges a code or a refresh token for tokens (OAuth 2.1, sections 4.1.3 and
4.3): every fault of a code or refresh token gets the same answer, and the database decides in one statement
(`accounts.sql`): presenting a code uses it up, and presenting one a second time ends the tokens that came of the first.
A replaced access token stays valid until it expires: a client in the middle of a call need not begin again.
"""

import hashlib
from base64 import urlsafe_b64encode
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Depends, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from connector.oauth import clients
from connector.oauth.authorization import check_resource, requested_scopes
from connector.oauth.clients import GRANTS, Metadata
from connector.oauth.endpoints import (
    ANY_ORIGIN,
    AUTHORIZE,
    NO_STORE,
    REGISTER,
    RESOURCE,
    RESOURCE_METADATA,
    REVOKE,
    SCOPES,
    SERVER_METADATA,
    TOKEN,
    OAuthRefused,
    Parameters,
    Sent,
    answer_refused,
    credentials,
    invalid_grant,
    read,
    resource,
)
from connector.service import Service, service_of
from schemas.actors import Actor, Origin
from schemas.addresses import behind, network_of
from schemas.messages import LANGUAGES
from services import assistants as steps
from warehouse import assistants
from warehouse.assistants import ACCESS_LIFETIME, Client, Tokens

router = APIRouter(include_in_schema=False)

_MOST_BYTES: Final = 64 * 2**10
"""Bytes of an application's metadata."""
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


async def _said(request: Request) -> Metadata:
    body = await read(request, _MOST_BYTES)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise OAuthRefused("invalid_client_metadata", "The body is no JSON object.") from None
    return clients.metadata(document)


@router.post(REGISTER)
def post_register(request: Request, said: Annotated[Metadata, Depends(_said)]) -> Response:
    """Register an application; return its id, and a secret that is shown only once, where it can keep one."""
    service = service_of(request)
    peer, forwarded = request.client.host if request.client else "", request.headers.get("x-forwarded-for", "")
    network = network_of(behind(peer, forwarded, service.settings.trusted_proxies) or "unknown")
    client, secret = clients.register(service, said, network)
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


@router.post(TOKEN)
def post_token(request: Request, sent: Sent) -> Response:
    """Return an access token, its lifetime in seconds, its scopes, and a refresh token that is valid once."""
    service, grant = service_of(request), sent.needed("grant_type")
    if grant not in _GRANTS:
        raise OAuthRefused("unsupported_grant_type", "Send authorization_code or refresh_token.")
    client = clients.authenticate(service, credentials(request, sent))
    check_resource(sent.resources, resource(service.settings.base_url))
    tokens = _GRANTS[grant](service, client, sent)
    answer = {
        "access_token": tokens.access,
        "token_type": "Bearer",
        "expires_in": int(ACCESS_LIFETIME.total_seconds()),
        "refresh_token": tokens.refresh,
        "scope": " ".join(tokens.scopes),
    }
    return Response(orjson.dumps(answer), headers={**NO_STORE, **ANY_ORIGIN}, media_type="application/json")


def _of_code(service: Service, client: Client, sent: Parameters) -> Tokens:
    code, verifier = sent.needed("code"), sent.needed("code_verifier")
    hashed = hashlib.sha256(verifier.encode("utf-8", "surrogatepass")).digest()

    with service.writes.system() as connection:
        tokens = assistants.redeem(
            connection,
            code,
            client_id=client.id,
            redirect_uri=sent.values.get("redirect_uri"),
            challenge=urlsafe_b64encode(hashed).decode().rstrip("="),
            resource=resource(service.settings.base_url),
            at=service.clock.now(),
        )
    if tokens is None:
        raise invalid_grant()
    return tokens


def _of_refresh_token(service: Service, client: Client, sent: Parameters) -> Tokens:
    refresh, scopes = sent.needed("refresh_token"), requested_scopes(sent.values.get("scope"))
    with service.writes.system() as connection:
        tokens = assistants.rotate(
            connection,
            refresh,
            client_id=client.id,
            scopes=scopes,
            resource=resource(service.settings.base_url),
            at=service.clock.now(),
        )
    if tokens is None:
        raise invalid_grant()
    if not tokens.scopes:
        raise OAuthRefused("invalid_scope", "The scope is more than the person has allowed.")
    return tokens


_GRANTS = {"authorization_code": _of_code, "refresh_token": _of_refresh_token}


@router.post(REVOKE)
def post_revoke(request: Request, sent: Sent) -> Response:
    """End a token: a refresh token together with all tokens of the same code, an access token alone."""
    service = service_of(request)
    client = clients.authenticate(service, credentials(request, sent))
    token, now = sent.needed("token"), service.clock.now()
    with service.writes.system() as connection:
        left_bare = assistants.revoke_token(connection, token, client.id, now)
    if left_bare is not None:
        connection_id, company_id = left_bare
        origin = Origin("connection", str(connection_id), client.name, request.state.correlation_id)
        with service.writes.company(company_id) as connection:
            steps.revoke(connection, Actor(company_id, origin, now), connection_id)
    return Response(status_code=200, headers={**NO_STORE, **ANY_ORIGIN})


_PREFLIGHT: Final = {
    **ANY_ORIGIN,
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "7200",
}


async def _preflight() -> Response:
    """Answer a browser's preflight request for a page of another origin (Fetch, section 4.8)."""
    return Response(status_code=204, headers=_PREFLIGHT)


for path in (RESOURCE_METADATA, RESOURCE_METADATA.removesuffix(RESOURCE), SERVER_METADATA, REGISTER, TOKEN, REVOKE):
    router.add_api_route(path, _preflight, methods=["OPTIONS"])


def install(app: FastAPI) -> None:
    """Register the handler of refusals."""
    app.add_exception_handler(OAuthRefused, answer_refused)
