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
from services import place_checks
from services.contradicted_declarations import find_contradicted
from services.doctor import find_codes
from services.place_checks import Problem
from warehouse.companies.queries import every_company
from warehouse.embedded import ServerError
from warehouse.rulesets.registry import Rulesets
from warehouse.settings import Settings, SettingsError
from warehouse.surroundings import sentence_of


def doctor(
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="Only this company's.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Report what is wrong here, each with what to do, and stored data that is older than a rule.

    That is codes that collide now and codes that nobody can send any more, and valid declarations of conformity that
    the record of their own item contradicts; null where no company was looked at,
    as the database gave no answer or has tables of another release. Exit status 0 either way: the examination was done,
    and what it found is its result.
    """
    settings = Settings.load(data_dir=data_dir)
    problems = list(place_checks.of_place(settings))
    number: int | None = None
    codes: dict[str, object] = {"collisions": None, "unreachable": None, "declarations_against_record": None}
    with ExitStack() as opened:
        try:
            operator = opened.enter_context(as_operator(data_dir))
            problems += database_problems(operator, settings)
        except (SettingsError, ServerError, psycopg.Error) as error:
            problems.append(Problem("database", sentence_of(error) or str(error), "See the database's log; repair it."))
        else:
            if not any(problem.check == "migration" for problem in problems):
                companies = [company] if company else every_company(operator.pool)
                number, codes = len(companies), dict(_codes(operator, companies, as_json=as_json))
                codes["declarations_against_record"] = _against_record(operator, companies, as_json=as_json)
    show({"companies": number, "problems": [each._asdict() for each in problems], **codes}, as_json=as_json)


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


def _against_record(operator: Operator, companies: Iterable[UUID], *, as_json: bool) -> list[dict[str, object]]:
    """Return the valid declarations of conformity that their own item's record contradicts, with each fact."""
    found: list[dict[str, object]] = []
    rulesets = Rulesets()
    for company_id in companies:
        with operator.company(company_id) as connection:
            for each in find_contradicted(connection, rulesets.active(connection), operator.clock.today()):
                record: dict[str, object] = {
                    "company_id": str(company_id),
                    "doc_id": str(each.doc_id),
                    "reference": each.reference if as_json else ascii(each.reference or ""),
                    "sku_code": each.sku_code if as_json else ascii(each.sku_code),
                    "facts": [fact.message for fact in each.facts],
                    "remedy": "Correct the record where it is wrong, or withdraw the declaration.",
                }
                found.append(record)
    return found
