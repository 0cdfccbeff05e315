"""Defines group declarations: a company's declaration for a market and a period, the end of the graph."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, cast

import dagster as dg

from compliance.declarations.document import ARCHIVED, MISSING_COLUMNS, TONNES_COLUMNS, UNCOUNTED_COLUMNS
from pipelines.declarations import filing
from pipelines.declarations.declare import NotDeclarable
from pipelines.declarations.filing import Filing
from pipelines.defs import OWNERS
from pipelines.defs.figures.assets import figures, obligations
from pipelines.engine import tags
from pipelines.engine.partitions import company_of, declaration_partitions
from pipelines.engine.resources import Portfolios, Postgres
from pipelines.shown import columns, preview
from warehouse import figures as stored

GROUP: Final = "declarations"
MOST_ROWS: Final = 200
"""Maximum rows of a table in a run's metadata; the files that `pcds declaration` writes have all rows."""
_VERDICT: Final = ("obligation", "material", "tonnes", "tonnes_upper", "threshold_tonnes", "verdict", "reason")


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars"},
    tags={"pcds/stage": "reported"},
    partitions_def=declaration_partitions,
    metadata=columns.metadata("declarations"),
    deps=[figures, obligations],
)
def declarations(
    context: dg.AssetExecutionContext, postgres: Postgres, portfolios: Portfolios
) -> dg.MaterializeResult[None]:
    """A company's declaration: tonnes by scheme category, uncounted SKUs, undecided scopes, and the duties.

    Computed from the company's published figures. Nothing is filed by it, and nothing that was filed is changed.
    """
    slug, name = _keys(context)
    company_id = company_of(postgres.pool, slug)
    with postgres.pool.company(company_id) as conn:
        named = preview.company(conn, company_id)
    tags.name_company(context, company_id, named["company"])
    stored_figures = stored.current(portfolios.folder, company_id)
    if stored_figures is None:
        raise dg.Failure("No figures of this company are published yet; publish it first.", allow_retries=False)
    try:
        found = filing.compute_filing(stored_figures, Filing.of(name))
    except NotDeclarable as refused:
        raise dg.Failure(str(refused), allow_retries=False) from None
    return dg.MaterializeResult(
        metadata={
            **named,
            "filing": found.filing.name,
            "market": found.filing.market,
            "year": found.filing.year,
            "half": found.filing.half,
            "as_of": dg.MetadataValue.timestamp(found.origin.as_of),
            "snapshot": found.origin.snapshot,
            "ruleset_version": found.origin.ruleset_version,
            "catalogue_hash": found.origin.catalogue_hash,
            "dagster/row_count": len(found.tonnes),
            **({} if found.halves is None else {"halves": found.halves}),
            **{name: float(cast(Decimal, tonnes)) for name, tonnes in found.totals.items()},
            "uncounted_skus": len({row["sku_code"] for row in found.uncounted}),
            "skus_of_undecided_scope": len({row["sku_code"] for row in found.scope_missing}),
            "tonnes_picture": preview.bars(
                "Tonnes by scheme category", {row["category_code"]: float(row["tonnes"]) for row in found.tonnes}
            ),
            "tonnes": _table(TONNES_COLUMNS, found.tonnes),
            "uncounted": _table((*UNCOUNTED_COLUMNS, ARCHIVED), found.uncounted),
            "scope_missing": _table((*MISSING_COLUMNS, ARCHIVED), found.scope_missing),
            "obligations": preview.frame_table(found.obligations.select(_VERDICT), most=MOST_ROWS),
            **columns.metadata("declarations"),
        }
    )


def _keys(context: dg.AssetExecutionContext) -> tuple[str, str]:
    key = context.partition_key
    assert isinstance(key, dg.MultiPartitionKey)
    return key.keys_by_dimension["company"], key.keys_by_dimension["filing"]


def _table(named: tuple[str, ...], rows: Sequence[Mapping[str, object]]) -> dg.TableMetadataValue:
    return preview.table(named, ([_cell(row.get(name)) for name in named] for row in rows), most=MOST_ROWS)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value
