"""Prepares the database before the service can answer: `python -m api.operate.prepare`, which `pcds serve` runs first.

It is a separate program so that the memory of its work, migrations above all, is free when it has ended. What belongs
here: the order of these steps, the demo company of the first start, with which a newcomer can try the service, and what
is reported to the supervisor, as JSON on standard output. What does not: how each step is done.

A staff account is made as well where there is none yet, so that Dagster can be viewed. The company's key and both
passwords are in `demo.json` of the data directory, readable by the service's own account alone. They are the only
credentials stored anywhere, because without them a newcomer has nothing to try.
"""

import contextlib
import json
import secrets
import shlex
import sys
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final
from uuid import UUID

import orjson
import psycopg
import structlog

from api.accounts.commands import add_user, issue_key
from api.cli import in_plain_words
from api.library.commands import add_record
from api.operate.program import Operator, Refusal, new_id, operator_on
from api.staff.commands import add_member
from schemas.json_values import JsonObject
from services.companies import erase_left
from warehouse import catalogue, library
from warehouse.accounts import keys, people
from warehouse.companies import queries as companies
from warehouse.operate import keys as keys_operate
from warehouse.operate import logs, staff, whole_files
from warehouse.operate.clock import Clock
from warehouse.operate.dagster_home import PREFIX
from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate
from warehouse.operate.objects import Objects, prepare_identity, take_over
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

_NAME: Final = "Demo Foods"
_PLAN: Final = "enterprise"
_EMAIL: Final = "demo@brand.example"
_STAFF: Final = "demo@operator.example"
_RECORDS: Final[list[JsonObject]] = orjson.loads((files("api.operate") / "demo_records.json").read_bytes())
OF_EXAMPLES: Final[dict[UUID, JsonObject]] = {UUID(record["id"]): record for record in _RECORDS if "id" in record}
"""Records to which the reference's examples refer. The ids are the same in every deployment, so that the examples can
be sent.
"""


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo company, its key, and the sign-ins of its person and of staff: empty where staff existed before."""

    company_id: str
    client_id: str
    api_key: str
    email: str
    password: str
    staff_email: str
    staff_password: str


def prepare_demo(settings: Settings, database: Database) -> Demo:
    """Return the demo company of a data directory, completing missing parts; call it inside `running`, migrated.

    The file comes first and the key last: the next start completes whatever a crash left undone.
    """
    path = settings.data_dir / "demo.json"
    demo = _kept(path)
    with Pool(database.app_url, clock=Clock.from_settings(settings)) as pool:
        we = operator_on(settings, database, pool)
        with we.owner() as connection:
            made = keys.company_of(connection, UUID(demo.client_id)) is not None
            has_person = people.company_of(connection, demo.email) is not None
            has_staff = bool(staff.members(connection))
        if not made:
            _make(we, demo)
        _add_records_of_examples(we, UUID(demo.company_id))
        if not has_person:
            add_user(we, UUID(demo.company_id), user_id=new_id(), email=demo.email, password=demo.password)
        if not has_staff:
            add_member(we, new_id(), email=demo.staff_email, role="operator", password=demo.staff_password)
        with we.owner() as connection:
            is_staff = staff.live(connection, demo.staff_email) is not None
    return demo if is_staff else replace(demo, staff_email="", staff_password="")


def _kept(path: Path) -> Demo:
    """Return the file's contents; a new one is written whole or not at all, readable by the service's account alone."""
    if path.exists():
        return Demo(**orjson.loads(path.read_bytes()))
    demo = Demo(
        company_id=str(new_id()),
        client_id=str(new_id()),
        api_key=keys.new_key(),
        email=_EMAIL,
        password=secrets.token_urlsafe(12),
        staff_email=_STAFF,
        staff_password=secrets.token_urlsafe(12),
    )
    whole_files.replace(path, orjson.dumps(demo), whole_files.PRIVATE)
    return demo


def _make(we: Operator, demo: Demo) -> None:
    company_id = UUID(demo.company_id)
    with we.owner(company_id) as connection:
        if companies.find_company(connection, company_id) is None:
            companies.add(connection, company_id, name=_NAME, plan=_PLAN, at=we.clock.now())
            we.enter(connection, company_id, "company.created", company_id, after={"name": _NAME, "plan": _PLAN})
    for record in _RECORDS:
        if "id" not in record:
            with contextlib.suppress(Refusal):  # stored already, by a start that was interrupted
                _add(we, company_id, record)
    issue_key(we, company_id, name="demo", scopes=["read", "write"], client_id=UUID(demo.client_id), key=demo.api_key)


def _add_records_of_examples(we: Operator, company_id: UUID) -> None:
    """Add the missing records: a start may have been interrupted."""
    for record_id, record in OF_EXAMPLES.items():
        with we.company(company_id) as connection:
            exists = library.resolved(connection, record["kind"], record_id) is not None
        if not exists:
            with contextlib.suppress(Refusal):  # a record of the demo's user has its name
                _add(we, company_id, record, record_id)


def _add(we: Operator, company_id: UUID, record: JsonObject, record_id: UUID | None = None) -> None:
    values = {name: value for name, value in record.items() if name not in ("id", "kind")}
    add_record(we, record["kind"], company_id, values, record_id)


def banner(settings: Settings, demo: Demo, *, first_start: bool, with_dagster_ui: bool) -> str:
    """Return the first steps for a newcomer: import a file, poll it, read a graded SKU. The key is shown once."""
    base = settings.base_url
    kept = shlex.quote(str(settings.data_dir / "demo.json"))
    key = f"KEY={demo.api_key}" if first_start else f"KEY=$(grep -o 'svc_[A-Za-z0-9_-]*' {kept})"
    lines = [
        f"The service answers at {base}. There is a demo company, {_NAME}, with a key:",
        "",
        f"  {key}",
        "  # import a file: 40 SKUs with components, and some bad rows",
        f'  curl -s -H "X-API-Key: $KEY" -F file=@examples/portfolio.xlsx {base}/api/v1/imports',
        "  # poll it: put the answer's id in the place of ID",
        f'  curl -s -H "X-API-Key: $KEY" {base}/api/v1/imports/ID',
        "  # the SKUs with their grades, and one of them with why it is graded so",
        f'  curl -s -H "X-API-Key: $KEY" {base}/api/v1/skus',
        f'  curl -s -H "X-API-Key: $KEY" {base}/api/v1/skus/ID',
        "",
        f"People sign in at {base}/sign-in as {demo.email}, {_password(demo.password, kept, first_start=first_start)}.",
        f"Assistants connect to {base}/api/mcp.",
        f"Reference: {base}/reference",
    ]
    if with_dagster_ui:
        lines.append(f"Every import as a run, for the operator's staff: {base}{PREFIX}")
        if demo.staff_email:
            lines[-1] += f" as {demo.staff_email}, {_password(demo.staff_password, kept, first_start=first_start)}"
    return "\n".join(lines)


def _password(password: str, kept: str, *, first_start: bool) -> str:
    """Return the password, shown once like the key; afterwards the place where it is stored."""
    return f"password {password}" if first_start else f"password as {kept} has it"


log = structlog.get_logger(__name__)


def prepare(
    settings: Settings, *, with_demo: bool, with_dagster_ui: bool, take_over_objects: bool = False
) -> JsonObject:
    """Migrate the tables, make missing keys, and add the demo company if wanted; call it inside `running`.

    It also erases what the reset of a sandbox left, where a process was killed before it had. With
    `take_over_objects` the object store is this deployment's from now on.
    `catalogue` says whether a catalogue is loaded, `greeting` is for the person who started the service. Raise what
    `migrate` raises.
    """
    database = Database.from_settings(settings)
    log.info("database.migrated", revision=migrate(database))
    with psycopg.connect(database.owner_url) as owner:
        keys_operate.prepare(owner, settings)
        prepare_identity(owner)
    if take_over_objects:
        take_over(Objects.from_settings(settings), database.app_url)
    greeting = f"The service answers at {settings.base_url}."
    if with_demo:
        first_start = not (settings.data_dir / "demo.json").exists()
        made = prepare_demo(settings, database)
        greeting = banner(settings, made, first_start=first_start, with_dagster_ui=with_dagster_ui)
    erase_left(settings, database, Clock.from_settings(settings).now())
    with psycopg.connect(database.app_url) as connection:
        loaded = catalogue.is_loaded(connection)
    return {"catalogue": loaded, "greeting": greeting}


def main() -> None:
    """Prepare with the settings of the environment and the options in the one argument."""
    options, settings = json.loads(sys.argv[1]), Settings.load()
    logs.configure(settings)
    report = prepare(
        settings,
        with_demo=options["demo"],
        with_dagster_ui=options["with_dagster_ui"],
        take_over_objects=options["take_over_objects"],
    )
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    in_plain_words(main)
