"""Reads codes of other lists in our words: states of the USA, nations and materials of the United Kingdom's reports.

All values of a column decide which list it speaks; where several could, it is asked about (decisions §13, *Code
lists*).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl
import pycountry

from compliance import ruleset
from compliance.words import names_hue
from pipelines.reading.grid import Column, letter
from pipelines.reading.placed import is_served
from pipelines.reading.sheet import Sheet
from pipelines.reading.units import choice_for, name_in_mapping
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
    "97_129": ("97", "129", "ric", "recycling code", "resin code"),
}
"""Words of a header that is one list's alone."""
_MOST_TEXTS: Final = 400
_MOST_SHOWN: Final = 8


def with_code_lists(sheet: Sheet) -> tuple[Sheet, list[tuple[Column, Asked]]]:
    """Return the sheet with the codes of other lists in our words, and the columns whose list is open (§13)."""
    questions: list[tuple[Column, Asked]] = []
    for column in sheet.columns:
        field = "material" if column.field.name in MATERIALS else column.field.name
        if field not in LISTED or column.constant is not None:
            continue
        before = sheet.table[column.name]
        texts = before.drop_nulls().unique(maintain_order=True)
        values = {part for text in texts.head(_MOST_TEXTS) for part in _parts(text, field)}
        spoken = choice_for(column, sheet.mapped.lists) or _spoken(values, field, column.header)
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
    if not fitting:  # a value of one list alone beside one that it gives another meaning leaves that open
        mixed = [
            name
            for name, codes in lists.items()
            if any(_is_alone(value, name, field) for value in values)
            and any(_plain(value) in codes and _is_taken(value, field, codes) for value in values)
        ]
        return [*mixed, own] if mixed else own
    title = f" {fold(header)} "
    by_title = [name for name in fitting if any(f" {word} " in title for word in _HEADERS[name])]
    alone = [name for name in fitting if any(_is_alone(value, name, field) for value in values)]
    certain = next((names for names in (by_title, alone) if len(names) == 1), None)
    return [*fitting, own] if certain is None else certain[0]


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


_SHADES: Final = ("transparent_coloured", "opaque", "light", "dark", "fluorescent_or_metallic")
"""What a colour can be that names a hue alone."""
_MOST_COLOURS: Final = 20


def with_hues_asked(sheet: Sheet) -> Sheet:
    """Return the sheet without the colours that name a hue alone (`blau`), with a question about each.

    Such a colour may be transparent or opaque; the rest of its part is read.
    """
    questions, rules = list[Asked](), ruleset.load()
    for column in sheet.columns:
        if column.field.vocabulary != "colour" or column.constant is not None:
            continue
        cells = sheet.table[column.name]
        texts = [text for text in cells.drop_nulls().unique(maintain_order=True) if code_of(text, "colour") is None]
        hues = [text for text in texts if names_hue(text, rules)]
        for text in list({fold(text): text for text in reversed(hues)}.values())[::-1][:_MOST_COLOURS]:
            message = Message(
                "{text} can be transparent or opaque; the colour is not read. Say which: mapping={mapping}.",
                text=quote(text),
                mapping={"values": {name_in_mapping(column, sheet.columns): {text: _SHADES[0]}}},
            )
            questions.append(sheet.ask("value", column, message, could_be=_SHADES, text=text))
        left = cells.set(cells.is_in(hues).fill_null(value=False), None).alias(column.name)
        sheet = replace(sheet, table=sheet.table.with_columns(left))
    return replace(sheet, questions=(*sheet.questions, *questions)) if questions else sheet
