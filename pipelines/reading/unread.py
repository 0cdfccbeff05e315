"""Asks about columns that no field was read from, though they may be data of the packaging.

They may be a weight of one more material, a weight where none is read, parts beside their packaging, or units of which
nothing says the market or that they are a year's; a sheet may have components. Colours that name a hue alone are not
read either, nor shares that may be fractions; codes may be of one list or another (decisions §13). `judge.py` doubts
what is read.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

import polars as pl
import pycountry

from compliance import ruleset
from compliance.catalogue import pinned, served
from compliance.weights import is_likely
from compliance.words import names_hue
from pipelines.reading.by_cells import metals_asked
from pipelines.reading.columns import field_column, recognise, units_of_rows
from pipelines.reading.grammar import PIECES, measure_of, measures_in, names_bundle, quantity_of, tokens_of, word_roles
from pipelines.reading.grid import LONGEST_HEADER, VOLUME, WEIGHTS, Column, Grid, ReadingRefused, fields_of, letter
from pipelines.reading.header import find_header
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.neighbours import about_material, names_alternatives, parts_asked
from pipelines.reading.placed import Placed, is_served, little_words
from pipelines.reading.questions import question
from pipelines.reading.sheet import Sheet
from pipelines.reading.side_by_side import names_year, years_asked
from pipelines.reading.units import choice_for, name_in_mapping
from pipelines.reading.values import MATERIALS
from pipelines.reading.words import SALES, family_of_detail, level_of, market_parts, part_types
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_lists, code_of, fold, words

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
    for material in _materials_unread(sheet, asked):
        questions.append(_about_material_text(material, sheet))
        asked.add(material.position)
    if (about_metals := metals_asked(kept.ignored, kept.columns, sheet.samples, sheet.name)) is not None:
        metals, about = about_metals
        questions.append(about)
        asked |= metals
    for units in _units_of_no_market(kept):
        questions.append(_about_market(units, sheet))
        asked.add(units.position)
    for units in _units_unread(kept, asked):
        questions.append(_about_units(units, sheet) if units.market else _about_market(units, sheet))
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
    own = of_parts or _are_packagings(sheet)
    return [
        replace(field, name=f"component_{field.name}" if of_parts else field.name, position=at, header=header)
        for at, header in sheet.ignored
        if field is not None and _may_weigh(header, of_packagings=own)
        if any(map(str.isdigit, "".join(sheet.samples.get(at, ()))))
    ]


def _are_packagings(sheet: Sheet) -> bool:
    """Return whether a column that is not read says that all articles are packagings, as SAP's `VERP` does."""
    texts = (sheet.samples.get(at, ()) for at, _ in sheet.ignored)
    return any(of_column and all(fold(text) in words("packagings_kind") for text in of_column) for of_column in texts)


def _may_weigh(header: str, *, of_packagings: bool) -> bool:
    if measure_of(header, "g") is not None:  # a unit alone, `g/unit`, where no other column weighs
        return True
    roles = word_roles(header) | ({"weight"} if fold(header) in words("article_weight") else set())
    named = "weight" in roles and (of_packagings or roles & {"packaging", "material"}) and not roles & _NO_WEIGHTS
    is_of_sold = level_of(header) in (None, "sales") and not names_bundle(header)
    return bool(named) and is_of_sold and all(measure.state != "other" for measure in measures_in(header))


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


_WHOLE_NUMBER: Final = re.compile(r"\s*\d{1,3}(?:[.,'’\s]?\d{3})*\s*|\s*\d+\s*")
_NO_UNITS: Final = frozenset({"measure", "weight", "share", "recycled", "code", "barcode", "parcel", "kind", "level"})


def _units_unread(sheet: Sheet, asked: Container[int]) -> Iterator[Column]:
    """Yield the ignored columns of whole numbers that a year and a market, or a piece, may make units: `Mängd SE 2025`.

    The words around are not known, so that nothing says what they count.
    """
    given = {(column.market, column.year) for column in sheet.columns if column.field == VOLUME}
    has_markets = any(column.name in ("markets", "component_type") for column in sheet.columns)
    for at, header in sheet.ignored:
        texts = sheet.samples.get(at, ())
        if at in asked or not texts or not all(map(_WHOLE_NUMBER.fullmatch, texts)) or len(header) >= LONGEST_HEADER:
            continue
        units = [measure.unit for measure in measures_in(header)]
        said = Placed(little=little_words(header))
        left = said.left_of(tokens_of(header))
        counts = PIECES in units or any(
            code_of(word, "quantity") == "count" or word in words("selling") for word in left
        )
        one = not (said.twice or said.half or said.part) and (said.market, said.year) not in given
        if said.year is None or not one or set(units) > {PIECES} or word_roles(header) & _NO_UNITS or not left:
            continue
        states = code_lists("markets")["us_states"]
        of_state = any(word in states and code_of(word, "quantity") is None for word in left)
        market = said.market if is_served(said.market or "") else None
        if market is None and (not counts or has_markets or of_state):
            continue
        place = "" if market is None else f"_{market.lower().replace('-', '_')}"
        name = f"{VOLUME.name}{place}_{said.year}"
        yield Column(name, VOLUME, "sku", at, header, market=market, year=said.year)


def _about_units(column: Column, sheet: Sheet) -> Asked:
    message = Message(
        "{header} may be units placed on the market of a year, but its words are not known; it is not read. If it is, "
        "say so: mapping={mapping}.",
        header=quote(column.header),
        mapping={"columns": {column.name: letter(column.position)}},
    )
    return sheet.ask("column", column, message, could_be=[column.name])


def _materials_unread(sheet: Sheet, asked: Container[int]) -> list[Column]:
    """Return the ignored columns of words for materials where no material is read: `Envase primario` over `Vidrio`."""
    if any(column.field.name in (*MATERIALS, "material_subtype", "component_type") for column in sheet.columns):
        return []
    field = fields_of("sku")["material"]
    found = [
        Column(field.name, field, "sku", at, header)
        for at, header in sheet.ignored
        if at not in asked and level_of(header) in (None, SALES) and not word_roles(header) & _NO_WEIGHTS
        if recognise(header, at, "sku") is None
        if (texts := sheet.samples.get(at, ())) and all(family_of_detail(text) is not None for text in texts)
    ]
    return found if len(found) == 1 else []  # several may be layers


def _about_material_text(column: Column, sheet: Sheet) -> Asked:
    message = Message(
        "The words below {header} are materials, and no other column has the packaging's; it is not read. If they are "
        "of the packaging, say so: mapping={mapping}.",
        header=quote(column.header),
        mapping={"columns": {column.name: letter(column.position)}},
    )
    return sheet.ask("column", column, message, could_be=[column.name])


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


def with_classes_asked(sheet: Sheet) -> Sheet:
    """Return the sheet without formats that say whose waste a packaging is (`Household`), with a question about each.

    A column of such words alone is not read at all.
    """
    questions, own = list[Asked](), words("no_format")
    for column in sheet.columns:
        if column.field.name != "packaging_format" or column.constant is not None or column.exact:
            continue
        cells = sheet.table[column.name]
        answered = {t for rewriting in sheet.mapped.values if rewriting.applies_to(column) for t in rewriting.cells}
        distinct = cells.drop_nulls().unique(maintain_order=True)
        classes = [text for text in distinct if fold(text) in own and fold(text) not in answered]
        for text in classes[:_MOST_COLOURS]:
            message = Message(
                "{text} says whose waste a packaging is, and not what it is; it is not read as a format. If it is one, "
                "say so: mapping={mapping}.",
                text=quote(text),
                mapping={"values": {name_in_mapping(column, sheet.columns): {text: text}}},
            )
            questions.append(sheet.ask("value", column, message, could_be=(text,), text=text))
        left = cells.set(cells.is_in(classes).fill_null(value=False), None).alias(column.name)
        sheet = replace(sheet, table=sheet.table.with_columns(left)) if classes else sheet
    return replace(sheet, questions=(*sheet.questions, *questions)) if questions else sheet


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
        bare &= sheet.read(column).is_not_null()
        if (sheet.read(column).filter(bare) > 0).any():
            message = Message(
                "The numbers of {header} are all from 0 to 1: they may be fractions, 0.3 for 30 %, or percent. It is "
                "not read. Say which: mapping={mapping}, or percent.",
                header=quote(column.header),
                mapping={"units": {name_in_mapping(column, sheet.columns): "fraction"}},
            )
            some = ", ".join(cells.filter(bare).unique(maintain_order=True).head(3))
            yield column, sheet.ask("fraction", column, message, could_be=("fraction", "percent"), text=some)


_QUOTED: Final = 3


def with_versions_asked(sheet: Sheet, weight: Column, repeated: pl.Series) -> Sheet:
    """Return a sheet whose SKUs with parts of several versions wait for an answer, with the question about them.

    `repeated` has a number for each line, the same for lines of one part, and null for parts of one line.
    """
    for column, cells in _told_apart_by(sheet):
        part = _of_types(sheet) if names_alternatives(column.header) else repeated
        table = sheet.table.select("line", "sku_code", part=part, of=cells)
        again = table.drop_nulls("part").group_by("part").agg(pl.col("of").n_unique(), pl.col("sku_code").first())
        several = again.filter(pl.col("of") > 1)
        if several.is_empty():
            continue
        texts = table.filter(pl.col("part").is_in(several["part"].to_list()))["of"].drop_nulls()
        lines = table.filter(pl.col("sku_code").is_in(several["sku_code"].to_list()))["line"]
        message = Message(
            "{beside} may tell versions of one packaging apart: lines of the same part differ in it, and together they "
            "would weigh too much. {weight} is not read for their items. Send one version of each; or if each line is "
            "a part of its own, say so: mapping={mapping}.",
            beside=quote(f"{column.header}: {', '.join(texts.unique(maintain_order=True).head(_QUOTED))}"),
            weight=quote(weight.header),
            mapping={"quantity": {letter(weight.position): "ignore"}},
        )
        about = sheet.ask("quantity", weight, message, could_be=["ignore"])
        return replace(sheet, questions=(*sheet.questions, about), held=(*sheet.held, *lines))
    return sheet


def _of_types(sheet: Sheet) -> pl.Series:
    """Return a number for each line, the same for all parts of one type of a SKU."""
    typed = next((c for c in sheet.columns if c.field.name == "component_type" and c.constant is None), None)
    types = pl.lit("") if typed is None else part_types(sheet.table[typed.name])
    return sheet.table.select(part=pl.struct("sku_code", types.alias("type")).rank("dense")).to_series()


def _told_apart_by(sheet: Sheet) -> Iterator[tuple[Column, pl.Series]]:
    """Yield the columns by whose values versions may differ, with their cells."""
    for column in sheet.watched:
        if quantity_of(column.header) is None and column.name in sheet.others.columns:
            yield column, sheet.others[column.name]


_LEAST_G: Final = 0.1
"""Grams of the lightest packaging that a total is divided into."""
_LEAST_OF_LINES_G: Final = 1
"""The same where no weight is too heavy for one packaging."""


def weights_of_units(sheet: Sheet) -> list[Column]:
    """Return the weights where one is of all the units beside it: divided by them it is one packaging's, alone none's.

    Each other weight of its column divided by its units is one packaging's too; a single one says that it is a total.
    """
    weights = [column for column in sheet.columns if column.field.name in WEIGHTS and column.constant is None]
    placed = [sheet.read(column).alias(column.name) for column in sheet.columns if column.field == VOLUME]
    if not placed or any(column.mapped for column in weights):
        return []
    units = pl.DataFrame(placed).sum_horizontal()
    for column in weights:
        grams = sheet.read(column)
        heavy = int((~is_likely(grams)).sum())
        each = (grams / units).filter((units > 1) & (grams > 0)).drop_nulls()
        of_one = len(each) >= heavy and bool((is_likely(each) & (each >= _LEAST_G)).all())
        # Where lines name the market the weight may be that of their units, too, if each of them weighs some grams.
        of_lines = len(each) > 0 and bool((each >= _LEAST_OF_LINES_G).all()) and _are_of_lines(sheet)
        several = len(each) > 1 or any(code_of(word, "line") == "total" for word in tokens_of(column.header))
        if of_one and ((heavy and several) or of_lines):
            return weights
    return []


def _are_of_lines(sheet: Sheet) -> bool:
    return any(column.field == VOLUME and column.market is None for column in sheet.columns)


def about_weights_of_units(columns: list[Column], sheet: Sheet) -> Asked:
    """Return the question about weights that may be of all units beside them."""
    headers = ", ".join(quote(column.header) for column in columns)
    message = Message(
        "{headers} may be the weight of all units that were placed on the market: no packaging weighs so much. It is "
        "not read. Send the weight of one packaging; or if it is such, say so: mapping={mapping}.",
        headers=headers,
        mapping={"columns": {column.name: letter(column.position) for column in columns}},
    )
    return question("column", message, could_be=["weights"], sheet=sheet.name, text=headers)


def weights_of_cases(sheet: Sheet) -> list[Column]:
    """Return the only column of a material where a header counts per its word: `Carton weight`, `Units per carton`.

    Beside other materials it is one of them.
    """
    weights = [column for column in sheet.columns if "material_family" in dict(column.fixed) and column.group]
    texts = [*(column.header for column in sheet.columns), *(header for _, header in sheet.ignored)]
    counted = {
        word
        for header in texts
        for before, word in pairwise(tokens_of(header))
        if before == "/" or code_of(before, "header_part") == "per"
    }
    of_paper = len(weights) == 1 and dict(weights[0].fixed)["material_family"] == "paper" and not weights[0].mapped
    return weights if of_paper and counted.intersection(tokens_of(weights[0].header)) else []
