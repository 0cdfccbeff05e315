"""Writes the forms of a declaration as bytes: JSON, CSV by scheme category, the UK file, and the two files beside them.

Numbers are written as exact decimals. Line ends are those of RFC 4180; the encoding is UTF-8.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import orjson

from compliance.declarations.document import ARCHIVED, MISSING_COLUMNS, TONNES_COLUMNS, UNCOUNTED_COLUMNS
from compliance.declarations.uk.tables import columns
from schemas.formulas import harmless


def as_json(document: Mapping[str, object]) -> bytes:
    """Write a document as one JSON object, its decimals as numbers with every digit."""
    return orjson.dumps(document, default=_number, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def compact_json(value: object) -> bytes:
    """Write a value as JSON without white space, its decimals as numbers with every digit."""
    return orjson.dumps(value, default=_number)


def tonnes_csv(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write the rows of `tonnes`, a column each."""
    return _csv(TONNES_COLUMNS, ([_cell(row[name]) for name in TONNES_COLUMNS] for row in rows))


def uk_csv(rows: Iterable[Mapping[str, str]]) -> bytes:
    """Write the UK file: its header and rows, all cells unchanged."""
    return _csv(columns(), (row.values() for row in rows))


def uncounted_csv(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write the uncounted SKUs, `fields` joined by `; ` (decisions §11)."""
    return _listed(UNCOUNTED_COLUMNS, rows)


def missing_csv(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write the missing facts that decide whether a category covers a SKU; codes and fields are joined by `; `."""
    return _listed(MISSING_COLUMNS, rows)


def _listed(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write SKUs under these columns; the column `archived` stands behind them where one of the SKUs is archived."""
    every = list(rows)
    names = (*columns, ARCHIVED) if any(ARCHIVED in row for row in every) else columns
    return _csv(names, ([_cell(row.get(name)) for name in names] for row in every))


def table_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write rows under these columns, each cell as text."""
    return _csv(columns, ([_cell(row[name]) for name in columns] for row in rows))


def explained_csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Write the SKUs behind a figure, a SKU a row, under the names of the first."""
    return _csv(list(rows[0]), ([_cell(value) for value in row.values()] for row in rows))


def source_json(source: Mapping[str, object], declaration: bytes) -> bytes:
    """Write the origin of a file that has no field for it, and the SHA-256 of its bytes."""
    return as_json({**source, "sha256": hashlib.sha256(declaration).hexdigest()})


def _csv(header: Sequence[str], rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _cell(value: object) -> str:
    """Return a value as text; one that is no number and that a spreadsheet would compute gets a `'`."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return harmless("; ".join(value) if isinstance(value, list) else str(value))


def _number(value: object) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    raise TypeError(type(value).__name__)
