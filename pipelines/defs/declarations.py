"""Defines group declarations: a company's declarations for its markets and periods, the end of the graph.

Its partition is the company, as that of the figures that it is computed from: a market and period are no partition,
because each company has its own few of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final, cast

import dagster as dg
import polars as pl

from compliance.declarations.document import ARCHIVED, MISSING_COLUMNS, TONNES_COLUMNS, UNCOUNTED_COLUMNS
from pipelines.declarations.declare import NotDeclarable
from pipelines.declarations.filing import FILING_SCHEMA, ComputedFiling, Filing, compute_filing, compute_filings
from pipelines.defs import OWNERS
from pipelines.defs.figures import current_figures, figures, obligations
from pipelines.engine import checks, tags
from pipelines.engine.checks import Frames, Stored
from pipelines.engine.partitions import company_of, company_partitions
from pipelines.engine.resources import Portfolios, Postgres
from pipelines.shown import columns, preview
from schemas import contracts

GROUP: Final = "declarations"
MOST_ROWS: Final = 200
"""Maximum rows of a table in a run's metadata; the files that `pcds declaration` writes have all rows."""
_VERDICT: Final = ("obligation", "material", "tonnes", "tonnes_upper", "threshold_tonnes", "verdict", "reason")
_COLUMNS: Final = {"filing": pl.String(), **FILING_SCHEMA}


class Asked(dg.Config):
    """The market and period that a run computes, such as DE-2025 or GB-2025-H1; each there is where none is named."""

    filing: str | None = None


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars"},
    tags={"pcds/stage": "reported"},
    partitions_def=company_partitions,
    metadata=columns.metadata("declarations"),
    deps=[figures, obligations],
)
def declarations(
    context: dg.AssetExecutionContext, config: Asked, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """A company's declarations: tonnes by scheme category, uncounted SKUs, undecided scopes, and the duties.

    Computed from the company's published figures. Nothing is filed by it, and nothing that was filed is changed.
    """
    company_id = company_of(postgres.pool, context.partition_key)
    with postgres.pool.company(company_id) as conn:
        named = preview.company(conn, company_id)
    tags.name_company(context, company_id, named["company"])
    held = current_figures(portfolios.folder, company_id)
    try:
        found = [compute_filing(held, Filing.of(config.filing))] if config.filing else compute_filings(held)
    except NotDeclarable as refused:
        raise dg.Failure(str(refused), allow_retries=False) from None
    return dg.MaterializeResult(
        metadata={
            **named,
            "as_of": dg.MetadataValue.timestamp(held.origin.as_of),
            "snapshot": held.origin.snapshot,
            "ruleset_version": held.origin.ruleset_version,
            "catalogue_hash": held.origin.catalogue_hash,
            "dagster/row_count": sum(len(each.tonnes) for each in found),
            "filings": preview.records([*_summary(found[0])] if found else ["filing"], map(_summary, found)),
            **(_picture(found[0]) if config.filing else {}),
            "tonnes": _table(TONNES_COLUMNS, found, "tonnes"),
            "uncounted": _table((*UNCOUNTED_COLUMNS, ARCHIVED), found, "uncounted"),
            "scope_missing": _table((*MISSING_COLUMNS, ARCHIVED), found, "scope_missing"),
            "obligations": preview.table(
                ("filing", *_VERDICT),
                ((each.filing.name, *row) for each in found for row in each.obligations.select(_VERDICT).iter_rows()),
                most=MOST_ROWS,
            ),
            **columns.metadata("declarations"),
        }
    )


def _summary(found: ComputedFiling) -> dict[str, object]:
    """Return what a run shows of each declaration."""
    return {
        "filing": found.filing.name,
        **{name: float(cast(float, tonnes)) for name, tonnes in found.totals.items()},
        "halves": _cell(found.halves),
        "uncounted_skus": len({row["sku_code"] for row in found.uncounted}),
        "skus_of_undecided_scope": len({row["sku_code"] for row in found.scope_missing}),
    }


def _picture(found: ComputedFiling) -> dict[str, dg.MetadataValue | str | float]:
    """Return what a run of one declaration shows besides: its sums, which the UI plots over runs, and a picture."""
    by_category = {row["category_code"]: float(row["tonnes"]) for row in found.tonnes}
    return {
        **{name: value for name, value in _summary(found).items() if isinstance(value, (str, float, int))},
        "tonnes_picture": preview.bars("Tonnes by scheme category", by_category),
    }


def _table(named: tuple[str, ...], found: Iterable[ComputedFiling], table: str) -> dg.TableMetadataValue:
    listed = (
        (each.filing.name, row) for each in found for row in cast(list[Mapping[str, object]], getattr(each, table))
    )
    cells = ((filing, *(_cell(row.get(name)) for name in named)) for filing, row in listed)
    return preview.table(("filing", *named), cells, most=MOST_ROWS)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value


def _filed(stored: Stored) -> Frames:
    found = compute_filings(current_figures(stored.folder, stored.company))
    rows = [{"filing": each.filing.name, **row} for each in found for row in each.tonnes]
    contract = contracts.made(_COLUMNS, key=["filing", "category_code"], needed=["tonnes", "units", "skus"])
    return {"tonnes": (contract, pl.DataFrame(rows, _COLUMNS))}


declarations_checks: Final = checks.checks_of("declarations", checks.contract_check(_filed))
what_would_be_filed: Final = dg.define_asset_job(
    "what_would_be_filed",
    selection=dg.AssetSelection.assets(declarations),
    description="A company's declarations by its figures of today: of one market and period, or of each there is.",
)
