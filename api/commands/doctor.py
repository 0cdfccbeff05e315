"""`pcds doctor`: say what is wrong here and what to do; change nothing.

It looks at the place (settings, data directory, database, worker) and at stored data that is older than a rule and
needs a decision.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Annotated
from uuid import UUID

import psycopg
import typer

from api.commands.operator import Operator, as_operator
from api.commands.shared import AsJson, DataDir, show
from pipelines.answers.misapplied import find_misapplied
from pipelines.answers.parts import described
from services import place_checks
from services.doctor import find_codes
from services.place_checks import Problem
from warehouse.companies.queries import every_company
from warehouse.embedded import ServerError
from warehouse.settings import Settings, SettingsError
from warehouse.surroundings import sentence_of


def doctor(
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="Only this company's.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Report what is wrong here, each with what to do, codes from before texts had one form, and misapplied answers.

    The codes are those that collide now, and those that nobody can send any more. Misapplied are answers of suppliers
    and proposals of assistants that were written to another part than they were about; nothing is changed. They are
    null where no company was looked at, as the database gave no answer or has tables of another release. Exit status 0
    either way: the examination was done, and what it found is its result.
    """
    settings = Settings.load(data_dir=data_dir)
    problems = list(place_checks.of_place(settings))
    number: int | None = None
    records: dict[str, object] = {"collisions": None, "unreachable": None, "misapplied_answers": None}
    with ExitStack() as opened:
        try:
            operator = opened.enter_context(as_operator(data_dir))
            problems += database_problems(operator, settings)
        except (SettingsError, ServerError, psycopg.Error) as error:
            problems.append(Problem("database", sentence_of(error) or str(error), "See the database's log; repair it."))
        else:
            if not any(problem.check == "migration" for problem in problems):
                companies = [company] if company else every_company(operator.pool)
                number, records = len(companies), dict(_codes(operator, companies, as_json=as_json))
                records["misapplied_answers"] = _misapplied(operator, companies, as_json=as_json)
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


def _codes(operator: Operator, companies: Iterable[UUID], *, as_json: bool) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {"collisions": [], "unreachable": []}
    for company_id in companies:
        with operator.company(company_id) as connection:
            for finding in find_codes(connection):
                record: dict[str, object] = {
                    "company_id": str(company_id),
                    "record": finding.record,
                    "code": finding.form if as_json else ascii(finding.form),
                    "held": [code if as_json else ascii(code) for code in finding.codes],
                }
                found["collisions" if finding.collides else "unreachable"].append(record)
    return found


def _misapplied(operator: Operator, companies: Iterable[UUID], *, as_json: bool) -> list[dict[str, object]]:
    """Return the answers that were written to a part that is another one, with both parts."""
    found: list[dict[str, object]] = []
    for company_id in companies:
        with operator.company(company_id) as connection:
            rows = find_misapplied(connection)
        for row in rows:
            record: dict[str, object] = {"company_id": str(company_id), **row._asdict()}
            if not as_json:
                parts = {"asked": described(row.asked), "written_to": described(row.written_to)}
                texts = parts | {name: str(record[name]) for name in ("sku_code", "filed_by", "decided_by")}
                record |= {name: ascii(text) for name, text in texts.items()}
            found.append(record)
    return found
