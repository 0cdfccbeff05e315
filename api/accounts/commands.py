"""`pcds user`: manage accounts of people who sign in.

A password is read from standard input, so that no process list and no shell history contains it.
"""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer
from psycopg.errors import UniqueViolation

from api.operate import serve as supervisor
from api.operate.program import (
    CompanyId,
    Operator,
    Refusal,
    as_operator,
    check_choices,
    command,
    find_company,
    new_id,
    split_values,
)
from schemas import texts
from schemas.accounts import ROLES, Role
from schemas.json_values import JsonObject
from schemas.refusals import NotThere, Refused
from schemas.vocabularies import VOCABULARIES
from services import accounts as managing
from services.companies import make
from warehouse.accounts import keys, people, sign_in
from warehouse.accounts.keys import Window
from warehouse.companies import queries as companies
from warehouse.companies import sandboxes
from warehouse.operate.settings import Settings

PASSWORD_FAULTS: Final = {
    "length": f"A password has {sign_in.SHORTEST} to {sign_in.LONGEST} characters.",
    "common": "This password is one of the 30 000 that are guessed first; choose another.",
}
"""Messages about a password that is refused."""

_TAKEN: Final = "There is an account with this email address already; `pcds user reset EMAIL` makes it another link."
_ENDED: Final = "This account was ended; `pcds user add` makes a new one for the address."

app = typer.Typer(help="Accounts of people.", no_args_is_help=True)


@command(app, "add")
def add(
    data_dir: Path | None,
    *,
    company: CompanyId,
    email: Annotated[str, typer.Option("--email", help="How the person signs in.")],
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input; needed.")
    ] = False,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            help="viewer, editor, approver or administrator; else administrator for the first, approver for others.",
        ),
    ] = None,
) -> JsonObject:
    """Make an account; its password is what standard input says, up to the end of the line."""
    chosen = None if role is None else _role(role)
    password = read_password(is_piped=password_stdin)
    user_id = new_id()
    with as_operator(data_dir) as operator:
        add_user(operator, company, user_id=user_id, email=email, password=password, role=chosen)
    return {"id": str(user_id), "email": people.known_as(email)}


def add_user(
    operator: Operator, company: UUID, *, user_id: UUID, email: str, password: str, role: Role | None = None
) -> None:
    """Store an account of a company, with a ledger entry; raise `Refusal` for an unusable email or password."""
    name = check_email(email)
    check_password(password)
    with operator.company(company) as connection:
        find_company(connection, company)
        try:
            with connection.transaction():
                stored = people.add(
                    connection,
                    company,
                    user_id,
                    email=name,
                    password_hash=sign_in.hash_password(password),
                    at=operator.clock.now(),
                    role=role,
                )
        except UniqueViolation:
            raise Refusal(_TAKEN) from None
        operator.enter(connection, company, "user.created", user_id, after={"email": name, "role": stored})


@command(app, "list")
def list_people(data_dir: Path | None, company: CompanyId) -> JsonObject:
    """List a company's people, those who may sign in first; the ended ones too, never a password."""
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        accounts = people.every(connection, operator.clock.now())
    return {"users": [person._asdict() for person in accounts]}


@command(app, "invite")
def invite(
    data_dir: Path | None,
    *,
    company: CompanyId,
    email: Annotated[str, typer.Option("--email", help="How the person will sign in.")],
    role: Annotated[str, typer.Option("--role", help="viewer, editor, approver or administrator.")] = "viewer",
) -> JsonObject:
    """Make an account and the link by which its person sets the first password, once, within seven days.

    Send the link on a way that only the person reads; `pcds user reset` makes another.
    """
    chosen, name = _role(role), check_email(email)
    with as_operator(data_dir) as operator:
        actor = operator.actor(company)
        with operator.company(company) as connection:
            try:
                user_id, token = managing.invite(connection, actor, name, chosen)
            except Refused:
                raise Refusal(_TAKEN) from None
    until = actor.now + people.INVITATION_LIFETIME
    return {"id": str(user_id), "email": name, "role": chosen, "url": _link(data_dir, token), "until": until}


@command(app, "reset")
def reset(data_dir: Path | None, *, email: Annotated[str, typer.Argument(metavar="EMAIL")]) -> JsonObject:
    """Make a link that sets this person's password once, within a day; a link before it is over.

    The password stays as it is until the link is used. Send the link on a way that only the person reads.
    """
    with as_operator(data_dir) as operator:
        (user_id, company), at = _find_account(operator, email), operator.clock.now()
        with operator.company(company) as connection:
            if not people.is_live(connection, user_id):
                raise Refusal(_ENDED)
            token, until = people.new_link(connection, company, user_id, at), at + people.LINK_LIFETIME
            operator.enter(connection, company, "user.password_reset", user_id, after={"until": until.isoformat()})
    return {"id": str(user_id), "email": people.known_as(email), "url": _link(data_dir, token), "until": until}


def _link(data_dir: Path | None, token: str) -> str:
    return f"{supervisor.known_address(Settings.load(data_dir=data_dir))}/password/{token}"


def _role(option: str) -> Role:
    """Return the role that an option names; another text is wrong usage."""
    chosen = next((role for role in ROLES if role == option), None)
    if chosen is None:
        raise typer.BadParameter(f"A role is one of {', '.join(ROLES)}.")
    return chosen


def read_password(*, is_piped: bool) -> str:
    """Return the password on standard input, up to the end of the line; wrong usage unless `is_piped` announces it."""
    if not is_piped:
        raise typer.BadParameter("A password is never an argument; send it with --password-stdin.")
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def check_email(email: str) -> str:
    """Return an email as it is stored; raise `Refusal` for one that nobody could sign in with."""
    name = people.known_as(email)
    if not people.is_address(name):
        raise Refusal("That is no email address; one has the form name@company.example.")
    return name


def check_password(password: str) -> None:
    """Raise `Refusal` for a password that is not allowed."""
    if fault := sign_in.fault(password):
        raise Refusal(PASSWORD_FAULTS[fault])


def _find_account(operator: Operator, email: str) -> tuple[UUID, UUID]:
    """Return the account of an address, and its company. Raise `Refusal` where there is none."""
    with operator.owner() as connection:
        account = people.company_of(connection, email)
    if account is None:
        raise Refusal("There is no account with this email address; `pcds user list --company ID` shows a company's.")
    return account


@command(app, "role")
def change_role(
    data_dir: Path | None,
    *,
    email: Annotated[str, typer.Argument(metavar="EMAIL")],
    role: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, editor, approver or administrator.")],
) -> JsonObject:
    """Give a person another role, from the next request on; a company keeps one administrator."""
    chosen = _role(role)
    with as_operator(data_dir) as operator:
        user_id, company = _find_account(operator, email)
        with operator.company(company) as connection:
            try:
                managing.change_role(connection, operator.actor(company), user_id, chosen)
            except NotThere:
                raise Refusal(_ENDED) from None
            except Refused as refused:
                raise Refusal(str(refused)) from None
    return {"id": str(user_id), "email": people.known_as(email), "role": chosen}


@command(app, "disable")
def disable(data_dir: Path | None, *, email: Annotated[str, typer.Argument(metavar="EMAIL")]) -> JsonObject:
    """End an account with its sessions and connections, from the next request on; doing it again changes nothing."""
    with as_operator(data_dir) as operator:
        (user_id, company), at = _find_account(operator, email), operator.clock.now()
        with operator.company(company) as connection:
            if people.disable(connection, user_id, at):
                after = {"disabled_at": at.isoformat()}
                operator.enter(connection, company, "user.disabled", user_id, before={"disabled_at": None}, after=after)
    return {"id": str(user_id), "email": people.known_as(email)}


@command(app, "second-factor-off")
def second_factor_off(data_dir: Path | None, *, email: Annotated[str, typer.Argument(metavar="EMAIL")]) -> JsonObject:
    """Let a person sign in with the password alone, such as one who lost the device and the recovery codes."""
    with as_operator(data_dir) as operator:
        user_id, company = _find_account(operator, email)
        with operator.company(company) as connection:
            if sign_in.switch_off(connection, user_id):
                change = {"before": {"second_factor": True}, "after": {"second_factor": False}}
                operator.enter(connection, company, "user.second_factor_off", user_id, **change)
    return {"id": str(user_id), "email": people.known_as(email)}


keys_app = typer.Typer(help="API keys of a company.", no_args_is_help=True)


@command(keys_app, "issue")
def issue(
    data_dir: Path | None,
    *,
    company: CompanyId,
    scopes: Annotated[list[str], typer.Option("--scopes", help="read, write or both.")] = ["read,write"],  # noqa: B006
    name: Annotated[str, typer.Option("--name", help="Names the key's actor in the audit log.")] = "api key",
    allow_any_plan: Annotated[bool, typer.Option("--allow-any-plan", help="Though the plan includes none.")] = False,
    test: Annotated[bool, typer.Option("--test", help="A test key: it reaches the company's sandbox alone.")] = False,
) -> JsonObject:
    """Issue a key, with --test one of the company's sandbox, which is made where there is none."""
    granted = check_choices(VOCABULARIES["scope"], split_values(scopes))
    if not granted:
        raise typer.BadParameter("A key needs a scope: read, write or both.")
    client_id = new_id()
    with as_operator(data_dir) as operator:
        company, is_test = _reached(operator, company, test=test)
        key = keys.new_key(is_test=is_test)
        issue_key(
            operator, company, client_id=client_id, key=key, name=name, scopes=granted, allow_any_plan=allow_any_plan
        )
    return {"client_id": str(client_id), "api_key": key, "scopes": granted}


def _reached(operator: Operator, company: UUID, *, test: bool) -> tuple[UUID, bool]:
    """Return the company that a key is to reach, and whether it is a sandbox."""
    with operator.company(company) as connection:
        if companies.account_of(connection, company) is not None:
            return company, True
    if not test:
        return company, False
    with operator.owner() as owner:
        return make(owner, operator.actor(company)), True


def issue_key(
    operator: Operator,
    company: UUID,
    *,
    client_id: UUID,
    key: str,
    name: str,
    scopes: list[str],
    allow_any_plan: bool = False,
) -> None:
    """Store a key for a company, with a ledger entry; raise `Refusal` where the plan includes no keys."""
    name = texts.plain(name)
    with operator.company(company) as connection:
        _, plan = find_company(connection, company)
        if not (allow_any_plan or companies.allows_keys(connection, plan)):
            raise Refusal(f"The plan {plan} includes no API keys; --allow-any-plan issues one all the same.")
        managing.issue_key(connection, operator.actor(company), client_id, key=key, name=name, scopes=scopes)


@command(keys_app, "revoke")
def revoke(data_dir: Path | None, *, client: Annotated[UUID, typer.Argument(metavar="CLIENT_ID")]) -> JsonObject:
    """End a key at once; ending it again changes nothing."""
    with as_operator(data_dir) as operator:
        company = company_of_key(operator, client)
        with operator.company(company) as connection:
            managing.revoke_key(connection, operator.actor(company), client)
            [record] = [key for key in keys.every(connection) if key["client_id"] == client]
    return record


@command(keys_app, "roll")
def roll(
    data_dir: Path | None,
    *,
    client: Annotated[UUID, typer.Argument(metavar="CLIENT_ID")],
    end_old: Annotated[bool, typer.Option("--end-old", help="End the old key now, as where it has leaked.")] = False,
) -> JsonObject:
    """Issue a key with the name, scopes and request window of another, which still counts until it is revoked.

    Give the new key to its program, then `pcds key revoke` the old one. What was sent with the old key and an
    Idempotency-Key is repeated with the old key: the new one is a client of its own.
    """
    new_client = new_id()
    with as_operator(data_dir) as operator:
        company = company_of_key(operator, client)
        actor = operator.actor(company)
        key = keys.new_key(is_test=_reached(operator, company, test=False)[1])
        with operator.owner(company) as connection:
            old = next(key_with_use for key_with_use in keys.with_use(connection) if key_with_use.client_id == client)
            if old.revoked_at is not None:
                raise Refusal("This key was revoked; `pcds key issue` issues a new one.")
            managing.issue_key(connection, actor, new_client, key=key, name=old.name, scopes=old.scopes)
            if (window := keys.lock_window(connection, client)) is not None:
                moved = replace(window, client_id=new_client)
                keys.put(connection, company, moved)
                operator.enter(connection, company, "window.opened", new_client, after=moved.as_dict())
            if end_old:
                managing.revoke_key(connection, actor, client)
    record = {"client_id": str(new_client), "api_key": key, "scopes": old.scopes, "old_client_id": str(client)}
    return record | {"old_revoked_at": actor.now if end_old else None}


def company_of_key(operator: Operator, client: UUID) -> UUID:
    """Return the company that owns the key; raise `Refusal` where there is no such key."""
    with operator.owner() as connection:
        company = keys.company_of(connection, client)
    if company is None:
        raise Refusal(f"There is no key with the client id {client}; `pcds key list` shows a company's.")
    return company


@command(keys_app, "list")
def list_keys(data_dir: Path | None, company: CompanyId) -> JsonObject:
    """List a company's keys, the revoked ones and those of its sandbox too; never the keys themselves."""
    with as_operator(data_dir) as operator:
        with operator.company(company) as connection:
            listed = [{**key, "test": False} for key in keys.every(connection)]
        with operator.pool.system() as connection:
            sandbox = sandboxes.find_sandbox(connection, company)
        if sandbox is not None:
            with operator.company(sandbox) as connection:
                listed += [{**key, "test": True} for key in keys.every(connection)]
    return {"keys": listed}


windows_app = typer.Typer(help="Request windows: a higher ceiling for one key, for a time.", no_args_is_help=True)

_INSTANT_HELP = "2026-12-01T08:00:00Z, or a day for its beginning in UTC"


def _parse_instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"Send an instant such as {_INSTANT_HELP}.") from None
    if instant.tzinfo is None:
        if len(text) > len("2026-12-01"):
            raise typer.BadParameter(f"Say the offset too: an instant such as {_INSTANT_HELP}.")
        instant = instant.replace(tzinfo=UTC)
    return instant.astimezone(UTC)


@command(windows_app, "open")
def open_window(
    data_dir: Path | None,
    *,
    client: Annotated[UUID, typer.Option("--key", metavar="CLIENT_ID", help="The key's client id.")],
    per_minute: Annotated[
        int, typer.Option("--per-minute", min=keys.REQUESTS_PER_MINUTE + 1, max=1_000_000, help="Requests in 60 s.")
    ],
    opens_at: Annotated[
        datetime | None, typer.Option("--from", parser=_parse_instant, help=f"{_INSTANT_HELP}; default now.")
    ] = None,
    closes_at: Annotated[
        datetime | None, typer.Option("--until", parser=_parse_instant, help="The same; default until it is closed.")
    ] = None,
) -> JsonObject:
    """Open a window for a key, in place of the one that it has."""
    with as_operator(data_dir) as operator:
        window = Window(client, per_minute, opens_at or operator.clock.now(), closes_at)
        if window.closes_at is not None and window.closes_at <= window.opens_at:
            raise typer.BadParameter("A window ends after it begins.", param_hint="--until")
        company = company_of_key(operator, client)
        with operator.owner(company) as connection:
            before = keys.lock_window(connection, client)
            keys.put(connection, company, window)
            operator.enter(
                connection,
                company,
                "window.opened",
                client,
                before=None if before is None else before.as_dict(),
                after=window.as_dict(),
            )
    return {"client_id": str(window.client_id), **window.as_dict()}


@command(windows_app, "close")
def close_window(data_dir: Path | None, *, client: Annotated[UUID, typer.Argument(metavar="CLIENT_ID")]) -> JsonObject:
    """End a key's window now; one that has ended stays as it is, one to come never begins."""
    with as_operator(data_dir) as operator:
        company = company_of_key(operator, client)
        with operator.owner(company) as connection:
            window = keys.lock_window(connection, client)
            if window is None:
                raise Refusal(f"The key {client} has no window; `pcds window open --key {client}` opens one.")
            end = max(operator.clock.now(), window.opens_at)
            if window.closes_at is None or window.closes_at > end:
                closed = replace(window, closes_at=end)
                keys.put(connection, company, closed)
                before, after = ({"until": state.as_dict()["until"]} for state in (window, closed))
                operator.enter(connection, company, "window.closed", client, before=before, after=after)
                window = closed
    return {"client_id": str(window.client_id), **window.as_dict()}


@command(windows_app, "list")
def list_windows(
    data_dir: Path | None,
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="Only this company's.")] = None,
) -> JsonObject:
    """List request windows, the earliest first: each key's last one, with whether it is to come, open or over."""
    with as_operator(data_dir) as operator, operator.owner() as connection:
        windows, now = keys.every_window(connection, company), operator.clock.now()
    records = [
        {"client_id": str(window.client_id), **window.as_dict(), "state": window.state(now)} for window in windows
    ]
    return {"windows": records}
