"""`pcds user`: manage accounts of people who sign in.

A password is read from standard input, so that no process list and no shell history contains it.
"""

import sys
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer
from psycopg.errors import UniqueViolation

from api import address
from api.commands.operator import Operator, as_operator, find_company, new_id
from api.commands.shared import AsJson, CompanyId, DataDir, Refusal, show
from schemas.roles import ROLES, Role
from services import people as inviting
from services.people import Act, AddressTaken
from warehouse.accounts import passwords, people, second_factor, users
from warehouse.settings import Settings

PASSWORD_FAULTS: Final = {
    "length": f"A password has {passwords.SHORTEST} to {passwords.LONGEST} characters.",
    "common": "This password is one of the 30 000 that are guessed first; choose another.",
}
"""Messages about a password that is refused."""

_TAKEN: Final = "There is an account with this email address already; `pcds user reset EMAIL` makes it another link."

app = typer.Typer(help="Accounts of people.", no_args_is_help=True)


@app.command("add")
def add(
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
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make an account; its password is what standard input says, up to the end of the line."""
    chosen = None if role is None else _role(role)
    password = read_password(given=password_stdin)
    user_id = new_id()
    with as_operator(data_dir) as operator:
        add_user(operator, company, user_id=user_id, email=email, password=password, role=chosen)
    show({"id": str(user_id), "email": users.known_as(email)}, as_json=as_json)


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
                stored = users.add(
                    connection,
                    company,
                    user_id,
                    email=name,
                    password_hash=passwords.hash_password(password),
                    at=operator.clock.now(),
                    role=role,
                )
        except UniqueViolation:
            raise Refusal(_TAKEN) from None
        operator.enter(connection, company, "user.created", user_id, after={"email": name, "role": stored})


@app.command("list")
def list_people(company: CompanyId, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List a company's people, those who may sign in first; the ended ones too, never a password."""
    with as_operator(data_dir) as operator, operator.company(company) as connection:
        found = people.every(connection, operator.clock.now())
    show({"users": [person._asdict() for person in found]}, as_json=as_json)


@app.command("invite")
def invite(
    *,
    company: CompanyId,
    email: Annotated[str, typer.Option("--email", help="How the person will sign in.")],
    role: Annotated[str, typer.Option("--role", help="viewer, editor, approver or administrator.")] = "viewer",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make an account and the link by which its person sets the first password, once, within seven days.

    Send the link on a way that only the person reads; `pcds user reset` makes another.
    """
    chosen, name = _role(role), check_email(email)
    with as_operator(data_dir) as operator:
        act = Act(company, operator.origin, operator.clock.now())
        with operator.company(company) as connection:
            try:
                user_id, token = inviting.invite(connection, act, name, chosen)
            except AddressTaken:
                raise Refusal(_TAKEN) from None
    until = act.now + users.INVITATION_LIFETIME
    shown = {"id": str(user_id), "email": name, "role": chosen, "url": _link(data_dir, token), "until": until}
    show(shown, as_json=as_json)


@app.command("reset")
def reset(
    *, email: Annotated[str, typer.Argument(metavar="EMAIL")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Make a link that sets this person's password once, within a day; a link before it is over.

    The password stays as it is until the link is used. Send the link on a way that only the person reads.
    """
    with as_operator(data_dir) as operator:
        (user_id, company), at = _find_account(operator, email), operator.clock.now()
        with operator.company(company) as connection:
            if not users.is_live(connection, user_id):
                raise Refusal("This account was ended; `pcds user add` makes a new one for the address.")
            token, until = users.new_link(connection, company, user_id, at), at + users.LINK_LIFETIME
            operator.enter(connection, company, "user.password_reset", user_id, after={"until": until.isoformat()})
    shown = {"id": str(user_id), "email": users.known_as(email), "url": _link(data_dir, token), "until": until}
    show(shown, as_json=as_json)


def _link(data_dir: Path | None, token: str) -> str:
    return f"{address.known_address(Settings.load(data_dir=data_dir))}/password/{token}"


def _role(given: str) -> Role:
    """Return the role that an option names; another text is wrong usage."""
    chosen = next((each for each in ROLES if each == given), None)
    if chosen is None:
        raise typer.BadParameter(f"A role is one of {', '.join(ROLES)}.")
    return chosen


def read_password(*, given: bool) -> str:
    """Return the password on standard input, up to the end of the line; wrong usage unless `given` announces it."""
    if not given:
        raise typer.BadParameter("A password is never an argument; send it with --password-stdin.")
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def check_email(given: str) -> str:
    """Return an email as it is stored; raise `Refusal` for one that nobody could sign in with."""
    name = users.known_as(given)
    if not users.is_address(name):
        raise Refusal("That is no email address; one has the form name@company.example.")
    return name


def check_password(password: str) -> None:
    """Raise `Refusal` for a password that is not allowed."""
    if fault := passwords.fault(password):
        raise Refusal(PASSWORD_FAULTS[fault])


def _find_account(operator: Operator, email: str) -> tuple[UUID, UUID]:
    """Return the account of an address, and its company. Raise `Refusal` where there is none."""
    with operator.owner() as connection:
        found = users.company_of(connection, email)
    if found is None:
        raise Refusal("There is no account with this email address; `pcds user list --company ID` shows a company's.")
    return found


@app.command("role")
def change_role(
    *,
    email: Annotated[str, typer.Argument(metavar="EMAIL")],
    role: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, editor, approver or administrator.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Give a person another role, from the next request on; a company keeps one administrator."""
    chosen = _role(role)
    with as_operator(data_dir) as operator:
        user_id, company = _find_account(operator, email)
        with operator.company(company) as connection:
            if not users.is_live(connection, user_id):
                raise Refusal("This account was ended; `pcds user add` makes a new one for the address.")
            before = users.change_role(connection, user_id, chosen)
            if before is None:
                raise Refusal("This person is the company's only administrator; make another one first.")
            if before != chosen:
                change = {"before": {"role": before}, "after": {"role": chosen}}
                operator.enter(connection, company, "user.role_changed", user_id, **change)
    show({"id": str(user_id), "email": users.known_as(email), "role": chosen}, as_json=as_json)


@app.command("disable")
def disable(
    *, email: Annotated[str, typer.Argument(metavar="EMAIL")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """End an account with its sessions and connections, from the next request on; doing it again changes nothing."""
    with as_operator(data_dir) as operator:
        (user_id, company), at = _find_account(operator, email), operator.clock.now()
        with operator.company(company) as connection:
            if users.disable(connection, user_id, at):
                after = {"disabled_at": at.isoformat()}
                operator.enter(connection, company, "user.disabled", user_id, before={"disabled_at": None}, after=after)
    show({"id": str(user_id), "email": users.known_as(email)}, as_json=as_json)


@app.command("second-factor-off")
def second_factor_off(
    *, email: Annotated[str, typer.Argument(metavar="EMAIL")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Let a person sign in with the password alone, such as one who lost the device and the recovery codes."""
    with as_operator(data_dir) as operator:
        user_id, company = _find_account(operator, email)
        with operator.company(company) as connection:
            if second_factor.switch_off(connection, user_id):
                change = {"before": {"second_factor": True}, "after": {"second_factor": False}}
                operator.enter(connection, company, "user.second_factor_off", user_id, **change)
    show({"id": str(user_id), "email": users.known_as(email)}, as_json=as_json)
