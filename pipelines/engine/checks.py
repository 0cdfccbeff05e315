"""Makes the checks of assets, and evaluates them: beside the asset's own step, or within it.

`checks_of` makes all checks of an asset as one step that looks at what is stored. So they run with the asset and block
what is made from it, and they run alone, at any time, for one company or all. What is not stored yet is checked by the
step that makes it (`specs_of`, `results_of`), and such a step runs for its checks alone, too. A check tests our own
work. Faults of a caller's file are in the import's report and fail no check.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias  # Any: Dagster's metadata takes any value
from uuid import UUID

import dagster as dg
import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from compliance.catalogue import COMPOSITE_RULES, REGIONS, SYSTEMS
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS
from compliance.rollup.tonnes import TONNES_SCHEMA
from pipelines.engine import preview
from pipelines.engine.resources import Portfolios, Postgres, RuleSets
from pipelines.engine.tags import company_of, company_partitions
from pipelines.figures import OBLIGATION_SCHEMA
from pipelines.filings import FILING_SCHEMA
from schemas import contracts
from schemas.fields import SKU
from warehouse.figures import source as source_figures
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets
from warehouse.skus.tables import DTYPES

Frames: TypeAlias = Mapping[str, tuple[pa.DataFrameSchema, pl.DataFrame]]
"""Frames by name, each with its contract."""
Made: TypeAlias = dg.MaterializeResult[None] | dg.AssetCheckResult
"""What a step of several assets yields."""

CONTRACT: Final = "contract"
CATALOGUE: Final = contracts.jurisdictions(REGIONS, SYSTEMS, COMPOSITE_RULES)
"""The contract that the catalogue must pass to be loaded."""


class Stored(NamedTuple):
    """What checks look at: the service's data, those of one company for an asset with a partition for each.

    `value` is what the step has made, where that is not stored yet.
    """

    pool: Pool
    folder: Path
    registry: Rulesets
    company_id: UUID | None = None
    value: Any = None

    @property
    def company(self) -> UUID:
        """Return the run's company."""
        assert self.company_id is not None, "the asset has a partition for each company"
        return self.company_id


class Verdict(NamedTuple):
    """Whether a check passes, and what it shows."""

    passed: bool
    metadata: Mapping[str, Any]


class Check(NamedTuple):
    """A check: `look` returns its verdict. One that warns blocks nothing, and is of what comes right by itself."""

    name: str
    description: str
    look: Callable[[Stored], Verdict]
    warns: bool = False


def contract_check(read: Callable[[Stored], Frames]) -> Check:
    """Return the check that holds an asset's frames, as they are stored, against their contracts."""
    return Check(
        CONTRACT,
        "The stored rows have the columns, types, bounds and vocabularies of the asset's contract.",
        lambda stored: judge(read(stored)),
    )


def specs_of(asset: str, *checks: Check, by_company: bool = True) -> list[dg.AssetCheckSpec]:
    """Return what Dagster knows of an asset's checks; what fails blocks unless it warns.

    An asset `by_company` has a verdict for each company, so that one company's pass hides no other's failure.
    """
    return [
        dg.AssetCheckSpec(
            check.name,
            asset=asset,
            description=check.description,
            blocking=not check.warns,
            partitions_def=company_partitions if by_company else None,
        )
        for check in checks
    ]


def results_of(asset: str, checks: Iterable[Check], stored: Stored) -> Iterator[dg.AssetCheckResult]:
    """Look at what an asset's checks look at, and yield the result of each."""
    for check in checks:
        passed, metadata = check.look(stored)
        severity = dg.AssetCheckSeverity.WARN if check.warns else dg.AssetCheckSeverity.ERROR
        yield dg.AssetCheckResult(
            passed=passed, asset_key=asset, check_name=check.name, severity=severity, metadata=metadata
        )


def checks_of(asset: str, *checks: Check, by_company: bool = True) -> dg.AssetChecksDefinition:
    """Return the checks of an asset, as one step that runs behind the asset or alone."""

    @dg.multi_asset_check(name=f"check_{asset}", can_subset=True, specs=specs_of(asset, *checks, by_company=by_company))
    def look(
        context: dg.AssetCheckExecutionContext, postgres: Postgres, portfolios: Portfolios, rule_sets: RuleSets
    ) -> Iterator[dg.AssetCheckResult]:
        company_id = company_of(postgres, context.partition_key) if by_company else None
        chosen = {key.name for key in context.selected_asset_check_keys}
        stored = Stored(postgres, portfolios, rule_sets, company_id)
        yield from results_of(asset, [check for check in checks if check.name in chosen], stored)

    return look


def chosen(context: dg.AssetExecutionContext, result: dg.MaterializeResult[None]) -> Iterator[Made]:
    """Yield what a run is to show of an asset that its step has made: all of it, its checks alone, or nothing."""
    asset = result.asset_key
    assert asset is not None, "a step of several assets names each"
    checks_chosen = {key.name for key in context.selected_asset_check_keys if key.asset_key == asset}
    wanted = [check._replace(asset_key=asset) for check in result.check_results if check.check_name in checks_chosen]
    if asset in context.selected_asset_keys:
        yield result._replace(check_results=wanted)
    else:
        yield from wanted


def judge(frames: Frames) -> Verdict:
    """Hold each named frame against its contract; the first failing cells are in the metadata."""
    broken: dict[str, dg.TableMetadataValue] = {}
    for name, (schema, frame) in frames.items():
        try:
            schema.validate(frame, lazy=True)
        except SchemaErrors as errors:
            broken[f"{name}_failures"] = preview.frame_table(errors.failure_cases)
    shown = {"frames": ", ".join(frames), "columns": sum(frame.width for _, frame in frames.values())}
    return Verdict(not broken, {**broken, **shown})


def refuse_broken(sentence: str, frames: Frames) -> None:
    """Let nothing be stored that breaks its contract. Raises `dagster.Failure` with the sentence and failing cells."""
    passed, metadata = judge(frames)
    if not passed:
        raise dg.Failure(f"{sentence} The cells that do are in the run's metadata.", metadata, allow_retries=False)


def contract(frames: Frames) -> dg.AssetCheckResult:
    """Return the result of the contract check that a step evaluates of what it makes."""
    return dg.AssetCheckResult(check_name=CONTRACT, **judge(frames)._asdict())


_GRADE: Final = {
    name: source_figures.SKUS[name]
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
    "portfolio_snapshot": {**source_figures.SKUS, **_PARTS},
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
    with (Path(__file__).parent / "checks.csv").open(encoding="utf-8", newline="") as file:
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
