"""Stores the people of a company: their accounts, sign-ins, sessions, and the links that set a password.

`warehouse.accounts.sign_in` hashes and compares passwords; `services.accounts` decides who may change whom.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from schemas.accounts import Role
from warehouse.accounts.keys import digest
from warehouse.operate.sessions import AsyncConnection, Connection

IDLE: Final = timedelta(hours=2)
"""A session ends after this time without a request."""
LONGEST: Final = timedelta(hours=12)
"""A session ends this long after the sign-in, even where it is used."""
PER_ACCOUNT: Final = 10
"""Wrong passwords for one account from one network in any 60 seconds; beyond it the right password must wait too."""
PER_NETWORK: Final = 30
"""Wrong passwords from one network in any 60 seconds."""
SLOW_ABOVE: Final = 20
"""Wrong passwords for one account from all networks in any 60 seconds; above it each answer takes `SLOW_SECONDS`."""
SLOW_SECONDS: Final = 2.0
LONGEST_ADDRESS: Final = 1_000
"""Most characters of an email address."""
LINK_LIFETIME: Final = timedelta(hours=24)
"""A link that sets a password is valid for this time, and once."""
FORGOTTEN_LIFETIME: Final = timedelta(hours=1)
"""The link that somebody asked for who forgot the password is valid for this time, and once."""
FORGOTTEN_PAUSE: Final = timedelta(minutes=5)
"""Nobody is mailed another such link within this time."""
INVITATION_LIFETIME: Final = timedelta(days=7)
"""The link of an invitation is valid for this time, and once."""

_FIND: Final = "SELECT * FROM pcds_session(%(token)s, %(idle_since)s, %(at)s)"
"""Returns the columns of `User`; no row for a session that has ended."""

_SIGN_IN: Final = (
    "SELECT * FROM pcds_sign_in(%(email)s, %(account)s, %(network)s, %(per_account)s, %(per_network)s, "
    "%(slow_above)s, %(at)s)"
)
_BEGIN: Final = """
WITH signed_in AS (UPDATE users SET signed_in_at = %(at)s WHERE id = %(user_id)s)
INSERT INTO user_sessions (token_hash, company_id, user_id, began_at, seen_at, expires_at, network, agent)
VALUES (%(token_hash)s, %(company_id)s, %(user_id)s, %(at)s, %(at)s, %(until)s, %(network)s, %(agent)s)
"""
_ADD: Final = """
INSERT INTO users (id, company_id, email, password_hash, created_at, role)
VALUES (%(id)s, %(company_id)s, %(email)s, %(password_hash)s, %(at)s, coalesce(%(role)s, CASE
    WHEN EXISTS (SELECT FROM users WHERE company_id = %(company_id)s) THEN 'approver' ELSE 'administrator' END))
RETURNING role
"""
_OF_EMAIL: Final = (
    "SELECT id, company_id FROM users WHERE email = %s ORDER BY disabled_at DESC NULLS FIRST, created_at DESC LIMIT 1"
)
_LINK: Final = "INSERT INTO password_links (token_hash, company_id, user_id, expires_at) VALUES (%s, %s, %s, %s)"
_USE_LINK: Final = "DELETE FROM password_links WHERE token_hash = %s AND expires_at > %s"
_MAILED_LINK: Final = "SELECT FROM password_links WHERE user_id = %s AND expires_at > %s AND expires_at <= %s"
_LOCK_PEOPLE: Final = "SELECT id FROM users WHERE disabled_at IS NULL ORDER BY id FOR UPDATE"
_OTHER_ADMINISTRATORS: Final = (
    "SELECT id FROM users WHERE role = 'administrator' AND disabled_at IS NULL AND id <> %s LIMIT 1"
)
_FAILED: Final = """
UPDATE users SET sign_in_failed_at = %(at)s
WHERE id = %(id)s AND (sign_in_failed_at IS NULL OR sign_in_failed_at < %(at)s - interval '1 minute')"""
_DISABLE: Final = "UPDATE users SET disabled_at = %s WHERE id = %s AND disabled_at IS NULL"


@dataclass(frozen=True, slots=True)
class User:
    """A person who is signed in, and the person's company."""

    id: UUID
    email: str
    company_id: UUID
    company_name: str
    plan: str
    role: Role


class Ticket(NamedTuple):
    """The person whose password was right, or whose password a link sets."""

    user_id: UUID
    company_id: UUID
    email: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """The account that a sign-in is checked against, None where there is none of that name, or the seconds to wait.

    `is_slow` where so many wrong passwords were tried for the account that each answer takes longer.
    """

    user_id: UUID | None
    company_id: UUID | None
    password_hash: str | None
    retry_after: int
    is_slow: bool


def known_as(email: str) -> str:
    """Return an email as it is stored and compared: in small letters, without spaces around it."""
    return email.strip().casefold()


def attempt(connection: Connection, email: str, network: str, at: datetime) -> Attempt:
    """Look a person up and count the attempt; where the password proves right, `undo_attempt` takes the count back."""
    mark_attempt(connection)
    parameters = attempt_parameters(email, network, at)
    row = connection.execute(_SIGN_IN, {**parameters, "slow_above": SLOW_ABOVE}).fetchone()
    assert row is not None, "the function answers one row whoever asks"
    return Attempt(*row)


def attempt_parameters(email: str, network: str, at: datetime) -> dict[str, object]:
    """Return the parameters of the functions that count an attempt, of a person or of the staff."""
    name = known_as(email)
    return {
        "email": name,
        # The counts outlive the attempt, so they store a hash and not the name.
        "account": hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest(),
        "network": network,
        "per_account": PER_ACCOUNT,
        "per_network": PER_NETWORK,
        "at": at,
    }


def mark_attempt(connection: Connection) -> None:
    """Set the savepoint that `undo_attempt` rolls back to, before an attempt is counted."""
    connection.execute("SAVEPOINT not_counted")


def undo_attempt(connection: Connection) -> None:
    """Take the count of an attempt back, since it was no wrong guess."""
    connection.execute("ROLLBACK TO SAVEPOINT not_counted")


def begin(
    connection: Connection,
    company_id: UUID,
    user_id: UUID,
    at: datetime,
    *,
    network: str | None = None,
    agent: str | None = None,
) -> str:
    """Begin a session of a person, in a session of the company; return its token, which is stored only as a digest.

    `network` and `agent` say where it was begun, so that the person can tell it from others.
    """
    token = secrets.token_urlsafe(32)
    where = {"network": network, "agent": agent}
    begun = {"token_hash": digest(token), "company_id": company_id, "user_id": user_id, "at": at, "until": at + LONGEST}
    connection.execute(_BEGIN, begun | where)
    return token


def note_failure(connection: Connection, user_id: UUID, at: datetime) -> bool:
    """Note a wrong password for an account; return whether a minute has passed since the one noted before."""
    return connection.execute(_FAILED, {"id": user_id, "at": at}).rowcount == 1


async def find(connection: AsyncConnection, token: str, at: datetime) -> User | None:
    """Return the person of a live session's token, on a connection of no company."""
    row = await (await connection.execute(_FIND, session_parameters(token, at))).fetchone()
    return None if row is None else User(*row)


def session_parameters(token: str, at: datetime) -> dict[str, object]:
    """Return the parameters of the functions that find a session: its digest, and since when it must have been used."""
    return {"token": digest(token), "idle_since": at - IDLE, "at": at}


def end(connection: Connection, token: str) -> None:
    """End a session; does nothing where it has ended."""
    connection.execute("SELECT pcds_end_session(%s)", [digest(token)])


def add(
    connection: Connection,
    company_id: UUID,
    user_id: UUID,
    *,
    email: str,
    password_hash: str,
    at: datetime,
    role: Role | None = None,
) -> Role:
    """Add a person to the session's company and return the role.

    Without a given role the first person of a company is its administrator, and each other an approver. Raises
    `UniqueViolation` where another person has the email.
    """
    parameters = {"id": user_id, "company_id": company_id, "email": known_as(email), "password_hash": password_hash}
    row = connection.execute(_ADD, {**parameters, "at": at, "role": role}).fetchone()
    assert row is not None, "the statement returns the row that it adds"
    added: Role = row[0]
    return added


def disable(connection: Connection, user_id: UUID, at: datetime) -> bool:
    """End a person's sessions and connections from the next request on; return False where that was done before."""
    return connection.execute(_DISABLE, [at, user_id]).rowcount == 1


def change_role(connection: Connection, user_id: UUID, role: Role) -> Role | None:
    """Give a person another role, which counts from the next request on; return the role before.

    None where the person is the last administrator of the company who may sign in, and would be none: nothing changes.
    """
    connection.execute(_LOCK_PEOPLE)
    before = connection.execute("SELECT role FROM users WHERE id = %s", [user_id]).fetchone()
    assert before is not None, "the person is of the session's company"
    was_last = before[0] == "administrator" and connection.execute(_OTHER_ADMINISTRATORS, [user_id]).fetchone() is None
    if role != "administrator" and was_last:
        return None
    connection.execute("UPDATE users SET role = %s WHERE id = %s", [role, user_id])
    role_before: Role = before[0]
    return role_before


def has_other_administrator(connection: Connection, user_id: UUID) -> bool:
    """Return whether another administrator of the company may sign in; nobody's role changes until the commit."""
    connection.execute(_LOCK_PEOPLE)
    return connection.execute(_OTHER_ADMINISTRATORS, [user_id]).fetchone() is not None


def is_address(name: str) -> bool:
    """Return whether somebody could sign in with this text, which is as `known_as` returns it."""
    before, _, after = name.partition("@")
    return bool(before and after and name.isprintable() and len(name) <= LONGEST_ADDRESS) and " " not in name


def company_of(connection: Connection, email: str) -> tuple[UUID, UUID] | None:
    """Return a person's id and company; needs the owner's connection, which sees every company's people.

    Of several accounts that an address has had, the live one, else the one that ended last.
    """
    return connection.execute(_OF_EMAIL, [known_as(email)]).fetchone()


def is_live(connection: Connection, user_id: UUID) -> bool:
    """Return whether a person of the session's company may sign in."""
    row = connection.execute("SELECT FROM users WHERE id = %s AND disabled_at IS NULL", [user_id])
    return row.rowcount == 1


def address_of(connection: Connection, user_id: UUID) -> str | None:
    """Return the email address of a person of the session's company who may sign in."""
    row = connection.execute("SELECT email FROM users WHERE id = %s AND disabled_at IS NULL", [user_id]).fetchone()
    return None if row is None else str(row[0])


def due_mail_language(connection: Connection, user_id: UUID) -> str | None:
    """Return in which language a person who may sign in is mailed what is due; None for not at all."""
    query = "SELECT due_mail_language FROM users WHERE id = %s AND disabled_at IS NULL"
    row = connection.execute(query, [user_id]).fetchone()
    return None if row is None else row[0]


def choose_due_mails(connection: Connection, user_id: UUID, language: str | None) -> None:
    """Store in which language a person is mailed what is due."""
    connection.execute("UPDATE users SET due_mail_language = %s WHERE id = %s", [language, user_id])


def new_link(
    connection: Connection, company_id: UUID, user_id: UUID, at: datetime, lifetime: timedelta = LINK_LIFETIME
) -> str:
    """Make a link's token that sets a person's password once, in a session of the company; ends an earlier link."""
    token = secrets.token_urlsafe(32)
    connection.execute("DELETE FROM password_links WHERE user_id = %s", [user_id])
    connection.execute(_LINK, [digest(token), company_id, user_id, at + lifetime])
    return token


def has_mailed_link(connection: Connection, user_id: UUID, at: datetime) -> bool:
    """Return whether a link for a forgotten password was made within `FORGOTTEN_PAUSE`."""
    newest = at + FORGOTTEN_LIFETIME
    row = connection.execute(_MAILED_LINK, [user_id, newest - FORGOTTEN_PAUSE, newest]).fetchone()
    return row is not None


def person_of_link(connection: Connection, token: str, at: datetime) -> Ticket | None:
    """Return the person whose password a link sets; None for a link that is unknown, used or expired."""
    row = connection.execute("SELECT * FROM pcds_password_link(%s, %s)", [digest(token), at]).fetchone()
    return Ticket(*row) if row else None


def use_link(connection: Connection, token: str, at: datetime) -> bool:
    """Use up a link in a session of its company, in the transaction that sets the password.

    False for one that is over: of several who use it at once, one has the row, and the others wait for it.
    """
    return connection.execute(_USE_LINK, [digest(token), at]).rowcount == 1


def set_password(connection: Connection, user_id: UUID, password_hash: str) -> bool:
    """Set a person's password in a session of the company; ends sessions and links.

    False where the account has ended.
    """
    row = connection.execute("SELECT pcds_set_password(%s, %s)", [user_id, password_hash]).fetchone()
    return row is not None and bool(row[0])


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

    The application may not read digests: a function of the database compares them.
    """
    row = connection.execute(_ID_OF, [digest(token)]).fetchone()
    session: UUID | None = row[0] if row else None
    return session


def end_session(connection: Connection, user_id: UUID, session_id: UUID) -> bool:
    """End one session of a person; False where it has none of that id."""
    return connection.execute(_END, [user_id, session_id]).rowcount == 1


def end_sessions(connection: Connection, user_id: UUID) -> int:
    """End all sessions of a person; return how many there were."""
    return connection.execute(_END_OTHERS, [user_id]).rowcount


def enable(connection: Connection, user_id: UUID) -> bool:
    """Let an ended account sign in again; False where it may. Raises `UniqueViolation` where the address is taken."""
    return connection.execute(_ENABLE, [user_id]).rowcount == 1
