"""Asks about columns that no field was read from, though they may be data of the packaging.

They may be a weight of one more material, a weight where none is read, parts beside their packaging, or units of which
nothing says the market or that they are a year's; a sheet may have components. Colours that name a hue alone are not
read either, nor shares that may be fractions. `judge.py` doubts what is read.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from compliance import ruleset
from compliance.catalogue import pinned, served
from compliance.words import names_hue
from pipelines.reading.column_values import about_material
from pipelines.reading.columns import field_column, units_of_rows
from pipelines.reading.grammar import measures_in, names_bundle, word_roles
from pipelines.reading.grid import VOLUME, WEIGHTS, Column, Grid, ReadingRefused, letter
from pipelines.reading.header import find_header
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.part_columns import parts_asked
from pipelines.reading.questions import question
from pipelines.reading.sheet import Sheet
from pipelines.reading.side_by_side import names_year, years_asked
from pipelines.reading.units import name_in_mapping
from pipelines.reading.words import level_of
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_of, fold

_NO_WEIGHTS: Final = frozenset({"unit", "unit_name", "share", "recycled", "sale", "somebody", "parcel", "count"})


def with_unread_asked(kept: Sheet, *, of_whole: Sheet) -> tuple[Sheet, list[Asked]]:
    """Return a sheet without the columns that questions hold back, and the questions about columns that are not read.

    `kept` has the columns of the sheet `of_whole` that are not doubted.
    """
    sheet = of_whole
    questions = [
        about_material(at, header, sheet.columns, sheet.name)
        for at, header in sheet.ignored
        if at in sheet.possible_materials
    ]
    asked = set(sheet.possible_materials)
    if (about_parts := parts_asked(kept.ignored, kept.columns, sheet.name)) is not None:
        parts, about = about_parts
        questions.append(about)
        asked |= {part.position for part in parts}
        kept = replace(kept, columns=tuple(column for column in kept.columns if column.position not in asked))
    for weight in _weights_unread(sheet):
        questions.append(_about_weight(weight, sheet))
        asked.add(weight.position)
    for units in _units_of_no_market(kept):
        questions.append(_about_market(units, sheet))
        asked.add(units.position)
    for years, about in years_asked(kept.ignored, kept.columns, sheet.name):
        questions.append(about)
        asked |= {column.position for column in years}
        kept = _without_markets_of_rows(kept) if years[0].market is None else kept
    return replace(kept, ignored=tuple(entry for entry in kept.ignored if entry[0] not in asked)), questions


def _without_markets_of_rows(sheet: Sheet) -> Sheet:
    """Return a table without the markets of its lines where a SKU has several: they go with units that are asked about.

    The first line's market would be the only one of its SKU.
    """
    codes = sheet.table["sku_code"].drop_nulls()
    markets = [c for c in sheet.columns if c.name == "markets" and c.constant is None and not c.mapped]
    if codes.n_unique() == len(codes) or not markets:
        return sheet
    ignored = tuple(sorted((*sheet.ignored, *((column.position, column.header) for column in markets))))
    return replace(sheet, columns=tuple(c for c in sheet.columns if c not in markets), ignored=ignored)


def _weights_unread(sheet: Sheet) -> list[Column]:
    """Return the ignored columns of weights that the packaging, or the part of each line, may have, where none is read.

    They are the packaging's by a word: `Pkg weight net (g)`, or of parts: `Gewicht netto` in a bill of materials.
    """
    if any(column.field.name in WEIGHTS for column in sheet.columns):
        return []
    of_parts = any(column.name == "component_type" for column in sheet.columns)
    field = field_column("component_weight_g" if of_parts else "weight_grams", "component" if of_parts else "sku")
    return [
        replace(field, name=f"component_{field.name}" if of_parts else field.name, position=at, header=header)
        for at, header in sheet.ignored
        if field is not None and _may_weigh(header, of_parts=of_parts)
        if any(map(str.isdigit, "".join(sheet.samples.get(at, ()))))
    ]


def _may_weigh(header: str, *, of_parts: bool) -> bool:
    roles = word_roles(header)
    named = "weight" in roles and (of_parts or "packaging" in roles) and not roles & _NO_WEIGHTS
    is_of_sold = level_of(header) in (None, "sales") and not names_bundle(header)
    return named and is_of_sold and all(measure.state != "other" for measure in measures_in(header))


def _about_weight(column: Column, sheet: Sheet) -> Asked:
    message = Message(
        "{header} may be the weight of the packaging or of its parts, and no other column is; it is not read. If it "
        "is, say so: mapping={mapping}.",
        header=quote(column.header),
        mapping={"columns": {column.name: letter(column.position)}},
    )
    return sheet.ask("column", column, message, could_be=[column.name])


def _units_of_no_market(sheet: Sheet) -> list[Column]:
    """Return the ignored columns of units of a year for which neither header nor line says a market: `Menge 2025`."""
    if any(column.field == VOLUME or column.name in ("markets", "component_type") for column in sheet.columns):
        return []
    found = (units_of_rows(header, at) for at, header in sheet.ignored)
    return [column for column in found if column is not None and names_year(column)]


def _about_market(column: Column, sheet: Sheet) -> Asked:
    period = column.name.removeprefix(VOLUME.name)
    served_countries = sorted(entry.code for entry in served(pinned()) if "-" not in entry.code)
    names = [f"{VOLUME.name}_{code.lower()}{period}" for code in served_countries]
    could_be = [name for name in names if field_column(name, "sku") is not None]  # halves are not of every market
    message = Message(
        "{header} may be units placed on a market, and nothing says on which; it is not read. Say it: "
        "mapping={mapping}, or write the market into the header.",
        header=quote(column.header),
        mapping={"columns": {could_be[0]: letter(column.position)}},
    )
    return sheet.ask("column", column, message, could_be=could_be)


def about_components(top: Grid, name: str, main: Sheet) -> Asked | None:
    """Return the question about an unread sheet with a line for each component of the SKUs of the main table.

    `top` are its first lines. None where they have no header of components, or no code of a SKU.
    """
    codes = {fold(code) for code in main.table["sku_code"].drop_nulls()}
    if not any(cell is not None and fold(cell) in codes for row in top.cells.iter_rows() for cell in row):
        return None
    try:
        find_header(top, "component", SheetMapping(), sheet=name)
    except ReadingRefused:
        return None
    message = Message(
        "The sheet {sheet} has lines of the items' components; it is not read. If they are, say so: mapping={mapping}.",
        sheet=quote(name),
        mapping={"components": {"sheet": name}},
    )
    return question("sheet", message, could_be=[name], sheet=name)


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


_TOP: Final = 200


def fractions_asked(sheet: Sheet) -> Iterator[tuple[Column, Asked]]:
    """Yield the percentages whose numbers without a percent sign are all from 0 to 1: they may be fractions of one."""
    for column in sheet.columns:
        if column.field.unit != "percent" or column.constant is not None or column.position in sheet.in_question:
            continue
        cells = sheet.table[column.name]
        bare = ~cells.str.contains("%", literal=True)
        # The first lines mostly tell.
        if sheet.mapped.unit_of(column) is not None or not all(
            sheet.read(column, some).filter(bare.head(some)).is_between(0, 1).all() for some in (_TOP, len(cells))
        ):
            continue
        if (sheet.read(column).filter(bare) > 0).any():
            message = Message(
                "The numbers of {header} are all from 0 to 1: they may be fractions, 0.3 for 30 %, or percent. It is "
                "not read. Say which: mapping={mapping}, or percent.",
                header=quote(column.header),
                mapping={"units": {name_in_mapping(column, sheet.columns): "fraction"}},
            )
            some = ", ".join(cells.filter(bare).unique(maintain_order=True).head(3))
            yield column, sheet.ask("fraction", column, message, could_be=("fraction", "percent"), text=some)
