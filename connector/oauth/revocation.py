"""Serves POST /oauth/revoke: an application ends its own token (RFC 7009); with its last one the connection ends.

The answer is the same whether or not there was such a token (section 2.2).
"""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from connector.oauth import clients
from connector.oauth.addresses import REVOKE
from connector.oauth.forms import Sent, credentials
from connector.oauth.refusals import ANY_ORIGIN, NO_STORE
from connector.service import service_of
from services import connections as steps
from warehouse.accounts import connections
from warehouse.audit.origin import Origin

router = APIRouter()


@router.post(REVOKE)
def post_revoke(request: Request, sent: Sent) -> Response:
    """End a token: a refresh token together with all tokens of the same code, an access token alone."""
    service = service_of(request)
    client = clients.authenticate(service, credentials(request, sent))
    token, now = sent.needed("token"), service.clock.now()
    with service.writes.system() as connection:
        left_bare = connections.revoke_token(connection, token, client.id, now)
    if left_bare is not None:
        connection_id, company_id = left_bare
        origin = Origin("connection", str(connection_id), client.name, request.state.correlation_id)
        with service.writes.company(company_id) as connection:
            steps.revoke(connection, company_id, connection_id, origin=origin, now=now)
    return Response(status_code=200, headers={**NO_STORE, **ANY_ORIGIN})
