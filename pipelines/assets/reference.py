"""Group reference: facts that the service reads and no company owns: the jurisdiction catalogue, the rule-sets."""

from pathlib import Path
from typing import Final

import dagster as dg

from compliance.tables import TableError
from pipelines import checks
from pipelines.assets import preview
from pipelines.assets.intake import OWNERS
from pipelines.resources import Workshop
from pipelines.steps import catalogue
from pipelines.steps.catalogue import Changes

GROUP: Final = "reference"


class CatalogueSource(dg.Config):
    """Where the catalogue comes from: an operator's CSV on this machine, or the release's file where none is named."""

    file: str | None = None


catalogue_file: Final = dg.AssetSpec(
    "catalogue_file", group_name=GROUP, owners=OWNERS, kinds={"csv"}, tags={"pcds/stage": "received"},
    description="The catalogue as a file that people keep: one row per jurisdiction, source and date of each fact.",
)  # fmt: skip
"""Read by the asset below, so that an analyst who materialises that one alone needs nothing besides."""


rule_set: Final = dg.AssetSpec(
    "rule_set", group_name=GROUP, owners=OWNERS, kinds={"csv"}, tags={"pcds/stage": "received"},
    description="The version of the rules that grades, added and activated by `pcds ruleset`; a source in each row.",
)  # fmt: skip


@dg.asset(
    group_name=GROUP, owners=OWNERS, kinds={"postgres"}, tags={"pcds/stage": "stored"}, deps=[catalogue_file],
    dagster_type=dg.PythonObjectDagsterType(Changes), check_specs=checks.CATALOGUE_SPECS,
)  # fmt: skip
def jurisdiction_catalogue(config: CatalogueSource, workshop: dg.ResourceParam[Workshop]) -> checks.CheckedResult:
    """The jurisdictions that the service knows, as served: EPR system, register, law, depth 1 to 3 and its date."""
    try:
        found = catalogue.read(Path(config.file) if config.file else None)
    except TableError as faults:
        raise dg.Failure(str(faults), allow_retries=False) from None
    with workshop.pool.system() as conn:
        changes = catalogue.load(conn, found, workshop.clock.now())
        held = catalogue.held(conn)
    codes = {name: getattr(changes, name) for name in ("added", "changed", "removed", "demoted")}
    return dg.MaterializeResult(
        value=changes,
        metadata={
            "rows": len(found.rows),
            "source_hash": found.source_hash,
            "pinned": found.pinned,
            **{name: len(listed) for name, listed in codes.items()},
            "unchanged": changes.unchanged,
            "codes": preview.table(("change", "codes"), [(name, ", ".join(listed)) for name, listed in codes.items()]),
        },
        check_results=checks.catalogue(held),
    )
