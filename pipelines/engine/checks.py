"""Defines the specifications of asset checks, and makes the verdicts that assets return with their result.

A check tests our own work. Faults of a caller's file are in the import's report and fail no check.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias  # Any: Dagster's type parameter

import dagster as dg
import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from compliance.catalogue import COMPOSITE_RULES, EU_MEMBER_STATES, MONEY, REGIONS, SYSTEMS, is_iso_3166
from pipelines.engine.partitions import company_partitions
from pipelines.shown import preview
from schemas import contracts
from warehouse.snapshots import Snapshot

if TYPE_CHECKING:
    CheckedResult: TypeAlias = dg.MaterializeResult[Any]
else:  # the result type of an asset with checks: Dagster takes no other annotation, not even the class with its type
    CheckedResult = dg.MaterializeResult


CONTRACT: Final = "contract"
COUNTS: Final = "counts_add_up"
GRADED: Final = "every_sku_has_a_grade_state"


def contract_spec(asset: str) -> dg.AssetCheckSpec:
    """Return the blocking contract check of an asset that produces a frame."""
    return dg.AssetCheckSpec(
        CONTRACT,
        asset=asset,
        blocking=True,
        partitions_def=company_partitions,
        description="The frame has the columns, types, bounds and vocabularies of the field table.",
    )


def contract(frames: dict[str, tuple[pa.DataFrameSchema, pl.DataFrame]]) -> dg.AssetCheckResult:
    """Check each named frame against its contract; the first failing cells are in the metadata."""
    broken: dict[str, dg.TableMetadataValue] = {}
    for name, (schema, frame) in frames.items():
        try:
            schema.validate(frame, lazy=True)
        except SchemaErrors as errors:
            broken[f"{name}_failures"] = preview.frame_table(errors.failure_cases)
    return dg.AssetCheckResult(
        check_name=CONTRACT,
        passed=not broken,
        metadata={**broken, "frames": ", ".join(frames), "columns": sum(f.width for _, f in frames.values())},
    )


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


SNAPSHOT_SPECS: Final = [
    dg.AssetCheckSpec(
        "holds_every_sku",
        asset="portfolio_snapshot",
        blocking=True,
        partitions_def=company_partitions,
        description="As many SKUs as the company's counter, which each write keeps.",
    ),
    dg.AssetCheckSpec(
        "holds_every_write",
        asset="portfolio_snapshot",
        partitions_def=company_partitions,
        description="The last link of the audit chain; a write that came meanwhile is published within a minute.",
    ),
]


def snapshot(published: Snapshot, *, skus: int, links: int) -> list[dg.AssetCheckResult]:
    """Compare a snapshot with the counters read after it: newer writes excuse other numbers."""
    whole = {"rows": published.rows["skus"], "counter": skus, "number": published.number, "last_number": links}
    newest = published.number == links
    return [
        dg.AssetCheckResult(
            check_name="holds_every_sku", passed=not newest or published.rows["skus"] == skus, metadata=whole
        ),
        dg.AssetCheckResult(
            check_name="holds_every_write", passed=newest, severity=dg.AssetCheckSeverity.WARN, metadata=whole
        ),
    ]


CATALOGUE_SPECS: Final = [
    dg.AssetCheckSpec(name, asset="jurisdiction_catalogue", description=description)
    for name, description in {
        CONTRACT: "Every row has the columns, types, bounds and vocabularies of the catalogue; it is not loaded else.",
        "codes_valid": "Every code is an ISO 3166 country or subdivision.",
        "eu_and_gb_present": "All 27 Member States of the Union and the United Kingdom are served.",
        "sources_present": "Every row names where it comes from.",
        "no_amount_of_money": "No cell holds a fee or any other amount of money.",
    }.items()
]


CATALOGUE: Final = contracts.jurisdictions(REGIONS, SYSTEMS, COMPOSITE_RULES)
"""The contract that the catalogue must pass to be loaded."""


def catalogue(stored: Mapping[str, Mapping[str, object]]) -> list[dg.AssetCheckResult]:
    """Check the stored catalogue, whatever file it came from."""
    states = [code for code, row in stored.items() if row["region"] == "eu" and row["in_catalogue"] and len(code) == 2]
    wrong = {
        "codes_valid": [code for code in stored if not is_iso_3166(code)],
        "eu_and_gb_present": [] if len(states) == EU_MEMBER_STATES and "GB" in stored else sorted(states),
        "sources_present": [code for code, row in stored.items() if not (row["source_url"] or row["source_note"])],
        "no_amount_of_money": [
            code for code, row in stored.items() if MONEY.search(" | ".join(map(str, row.values())))
        ],
    }
    return [
        dg.AssetCheckResult(
            check_name=name, passed=not codes, metadata={"rows": len(stored), "wrong_codes": ", ".join(codes) or "none"}
        )
        for name, codes in wrong.items()
    ]
