"""Decides which code list a column of markets or materials speaks, by all its values and its header (decisions §13).

Ours, and ISO's where the catalogue serves the market, speak where they know every value. Else a list that knows all of
them speaks where a value or the header is that list's alone; where none is, or where a list gives a value of ours
another meaning, the column is asked about.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Final

import polars as pl
import pycountry

from compliance.catalogue import pinned, served
from pipelines.reading.fields import Column
from pipelines.reading.grid import letter
from pipelines.reading.sheet import Sheet
from pipelines.reading.unit_columns import choice_for
from pipelines.reading.unknown_materials import family_of_detail
from pipelines.reading.values import MATERIALS, market_parts
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import Unfit, shown
from schemas.words import code_lists, fold, market_named

_OWN: Final = {"markets": "iso", "material": "ours"}
_HEADERS: Final = {
    "uk_rpd": ("rpd", "pepr", "epr"),
    "uk_nations": ("nation", "nations", "uk"),
    "us_states": ("state", "states", "us", "usa"),
    "97_129": ("97", "129", "ric", "recycling code", "resin code"),
}
"""Words of a header that is one list's alone."""
_MOST_TEXTS: Final = 400
_MOST_SHOWN: Final = 8


def with_code_lists(sheet: Sheet) -> tuple[Sheet, list[tuple[Column, Asked]]]:
    """Return the sheet with the codes of other lists in our words, and the columns whose list is open."""
    asked: list[tuple[Column, Asked]] = []
    for column in sheet.columns:
        field = "material" if column.field.name in MATERIALS else column.field.name
        if field not in _OWN or column.constant is not None:
            continue
        texts = sheet.table[column.name].drop_nulls().unique(maintain_order=True)
        values = {part for text in texts.head(_MOST_TEXTS) for part in _parts(text, field)}
        spoken = choice_for(column, sheet.mapped.lists) or _spoken(values, field, column.header)
        if isinstance(spoken, list):
            asked.append((column, _question(column, spoken, sorted(values), sheet)))
        elif spoken in code_lists(field):
            sheet = _translated(sheet, column, field, spoken, texts)
    return sheet, asked


def _spoken(values: set[str], field: str, header: str) -> str | list[str]:
    """Return the list that a column speaks, or those that it could where that is open."""
    lists, own = code_lists(field), _OWN[field]
    known = _is_served if field == "markets" else _is_material
    if not values:
        return own
    fitting = [name for name, codes in lists.items() if all(fold(value) in codes for value in values)]
    if all(map(known, values)):
        fitting = [name for name in fitting if any(_is_taken(value, field, lists[name]) for value in values)]
    if not fitting:  # a value of one list alone beside one that it gives another meaning leaves that open
        mixed = [
            name
            for name, codes in lists.items()
            if any(_is_alone(value, name, field) for value in values)
            and any(fold(value) in codes and _is_taken(value, field, codes) for value in values)
        ]
        return [*mixed, own] if mixed else own
    title = f" {fold(header)} "
    named = [name for name in fitting if any(f" {word} " in title for word in _HEADERS[name])]
    alone = [name for name in fitting if any(_is_alone(value, name, field) for value in values)]
    for certain in (named, alone):
        if len(certain) == 1:
            return certain[0]
    return [*fitting, own]


def _is_alone(value: str, name: str, field: str) -> bool:
    """Return whether a value is in one list and has no meaning of ours: `EN`, `Wales`, `PL` as a material."""
    others = [codes for other, codes in code_lists(field).items() if other != name]
    if any(fold(value) in codes for codes in others) or value.isdecimal():
        return False
    return not (_is_country(value) if field == "markets" else _is_material(value))


def _is_taken(value: str, field: str, codes: Mapping[str, str]) -> bool:
    """Return whether a list's value would be read as something else by our words or ISO's codes."""
    if field == "markets":
        return _is_country(value) and not _is_served(value)
    family = family_of_detail(value)
    return family is not None and family != family_of_detail(codes[fold(value)])


@cache
def _served() -> frozenset[str]:
    return frozenset(entry.code for entry in served(pinned()))


@cache
def _is_served(value: str) -> bool:
    """Return whether a value names a market that the catalogue serves, itself or as a part of one."""
    try:
        code = market_named(value)
    except Unfit:
        return False
    return code in _served() or code.split("-")[0] in _served()


def _is_country(value: str) -> bool:
    """Return whether ISO 3166-1 has a value as a code or a name."""
    try:
        return pycountry.countries.lookup(value.strip()) is not None
    except LookupError:
        return False


def _is_material(value: str) -> bool:
    return family_of_detail(value) is not None


def _parts(text: str, field: str) -> list[str]:
    return market_parts(text) if field == "markets" else [text.strip()]


def _translated(sheet: Sheet, column: Column, field: str, name: str, texts: pl.Series) -> Sheet:
    """Return the sheet with a column's codes in our words; the texts are counted among those replaced."""
    codes = code_lists(field)[name]
    cells = {t: ";".join(dict.fromkeys(codes.get(fold(part), part) for part in _parts(t, field))) for t in texts}
    before = sheet.table[column.name]
    after = before.replace_strict(cells, default=None, return_dtype=pl.String).alias(column.name)
    counts = dict(before.drop_nulls().value_counts().iter_rows())
    changed = {text: (cell, counts[text]) for text, cell in cells.items() if text != cell}
    replaced = {**sheet.replaced, column.name: {**sheet.replaced.get(column.name, {}), **changed}}
    return replace(sheet, table=sheet.table.with_columns(after), replaced=replaced)


def _question(column: Column, could_be: list[str], values: list[str], sheet: Sheet) -> Asked:
    some = ", ".join(values[:_MOST_SHOWN])
    message = Message(
        "The values of {header} ({some}) can be codes of several lists: {lists}. It is not read. Say which list it "
        "is: mapping={mapping}.",
        header=shown(column.header),
        some=shown(some),
        lists=", ".join(could_be),
        mapping={"lists": {letter(column.position): could_be[0]}},
    )
    return sheet.ask("list", column, message, could_be=could_be, text=some)
