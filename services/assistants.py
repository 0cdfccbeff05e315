"""Authorises and revokes the connections of applications, each with its entry in the company's ledger.

What does not belong here: the requests of an application (`connector.oauth`) and the stored rows
(`warehouse.accounts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from uuid_utils import uuid7

from warehouse import assistants
from warehouse.assistants import Client
from warehouse.audit import ledger
from warehouse.audit.ledger import Origin
from warehouse.operate.sessions import Connection


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """The authorisation that a person gives: these scopes on this resource, and a code sent to this address."""

    client: Client
    redirect_uri: str
    code_challenge: str
    resource: str
    scopes: Sequence[str]


def authorise(
    conn: Connection, company_id: UUID, user_id: UUID, asked: AuthorizationRequest, *, origin: Origin, now: datetime
) -> str:
    """Return the code of a person's new connection with an application, in a session of the company."""
    connection_id = assistants.authorise(
        conn, company_id, user_id, new_id=UUID(str(uuid7())), client_id=asked.client.id, scopes=asked.scopes, at=now
    )
    code = assistants.hold_code(
        conn,
        company_id,
        connection_id,
        redirect_uri=asked.redirect_uri,
        code_challenge=asked.code_challenge,
        resource=asked.resource,
        scopes=asked.scopes,
        at=now,
    )
    ledger.enter(
        conn,
        company_id,
        "connection.authorised",
        connection_id,
        origin=origin,
        now=now,
        before=None,
        after={"application": asked.client.name, "client_id": asked.client.id, "scopes": list(asked.scopes)},
    )
    return code


def revoke(
    conn: Connection,
    company_id: UUID,
    connection_id: UUID,
    *,
    origin: Origin,
    now: datetime,
    user_id: UUID | None = None,
) -> bool:
    """End a connection, of that person alone where one is given; False where none could be ended."""
    application = assistants.revoke(conn, connection_id, now, user_id=user_id)
    if application is None:
        return False
    ledger.enter(
        conn,
        company_id,
        "connection.revoked",
        connection_id,
        origin=origin,
        now=now,
        before={"application": application, "revoked_at": None},
        after={"application": application, "revoked_at": now.isoformat()},
    )
    return True
