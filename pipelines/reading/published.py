"""Writes the parts of `source` about a table: the columns read and ignored, and the effect of the caller's mapping."""

from collections.abc import Iterable, Sequence

from pipelines.reading.fields import LONGEST_HEADER, Column
from pipelines.reading.grid import letter
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.samples import Samples
from schemas.report import IgnoredColumn, MappedBy, SourceColumn


def published_columns(columns: Iterable[Column]) -> list[SourceColumn]:
    """Return the columns of the file that are read, without constants of the mapping."""
    return [
        {"field": c.name, "column": letter(c.position), "header": _cut(c.header)} for c in columns if c.constant is None
    ]


def published_ignored(ignored: Iterable[tuple[int, str]]) -> list[IgnoredColumn]:
    """Return the columns that are not read."""
    return [{"column": letter(at), "header": _cut(header)} for at, header in ignored]


def published_samples(samples: Samples) -> dict[str, list[str]]:
    """Return texts of the columns by letter, for people who choose the fields; empty columns have none."""
    return {letter(at): texts for at, texts in samples.items() if texts}


def published_mapping(
    columns: Sequence[Column], off: Iterable[tuple[str, int | None, str | None]], mapped: SheetMapping
) -> MappedBy:
    """Return the effect of the mapping: fields whose column it names, fields switched off, constants, values.

    `off` are the fields switched off, each with the column that it would have been read from.
    """
    effect: MappedBy = {
        "mapped": list(dict.fromkeys(c.name for c in columns if c.mapped and c.constant is None)),
        "switched_off": [
            {"field": name, "column": None if at is None else letter(at), "header": header} for name, at, header in off
        ],
        "constants": {c.name: c.constant for c in columns if c.constant is not None},
        "values": {rewriting.column.name: dict(rewriting.sent) for rewriting in mapped.values if rewriting.sent},
    }
    if mapped.header_row is not None:
        effect["header_row_mapped"] = True
    return effect


def _cut(header: str) -> str:
    """Return a header as it is published: cut where it is too long to be one."""
    return header if len(header) <= LONGEST_HEADER else header[:LONGEST_HEADER] + "…"
