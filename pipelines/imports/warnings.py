"""Collects the warnings of an import: all are counted by code, and the first get their places in the caller's file.

A row that is warned about is stored. What belongs here: counting and placing. What does not: finding warnings
(`pipelines.writing.warn`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, cast

import polars as pl

from pipelines.imports import report
from pipelines.imports.work import Work
from pipelines.reading import Upload
from pipelines.reading.skipped import EXAMPLE
from pipelines.writing.patch import RowIssue
from schemas.messages import Message, templates
from schemas.report import ImportRowError, ImportSource, ImportWarnings
from warehouse.imports import warnings as warnings_of_imports
from warehouse.sessions import Connection

MOST_LISTED: Final = 200
"""Warnings that are listed with their places; all of them are counted."""
_SKIPPED_EXAMPLE: Final = Message("The line is an example and was left out; delete it from the sheet if you like.")


def listed(issues: Sequence[RowIssue], values: pl.DataFrame, upload: Upload, work: Work, most: int) -> ImportWarnings:
    """Return the warnings of some rows of `values`: the first `most` with their places, and the counts of all."""
    places = report.writer_faults(issues[:most], values, upload, work).drop("sheet_position", "template").to_dicts()
    for place, (_, issue) in zip(places, issues, strict=False):
        place["message"] = issue.message  # with its template, for other languages
    return {
        "warnings": cast(list[ImportRowError], places),
        "warning_counts": dict(Counter(issue.code for _, issue in issues)),
    }


def of_source(source: ImportSource) -> ImportWarnings:
    """Return the warnings of the lines that were left out as examples."""
    found: list[ImportRowError] = [
        {
            "sheet": skipped.get("sheet", source["sheet"]),
            "line": skipped["line"],
            "sku_code": None,
            "field": None,
            "column": None,
            "value": None,
            "code": "example_row_skipped",
            "message": _SKIPPED_EXAMPLE,
        }
        for skipped in source["skipped"]
        if skipped["reason"] == EXAMPLE
    ]
    return {
        "warnings": found[:MOST_LISTED],
        "warning_counts": {"example_row_skipped": len(found)} if found else {},
    }


def together(parts: Iterable[ImportWarnings]) -> ImportWarnings:
    """Return the warnings of several parts of one import, in their order, as one."""
    counts: Counter[str] = Counter()
    found: list[ImportRowError] = []
    for part in parts:
        counts.update(part["warning_counts"])
        found += part["warnings"][: MOST_LISTED - len(found)]
    return {"warnings": found, "warning_counts": dict(counts)}


def add(
    conn: Connection, work: Work, issues: Sequence[RowIssue], values: pl.DataFrame, upload: Upload, *, first: bool
) -> None:
    """Add the warnings of a chunk to those of its import, in the transaction of the chunk; `first` with the source's.

    An import without warnings costs no statement.
    """
    of_file = of_source(work.source) if first else {"warnings": [], "warning_counts": {}}
    if not issues and not of_file["warnings"]:
        return
    before = warnings_of_imports.stored(conn, work.id) or of_file
    room = max(MOST_LISTED - len(before["warnings"]), 0)
    new = listed(issues, values, upload, work, room)
    warnings_of_imports.store(conn, work.id, together([before, new]), templates(new["warnings"]))
