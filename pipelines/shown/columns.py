"""Describes the columns of table assets for the Dagster UI: type, unit, meaning, and the columns each is made from.

Meanings and origins are rows of `columns.csv`; a column that is a field of an input record has its meaning from the
field table, and one without a row is made from the column of the same name in `_SAME_NAME`. `preview` shows a run's own
rows.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple  # Any: polars' types of columns, and values of Dagster's metadata

import dagster as dg
import polars as pl

from compliance.rollup.portfolio import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS
from compliance.rollup.tonnes import TONNES_SCHEMA
from pipelines.declarations.filing import FILING_SCHEMA
from pipelines.engine.checks import CATALOGUE
from pipelines.figures.compute import OBLIGATION_SCHEMA
from schemas.fields import SKU
from warehouse import snapshots
from warehouse.skus.columns import DTYPES

_GRADE: Final = {
    name: snapshots.SKUS[name]
    for name in ("recyclability_grade", "recyclability_score", "grade_provisional", "ruleset_version")
}
_FIELDS: Final = {name: DTYPES.get(name, pl.String()) for name in SKU}
_PARTS: Final = {**COMPONENT_COLUMNS, **VOLUME_COLUMNS}
TABLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "parsed_table": {"line": pl.UInt32(), **dict.fromkeys(SKU, pl.String())},
    "typed_rows": _FIELDS,
    "graded_skus": {**_FIELDS, "components_weight_g": pl.Float64(), **_GRADE},
    "regraded_skus": {"sku_code": pl.String(), **_GRADE},
    "rule_set": {"version": pl.String(), "tables": pl.String()},
    "portfolio_snapshot": {**snapshots.SKUS, **_PARTS},
    "portfolio": {**SKU_COLUMNS, **_PARTS},
    "figures": TONNES_SCHEMA,
    "obligations": OBLIGATION_SCHEMA,
    "declarations": FILING_SCHEMA,
    "jurisdiction_catalogue": {name: column.dtype for name, column in CATALOGUE.columns.items()},
}
"""The columns of all tables of an asset together; an import's own file may have fewer of them."""
_SAME_NAME: Final = {
    "typed_rows": "parsed_table",
    "graded_skus": "typed_rows",
    "portfolio_snapshot": "graded_skus",
    "portfolio": "portfolio_snapshot",
}


class _Row(NamedTuple):
    unit: str
    meaning: str
    made_from: tuple[str, ...]


@cache
def _rows() -> Mapping[tuple[str, str], _Row]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["asset"], row["column"]): _Row(row["unit"], row["meaning"], tuple(row["made_from"].split()))
            for row in csv.DictReader(file)
        }


def schema(asset: str) -> dg.TableSchema:
    """Return the asset's columns, before any run has made them."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(name, str(dtype), column_description(asset, name)) for name, dtype in TABLES[asset].items()
        ]
    )


def column_description(asset: str, name: str) -> str | None:
    """Return the meaning of an asset's column, with its unit; None where it has no description."""
    row, field = _rows().get((asset, name)), SKU.get(name)
    if row is not None:
        meaning, unit = row.meaning, row.unit
    elif field is not None:
        meaning, unit = field.meaning, field.unit or ""
    else:
        source = _SAME_NAME.get(asset)
        return column_description(source, name) if source else None
    return f"{meaning} Unit: {unit}." if unit else meaning


def lineage(asset: str) -> dg.TableColumnLineage:
    """Return the columns of assets that each column is made from; columns that no asset has are left out."""
    made_from = {name: _made_from(asset, name) for name in TABLES[asset]}
    return dg.TableColumnLineage(
        {
            name: [dg.TableColumnDep(dg.AssetKey(source), column) for source, _, column in parts]
            for name, parts in made_from.items()
            if parts
        }
    )


def _made_from(asset: str, name: str) -> list[tuple[str, str, str]]:
    if row := _rows().get((asset, name)):
        return [part.partition(".") for part in row.made_from]
    source = _SAME_NAME.get(asset)
    return [(source, ".", name)] if source and name in TABLES[source] else []


@cache
def metadata(asset: str) -> Mapping[str, Any]:
    """Return both as metadata, for an asset's definition and for its materialisations alike."""
    return {"dagster/column_schema": schema(asset), "dagster/column_lineage": lineage(asset)}
