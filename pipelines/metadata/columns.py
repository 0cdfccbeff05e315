"""Tells analysts what each column of an asset means and what it is made from: `columns.csv`, and the field table."""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final  # Any: Dagster's metadata takes any value

import dagster as dg
import polars as pl

from compliance.catalogue import COMPOSITE_RULES, REGIONS, SYSTEMS
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS
from compliance.rollup.tonnes import TONNES_SCHEMA
from pipelines.figures import OBLIGATION_SCHEMA
from pipelines.filings import FILING_SCHEMA
from schemas import contracts
from schemas.fields import SKU
from warehouse.figures import source
from warehouse.skus.tables import DTYPES

CATALOGUE: Final = contracts.jurisdictions(REGIONS, SYSTEMS, COMPOSITE_RULES)
"""The contract that the catalogue must pass to be loaded."""
_GRADE: Final = {
    name: source.SKUS[name]
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
    "portfolio_snapshot": {**source.SKUS, **_PARTS},
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


@cache
def _rows() -> Mapping[tuple[str, str], Mapping[str, str]]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {(row["asset"], row["column"]): row for row in csv.DictReader(file)}


def frame_schema(frame: pl.DataFrame) -> dg.TableSchema:
    """Return a frame's columns, of fields of SKUs, with type, meaning and unit."""
    columns = [dg.TableColumn(name, str(dtype), _meaning("", name)) for name, dtype in frame.schema.items()]
    return dg.TableSchema(columns=columns)


def _meaning(asset: str, name: str) -> str | None:
    """Return the meaning of an asset's column, with its unit; None where it has no description."""
    row, field = _rows().get((asset, name)), SKU.get(name)
    if row is not None:
        meaning, unit = row["meaning"], row["unit"]
    elif field is not None:
        meaning, unit = field.meaning, field.unit or ""
    else:
        return _meaning(_SAME_NAME[asset], name) if asset in _SAME_NAME else None
    return f"{meaning} Unit: {unit}." if unit else meaning


def lineage(asset: str) -> dg.TableColumnLineage:
    """Return the columns of assets that each column is made from; columns that no asset has are left out."""
    made_from = {name: _made_from(asset, name) for name in TABLES[asset]}
    return dg.TableColumnLineage({name: parts for name, parts in made_from.items() if parts})


def _made_from(asset: str, name: str) -> list[dg.TableColumnDep]:
    if row := _rows().get((asset, name)):
        parts = [part.partition(".") for part in row["made_from"].split()]
        return [dg.TableColumnDep(dg.AssetKey(source), column) for source, _, column in parts]
    same = _SAME_NAME.get(asset)
    return [dg.TableColumnDep(dg.AssetKey(same), name)] if same and name in TABLES[same] else []


@cache
def metadata(asset: str) -> Mapping[str, Any]:
    """Return an asset's columns and their lineage, for its definition and for its materialisations alike."""
    columns = [dg.TableColumn(name, str(dtype), _meaning(asset, name)) for name, dtype in TABLES[asset].items()]
    return {"dagster/column_schema": dg.TableSchema(columns=columns), "dagster/column_lineage": lineage(asset)}
