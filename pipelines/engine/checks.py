"""Makes asset checks: those of an import, which its step evaluates; by one factory those of what can be made again.

`checks_of` makes all checks of an asset as one step that looks at what is stored. So they run with the asset and block
what is made from it, and they run alone, at any time, for one company or all. A check tests our own work. Faults of a
caller's file are in the import's report and fail no check.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias  # Any: Dagster's type parameter
from uuid import UUID

import dagster as dg
import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from compliance.catalogue import COMPOSITE_RULES, REGIONS, SYSTEMS
from pipelines.engine.partitions import company_of, company_partitions
from pipelines.engine.resources import Portfolios, Postgres, RuleSets
from pipelines.shown import preview
from schemas import contracts
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Pool

if TYPE_CHECKING:
    CheckedResult: TypeAlias = dg.MaterializeResult[Any]
else:  # the result type of an asset with checks: Dagster takes no other annotation, not even the class with its type
    CheckedResult = dg.MaterializeResult

Frames: TypeAlias = Mapping[str, tuple[pa.DataFrameSchema, pl.DataFrame]]
"""Frames by name, each with its contract."""

CONTRACT: Final = "contract"
COUNTS: Final = "counts_add_up"
GRADED: Final = "every_sku_has_a_grade_state"
CATALOGUE: Final = contracts.jurisdictions(REGIONS, SYSTEMS, COMPOSITE_RULES)
"""The contract that the catalogue must pass to be loaded."""


class Stored(NamedTuple):
    """What checks look at: the service's data, those of one company for an asset with a partition for each.

    `value` is what the asset hands on, where it hands on something that is not stored yet.
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


def checks_of(
    asset: str, *checks: Check, by_company: bool = True, value: type | None = None
) -> dg.AssetChecksDefinition:
    """Return the checks of an asset, one step that runs behind the asset or alone; what fails blocks unless it warns.

    An asset `by_company` has a verdict for each company, so that one company's pass hides no other's failure. `value`
    is the type of what the asset hands on, where its checks look at that.
    """
    by_name = {check.name: check for check in checks}

    def verdicts(context: dg.AssetCheckExecutionContext, stored: Stored) -> Iterator[dg.AssetCheckResult]:
        if by_company:
            stored = stored._replace(company_id=company_of(stored.pool, context.partition_key))
        for key in context.selected_asset_check_keys:
            check = by_name[key.name]
            severity = dg.AssetCheckSeverity.WARN if check.warns else dg.AssetCheckSeverity.ERROR
            passed, metadata = check.look(stored)
            yield dg.AssetCheckResult(
                passed=passed, asset_key=asset, check_name=check.name, severity=severity, metadata=metadata
            )

    def of_stored(
        context: dg.AssetCheckExecutionContext, postgres: Postgres, portfolios: Portfolios, rule_sets: RuleSets
    ) -> Iterator[dg.AssetCheckResult]:
        yield from verdicts(context, Stored(postgres, portfolios, rule_sets))

    def of_value(
        context: dg.AssetCheckExecutionContext,
        value: object,
        postgres: Postgres,
        portfolios: Portfolios,
        rule_sets: RuleSets,
    ) -> Iterator[dg.AssetCheckResult]:
        yield from verdicts(context, Stored(postgres, portfolios, rule_sets, value=value))

    of_value.__annotations__["value"] = value  # by which Dagster and the outputs' store know what to load
    return dg.multi_asset_check(
        name=f"check_{asset}",
        ins={} if value is None else {"value": dg.AssetKey(asset)},
        can_subset=True,
        specs=[
            dg.AssetCheckSpec(
                check.name,
                asset=asset,
                description=check.description,
                blocking=not check.warns,
                partitions_def=company_partitions if by_company else None,
            )
            for check in checks
        ],
    )(of_stored if value is None else of_value)


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


def contract_spec(asset: str) -> dg.AssetCheckSpec:
    """Return the blocking contract check of an asset of an import, which its step evaluates."""
    return dg.AssetCheckSpec(
        CONTRACT,
        asset=asset,
        blocking=True,
        partitions_def=company_partitions,
        description="The frame has the columns, types, bounds and vocabularies of the field table.",
    )


def contract(frames: Frames) -> dg.AssetCheckResult:
    """Return the result of that check."""
    return dg.AssetCheckResult(check_name=CONTRACT, **judge(frames)._asdict())


def counts_add_up(*, decided: int, by_outcome: dict[str, int], rows_done: int, rows_total: int) -> dg.AssetCheckResult:
    """Check that a completed import has an outcome for every SKU and has read every line."""
    total = sum(by_outcome.values())
    return dg.AssetCheckResult(
        check_name=COUNTS,
        passed=decided == total and rows_done == rows_total,
        metadata={"expected_skus": decided, "counted_skus": total, "lines_done": rows_done, "lines": rows_total},
    )


def all_graded(ungraded: int, graded: int) -> dg.AssetCheckResult:
    """Check that every accepted SKU has a grade; not_assessed is a grade state, null is none."""
    return dg.AssetCheckResult(
        check_name=GRADED, passed=ungraded == 0, metadata={"ungraded": ungraded, "graded": graded}
    )
