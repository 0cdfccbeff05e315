"""Authorises and revokes the connections of applications, each with its entry in the company's ledger.

What does not belong here: the requests of an application (`connector.oauth`) and the stored rows
(`warehouse.accounts`).
"""

from uuid import UUID

from schemas.actors import Actor
from warehouse import assistants
from warehouse.assistants import AuthorizationRequest
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection


def authorise(conn: Connection, actor: Actor, user_id: UUID, request: AuthorizationRequest) -> str:
    """Return the code of a person's new connection with an application, in a session of the company."""
    connection_id = assistants.authorise(conn, actor.company_id, user_id, request, actor.now)
    code = assistants.hold_code(conn, actor.company_id, connection_id, request, actor.now)
    after = {"application": request.client.name, "client_id": request.client.id, "scopes": list(request.scopes)}
    ledger.enter(conn, actor, "connection.authorised", connection_id, before=None, after=after)
    return code


def revoke(conn: Connection, actor: Actor, connection_id: UUID, *, user_id: UUID | None = None) -> bool:
    """End a connection, of that person alone where one is given; False where none could be ended."""
    application = assistants.revoke(conn, connection_id, actor.now, user_id=user_id)
    if application is None:
        return False
    before = {"application": application, "revoked_at": None}
    after = {"application": application, "revoked_at": actor.now.isoformat()}
    ledger.enter(conn, actor, "connection.revoked", connection_id, before=before, after=after)
    return True
