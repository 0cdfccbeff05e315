"""`pcds doctor`: say what is wrong here and what to do; change nothing.

It looks at the place (settings, data directory, database, worker) and at stored data that is older than a rule and
needs a decision.
"""

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated
from uuid import UUID

import psycopg
import typer

from api.commands.operator import Operator, find_company, operator_on, require_place
from api.commands.shared import AsJson, DataDir, show
from schemas.json_values import JsonObject
from schemas.states import State
from services import place_checks, record_findings, store_problems
from services.place_checks import Problem
from warehouse import logs
from warehouse.clock import Clock
from warehouse.companies.queries import every_company
from warehouse.database import Database
from warehouse.embedded import ServerError, other_major, running
from warehouse.objects import Objects
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Pool
from warehouse.settings import Settings, SettingsError


def doctor(
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="Only this company's.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Report what is wrong here, each with what to do, and stored records that are false by today's rules.

    The records are listed by kind (`services.record_findings`), each with its company; null where no company was looked
    at, as the database gave no answer or has tables of another release. Exit status 0 either way: the examination was
    done, and what it found is its result.
    """
    settings = Settings.load(data_dir=data_dir)
    logs.configure(settings)  # on standard error, apart from the answer
    number: int | None = None
    records: dict[str, list[JsonObject] | None] = dict.fromkeys(record_findings.KINDS)
    with ExitStack() as opened:
        problems, operator = looked_at(settings, opened)
        if operator is not None:
            companies = [company] if company else every_company(operator.pool)
            number, records = len(companies), {**_records(operator, companies, settings.data_dir, as_json=as_json)}
    show({"companies": number, "problems": [each._asdict() for each in problems], **records}, as_json=as_json)


def looked_at(settings: Settings, opened: ExitStack) -> tuple[list[Problem], Operator | None]:
    """Return what is wrong, and the operator for a look at records, None where there are no tables of this release."""
    found, pools = [*place_checks.of_place(settings)], list[Pool]()

    def pool() -> Pool:
        pools.append(opened.enter_context(Pool(database.app_url, clock=Clock.of(settings))))
        return pools[0]

    try:
        if (major := other_major(settings)) is not None:
            wrong = f"The database was made by Postgres {major}, which this release cannot read."
            return [*found, Problem(State.POSTGRES, wrong, "Read *Upgrades* in docs/operations.md.")], None
        require_place(settings)
        database = opened.enter_context(running(settings))
        found += place_checks.of_database(database, pool, settings, Clock.of(settings))
        found += _of_store(settings, database)
    except (SettingsError, ServerError) as error:
        return [*found, Problem(State.DATABASE, str(error), "See the database's log; repair it.")], None
    answered = not any(problem.check == State.DATABASE for problem in found)
    return found, operator_on(settings, database, pools[0]) if pools and answered else None


def _of_store(settings: Settings, database: Database) -> list[Problem]:
    """Return what is wrong with the object store, where one was made; nothing is claimed of one that is nobody's."""
    found = [*store_problems.of_endpoint(settings)]
    if settings.objects_url is not None or (settings.data_dir / "objects").is_dir():
        with suppress(psycopg.Error):  # the database is away, or not ours
            found += store_problems.of_store(Objects.of(settings, database, claims=False))
    return found


def _records(
    operator: Operator, companies: Iterable[UUID], data_dir: Path, *, as_json: bool
) -> dict[str, list[JsonObject]]:
    """Return the findings of all companies by kind; on a terminal texts are written in ASCII, so that none hides."""
    found: dict[str, list[JsonObject]] = {kind: [] for kind in record_findings.KINDS}
    rulesets, today = Rulesets(), operator.clock.today()
    for company_id in companies:
        with operator.pool.company(company_id) as connection:  # not the operator's, which notes that it wrote
            find_company(connection, company_id)
            listed = record_findings.find(record_findings.Looked(connection, rulesets, today, company_id, data_dir))
        for kind, rows in listed.items():
            found[kind] += [{"company_id": str(company_id), **(row if as_json else _in_ascii(row))} for row in rows]
    return found


def _in_ascii(row: JsonObject) -> JsonObject:
    """Return a record for a terminal: its texts so that none hides, and nothing that is said in words beside it."""
    shown: JsonObject = {}
    for name, value in row.items():
        match value:
            case str():
                shown[name] = ascii(value)
            case list():
                shown[name] = [ascii(each) for each in value]
            case dict():
                continue
            case _:
                shown[name] = value
    return shown
