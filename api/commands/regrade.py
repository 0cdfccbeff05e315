"""`pcds regrade`: grade the stored SKUs by the rules of the day, as a Dagster run that the analyst sees too."""

from typing import Annotated
from uuid import UUID

import typer

from api.commands import runs
from api.commands.shared import AsJson, DataDir, show
from warehouse.settings import Settings


def regrade(
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="One company's id; default all.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Regrade the SKUs of one company, or of all; a regrade that was broken off goes on where it stopped."""
    arguments = [] if company is None else ["--company", str(company)]
    show(
        runs.run(Settings.load(data_dir=data_dir), "regrade", *arguments, refused="Nothing was regraded."),
        as_json=as_json,
    )
