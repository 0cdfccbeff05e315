"""Writes rows of an import with all that they say, in the caller's transaction: a run's chunk and a preview alike."""

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

import polars as pl

from compliance.ruleset import RuleSet
from pipelines.imports import beside
from pipelines.imports.report import Work, make_records
from pipelines.writing.patch import Patch, Prepared, RowIssue
from pipelines.writing.write import write_patch
from schemas.actors import Actor
from warehouse.operate.sessions import Connection, savepoint


class WrittenRows(NamedTuple):
    """What rows became: the write of their SKUs, the accepted SKUs by outcome, and warnings of what stands beside."""

    outcome: Prepared
    counts: Counter[str]
    unkept: list[RowIssue]


def write_rows(
    conn: Connection,
    work: Work,
    writer: Actor,
    patch: Patch,
    values: pl.DataFrame,
    *,
    rules: RuleSet,
    unfit: Sequence[RowIssue] = (),
    ahead: Prepared | None = None,
) -> WrittenRows:
    """Write the typed rows `values`, of which `patch` has those to write and `unfit` the faults of others.

    A dry run does all of it and takes it back. `ahead` is that of `write_patch`. Raises `PlanLimitReached`.
    """
    source = values.select("row", import_sheet="sheet", import_line="line")
    tried = savepoint(conn) if work.dry_run and work.makes_records else nullcontext()  # takes new records back
    with tried:
        if work.makes_records:
            make_records(conn, work, patch, writer.now)
        outcome = write_patch(
            conn,
            writer,
            patch,
            rules=rules,
            dry_run=work.dry_run,
            source=source,
            import_id=work.id,
            ahead=ahead,
            keep_archived=work.keep_archived,
        )
        renumbered, unkept = beside.write_articles(conn, writer, values, outcome, dry_run=work.dry_run)
        rejected = {issue.row for issue in (*unfit, *outcome.errors)}
        changed = renumbered | beside.write(conn, writer, values, rejected, dry_run=work.dry_run)
    counts = outcome.counts
    counts.update(_counted_beside(changed, outcome))
    return WrittenRows(outcome, counts, unkept)


def _counted_beside(changed: set[str], outcome: Prepared) -> dict[str, int]:
    """Return what the SKUs beside which something changed add to the counts of rows by outcome.

    A row that changes nothing of its SKU is an update all the same where it changes what stands beside it.
    """
    written = outcome.merged.rows(("sku_code", "outcome")) if changed else ()
    more = changed - {code for code, of_sku in written if of_sku != "unchanged"}
    return {"updated": len(more), "unchanged": -len(more)} if more else {}
