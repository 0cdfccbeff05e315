"""Writes the parts of `source` about a table: the columns read and ignored, and the effect of the caller's mapping."""

from collections.abc import Iterable

from pipelines.reading.fields import LONGEST_HEADER, Column
from pipelines.reading.grid import letter
from pipelines.reading.samples import Samples
from pipelines.reading.sheet import Sheet
from schemas.report import IgnoredColumn, MappedBy, SourceColumn


def published_columns(columns: Iterable[Column], samples: Samples) -> list[SourceColumn]:
    """Return the columns of the file that are read, without constants of the mapping."""
    return [
        {
            "field": c.name,
            "column": letter(c.position),
            "header": _cut(c.header),
            "samples": samples.get(c.position, []),
        }
        for c in columns
        if c.constant is None
    ]


def published_ignored(ignored: Iterable[tuple[int, str]], samples: Samples) -> list[IgnoredColumn]:
    """Return the columns that are not read."""
    return [{"column": letter(at), "header": _cut(header), "samples": samples.get(at, [])} for at, header in ignored]


def published_mapping(sheet: Sheet) -> MappedBy:
    """Return the effect of the mapping: fields whose column it names, fields switched off, constants, values."""
    return {
        "mapped": list(dict.fromkeys(c.name for c in sheet.columns if c.mapped and c.constant is None)),
        "switched_off": [
            {"field": name, "column": None if at is None else letter(at), "header": header}
            for name, at, header in sheet.off
        ],
        "constants": {c.name: c.constant for c in sheet.columns if c.constant is not None},
        "values": {rewriting.column.name: dict(rewriting.sent) for rewriting in sheet.mapped.values},
    }


def _cut(header: str) -> str:
    """Return a header as it is published: cut where it is too long to be one."""
    return header if len(header) <= LONGEST_HEADER else header[:LONGEST_HEADER] + "…"
