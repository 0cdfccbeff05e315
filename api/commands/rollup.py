"""`pcds rollup`: compute tonnes by scheme category as of now, as Dagster runs that the analyst sees too."""

from typing import Annotated
from uuid import UUID

import typer

from api.commands import runs
from api.commands.shared import AsJson, DataDir, show
from warehouse.settings import Settings


def rollup(
    *,
    company: Annotated[
        UUID | None, typer.Option("--company", help="One company's id; all where it is left out.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Compute the tonnes of a company, or of all, and say how many figures changed; the service does it by itself."""
    arguments = ["--company", str(company)] if company else []
    record = runs.run(Settings.load(data_dir=data_dir), "rollup", *arguments, refused="No figures were computed.")
    if not as_json:  # the Dagster UI and a declaration show the table of a company's figures
        record = {"companies": [{**each, "figures": f"{len(each['figures'])} figures"} for each in record["companies"]]}
    show(record, as_json=as_json)
