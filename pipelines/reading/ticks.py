"""Reads ticks under names of markets and of materials: `DE | FR | AT` and `Glass | Plastic` over `x`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from pipelines.reading.column_values import Searched
from pipelines.reading.columns import is_bare_material
from pipelines.reading.grammar import tokens_of
from pipelines.reading.grid import Column, fields_of
from pipelines.reading.placed import is_of_selling, is_served, market_of
from pipelines.reading.words import family_of_detail
from schemas.words import code_of, fold, words

_TICK: Final = r"^\s*[01]\s*$"
_FIGURE: Final = r"[2-9]|\d."
_FEWEST: Final = 2
"""Columns of ticks of which one at least is ticked."""


def with_ticked(
    columns: list[Column], header: Searched, reads: Callable[[Column], bool]
) -> tuple[list[Column], tuple[Column, ...]]:
    """Return the columns with those of the markets and of the material that ticks tell, and the columns of ticks."""
    columns, of_markets = _with_ticked_markets(columns, header, reads)
    columns, of_materials = _with_ticked_materials(columns, header, reads)
    return columns, (*of_markets, *of_materials)


def _with_ticked_materials(
    columns: list[Column], header: Searched, reads: Callable[[Column], bool]
) -> tuple[list[Column], tuple[Column, ...]]:
    """Return the columns with that of the material that ticks tell, where none is, and the columns of ticks.

    `Glass | Plastic | Paper` stand over `x` and empty cells, or over 1 and 0 alone. Two ticked materials of one line
    are two materials, as in a cell.
    """
    field = fields_of(header.table).get("material")
    bare = [column for column in columns if is_bare_material(column)]
    others = [column.position for column in columns if column not in bare]
    if field is None or any(c.field.name in ("material", "component_type") for c in columns) or header.table != "sku":
        return columns, ()
    free = header.free(others).items()  # `Type 1` may be a code of a material, and anything else
    named = {at: cell for at, cell in free if family_of_detail(cell) is not None and not re.search(r"\d", cell)}
    is_ticked = {at: _are_ticks(header.under(at)) for at in named}
    ticks = [
        Column(field.name, field, "sku", at, cell, market=_material_of(cell))
        for at, cell in named.items()
        if is_ticked[at] or all(map(_is_no_tick, header.under(at)))
    ]
    if len(ticks) < _FEWEST or not any(is_ticked.values()) or not all(map(reads, ticks)):
        return columns, ()
    ticked = {column.position for column in ticks}
    return [*(c for c in columns if c.position not in ticked), replace(ticks[0], market=None)], tuple(ticks)


def _material_of(header: str) -> str:
    """Return the material of a header as a cell names it: `Glass` below a title is `Material Glass`."""
    last = header.rsplit(maxsplit=1)[-1]
    return last if family_of_detail(last) == family_of_detail(header) else header


def _is_no_tick(cell: str) -> bool:
    return _meaning_of_tick(cell) not in (None, "true")


def _with_ticked_markets(
    columns: list[Column], header: Searched, reads: Callable[[Column], bool]
) -> tuple[list[Column], tuple[Column, ...]]:
    """Return the columns with that of the markets in which ticks say that an item is sold, and the columns of ticks.

    `DE | FR | AT` stand over `x` and empty cells. Each is of a market, or of several at once (`EU`) as its header names
    them; two at least name markets of the catalogue. A table with a column of markets has none, nor do ticks under a
    title that says something else, such as `Registered`.
    """
    field = fields_of("sku")["markets"]
    ticks: list[Column] = []
    has_figures = False
    for at, cell in header.free([column.position for column in columns]).items() if header.table == "sku" else ():
        market = cell if words("market_group").get(fold(cell)) else market_of(cell)
        if market is not None and _are_ticks(header.under(at)):
            ticks.append(Column(field.name, field, "sku", at, cell, market=market))
        has_figures |= market is not None and header.under(at).str.contains(_FIGURE).any()
    if has_figures:  # beside units of a market, 1 and 0 are units too
        ticks = [column for column in ticks if not header.under(column.position).str.contains(r"\d").any()]
    is_given = any(column.field == field for column in columns) or not all(map(reads, ticks))
    first, last = (ticks[0].position, ticks[-1].position) if ticks else (0, 0)
    start = max((column.position + 1 for column in columns if column.position < first), default=0)
    titles = header.grid.row(header.at - 1)[start : last + 1] if header.at > 0 else []
    is_given |= not all(is_of_selling(tokens_of(title)) for title in titles if title is not None)
    if is_given or sum(is_served(str(column.market)) for column in ticks) < 2:
        return columns, ()
    return [*columns, replace(ticks[0], market=None)], tuple(ticks)


def _meaning_of_tick(cell: str) -> str | None:
    return code_of(cell, "truth") or code_of(cell, "no_answer")


def _are_ticks(cells: pl.Series) -> bool:
    """Return whether most cells are ticks, yes or no, one a tick at least; figures are none but 1 and 0 alone."""
    figures = cells.str.contains(r"\d") & ~cells.str.contains(_TICK)
    said = [None if figures.any() and any(map(str.isdigit, cell)) else _meaning_of_tick(cell) for cell in cells]
    return "true" in said and 2 * said.count(None) <= len(said)


_SEPARATORS: Final = {"markets": ";", "material": " / "}
"""What stands between several ticks of a line, as between the names in a cell."""


def with_ticks(cells: pl.DataFrame, body: pl.DataFrame, ticks: Sequence[Column]) -> pl.DataFrame:
    """Return the cells with what is ticked in each line; what is no tick is a market or material that is not known."""
    for field in dict.fromkeys(column.name for column in ticks):
        listed = []
        for column in (column for column in ticks if column.name == field):
            texts = body[f"c{column.position}"]
            distinct = texts.drop_nulls().unique()
            kinds = [_meaning_of_tick(text) or text for text in distinct]
            own = {"true": column.market, **dict.fromkeys(("false", "nothing", "nothing_found"))}
            meant = [own.get(kind, kind) for kind in kinds]
            named = texts.replace_strict(distinct, meant, default=None, return_dtype=pl.String)
            listed.append(named.alias(f"c{column.position}"))
        together = (
            pl.concat_str(pl.all(), separator=_SEPARATORS[field], ignore_nulls=True).replace("", None).alias(field)
        )
        cells = cells.with_columns(pl.DataFrame(listed).select(together).to_series())
    return cells
