"""Manages a company's people for its administrators: invites, gives roles, disables, lets back, makes password links.

Each change has its entry in the company's ledger. What does not belong here: the rows (`warehouse.accounts`) and what a
role may do (`schemas.accounts`). An API key cannot do any of it: decision 0051.
"""

import secrets
from base64 import b32encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from psycopg.errors import UniqueViolation
from uuid_utils import uuid7

from schemas.accounts import Role
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import NotThere, Refused
from services.assistants import revoke
from warehouse import assistants
from warehouse.accounts import keys as api_keys
from warehouse.accounts import people, sign_in
from warehouse.accounts.people import Person, Ticket
from warehouse.audit import ledger
from warehouse.operate import keys
from warehouse.operate.keys import SECOND_FACTORS, Seal
from warehouse.operate.sessions import Connection, savepoint
from warehouse.operate.settings import Settings

STEP_SECONDS: Final = 30
DIGITS: Final = 6
RECOVERY_CODES: Final = 10
TICKET_LIFETIME: Final = timedelta(minutes=5)
_SECRET_BYTES: Final = 20
"""As long as the hash of the codes (RFC 4226, section 4, R6)."""
_CODE_BYTES: Final = 10
_TICKET: Final = b"sign-in"
"""What the seal of a ticket is bound to."""
_DRIFT: Final = (0, -1, 1)
"""Time steps that a device's clock may be off (RFC 6238, section 5.2)."""


def seal_of(settings: Settings) -> Seal:
    """Return the seal of second factors. Raise `Refused` where this program was not given the deployment's key."""
    return Seal(keys.every(settings), SECOND_FACTORS)


def new_secret() -> bytes:
    """Return a new secret of one-time codes."""
    return secrets.token_bytes(_SECRET_BYTES)


def grouped(secret: bytes) -> str:
    """Return a secret as people type it into an app: groups of four letters and digits (RFC 4648, section 6)."""
    text = b32encode(secret).decode()
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def address(secret: bytes, email: str, issuer: str) -> str:
    """Return the `otpauth:` address that an authenticator app reads from a picture."""
    return _totp(secret).get_provisioning_uri(email, issuer)


def step_of(secret: bytes, code: str, now: datetime) -> int | None:
    """Return the time step whose code this is, by a clock that may be a step off; None for any other text."""
    digits = code.replace(" ", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) == DIGITS):
        return None
    present = int(now.timestamp()) // STEP_SECONDS
    for drift in _DRIFT:
        try:
            _totp(secret).verify(digits.encode(), (present + drift) * STEP_SECONDS)
        except InvalidToken:
            continue
        return present + drift
    return None


def new_recovery_codes() -> list[str]:
    """Return codes that each sign in once without the device."""
    return [b32encode(secrets.token_bytes(_CODE_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]


def is_right(conn: Connection, actor: Actor, seal: Seal, user_id: UUID, code: str) -> bool:
    """Take a one-time or recovery code of a person; return whether it was one.

    Raise `Refused` where nobody can tell whether a one-time code is right, as the key of its secret is not here.
    """
    sealed = sign_in.sealed_secret(conn, user_id)
    if sealed is None:  # switched off, or the account has ended since the password
        return False
    secret = seal.unseal(sealed, user_id.bytes)
    if secret is not None and (step := step_of(secret, code, actor.now)) is not None:
        return sign_in.take_step(conn, user_id, step)
    if sign_in.use_recovery_code(conn, user_id, code.replace(" ", "").lower()):
        after = {"left": sign_in.recovery_codes_left(conn, user_id)}
        ledger.enter(conn, actor, "user.recovery_code_used", user_id, before=None, after=after)
        return True
    if secret is None:
        raise keys.unopened(conn, seal.probes)
    return False


def ticket(seal: Seal, person: Ticket, now: datetime) -> str:
    """Return the sealed ticket of a person whose password was right."""
    content = [str(person.user_id), str(person.company_id), person.email, (now + TICKET_LIFETIME).isoformat()]
    return urlsafe_b64encode(seal.seal(orjson.dumps(content), _TICKET)).decode()


def read_ticket(seal: Seal, sent: str, now: datetime) -> Ticket | None:
    """Return the person of a ticket; None for one that is over, or was not made here."""
    try:
        content = seal.unseal(urlsafe_b64decode(sent), _TICKET)
    except ValueError:
        return None
    if content is None:
        return None
    user_id, company_id, email, until = orjson.loads(content)
    return Ticket(UUID(user_id), UUID(company_id), email) if now < datetime.fromisoformat(until) else None


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  (HMAC-SHA-1 is what every app computes)


def _taken() -> Refused:
    """Return the refusal of an address that another live account has, here or at another company."""
    return Refused([Issue("invalid_format", Message("There is an account with this email address already."), "email")])


def _last_administrator() -> Refused:
    """Return the refusal of what would leave the company without an administrator who may sign in."""
    sentence = Message("This person is the company's only administrator; make another one first.")
    return Refused([Issue("invalid_format", sentence, "role")])


def invite(conn: Connection, actor: Actor, email: str, role: Role) -> tuple[UUID, str]:
    """Make an account that nobody can sign in to yet; return its id and the token that sets its password once.

    Raise `Refused` where it is taken. `email` is one that `people.is_address` accepts.
    """
    user_id = UUID(str(uuid7()))
    unusable = sign_in.hash_password(secrets.token_urlsafe(32))
    try:
        with savepoint(conn) as part:
            people.add(conn, actor.company_id, user_id, email=email, password_hash=unusable, at=actor.now, role=role)
            part.keep = True
    except UniqueViolation:
        raise _taken() from None
    token = people.new_link(conn, actor.company_id, user_id, actor.now, people.INVITATION_LIFETIME)
    ledger.enter(
        conn, actor, "user.invited", user_id, before=None, after={"email": people.known_as(email), "role": role}
    )
    return user_id, token


def new_link(conn: Connection, actor: Actor, user_id: UUID) -> str:
    """Return the token of a link that sets a person's password once; an earlier link is over. Raise `NotThere`."""
    person = load_live(conn, actor, user_id)
    return _new_link(conn, actor, user_id, people.LINK_LIFETIME if person.signed_in_at else people.INVITATION_LIFETIME)


def forgotten(conn: Connection, actor: Actor, user_id: UUID) -> str | None:
    """Return the token of a link for a person who forgot the password; None where one was mailed just now.

    Raise `NotThere` where the account has ended.
    """
    load_live(conn, actor, user_id)
    if people.has_mailed_link(conn, user_id, actor.now):
        return None
    return _new_link(conn, actor, user_id, people.FORGOTTEN_LIFETIME)


def _new_link(conn: Connection, actor: Actor, user_id: UUID, lifetime: timedelta) -> str:
    token = people.new_link(conn, actor.company_id, user_id, actor.now, lifetime)
    ledger.enter(
        conn, actor, "user.password_reset", user_id, before=None, after={"until": (actor.now + lifetime).isoformat()}
    )
    return token


def change_role(conn: Connection, actor: Actor, user_id: UUID, role: Role) -> None:
    """Give a person another role. Raise `NotThere`, and `Refused` for the last administrator."""
    load_live(conn, actor, user_id)
    before = people.change_role(conn, user_id, role)
    if before is None:
        raise _last_administrator()
    if before != role:
        ledger.enter(conn, actor, "user.role_changed", user_id, before={"role": before}, after={"role": role})


def disable(conn: Connection, actor: Actor, user_id: UUID) -> None:
    """End an account with its sessions and connections. Raise `NotThere`, and `Refused` for the last administrator."""
    person = load_live(conn, actor, user_id)
    if person.role == "administrator" and not people.has_other_administrator(conn, user_id):
        raise _last_administrator()
    people.disable(conn, user_id, actor.now)
    _end_access(conn, actor, user_id)
    after = {"disabled_at": actor.now.isoformat()}
    ledger.enter(conn, actor, "user.disabled", user_id, before={"disabled_at": None}, after=after)


def let_back(conn: Connection, actor: Actor, user_id: UUID) -> None:
    """Let an ended account sign in again, with its password of before.

    Raise `NotThere`, and `Refused` where the address is taken.
    """
    person = people.one(conn, user_id, actor.now)
    if person is None or person.disabled_at is None:
        raise NotThere
    try:
        with savepoint(conn) as part:
            people.enable(conn, user_id)
            part.keep = True
    except UniqueViolation:
        raise _taken() from None
    _end_access(conn, actor, user_id)  # `pcds user disable` leaves both, which would count again
    before = {"disabled_at": person.disabled_at.isoformat()}
    ledger.enter(conn, actor, "user.returned", user_id, before=before, after={"disabled_at": None})


def set_password(
    conn: Connection, actor: Actor, user_id: UUID, password_hash: str, *, token: str | None = None
) -> None:
    """Set a person's password; a link's `token` is used up. Raise `NotThere` where account or link are over."""
    if token is not None and not people.use_link(conn, token, actor.now):
        raise NotThere
    if not people.set_password(conn, user_id, password_hash):
        raise NotThere
    ledger.enter(conn, actor, "user.password_set", user_id, before={}, after={})


def begin_session(conn: Connection, actor: Actor, user_id: UUID, network: str | None) -> str:
    """Return the token of a new session of a person who is there with password and code, from a network."""
    agent = actor.origin.user_agent
    token = people.begin(conn, actor.company_id, user_id, actor.now, network=network, agent=agent)
    ledger.enter(conn, actor, "user.signed_in", user_id, before=None, after=None)
    return token


def note_failure(conn: Connection, actor: Actor, user_id: UUID) -> None:
    """Enter a wrong password or code in the ledger, unless one was entered just before."""
    if people.note_failure(conn, user_id, actor.now):
        ledger.enter(conn, actor, "user.sign_in_failed", user_id, before=None, after=None)


def second_factor_off(conn: Connection, actor: Actor, user_id: UUID) -> None:
    """Let a person sign in with the password alone, such as one who lost the device. Raise `NotThere`."""
    load_live(conn, actor, user_id)
    if sign_in.switch_off(conn, user_id):
        change = {"before": {"second_factor": True}, "after": {"second_factor": False}}
        ledger.enter(conn, actor, "user.second_factor_off", user_id, **change)


def second_factor_on(
    conn: Connection, actor: Actor, seal: Seal, user_id: UUID, *, secret: bytes, step: int
) -> list[str]:
    """Ask a person for a code from now on; return new recovery codes, none where it is on already. Raise `NotThere`."""
    if sign_in.sealed_secret(conn, user_id) is not None:
        return []
    load_live(conn, actor, user_id)
    codes = new_recovery_codes()
    sealed = seal.seal_to_keep(conn, secret, user_id.bytes)
    sign_in.switch_on(conn, actor.company_id, user_id, sealed, step=step, recovery_codes=codes)
    change = {"before": {"second_factor": False}, "after": {"second_factor": True}}
    ledger.enter(conn, actor, "user.second_factor_on", user_id, **change)
    return codes


def end_sessions(conn: Connection, actor: Actor, user_id: UUID, session_id: UUID | None = None) -> int:
    """End one session of a person, or all; return how many."""
    ended = int(people.end_session(conn, user_id, session_id)) if session_id else people.end_sessions(conn, user_id)
    if ended:
        ledger.enter(conn, actor, "user.sessions_ended", user_id, before=None, after={"sessions": ended})
    return ended


def _end_access(conn: Connection, actor: Actor, user_id: UUID) -> None:
    """End a person's sessions and connected applications."""
    people.end_sessions(conn, user_id)
    for connection in assistants.of_person(conn, user_id):
        revoke(conn, actor, connection.id)


def load_live(conn: Connection, actor: Actor, user_id: UUID) -> Person:
    """Return a person of the company who may sign in. Raise `NotThere`."""
    person = people.one(conn, user_id, actor.now)
    if person is None or person.disabled_at is not None:
        raise NotThere
    return person


def issue_key(conn: Connection, actor: Actor, client_id: UUID, *, key: str, name: str, scopes: Sequence[str]) -> None:
    """Store a key of the actor's company; the key itself is shown once and not stored."""
    api_keys.issue(conn, actor.company_id, client_id, key=key, name=name, scopes=scopes, at=actor.now)
    after = {"name": name, "scopes": scopes}
    ledger.enter(conn, actor, "api_key.issued", client_id, before=None, after=after)


def revoke_key(conn: Connection, actor: Actor, client_id: UUID) -> bool:
    """End a key of the actor's company at once; False where it had ended before."""
    if not api_keys.revoke(conn, client_id, actor.now):
        return False
    after = {"revoked_at": actor.now.isoformat()}
    ledger.enter(conn, actor, "api_key.revoked", client_id, before={"revoked_at": None}, after=after)
    return True
