"""Makes the checks of assets, and evaluates them: beside the asset's own step, or within it.

`checks_of` makes all checks of an asset as one step that looks at what is stored. So they run with the asset and block
what is made from it, and they run alone, at any time, for one company or all. What is not stored yet is checked by the
step that makes it (`specs_of`, `results_of`), and such a step runs for its checks alone, too. A check tests our own
work. Faults of a caller's file are in the import's report and fail no check.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias  # Any: what a step has made, whatever its type
from uuid import UUID

import dagster as dg
import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from pipelines.engine.resources import Portfolios, Postgres, RuleSets
from pipelines.engine.runs import company_of, company_partitions
from pipelines.metadata.tables import Metadata, frame_table
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

Frames: TypeAlias = Mapping[str, tuple[pa.DataFrameSchema, pl.DataFrame]]
"""Frames by name, each with its contract."""
Made: TypeAlias = dg.MaterializeResult[None] | dg.AssetCheckResult
"""What a step of several assets yields."""
CONTRACT: Final = "contract"


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


def verdict(passed: bool, metadata: Mapping[str, Any]) -> dg.AssetCheckResult:
    """Return whether a check passes, and what it shows; `results_of` names the check."""
    return dg.AssetCheckResult(passed=passed, metadata=metadata)


class Check(NamedTuple):
    """A check: `look` returns its verdict. What warns blocks nothing: it comes right by itself, or makes no figure."""

    name: str
    description: str
    look: Callable[[Stored], dg.AssetCheckResult]
    warns: bool = False


def contract_check(read: Callable[[Stored], Frames]) -> Check:
    """Return the check that holds an asset's frames, as they are stored, against their contracts."""
    description = "The stored rows have the columns, types, bounds and vocabularies of the asset's contract."
    return Check(CONTRACT, description, lambda stored: judge(read(stored)))


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
        severity = dg.AssetCheckSeverity.WARN if check.warns else dg.AssetCheckSeverity.ERROR
        yield check.look(stored)._replace(asset_key=dg.AssetKey(asset), check_name=check.name, severity=severity)


def checks_of(asset: str, *checks: Check, by_company: bool = True) -> dg.AssetChecksDefinition:
    """Return the checks of an asset, as one step that runs behind the asset or alone."""

    @dg.multi_asset_check(name=f"check_{asset}", can_subset=True, specs=specs_of(asset, *checks, by_company=by_company))
    def look(
        context: dg.AssetCheckExecutionContext, postgres: Postgres, portfolios: Portfolios, rule_sets: RuleSets
    ) -> Iterator[dg.AssetCheckResult]:
        company_id = company_of(postgres, context) if by_company else None
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
        yield made(context, result.metadata or {}, asset)._replace(check_results=wanted)
    else:
        yield from wanted


def made(
    context: dg.AssetExecutionContext, metadata: Mapping[str, Any], asset: dg.AssetKey | None = None
) -> dg.MaterializeResult[None]:
    """Return what a step has made, an asset of several where one is named; its materialisation shows the metadata.

    In the result itself, Dagster would pack and store them once more, as what the step has put out.
    """
    context.add_asset_metadata(metadata, asset)
    return dg.MaterializeResult(asset_key=asset)


def judge(frames: Frames) -> dg.AssetCheckResult:
    """Hold each named frame against its contract; the first failing cells are in the metadata."""
    broken: dict[str, dg.TableMetadataValue] = {}
    for name, (schema, frame) in frames.items():
        try:
            schema.validate(frame, lazy=True)
        except SchemaErrors as errors:
            broken[f"{name}_failures"] = frame_table(errors.failure_cases)
    columns = sum(frame.width for _, frame in frames.values())
    metadata: Metadata = {**broken, "frames": ", ".join(frames), "columns": columns}
    return dg.AssetCheckResult(check_name=CONTRACT, passed=not broken, metadata=metadata)


def refuse_broken(sentence: str, frames: Frames) -> None:
    """Let nothing be stored that breaks its contract. Raises `dagster.Failure` with the sentence and failing cells."""
    result = judge(frames)
    if not result.passed:
        reason = f"{sentence} The cells that do are in the run's metadata."
        raise dg.Failure(reason, result.metadata, allow_retries=False)
