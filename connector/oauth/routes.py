"""Collects the authorization server's endpoints for programs; they are not in the published document."""

from typing import Final

from fastapi import APIRouter, FastAPI
from starlette.responses import Response

from connector.oauth import metadata, tokens
from connector.oauth.addresses import REGISTER, RESOURCE, RESOURCE_METADATA, REVOKE, SERVER_METADATA, TOKEN
from connector.oauth.refusals import ANY_ORIGIN, OAuthRefused, answer

router = APIRouter(include_in_schema=False)
for part in (
    metadata.router,
    tokens.router,
):
    router.include_router(part)

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
    app.add_exception_handler(OAuthRefused, answer)
