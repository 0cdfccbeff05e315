"""Manages a company's people for its administrators: invites, gives roles, disables, lets back, makes password links.

Each change has its entry in the company's ledger. What does not belong here: the rows (`warehouse.accounts`) and what a
role may do (`schemas.roles`). An API key cannot do any of it: decision 0051.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.errors import UniqueViolation
from uuid_utils import uuid7

from schemas.refusals import NotThere
from schemas.roles import Role
from services.connections import revoke
from services.second_factor import new_recovery_codes
from warehouse.accounts import connections, passwords, people, second_factor, users
from warehouse.accounts.people import Person
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.sessions import Connection, savepoint


class AddressTaken(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """The address cannot have an account here: another live account has it."""


class LastAdministrator(Exception):  # noqa: N818  (an answer, not a fault of the program)
    """The company would have no administrator who may sign in."""


class Act(NamedTuple):
    """Who does something in which company, and when."""

    company_id: UUID
    origin: Origin
    now: datetime


def invite(conn: Connection, act: Act, email: str, role: Role) -> tuple[UUID, str]:
    """Make an account that nobody can sign in to yet; return its id and the token that sets its password once.

    Raise `AddressTaken`. `email` is one that `users.is_address` accepts.
    """
    user_id = UUID(str(uuid7()))
    unusable = passwords.hash_password(secrets.token_urlsafe(32))
    try:
        with savepoint(conn) as part:
            users.add(conn, act.company_id, user_id, email=email, password_hash=unusable, at=act.now, role=role)
            part.keep = True
    except UniqueViolation:
        raise AddressTaken from None
    token = users.new_link(conn, act.company_id, user_id, act.now, users.INVITATION_LIFETIME)
    _enter(conn, act, "user.invited", user_id, after={"email": users.known_as(email), "role": role})
    return user_id, token


def new_link(conn: Connection, act: Act, user_id: UUID) -> str:
    """Return the token of a link that sets a person's password once; an earlier link is over. Raise `NotThere`."""
    person = _live(conn, act, user_id)
    lifetime = users.LINK_LIFETIME if person.signed_in_at else users.INVITATION_LIFETIME
    token = users.new_link(conn, act.company_id, user_id, act.now, lifetime)
    _enter(conn, act, "user.password_reset", user_id, after={"until": (act.now + lifetime).isoformat()})
    return token


def change_role(conn: Connection, act: Act, user_id: UUID, role: Role) -> None:
    """Give a person another role. Raise `NotThere` and `LastAdministrator`."""
    _live(conn, act, user_id)
    before = users.change_role(conn, user_id, role)
    if before is None:
        raise LastAdministrator
    if before != role:
        _enter(conn, act, "user.role_changed", user_id, before={"role": before}, after={"role": role})


def disable(conn: Connection, act: Act, user_id: UUID) -> None:
    """End an account with its sessions and connections. Raise `NotThere` and `LastAdministrator`."""
    person = _live(conn, act, user_id)
    if person.role == "administrator" and not users.has_other_administrator(conn, user_id):
        raise LastAdministrator
    users.disable(conn, user_id, act.now)
    _end_access(conn, act, user_id)
    _enter(
        conn, act, "user.disabled", user_id, before={"disabled_at": None}, after={"disabled_at": act.now.isoformat()}
    )


def let_back(conn: Connection, act: Act, user_id: UUID) -> None:
    """Let an ended account sign in again, with its password of before. Raise `NotThere` and `AddressTaken`."""
    person = people.one(conn, user_id, act.now)
    if person is None or person.disabled_at is None:
        raise NotThere
    try:
        with savepoint(conn) as part:
            people.enable(conn, user_id)
            part.keep = True
    except UniqueViolation:
        raise AddressTaken from None
    _end_access(conn, act, user_id)  # `pcds user disable` leaves both, which would count again
    before = {"disabled_at": person.disabled_at.isoformat()}
    _enter(conn, act, "user.returned", user_id, before=before, after={"disabled_at": None})


def second_factor_off(conn: Connection, act: Act, user_id: UUID) -> None:
    """Let a person sign in with the password alone, such as one who lost the device. Raise `NotThere`."""
    _live(conn, act, user_id)
    if second_factor.switch_off(conn, user_id):
        _enter(
            conn, act, "user.second_factor_off", user_id, before={"second_factor": True}, after={"second_factor": False}
        )


def second_factor_on(conn: Connection, act: Act, user_id: UUID, sealed: bytes, step: int) -> list[str]:
    """Ask a person for a code from now on; return new recovery codes. Raise `NotThere`."""
    _live(conn, act, user_id)
    codes = new_recovery_codes()
    second_factor.switch_on(conn, act.company_id, user_id, sealed, step=step, recovery_codes=codes)
    _enter(conn, act, "user.second_factor_on", user_id, before={"second_factor": False}, after={"second_factor": True})
    return codes


def end_sessions(conn: Connection, act: Act, user_id: UUID, session_id: UUID | None = None) -> int:
    """End one session of a person, or all; return how many."""
    ended = int(people.end_session(conn, user_id, session_id)) if session_id else people.end_sessions(conn, user_id)
    if ended:
        _enter(conn, act, "user.sessions_ended", user_id, after={"sessions": ended})
    return ended


def _end_access(conn: Connection, act: Act, user_id: UUID) -> None:
    """End a person's sessions and connected applications."""
    people.end_sessions(conn, user_id)
    for each in connections.of_person(conn, user_id):
        revoke(conn, act.company_id, each.id, origin=act.origin, now=act.now)


def _live(conn: Connection, act: Act, user_id: UUID) -> Person:
    person = people.one(conn, user_id, act.now)
    if person is None or person.disabled_at is not None:
        raise NotThere
    return person


def _enter(
    conn: Connection,
    act: Act,
    action: str,
    user_id: UUID,
    *,
    after: Mapping[str, object],
    before: Mapping[str, object] | None = None,
) -> None:
    ledger.enter(conn, act.company_id, action, user_id, origin=act.origin, now=act.now, before=before, after=after)
