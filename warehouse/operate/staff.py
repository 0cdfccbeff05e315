"""Adds, finds and ends accounts of the operator's staff, and their sessions.

Accounts are made and changed on the owner's connection. Sign-ins and sessions go through functions of the database
(`staff.sql`), on any connection of the application. Lifetimes of sessions and limits of guesses are those of people
(`warehouse.accounts.people`).
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

from psycopg.rows import class_row
from sqlalchemy import CheckConstraint, Column, DateTime, ForeignKey, Index, LargeBinary, Table, Text, Uuid, text

from warehouse.accounts.keys import digest
from warehouse.accounts.people import LONGEST, attempt_parameters, known_as, mark_attempt, session_parameters
from warehouse.base import identity, instant, metadata
from warehouse.operate.sessions import AsyncConnection, Connection

Role = Literal["analyst", "operator"]
ROLES: Final[tuple[Role, ...]] = ("analyst", "operator")
"""An `analyst` looks at Dagster, an `operator` acts in it, too."""

_FIND: Final = "SELECT * FROM pcds_staff_session(%(token)s, %(idle_since)s, %(at)s)"
"""The columns of `Found`; its parameters are `people.session_parameters`. No row for a session that has ended."""

_SIGN_IN: Final = (
    "SELECT * FROM pcds_staff_sign_in(%(email)s, %(account)s, %(network)s, %(per_account)s, %(per_network)s, %(at)s)"
)
_ADD: Final = "INSERT INTO staff (id, email, role, password_hash, created_at) VALUES (%s, %s, %s, %s, %s)"
_ALL: Final = "SELECT id, email, role, created_at, disabled_at FROM staff ORDER BY created_at, id"
_LIVE: Final = "SELECT id FROM staff WHERE email = %s AND disabled_at IS NULL"
_DISABLE: Final = "UPDATE staff SET disabled_at = %s WHERE id = %s"
_CHANGE_PASSWORD: Final = "UPDATE staff SET password_hash = %s WHERE id = %s"  # noqa: S105  (a statement)
_END_SESSIONS: Final = "DELETE FROM staff_sessions WHERE staff_id = %s"


@dataclass(frozen=True, slots=True)
class Member:
    """An account of staff; it is active where `disabled_at` is None."""

    id: UUID
    email: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None


class Found(NamedTuple):
    """The account whose active session a token is."""

    id: UUID
    email: str
    role: Role


@dataclass(frozen=True, slots=True)
class Attempt:
    """The account that a sign-in is compared with, None where no account has the name; or the seconds to wait."""

    staff_id: UUID | None
    password_hash: str | None
    retry_after: int


def attempt(connection: Connection, email: str, network: str, at: datetime) -> Attempt:
    """Look an account up and count the attempt; `people.undo_attempt` takes the count back where it was no guess."""
    mark_attempt(connection)
    row = connection.execute(_SIGN_IN, attempt_parameters(email, network, at)).fetchone()
    assert row is not None, "the function answers one row whoever asks"
    return Attempt(*row)


async def find(connection: AsyncConnection, token: str, at: datetime) -> Found | None:
    """Return the account whose active session a token is."""
    row = await (await connection.execute(_FIND, session_parameters(token, at))).fetchone()
    return None if row is None else Found(*row)


def begin(connection: Connection, staff_id: UUID, at: datetime) -> str:
    """Begin a session and return its token, which is stored nowhere else."""
    token = secrets.token_urlsafe(32)
    connection.execute("SELECT pcds_begin_staff_session(%s, %s, %s, %s)", [digest(token), staff_id, at, at + LONGEST])
    return token


def end(connection: Connection, token: str) -> None:
    """End a session; one that has ended stays so."""
    connection.execute("SELECT pcds_end_staff_session(%s)", [digest(token)])


def add(connection: Connection, staff_id: UUID, *, email: str, role: Role, password_hash: str, at: datetime) -> None:
    """Add an account. Raises `UniqueViolation` where an active account already has the email."""
    connection.execute(_ADD, [staff_id, known_as(email), role, password_hash, at])


def members(connection: Connection) -> list[Member]:
    """Return every account, disabled ones included, the oldest first."""
    with connection.cursor(row_factory=class_row(Member)) as cursor:
        return cursor.execute(_ALL).fetchall()


def live(connection: Connection, email: str) -> UUID | None:
    """Return the id of the active account of an email."""
    row = connection.execute(_LIVE, [known_as(email)]).fetchone()
    return row[0] if row else None


def disable(connection: Connection, staff_id: UUID, at: datetime) -> None:
    """End an account with its sessions, from the next request on."""
    connection.execute(_DISABLE, [at, staff_id])
    connection.execute(_END_SESSIONS, [staff_id])


def change_password(connection: Connection, staff_id: UUID, password_hash: str) -> None:
    """Change an account's password, and end its sessions, also those of someone who knew the old one."""
    connection.execute(_CHANGE_PASSWORD, [password_hash, staff_id])
    connection.execute(_END_SESSIONS, [staff_id])


staff = Table(
    "staff",
    metadata,
    identity(),
    Column(
        "email", Text, nullable=False, comment="in small letters; of one live account, so that who left can come back"
    ),
    Column(
        "role",
        Text,
        CheckConstraint("role IN ('analyst', 'operator')", name="role"),
        nullable=False,
        comment="analyst: looks at Dagster; operator: acts in it, too",
    ),
    Column("password_hash", Text, nullable=False, comment="Argon2id with its parameters"),
    instant("created_at"),
    instant("disabled_at", nullable=True),
    Index("uq_staff_email", "email", unique=True, postgresql_where=text("disabled_at IS NULL")),
)

staff_sessions = Table(
    "staff_sessions",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of the cookie's token"),
    Column("staff_id", Uuid, ForeignKey("staff.id"), nullable=False),
    Column("seen_at", DateTime(timezone=True), nullable=False, comment="of its last request, to the minute"),
    instant("expires_at"),
    Index(None, "expires_at"),
    Index(None, "staff_id"),
)
