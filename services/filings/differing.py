"""Finds kept declarations that say something else than today's record, and first declarations that are kept twice.

Compared are the figures as filed, read from the kept bytes, with those that the company's current snapshot gives by
today's rules and catalogue: the snapshot that a declaration was made from is not kept that long. A difference is no
fault by itself (the record may have been completed since); whether to correct is the company's decision, and nothing
stored is changed. Of a declaration that was corrected its newest correction is compared.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias, TypedDict  # Any: JSON

import orjson
import polars as pl

from compliance.filings.document import tonnes_rows
from compliance.filings.uk.rows import DRINKS, RATINGS, Producer, Statements
from compliance.filings.uk.rules import FileRefused
from pipelines import filings
from pipelines.filings import Inputs, NotDeclarable
from schemas.json_values import JsonMapping
from warehouse import filings as filings_warehouse
from warehouse.filings import Standing
from warehouse.operate.sessions import Connection

Figures: TypeAlias = Mapping[str, tuple[Decimal, ...]]
"""The figures of a declaration by category code, or by the row of the UK file."""
_SHARES: Final = ("tonnes", "in_scope_tonnes", "undecided_tonnes", "out_of_scope_tonnes")
_NOT_COMPARED: Final = "No snapshot of this release is published yet: nothing was compared."
_WEIGHT: Final = "packaging_material_weight"
_UNITS: Final = "packaging_material_units"


class ChangedDeclaration(TypedDict):
    """A kept declaration whose figures would be others now.

    `filed` and `now` are tonnes in scope (kilograms of the UK file), `now` None where it would be refused; `differs`
    names the categories, or rows of the UK file, that would be others. `compared_with` is the instant of the snapshot,
    None where there is none of this release yet: then nothing was compared, and every declaration is listed.
    """

    id: str
    market: str
    year: int
    half: int
    format: str
    kept_at: str
    compared_with: str | None
    filed: Decimal
    now: Decimal | None
    differs: list[str]
    why: str


class DoubleDeclaration(TypedDict):
    """Equal first declarations of one period, the oldest first: all but one should have been corrections of it."""

    market: str
    year: int
    half: int
    format: str
    ids: list[str]


def double_declarations(conn: Connection) -> list[DoubleDeclaration]:
    """Return the equal first declarations of the session's company, which were kept before they were refused."""
    return [
        {"market": market, "year": year, "half": half, "format": form, "ids": [str(each) for each in ids]}
        for market, year, half, form, ids in filings_warehouse.doubles(conn)
    ]


def changed_declarations(conn: Connection, inputs: Inputs | None) -> list[ChangedDeclaration]:
    """Return the kept declarations of the session's company whose figures the inputs do not give, oldest first."""
    if inputs is None:
        return [_row(each, None, _filed(each), None, _NOT_COMPARED) for each in filings_warehouse.standing(conn)]
    rolled = _Rolled(inputs)
    return [found for standing in filings_warehouse.standing(conn) if (found := _changed(rolled, standing)) is not None]


class _Rolled:
    """The figures of a company by market and year, each computed once."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._by_year: dict[tuple[str, int], Any] = {}

    def figures(self, market: str, year: int, half: int) -> Figures:
        """Return the figures of a period by category code."""
        if (market, year) not in self._by_year:
            self._by_year[market, year] = filings.figures(self.inputs, market, year)
        return _by_category(tonnes_rows(self._by_year[market, year], market, year, half))

    def uk_rows(self, standing: Standing) -> Figures:
        """Return the rows of the UK file by what they are about. Raises `FileRefused`."""
        ratings, drinks = ([list(each.values()) for each in standing.stated[name]] for name in ("ratings", "drinks"))
        statements = Statements(
            Producer(**standing.producer or {"organisation_id": ""}),
            standing.year,
            standing.half,
            pl.DataFrame(ratings, schema=RATINGS, orient="row"),
            pl.DataFrame(drinks, schema=DRINKS, orient="row"),
        )
        return _by_uk_row(filings.uk_file(self.inputs, statements).rows)


def _changed(rolled: _Rolled, standing: Standing) -> ChangedDeclaration | None:
    filed, why = _filed(standing), "The record or the rules give other figures now."
    now: Figures | None
    try:
        if standing.format == "rpd":
            now = rolled.uk_rows(standing)
        else:
            now = rolled.figures(standing.market, standing.year, standing.half)
    except (FileRefused, NotDeclarable, OverflowError, ValueError) as refused:
        now, why = None, f"It would be refused now: {refused}"
    return None if now == filed else _row(standing, rolled.inputs.source.as_of, filed, now, why)


def _row(
    standing: Standing, compared_with: str | None, filed: Figures, now: Figures | None, why: str
) -> ChangedDeclaration:
    total = partial(_total, of_scope=standing.format != "rpd")
    return {
        "id": str(standing.id),
        "market": standing.market,
        "year": standing.year,
        "half": standing.half,
        "format": standing.format,
        "kept_at": standing.created_at.isoformat().replace("+00:00", "Z"),
        "compared_with": compared_with,
        "filed": total(filed),
        "now": None if now is None else total(now),
        "differs": [] if now is None else sorted(key for key in {*filed, *now} if filed.get(key) != now.get(key)),
        "why": why,
    }


def _total(found: Figures, *, of_scope: bool) -> Decimal:
    return sum((values[1 if of_scope else 0] for values in found.values()), Decimal(0))


def _filed(standing: Standing) -> Figures:
    """Return the figures of a kept declaration from its own bytes."""
    if standing.format == "json":
        document: JsonMapping = orjson.loads(standing.content)
        return _by_category(document["tonnes"])
    rows = csv.DictReader(io.StringIO(standing.content.decode("utf-8-sig"), newline=""))
    return _by_uk_row(rows) if standing.format == "rpd" else _by_category(rows)


def _by_category(rows: Iterable[Any]) -> Figures:
    """Return tonnes in all and by scope of each category, to six places as they are written."""
    return {
        row["category_code"].removeprefix("'"): tuple(
            Decimal(str(row[name])).quantize(Decimal("0.000001")) for name in _SHARES
        )
        for row in rows
    }


def _by_uk_row(rows: Iterable[Any]) -> Figures:
    """Return kilograms and units of each row by its other cells."""
    return {
        " ".join(cell for name, cell in row.items() if name not in (_WEIGHT, _UNITS) and cell): (
            Decimal(row[_WEIGHT] or 0),
            Decimal(row[_UNITS] or 0),
        )
        for row in rows
    }
