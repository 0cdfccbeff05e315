"""`pcds doctor`: report stored data that is older than a rule and needs a decision; change nothing."""

from typing import Annotated
from uuid import UUID

import typer

from api.commands.operator import as_operator
from api.commands.shared import AsJson, DataDir, show
from services.doctor import find_codes
from warehouse.companies.queries import every_company


def doctor(
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="Only this company's.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Report codes from before texts had one form: those that collide now, and those that nobody can send any more.

    Exit status 0 either way: the examination was done, and what it found is its result.
    """
    found: dict[str, list[dict[str, object]]] = {"collisions": [], "unreachable": []}
    with as_operator(data_dir) as operator:
        companies = [company] if company else list(every_company(operator.pool))
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
    show({"companies": len(companies), **found}, as_json=as_json)
