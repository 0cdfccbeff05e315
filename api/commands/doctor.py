"""`pcds doctor`: say what is wrong here and what to do; change nothing.

It looks at the place (settings, data directory, database, worker) and at stored data that is older than a rule and
needs a decision.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated
from uuid import UUID

import psycopg
import typer

from api.commands.operator import Operator, as_operator
from api.commands.shared import AsJson, DataDir, show
from schemas.json_values import JsonObject
from services import place_checks, record_findings, store_problems
from services.place_checks import Problem
from warehouse import logs
from warehouse.companies.queries import every_company
from warehouse.embedded import ServerError
from warehouse.objects import Objects
from warehouse.rulesets.registry import Rulesets
from warehouse.settings import Settings, SettingsError
from warehouse.surroundings import sentence_of


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
    problems = list(place_checks.of_place(settings))
    number: int | None = None
    records: dict[str, list[JsonObject] | None] = dict.fromkeys(record_findings.KINDS)
    with ExitStack() as opened:
        try:
            operator = opened.enter_context(as_operator(data_dir))
            problems += database_problems(operator, settings)
            if settings.objects_url is not None or (settings.data_dir / "objects").is_dir():
                problems += store_problems.of_store(settings, Objects.of(settings, operator.database, claims=False))
        except (SettingsError, ServerError, psycopg.Error) as error:
            problems.append(Problem("database", sentence_of(error) or str(error), "See the database's log; repair it."))
        else:
            if not any(problem.check == "migration" for problem in problems):
                companies = [company] if company else every_company(operator.pool)
                number, records = len(companies), {**_records(operator, companies, settings.data_dir, as_json=as_json)}
    show({"companies": number, "problems": [each._asdict() for each in problems], **records}, as_json=as_json)


def database_problems(operator: Operator, settings: Settings) -> list[Problem]:
    """Return what is wrong with the database and what its rows tell."""
    from warehouse.migrate import head, knows, revision_of  # noqa: PLC0415  (what it stands on loads longer than most commands take)

    with operator.owner() as owner:
        found = list(place_checks.of_server(owner, revision_of(owner), head=head(), knows=knows))
    if not any(problem.check == "migration" for problem in found):
        with operator.pool.system() as connection:
            found += place_checks.of_rows(connection, operator.clock.now(), warm_workers=settings.warm_workers)
    return found


def _records(
    operator: Operator, companies: Iterable[UUID], data_dir: Path, *, as_json: bool
) -> dict[str, list[JsonObject]]:
    """Return the findings of all companies by kind; on a terminal texts are written in ASCII, so that none hides."""
    found: dict[str, list[JsonObject]] = {kind: [] for kind in record_findings.KINDS}
    rulesets, today = Rulesets(), operator.clock.today()
    for company_id in companies:
        with operator.company(company_id) as connection:
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
