"""`pcds company`: add a company, move it to a plan, list them, export all of one, and erase one."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import orjson
import typer

from api.operate.program import CompanyId, Operator, Refusal, as_operator, command, find_company, login_name, new_id
from schemas import texts
from schemas.json_values import JsonObject
from services import companies as companies_services
from services.companies import ExportError, export, read, remove
from warehouse.companies import queries as companies
from warehouse.companies import removal, sandboxes
from warehouse.companies import sandboxes as stored
from warehouse.operate.sessions import Connection, become
from warehouse.operate.settings import Settings

app = typer.Typer(help="Companies and their plans.", no_args_is_help=True)

CompanyArgument = Annotated[UUID, typer.Argument(metavar="ID")]
Plan = Annotated[str, typer.Option("--plan", help="starter, growth, professional or enterprise.")]


@command(app, "add")
def add(
    data_dir: Path | None, *, name: Annotated[str, typer.Option("--name", help="What it is called.")], plan: Plan
) -> JsonObject:
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
    return record


@command(app, "set-plan")
def set_plan(
    data_dir: Path | None,
    *,
    company: Annotated[UUID, typer.Argument(metavar="ID")],
    plan: Annotated[str, typer.Argument(metavar="PLAN")],
) -> JsonObject:
    """Move a company, and its sandbox, to another plan; what they hold stays."""
    with as_operator(data_dir) as operator, operator.owner(company) as connection:
        _check_plan(connection, plan)
        name, before = find_company(connection, company)
        if before != plan:
            _move(operator, connection, company, before, plan)
            if (sandbox := sandboxes.find_sandbox(connection, company)) is not None:
                become(connection, sandbox)
                _move(operator, connection, sandbox, before, plan)
    return {"id": str(company), "name": name, "plan": plan}


@command(app, "list")
def list_companies(data_dir: Path | None) -> JsonObject:
    """List all companies, oldest first; a sandbox names the company whose test keys reach it."""
    with as_operator(data_dir) as operator, operator.owner() as connection:
        rows = companies.every(connection)
        accounts = sandboxes.accounts(connection)
    listed = [
        {"id": str(i), "name": name, "plan": plan, **({"sandbox_of": str(accounts[i])} if i in accounts else {})}
        for i, name, plan in rows
    ]
    return {"companies": listed}


@command(app, "export")
def export_company(
    data_dir: Path | None,
    *,
    company: CompanyArgument,
    folder: Annotated[Path, typer.Option("--to", help="A new folder.")],
) -> JsonObject:
    """Write everything of a company into a folder: its rows, files, snapshots, figures and runs; no credential."""
    with as_operator(data_dir) as operator:
        with operator.company(company):
            pass  # there is one
        try:
            about = export(Settings.load(data_dir=data_dir), operator.database, company, folder, operator.clock.now())
        except ExportError as error:
            raise Refusal(str(error)) from None
    rows = sum(about["tables"].values())
    counted = {"tables": len(about["tables"]), "rows": rows, "files": len(about["files"]), "links": about["links"]}
    return {"company_id": str(company), "folder": str(folder), **counted}


@command(app, "remove")
def remove_company(
    data_dir: Path | None,
    *,
    company: CompanyArgument,
    name: Annotated[str, typer.Option("--name", help="The company's name, so that no other is removed by mistake.")],
    certificate: Annotated[Path, typer.Option("--certificate", help="A new file for the certificate.")],
    exported: Annotated[Path | None, typer.Option("--exported", help="An export with everything until now.")] = None,
    without_export: Annotated[bool, typer.Option("--without-export", help="Remove it without an export.")] = False,
) -> JsonObject:
    """Erase a company, and its sandbox; write a signed certificate; after a kill, go on where it was cut off.

    What stays is the hash of each link of its audit chain. Backups taken before still have the company.
    """
    if (exported is None) is not without_export:
        raise typer.BadParameter("Name the export with --exported, or say --without-export.")
    settings = Settings.load(data_dir=data_dir)
    with as_operator(data_dir) as operator:
        try:
            about = None if exported is None else read(exported, company)
            with operator.owner(company) as owner:
                if removal.find_removal(owner, company) is None and find_company(owner, company)[0] != name:
                    raise Refusal(f"The company {company} has another name; `pcds company list` shows it.")
                sandboxed = sandboxes.every_of(owner, company)
            now = operator.clock.now()
            done = remove(settings, operator.database, company, now, by=login_name(), exported=about)
            for sandbox in sandboxed:
                remove(settings, operator.database, sandbox, now, by=login_name(), exported=None)
        except ExportError as error:
            raise Refusal(str(error)) from None
    certificate.write_bytes(orjson.dumps(done, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    return {"company_id": str(company), "certificate": str(certificate), **done["statement"]}


def _move(operator: Operator, owner: Connection, company: UUID, before: str, plan: str) -> None:
    companies.set_plan(owner, company, plan)
    operator.enter(owner, company, "company.updated", company, before={"plan": before}, after={"plan": plan})


def _check_plan(connection: Connection, plan: str) -> None:
    plans = companies.plans(connection)
    if plan not in plans:
        raise Refusal(f"There is no plan {plan}; the plans are {', '.join(plans)}.")


test_company_app = typer.Typer(help="The sandbox of a company, which its test keys reach.", no_args_is_help=True)


@test_company_app.callback()
def group() -> None:
    """Keep `reset` a command of its own, though it is the only one."""


@command(test_company_app, "reset")
def reset(data_dir: Path | None, company: CompanyId) -> JsonObject:
    """Empty a company's sandbox; test keys, windows and tokens stay. The company itself is not touched."""
    with as_operator(data_dir) as operator:
        now = operator.clock.now()
        with operator.owner() as owner:
            before = stored.find_sandbox(owner, company)
            if before is None:
                raise Refusal("The company has no sandbox; `pcds key issue --test` makes one.")
            done = companies_services.reset(owner, company, operator.actor(before))
        companies_services.erase_left(Settings.load(data_dir=data_dir), operator.database, now)
    return {"company_id": str(company), "sandbox_id": str(done.sandbox), "skus_removed": done.skus}
