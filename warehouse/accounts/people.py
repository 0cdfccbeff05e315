"""Lists a company's people and a person's sessions; ends sessions, and lets an ended account sign in again.

What belongs here: what administrators and the persons themselves see. What does not: adding people, their sign-ins and
roles (`users`).
"""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from schemas.roles import Role
from warehouse.access.keys import digest
from warehouse.accounts.users import IDLE
from warehouse.sessions import Connection

_PEOPLE: Final = """
SELECT users.id, users.email, users.role, users.created_at, users.signed_in_at, users.disabled_at,
    (SELECT links.expires_at FROM password_links AS links WHERE links.user_id = users.id AND links.expires_at > %s)
        AS link_until,
    users.totp_secret IS NOT NULL AS has_second_factor
FROM users ORDER BY users.disabled_at IS NOT NULL, users.email, users.created_at"""
_SESSIONS: Final = """
SELECT id, began_at, seen_at, network, agent FROM user_sessions
WHERE user_id = %s AND expires_at > %s AND seen_at > %s ORDER BY seen_at DESC, id"""
_ID_OF: Final = "SELECT pcds_session_id(%s)"
_END: Final = "DELETE FROM user_sessions WHERE user_id = %s AND id = %s"
_END_OTHERS: Final = "DELETE FROM user_sessions WHERE user_id = %s"
_ENABLE: Final = "UPDATE users SET disabled_at = NULL WHERE id = %s AND disabled_at IS NOT NULL"


class Person(NamedTuple):
    """A person of the company; `link_until` where a link that sets the password is open."""

    id: UUID
    email: str
    role: Role
    created_at: datetime
    signed_in_at: datetime | None
    disabled_at: datetime | None
    link_until: datetime | None
    has_second_factor: bool


class LiveSession(NamedTuple):
    """A session that has not ended; `seen_at` is its last request, to the minute."""

    id: UUID
    began_at: datetime
    seen_at: datetime
    network: str | None
    agent: str | None


def every(connection: Connection, at: datetime) -> list[Person]:
    """Return the people of the session's company, those who may sign in first."""
    with connection.cursor(row_factory=class_row(Person)) as cursor:
        return cursor.execute(_PEOPLE, [at]).fetchall()


def one(connection: Connection, user_id: UUID, at: datetime) -> Person | None:
    """Return a person of the session's company; None where it has none of that id."""
    return next((person for person in every(connection, at) if person.id == user_id), None)


def sessions(connection: Connection, user_id: UUID, at: datetime) -> list[LiveSession]:
    """Return a person's live sessions, the last used first."""
    with connection.cursor(row_factory=class_row(LiveSession)) as cursor:
        return cursor.execute(_SESSIONS, [user_id, at, at - IDLE]).fetchall()


def session_id(connection: Connection, token: str) -> UUID | None:
    """Return the id of the session of a cookie's token; None where it has ended.

    The application may not read digests: a function of migration 0036 compares them.
    """
    row = connection.execute(_ID_OF, [digest(token)]).fetchone()
    found: UUID | None = row[0] if row else None
    return found


def end_session(connection: Connection, user_id: UUID, session_id: UUID) -> bool:
    """End one session of a person; False where it has none of that id."""
    return connection.execute(_END, [user_id, session_id]).rowcount == 1


def end_sessions(connection: Connection, user_id: UUID) -> int:
    """End all sessions of a person; return how many there were."""
    return connection.execute(_END_OTHERS, [user_id]).rowcount


def enable(connection: Connection, user_id: UUID) -> bool:
    """Let an ended account sign in again; False where it may. Raises `UniqueViolation` where the address is taken."""
    return connection.execute(_ENABLE, [user_id]).rowcount == 1
