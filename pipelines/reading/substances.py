"""Reads columns whose header names a substance alone, by their cells: `PFAS` over yes and no, or over `compliant`.

What a substance's column says in words for a status is its status; where it says yes and no it is whether the substance
is there. `PFAS-free` over yes and no says the contrary, and is asked about with the answer in the file's own words.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pipelines.reading.column_values import Searched
from pipelines.reading.grid import Column, fields_of
from schemas.words import code_of

_STATUS: Final = {"pfas_intentional": "pfas_status", "svhc_declared": "svhc_status", "bpa_present": "bpa_status"}
"""Field of whether a substance is there -> field of its status."""
_FREE: Final = frozenset({"free", "free of", "frei", "libre", "libre de", "exempt", "exempt de", "vrij", "wolne od"})


def with_statuses(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns, those of a substance as its status where their cells are statuses; of others none."""
    return [judged for column in columns if (judged := _by_cells(column, header)) is not None]


def _by_cells(column: Column, header: Searched) -> Column | None:
    name = column.field.name
    is_bare = name == "heavy_metals_status" and "stat" not in column.header.casefold()
    if column.exact or column.mapped or column.group or not (is_bare or name in _STATUS):
        return column
    texts = header.under(column.position).unique()
    statuses = sum(code_of(text, "substance_status") is not None for text in texts)
    truths = sum(code_of(text, "truth") is not None for text in texts)
    if is_bare:
        return column if statuses > 0 else None
    return as_status(column) if statuses > truths else column


def as_status(column: Column) -> Column:
    """Return the column of whether a substance is there as that of its status."""
    name = _STATUS[column.field.name]
    return replace(column, name=column.name.replace(column.field.name, name), field=fields_of(column.table)[name])


def of_absence(column: Column | None) -> Column | None:
    """Return an open column that says a packaging is free of a substance as one of the status; another one as it is."""
    is_free = column is not None and column.open in _FREE and column.field.name in _STATUS
    return as_status(column) if is_free and column is not None else column


def answers_of_absence(column: Column, header: Searched) -> dict[str, str]:
    """Return what the cells below `PFAS-free` mean: yes that the substance is absent, no that its status is unknown."""
    if column.open not in _FREE or column.field.vocabulary != "substance_status":
        return {}
    status = {"true": "absent", "false": "unknown"}
    said = ((text, status.get(code_of(text, "truth") or "")) for text in header.under(column.position).unique())
    return {text: code for text, code in sorted(said) if code is not None}
