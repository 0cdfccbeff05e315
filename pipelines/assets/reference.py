"""Group reference: facts that the service reads and no company owns. Today the jurisdiction catalogue."""

from pathlib import Path
from typing import Final

import dagster as dg

from compliance.tables import TableError
from pipelines import checks
from pipelines.assets import preview
from pipelines.assets.intake import OWNERS
from pipelines.resources import Workshop
from pipelines.steps import catalogue
from pipelines.steps.catalogue import CatalogueFile, Changes

GROUP: Final = "reference"


class CatalogueSource(dg.Config):
    """Where the catalogue comes from: an operator's CSV on this machine, or the release's file where none is named."""

    file: str | None = None


@dg.asset(group_name=GROUP, owners=OWNERS, kinds={"csv"}, tags={"pcds/stage": "received"})
def catalogue_file(config: CatalogueSource) -> dg.MaterializeResult[CatalogueFile]:
    """The catalogue as a file: one row per jurisdiction, with the source and the date of each fact."""
    try:
        found = catalogue.read(Path(config.file) if config.file else None)
    except TableError as faults:
        raise dg.Failure(str(faults), allow_retries=False) from None
    return dg.MaterializeResult(
        value=found,
        metadata={"rows": len(found.rows), "source_hash": found.source_hash, "pinned": found.pinned},
    )


@dg.asset(
    group_name=GROUP, owners=OWNERS, kinds={"postgres"}, tags={"pcds/stage": "stored"},
    dagster_type=dg.PythonObjectDagsterType(Changes), check_specs=checks.CATALOGUE_SPECS,
)  # fmt: skip
def jurisdiction_catalogue(catalogue_file: CatalogueFile, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """The jurisdictions that the service knows, as served: EPR system, register, law, depth 1 to 3 and its date."""
    with workshop.pool.system() as conn:
        changes = catalogue.load(conn, catalogue_file, workshop.clock.now())
        held = catalogue.held(conn)
    codes = {name: getattr(changes, name) for name in ("added", "changed", "removed", "demoted")}
    return dg.MaterializeResult(
        value=changes,
        metadata={
            **{name: len(found) for name, found in codes.items()},
            "unchanged": changes.unchanged,
            "codes": preview.table(("change", "codes"), [(name, ", ".join(found)) for name, found in codes.items()]),
        },
        check_results=checks.catalogue(held),
    )
