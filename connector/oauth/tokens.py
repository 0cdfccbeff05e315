"""Serves POST /oauth/token: exchanges a code or a refresh token for tokens (OAuth 2.1, sections 4.1.3 and 4.3).

Every fault of a code or refresh token gets the same answer, and the database decides in one statement (migration 0016):
presenting a code uses it up, and presenting one a second time ends the tokens that came of the first.
A replaced access token stays valid until it expires: a client in the middle of a call need not begin again.
"""

import hashlib
from base64 import urlsafe_b64encode

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from connector.oauth import clients
from connector.oauth.addresses import REVOKE, TOKEN, resource
from connector.oauth.authorization import check_resource, requested_scopes
from connector.oauth.forms import Parameters, Sent, credentials
from connector.oauth.refusals import ANY_ORIGIN, NO_STORE, OAuthRefused, invalid_grant
from connector.service import Service, service_of
from schemas.actors import Actor, Origin
from services import assistants as steps
from warehouse import assistants
from warehouse.assistants import ACCESS_LIFETIME, Client, Tokens

router = APIRouter()


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
            steps.revoke(
                connection,
                Actor(company_id, origin, now),
                connection_id,
            )
    return Response(status_code=200, headers={**NO_STORE, **ANY_ORIGIN})
