"""`pcds company`: add a company, move it to a plan, list them."""

from typing import Annotated
from uuid import UUID

import typer

from api.commands.operator import as_operator, find_company, new_id
from api.commands.shared import AsJson, DataDir, Refusal, show
from schemas import texts
from warehouse.companies import queries as companies
from warehouse.sessions import Connection

app = typer.Typer(help="Companies and their plans.", no_args_is_help=True)

Plan = Annotated[str, typer.Option("--plan", help="starter, growth, professional or enterprise.")]


@app.command("add")
def add(
    *,
    name: Annotated[str, typer.Option("--name", help="What it is called.")],
    plan: Plan,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Add a company."""
    name = texts.code(name)
    if not name:
        raise typer.BadParameter("A company has a name.")
    company_id = new_id()
    with as_operator(data_dir) as operator, operator.owner(company_id) as connection:
        _check_plan(connection, plan)
        companies.add(connection, company_id, name=name, plan=plan, at=operator.clock.now())
        record = {"id": str(company_id), "name": name, "plan": plan}
        operator.enter(connection, company_id, "company.created", company_id, after={"name": name, "plan": plan})
    show(record, as_json=as_json)


@app.command("set-plan")
def set_plan(
    *,
    company: Annotated[UUID, typer.Argument(metavar="ID")],
    plan: Annotated[str, typer.Argument(metavar="PLAN")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Move a company to another plan; what it holds stays."""
    with as_operator(data_dir) as operator, operator.owner(company) as connection:
        _check_plan(connection, plan)
        name, before = find_company(connection, company)
        if before != plan:
            companies.set_plan(connection, company, plan)
            operator.enter(
                connection, company, "company.updated", company, before={"plan": before}, after={"plan": plan}
            )
    show({"id": str(company), "name": name, "plan": plan}, as_json=as_json)


@app.command("list")
def list_companies(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List all companies, oldest first."""
    with as_operator(data_dir) as operator, operator.owner() as connection:
        rows = companies.every(connection)
    show({"companies": [{"id": str(i), "name": name, "plan": plan} for i, name, plan in rows]}, as_json=as_json)


def _check_plan(connection: Connection, plan: str) -> None:
    known = companies.plans(connection)
    if plan not in known:
        raise Refusal(f"There is no plan {plan}; the plans are {', '.join(known)}.")
