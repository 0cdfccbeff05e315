"""`pcds staff`: manage accounts of the operator's own people, who use Dagster at /dagster and see no company's pages.

They belong to the deployment and to no company, so that no company's ledger has an entry about them. A password is read
from standard input, as for `pcds user`.
"""

from typing import Annotated, Final
from uuid import UUID

import typer
from psycopg.errors import UniqueViolation

from api.accounts.commands import check_email, check_password, read_password
from api.operate.program import AsJson, DataDir, Operator, Refusal, as_operator, check_choices, new_id, show
from warehouse.accounts import people, sign_in
from warehouse.operate import staff
from warehouse.operate.staff import ROLES, Role

app = typer.Typer(help="Accounts of the operator's staff, for Dagster.", no_args_is_help=True)

Email = Annotated[str, typer.Argument(metavar="EMAIL")]
PasswordStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input; needed.")]
_NO_ACCOUNT: Final = "There is no staff account with this email address; `pcds staff list` shows those there are."


@app.command("add")
def add(
    *,
    email: Annotated[str, typer.Option("--email", help="How the person signs in.")],
    role: Annotated[str, typer.Option("--role", help="analyst: looks at Dagster; operator: acts in it, too.")],
    password_stdin: PasswordStdin = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make an account; its password is what standard input says, up to the end of the line."""
    [chosen] = check_choices(ROLES, [role])
    password, staff_id = read_password(is_piped=password_stdin), new_id()
    with as_operator(data_dir) as operator:
        add_member(
            operator, staff_id, email=email, role="operator" if chosen == "operator" else "analyst", password=password
        )
    show({"id": str(staff_id), "email": check_email(email), "role": chosen}, as_json=as_json)


def add_member(operator: Operator, staff_id: UUID, *, email: str, role: Role, password: str) -> None:
    """Store an account; raise `Refusal` for an unusable email or password, and where a live account has the email."""
    name = check_email(email)
    check_password(password)
    try:
        with operator.owner() as connection:
            staff.add(
                connection,
                staff_id,
                email=name,
                role=role,
                password_hash=sign_in.hash_password(password),
                at=operator.clock.now(),
            )
    except UniqueViolation:
        raise Refusal("There is a staff account with this email address already.") from None


@app.command("list")
def list_all(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Every account, oldest first, those that have ended included."""
    with as_operator(data_dir) as operator, operator.owner() as connection:
        members = staff.members(connection)
    records = [
        {
            "id": str(member.id),
            "email": member.email,
            "role": member.role,
            "created_at": member.created_at,
            "disabled_at": member.disabled_at,
        }
        for member in members
    ]
    show({"staff": records}, as_json=as_json)


@app.command("disable")
def disable(email: Email, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """End an account with its sessions, from the next request on; doing it again changes nothing.

    The address may have a new account later.
    """
    with as_operator(data_dir) as operator, operator.owner() as connection:
        accounts = [member for member in staff.members(connection) if member.email == people.known_as(email)]
        if not accounts:
            raise Refusal(_NO_ACCOUNT)
        newest = accounts[-1]
        if newest.disabled_at is None:
            staff.disable(connection, newest.id, operator.clock.now())
    show({"id": str(newest.id), "email": newest.email}, as_json=as_json)


@app.command("password")
def password(
    email: Email, *, password_stdin: PasswordStdin = False, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Give an account another password, read from standard input; its sessions end."""
    new = read_password(is_piped=password_stdin)
    check_password(new)
    with as_operator(data_dir) as operator, operator.owner() as connection:
        staff_id = staff.live(connection, email)
        if staff_id is None:
            raise Refusal(_NO_ACCOUNT)
        staff.change_password(connection, staff_id, sign_in.hash_password(new))
    show({"id": str(staff_id), "email": check_email(email)}, as_json=as_json)
