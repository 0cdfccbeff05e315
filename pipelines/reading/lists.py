"""Decides from which list of codes the values of a column are, and puts them into our words (decisions §13)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl
import pycountry

from pipelines.reading.grid import Column, letter
from pipelines.reading.placed import is_served
from pipelines.reading.sheet import Sheet
from pipelines.reading.units import choice_for
from pipelines.reading.values import MATERIALS
from pipelines.reading.words import family_of_detail, market_parts
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_lists, code_of, fold

_PLAIN: Final = re.compile(r"[\w\s.'’/&-]*")
LISTED: Final = {"markets": "iso", "material": "ours", "packaging_level": "ours"}
"""Fields whose values may be codes of another list, each with its own list."""
_HEADERS: Final = {
    "uk_rpd": ("rpd", "pepr", "epr", "packaging class"),
    "uk_nations": ("nation", "nations", "uk"),
    "us_states": ("state", "states", "us", "usa"),
    "97_129": (
        *("97", "129", "ric", "recycling code", "resin code", "resin identification code", "recyclingcode"),
        *("recyclingnummer", "code recyclage", "code de recyclage", "codice riciclo", "codice di riciclo"),
        "codigo de reciclaje",
    ),
}
"""Words of a header that is one list's alone."""
_DETAILS: Final = ("material_subtype", "polymer_or_grade")
_OF_MATERIALS: Final = (*MATERIALS, *_DETAILS)
_MOST_TEXTS: Final = 400
_MOST_SHOWN: Final = 8


def with_code_lists(sheet: Sheet) -> tuple[Sheet, list[tuple[Column, Asked]]]:
    """Return the sheet with the codes of other lists in our words, and the columns whose list is open (§13)."""
    questions: list[tuple[Column, Asked]] = []
    for column in sheet.columns:
        field = "material" if column.field.name in _OF_MATERIALS else column.field.name
        if field not in LISTED or column.constant is not None or (column.exact and column.field.name in _DETAILS):
            continue
        before = sheet.table[column.name]
        texts = before.drop_nulls().unique(maintain_order=True)
        values = {part for text in texts.head(_MOST_TEXTS) for part in _parts(text, field)}
        spoken = choice_for(column, sheet.mapped.lists) or _spoken(values, field, column.header)
        if isinstance(spoken, list) and column.field.name in _DETAILS:
            continue  # a number alone may be of the sender's own list, and says no more than its text
        if isinstance(spoken, list):
            some = ", ".join(sorted(values)[:_MOST_SHOWN])
            message = Message(
                "The values of {header} ({some}) can be codes of several lists: {lists}. It is not read. Say which "
                "list it is: mapping={mapping}.",
                header=quote(column.header),
                some=quote(some),
                lists=", ".join(spoken),
                mapping={"lists": {letter(column.position): spoken[0]}},
            )
            questions.append((column, sheet.ask("list", column, message, could_be=spoken, text=some)))
        elif (codes := code_lists(field).get(spoken)) is not None:
            cells = {t: ";".join(dict.fromkeys(codes.get(_plain(p), p) for p in _parts(t, field))) for t in texts}
            counts = dict(before.drop_nulls().value_counts().iter_rows())
            changed = {text: (cell, counts[text]) for text, cell in cells.items() if text != cell}
            replaced = {**sheet.replaced, column.name: {**sheet.replaced.get(column.name, {}), **changed}}
            after = before.replace_strict(cells, default=None, return_dtype=pl.String).alias(column.name)
            sheet = replace(sheet, table=sheet.table.with_columns(after), replaced=replaced)
    return sheet, questions


def _spoken(values: set[str], field: str, header: str) -> str | list[str]:
    """Return the list that a column speaks, or those that it could where that is open.

    Ours, and ISO's where the catalogue serves the market, speak where they know every value. Else a list that knows all
    of them speaks where a value or the header is that list's alone; where none is, or where a list gives a value of
    ours another meaning, it is open.
    """
    lists, own = code_lists(field), LISTED[field]
    if not values:
        return own
    fitting = [name for name, codes in lists.items() if all(_plain(value) in codes for value in values)]
    if all(is_served(value) if field == "markets" else _ours(value, field) is not None for value in values):
        fitting = [name for name in fitting if any(_is_taken(value, field, lists[name]) for value in values)]
    title = f" {fold(header)} "
    if not fitting and field == "material" and (titled := _of_title(values, lists, title)) is not None:
        return titled
    if not fitting:  # a value of one list alone beside one that it gives another meaning leaves that open
        mixed = [
            name
            for name, codes in lists.items()
            if any(_is_alone(value, name, field) for value in values)
            and any(_plain(value) in codes and _is_taken(value, field, codes) for value in values)
        ]
        return [*mixed, own] if mixed else own
    by_title = [name for name in fitting if any(f" {word} " in title for word in _HEADERS[name])]
    alone = [name for name in fitting if any(_is_alone(value, name, field) for value in values)]
    certain = next((names for names in (by_title, alone) if len(names) == 1), None)
    return [*fitting, own] if certain is None else certain[0]


def _of_title(values: set[str], lists: Mapping[str, Mapping[str, str]], title: str) -> str | None:
    """Return the list that a header names, where its codes stand beside words of ours: `07` and `C/PAP 84`."""
    named = (name for name in lists if any(f" {word} " in title for word in _HEADERS[name]))
    return next(
        (
            name
            for name in named
            if any(_plain(value) in lists[name] for value in values)
            and all(_plain(value) in lists[name] or _ours(value, "material") is not None for value in values)
        ),
        None,
    )


def _is_alone(value: str, name: str, field: str) -> bool:
    """Return whether a value is in one list and has no meaning of ours: `EN`, `Wales`, `PL` as a material."""
    others = [codes for other, codes in code_lists(field).items() if other != name]
    if any(_plain(value) in codes for codes in others) or value.isdecimal():
        return False
    return not _is_country(value) if field == "markets" else _ours(value, field) is None


def _is_taken(value: str, field: str, codes: Mapping[str, str]) -> bool:
    """Return whether a list's value would be read as something else by our words or ISO's codes."""
    if field == "markets":
        return _is_country(value) and not is_served(value)
    own = _ours(value, field)
    return own is not None and own != _ours(codes[fold(value)], field)


def _ours(value: str, field: str) -> str | None:
    """Return what our words say that a material or a level is."""
    return family_of_detail(value) if field == "material" else code_of(value, field)


def _is_country(value: str) -> bool:
    """Return whether ISO 3166-1 has a value as a code or a name."""
    try:
        return pycountry.countries.lookup(value.strip()) is not None
    except LookupError:
        return False


def _plain(value: str) -> str:
    """Return a value as codes of lists are compared; with a sign of its own, such as `DE*`, it is none of them."""
    return fold(value) if _PLAIN.fullmatch(value.strip()) else ""


def _parts(text: str, field: str) -> list[str]:
    return market_parts(text) if field == "markets" else [text.strip()]
