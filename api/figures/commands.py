"""Commands that start Dagster runs, which analysts see too: `pcds regrade`, `rollup` and `snapshot`."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from api.operate.program import AsJson, DataDir, run_in_dagster, show
from schemas.json_values import JsonObject
from warehouse.operate.settings import Settings

Company = Annotated[UUID | None, typer.Option("--company", help="One company's id; all where it is left out.")]


def _run_for(name: str, company: UUID | None, data_dir: Path | None, refused: str) -> JsonObject:
    arguments = ["--company", str(company)] if company else []
    return run_in_dagster(Settings.load(data_dir=data_dir), name, *arguments, refused=refused)


def regrade(*, company: Company = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Regrade the SKUs of one company, or of all; a regrade that was broken off goes on where it stopped."""
    show(_run_for("regrade", company, data_dir, "Nothing was regraded."), as_json=as_json)


def rollup(*, company: Company = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Compute the tonnes of a company, or of all, and say how many figures changed; the service does it by itself."""
    record = _run_for("rollup", company, data_dir, "No figures were computed.")
    if not as_json:  # the Dagster UI and a declaration show the table of a company's figures
        record = {"companies": [{**row, "figures": f"{len(row['figures'])} figures"} for row in record["companies"]]}
    show(record, as_json=as_json)


def snapshot(*, company: Company = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Publish the portfolio of a company, or of all; the service does it by itself within half a minute of a write."""
    show(_run_for("snapshot", company, data_dir, "No snapshot was published."), as_json=as_json)
