"""Reads columns whose header names a substance alone, by their cells: `PFAS` over yes and no, or over `compliant`.

What a substance's column says in words for a status is its status; where it says yes and no it is whether the substance
is there. `PFAS-free` over yes and no says the contrary, and is asked about with the answer in the file's own words.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pipelines.reading.column_values import Searched, has_numbers
from pipelines.reading.columns import recognise
from pipelines.reading.grid import Column, fields_of
from schemas.words import code_of

_STATUS: Final = {"pfas_intentional": "pfas_status", "svhc_declared": "svhc_status", "bpa_present": "bpa_status"}
"""Field of whether a substance is there -> field of its status."""
_SUM: Final = "heavy_metals_sum_ppm"
_FREE: Final = frozenset({"free", "free of", "frei", "libre", "libre de", "exempt", "exempt de", "vrij", "wolne od"})


_UNITS: Final = frozenset({"ppb", "ppm", "mg", "µg", "%"})
_OF_LIMIT: Final = {"pfas_value": {"ppb"}, "svhc_value": {"%"}, "bpa_value": _UNITS}
"""The units in which a value may be that has none of its own: that of its limit; bisphenol A has none."""


def with_statuses(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns, those of a substance as its status where their cells are statuses; over numbers none."""
    return [judged for column in columns if (judged := _by_cells(column, header)) is not None]


def _by_cells(column: Column, header: Searched) -> Column | None:
    name = column.field.name
    is_bare = name == "heavy_metals_status" and "stat" not in column.header.casefold()
    if column.exact or column.mapped or column.group or not (is_bare or name in _STATUS):
        return column
    if name in _STATUS and _has_measures(header, column.position):
        return None
    texts = header.under(column.position).unique()
    statuses = sum(code_of(text, "substance_status") is not None for text in texts)
    truths = sum(code_of(text, "truth") is not None for text in texts)
    if is_bare:
        return column if statuses > 0 else None
    return as_status(column) if statuses > truths else column


def as_status(column: Column) -> Column:
    """Return the column of whether a substance is there, or of a sum, as that of its status."""
    name = {**_STATUS, _SUM: "heavy_metals_status"}[column.field.name]
    return replace(column, name=column.name.replace(column.field.name, name), field=fields_of(column.table)[name])


def of_substance(column: Column | None, at: int, cell: str, header: Searched) -> Column | None:
    """Return the column of a header that is asked about, or none, as the status or the value of a substance.

    `BPA free` is of its status, and one over numbers is its value, where no unit but that of its limit stands beside.
    """
    known = column or recognise(cell, at, header.table)
    if known is None or known.field.name not in (*_STATUS, _SUM):
        return column
    if not _has_measures(header, at):
        return as_status(known) if column is not None and _status_of_yes(column) else column
    if known.field.name == _SUM:
        return column
    name = _STATUS[known.field.name].replace("_status", "_value")
    units = {unit for unit in _UNITS if unit in cell.casefold()}
    if not units <= _OF_LIMIT[name]:
        return None
    return replace(known, name=name, field=fields_of(known.table)[name], position=at, open=known.open or cell)


def _has_measures(header: Searched, at: int) -> bool:
    """Return whether the cells below a header are numbers, and not 0 and 1 alone, which are no and yes."""
    return has_numbers(header, at) and not {*header.under(at).unique()} <= {"0", "1"}


def _status_of_yes(column: Column) -> tuple[str, str] | None:
    """Return the statuses that yes and no are below `PFAS-free` and `PFAS < 25 ppb`; None for other headers."""
    said = column.open or ""
    if said.startswith(("<", "≤")):
        return "below_limit", "above_limit"
    return ("absent", "unknown") if said in _FREE else None


def answers_of_absence(column: Column, header: Searched) -> dict[str, str]:
    """Return what the cells below `PFAS-free` mean: yes that the substance is absent, no that its status is unknown.

    Below `< 25 ppb` yes is below the limit and no above it.
    """
    of_yes = _status_of_yes(column)
    if of_yes is None or column.field.vocabulary != "substance_status":
        return {}
    status = dict(zip(("true", "false"), of_yes, strict=True))
    said = ((text, status.get(code_of(text, "truth") or "")) for text in header.under(column.position).unique())
    return {text: code for text, code in sorted(said) if code is not None}
