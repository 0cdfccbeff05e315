"""`pcds snapshot`: publish portfolios as Parquet now, as Dagster runs that the analyst sees too."""

from typing import Annotated
from uuid import UUID

import typer

from api.commands import runs
from api.commands.shared import AsJson, DataDir, show
from warehouse.settings import Settings


def snapshot(
    *,
    company: Annotated[
        UUID | None, typer.Option("--company", help="One company's id; all where it is left out.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Publish the portfolio of a company, or of all; the service does it by itself within half a minute of a write."""
    arguments = ["--company", str(company)] if company else []
    show(
        runs.run(Settings.load(data_dir=data_dir), "snapshot", *arguments, refused="No snapshot was published."),
        as_json=as_json,
    )
