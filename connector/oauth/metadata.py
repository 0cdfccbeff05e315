"""Serves the discovery documents: the protected resource (RFC 9728) and its authorization server (RFC 8414)."""

from typing import Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

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
from connector.oauth.refusals import ANY_ORIGIN
from connector.oauth.registration import GRANTS
from connector.service import service_of
from schemas.labels import LANGUAGES

router = APIRouter()

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
