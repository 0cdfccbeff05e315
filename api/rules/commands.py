"""`pcds ruleset`: install a new version of the rules without a release; activating it regrades the stored SKUs."""

from pathlib import Path
from typing import Annotated

import typer

from api.operate.program import AsJson, DataDir, Refusal, as_operator, run_in_dagster, show
from compliance.tables import TableError
from services import rules
from warehouse.operate.settings import Settings

app = typer.Typer(help="Versions of the rules that grades follow from.", no_args_is_help=True)


@app.command("add")
def add(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Its tables; named by their day, as 2027-01-31.")],
    *,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check the tables of a folder and keep them for good; nothing is graded with them yet."""
    try:
        with as_operator(data_dir) as operator, operator.owner() as connection:
            record = rules.add(connection, folder.resolve(), operator.clock.now())
    except TableError as faults:
        raise Refusal(f"The rule-set was not added. {faults}") from None
    show(record, as_json=as_json)


@app.command("activate")
def activate(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="One of `pcds ruleset list`.")],
    *,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Grade every write by this version from now on, and regrade what is held.

    Returns when the regrade is done. Should this command be ended before, the service's worker goes on with it.
    """
    try:
        with as_operator(data_dir) as operator:
            with operator.owner() as connection:
                record = rules.activate(connection, version, operator.origin, operator.clock.now())
            run_in_dagster(Settings.load(data_dir=data_dir), "regrade", "--open", refused="The regrade was broken off.")
    except TableError as unknown:
        raise Refusal(str(unknown)) from None
    show(record, as_json=as_json)


@app.command("list")
def list_all(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Every version, oldest first: the release's and those that were added."""
    with as_operator(data_dir) as operator, operator.owner() as connection:
        records = rules.list_versions(connection)
    show({"rulesets": records}, as_json=as_json)
