"""Defines the daily housekeeping job."""

import dagster as dg

from pipelines.defs.housekeeping.ops import (
    anonymised_addresses,
    audit_heads,
    expired_access,
    expired_docs,
    expired_exports,
    kept_answers,
    old_runs,
    old_snapshots,
    orphan_objects,
)


@dg.job(description="Once a day: what is old or orphaned goes; declarations that have expired are entered.")
def keep_house() -> None:
    """The ops are independent of each other: where one fails, the others still run."""
    for op in (
        orphan_objects,
        kept_answers,
        expired_access,
        anonymised_addresses,
        audit_heads,
        expired_docs,
        expired_exports,
        old_snapshots,
        old_runs,
    ):
        op()
