"""Recognises the field of a column by its header, with the unit or the market, year and half that it names.

The words are data (`schemas/headers.csv`). `fields.py` lists the fields, `groups.py` recognises headers of numbered
components and of materials. `header.py` chooses the header row and refuses a table without the columns it needs.
"""

import re
from dataclasses import replace
from functools import cache, lru_cache

from pipelines.reading.composed import word_roles
from pipelines.reading.fields import LONGEST_HEADER, PART_HELPERS, Column, Table, fields_of, volume_field
from pipelines.reading.groups import group_column
from pipelines.reading.levels import SALES, level_of, without_sales_level
from pipelines.reading.units import unit_within, without_unit
from pipelines.reading.wordings import language_sides, term_and_note, wordings
from schemas.fields import SKU_CODE
from schemas.normalise import Unfit, place
from schemas.words import fold, headers, words

_FIELDS_WITH_LEVEL = ("material", "material_subtype", "weight_grams", "packaging_format", "recycled_content_percent")
_ROLES_THAT_CHANGE_MEANING = frozenset({"measure", "somebody", "thing", "parcel", "except"})
"""Roles of words that change a header's meaning: of the product, of somebody else, of less or more than the whole."""
_LONGEST_NOTE = 400
_PERIOD = re.compile(r"(?:(?P<year>20\d\d|2100)(?: (?:h|s|half |semestre |halbjahr )(?P<half>[12]))?)?")


def recognise(header: str, position: int, table: Table) -> Column | None:
    """Return the column of a header, or None where it fits no field of the table, or is too long for a header."""
    column = _recognise_cached(header, table) if len(header) < LONGEST_HEADER else None
    return None if column is None else replace(column, position=position)


@lru_cache(maxsize=8192)
def _recognise_cached(header: str, table: Table) -> Column | None:
    """Return the column of a header as written, else of one of its other wordings."""
    found = _by_listed_header(header, table) or next(
        filter(None, (_by_listed_header(other, table) for other in wordings(header))), None
    )
    found = found or _by_languages(header, table)
    if found is None and table == "sku":
        found = _by_sales_level(header) or _by_part_header(header)
    found = found or _by_first_line(header, table)
    return None if found is None else replace(found, header=header)


def _by_listed_header(header: str, table: Table) -> Column | None:
    known, folded = headers(table), fold(header)
    fields = fields_of(table)
    if table == "sku" and (name := _component_headers().get(folded)) is not None:
        return Column(name, fields_of("component")[name], "component", 0, header, exact=True)
    if (name := known.get(folded)) in fields:
        return Column(name, fields[name], table, 0, header, exact=header.strip() == name)
    if split := without_unit(header, _units_by_header(table)):
        bare, unit = split
        name = known[bare]
        return Column(name, fields[name], table, 0, header, factor=unit.factor)
    return _by_volume_header(folded, header) or group_column(folded, header) if table == "sku" else None


def _by_languages(header: str, table: Table) -> Column | None:
    """Return the column of one field named in several languages; the side that names a unit gives it for all."""
    sides = {side: _by_listed_header(side, table) for side in language_sides(header)}
    for name in {column.name for column in sides.values() if column is not None}:
        same = [column for column in sides.values() if column is not None and column.name == name]
        spare = [side for side in sides if headers("spare").get(fold(side)) == name]
        if len(same) + len(spare) == len(sides):
            return max(same, key=lambda column: column.factor != 1)
    return None


def _by_first_line(header: str, table: Table) -> Column | None:
    """Return the column of a header's first line, where the note below changes nothing; the note may name the unit."""
    term_found = term_and_note(header)
    if term_found is None or len(header) > _LONGEST_NOTE:
        return None
    term, note = term_found
    changed = bool(word_roles(note) & _ROLES_THAT_CHANGE_MEANING) or level_of(note) not in (None, SALES)
    if changed or _by_listed_header(note, table) is not None or (found := _recognise_cached(term, table)) is None:
        return None
    unit = unit_within(note, found.field.unit) if found.factor == 1 else None
    return found if unit is None else replace(found, factor=unit.factor)


def _by_sales_level(header: str) -> Column | None:
    """Return the column of a packaging field that names the sales level: `Primary packaging material`."""
    rest = without_sales_level(header)
    found = None if rest is None else _by_listed_header(rest, "sku")
    return found if found is not None and found.name in _FIELDS_WITH_LEVEL else None


def _by_part_header(header: str) -> Column | None:
    """Return the column of a component's field by its own header, such as `Élément`; it counts beside a type."""
    fields = fields_of("component")
    name = headers("part").get(fold(header))
    if name is not None:
        return Column(name, fields[name], "component", 0, header)
    split = without_unit(header, {folded: fields[name].unit for folded, name in headers("part").items()})
    if split is None:
        return None
    name = headers("part")[split[0]]
    return Column(name, fields[name], "component", 0, header, factor=split[1].factor)


def field_column(name: str, table: Table) -> Column | None:
    """Return the column of a field's own name; None where no field of the table has the name.

    A component's field may have `component_` before it, which distinguishes it from one of the SKU.
    """
    own = recognise(name, 0, table)
    if own is not None and fold(name) in (fold(own.name), fold(f"component_{own.name}")):
        return own
    bare = name.removeprefix("component_")
    return field_column(bare, table) if table == "component" and bare != name else None


def column_for(name: str, position: int, header: str, table: Table) -> Column | None:
    """Return the column for a field that the caller's mapping names, whatever its header says."""
    own = recognise(header, position, table)
    named = field_column(name, table)
    if named is None:
        return None
    within = unit_within(header, named.field.unit) if own is None or own.name != named.name else None
    factor = own.factor if own is not None and own.name == named.name else within.factor if within else named.factor
    return Column(
        named.name,
        named.field,
        named.table,
        position,
        header,
        factor,
        False,
        named.market,
        named.year,
        named.half,
        named.group,
        named.fixed,
        mapped=True,
    )


@cache
def _component_headers() -> dict[str, str]:
    """Return component columns in the main sheet: a component's field names, with `component_` where a SKU has them."""
    helpers = {field.name for field in PART_HELPERS}
    names = [name for name in fields_of("component") if name != SKU_CODE.name and name not in helpers]
    alone = [name for name in names if name not in fields_of("sku") and name != "weight_g"]
    prefixed = [*names, "weight_unit"]
    return {fold(name): name for name in alone} | {fold(f"component_{name}"): name for name in prefixed}


@cache
def _units_by_header(table: Table) -> dict[str, str | None]:
    fields = fields_of(table)
    return {folded: fields[name].unit for folded, name in headers(table).items() if name in fields}


def _by_volume_header(folded: str, header: str) -> Column | None:
    """Recognise `annual_volume_fr`, `annual_volume_us_ca_2026`, `annual_volume_gb_2026_h1` and their synonyms."""
    for prefix, name in headers("sku").items():
        if name == volume_field().name and folded.startswith(f"{prefix} "):
            return _volume_column(folded[len(prefix) + 1 :], header)
    return None


def _volume_column(rest: str, header: str) -> Column | None:
    tokens = rest.split()
    for size in range(len(tokens), 0, -1):
        place, period = " ".join(tokens[:size]), _PERIOD.fullmatch(" ".join(tokens[size:]))
        if period is None or (code := _market_code(place)) is None:
            continue
        year, half = int(period["year"] or 0) or None, int(period["half"] or 0)
        if half and code != "GB":
            return None
        parts = [volume_field().name, code.lower().replace("-", "_"), *([str(year)] if year else [])]
        own = "_".join([*parts, *([f"h{half}"] if half else [])])
        exact = header.strip() == own
        return Column(own, volume_field(), "sku", 0, header, exact=exact, market=code, year=year, half=half)
    return None


def _market_code(name: str) -> str | None:
    """Return the code of a market that is named by code or by a country's name."""
    if (code := words("market").get(name)) is not None:
        return code
    try:
        return place(name)
    except Unfit:
        return None
