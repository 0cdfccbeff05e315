"""Finds columns of parts side by side whose headers name the part: `Flasche | Deckel` over `Material | Gewicht` each.

They are components where every part of the table is understood: one body is among them, and each has a material. Else
none of them is read, and each is asked about: a graph without a part would be lighter than the packaging.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from pipelines.reading.column_values import Searched
from pipelines.reading.columns import part_headers, with_sense
from pipelines.reading.grammar import (
    MOST_KEPT,
    composed_field,
    divided,
    key_of,
    names_bundle,
    quantity_of,
    tokens_of,
    without_measures,
)
from pipelines.reading.grid import FIELDS_OF_PART, LONGEST_HEADER, Column, fields_of, invalid_mapping, letter
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.questions import WHOLE, question
from pipelines.reading.words import SALES, level_of, part_type
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import quote

_MATERIAL: Final = "material_family"
_TYPE: Final = "component_type"
_OF_WHOLE: Final = ("material", "weight_grams")
"""Fields of a whole packaging that its body has as well."""


@lru_cache(maxsize=MOST_KEPT)
def part_column(header: str) -> Column | None:
    """Return the column of a part's field behind or before the word for the part: `Cap weight (g)`.

    It is open where the word is none for a part of a known type, and the field is the material.
    """
    unknown: Column | None = None
    for main, notes in divided(header) if len(header) < LONGEST_HEADER else ():
        left, rest = without_measures(main)
        tokens = key_of(left).split()
        for cut in range(1, len(tokens)):
            for part, term in ((tokens[:cut], tokens[cut:]), (tokens[cut:], tokens[:cut])):
                name = part_headers().get(" ".join(term)) or FIELDS_OF_PART.get(composed_field(term) or "")
                kind = part_type(" ".join(part)) if name not in (None, _TYPE) else None
                if name is None or (kind is None and name != _MATERIAL):
                    continue
                column = Column(name, fields_of("component")[name], "component", 0, header, group=" ".join(part))
                if kind is None:
                    unknown = unknown or replace(column, open=column.group)
                elif (whole := with_sense(column, rest, notes, loose=False)) is not None and whole.open is None:
                    return replace(whole, fixed=((_TYPE, kind),))
    return unknown


def with_part_columns(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with those of parts side by side as numbered groups, where all parts are understood."""
    found = _found(columns, header)
    groups = list(dict.fromkeys(column.group for column in found))
    with_material = {column.group for column in found if column.field.name == _MATERIAL}
    once = len({(column.group, column.name) for column in found}) == len(found)
    bodies = {str(column.group) for column in found if (_TYPE, "body") in column.fixed}
    one_body = len(bodies) == 1 and (len(groups) > 1 or not any(map(names_bundle, bodies)))  # `Carton` may hold twelve
    if not (once and one_body and with_material == {*groups}) or any(column.open for column in found):
        return columns
    places = {column.position for column in found}
    numbers = {group: str(at) for at, group in enumerate(groups, 1)}
    parts = [
        replace(column, name=f"component_{numbers[column.group]}_{column.name}", group=numbers[column.group])
        for column in found
    ]
    return [*(column for column in columns if column.position not in places), *parts]


def _found(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns of parts of a table without others of components; those of materials may be such a part's."""
    others = [column for column in columns if not column.fixed]
    if header.table != "sku" or any(column.table == "component" for column in others):
        return []
    free = header.free([column.position for column in others]).items()
    found = [replace(column, position=at) for at, cell in free if (column := part_column(cell)) is not None]
    return found if any(column.fixed for column in found) else []


def open_parts(columns: Sequence[Column], doubtful: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns of parts that are not read, as columns that are asked about."""
    taken, names = {c.position for c in (*columns, *doubtful)}, {column.name for column in columns}
    of_sku = {part: name for name, part in FIELDS_OF_PART.items()}
    return [
        replace(column, name=name, field=fields_of("sku")[name], table="sku", group=None, open=column.group)
        for column in _found(columns, header)
        if column.position not in taken and (name := of_sku.get(column.name)) is not None and name not in names
    ]


def parts_asked(
    ignored: Iterable[tuple[int, str]], columns: Sequence[Column], sheet: str | None
) -> tuple[list[Column], Asked] | None:
    """Return the columns that are not read where parts stand beside a packaging, and the question about them.

    Of `Packaging material`, `Packaging weight` beside `Cap material`, `Cap weight` the first two may be of the body or
    of the whole, so that neither is read. None where the mapping names one of them, or nothing is ignored.
    """
    of_sku = {column.field.name: column for column in columns if column.table == "sku" and column.constant is None}
    whole = {FIELDS_OF_PART[name]: column for name, column in of_sku.items() if name in _OF_WHOLE}
    ignored = list(ignored)
    of_sold = ((at, text) for at, text in ignored if level_of(text) in (None, SALES))
    of_several = {token for _, text in ignored if quantity_of(text) is not None for token in tokens_of(text)}
    found = [replace(column, position=at) for at, text in of_sold if (column := part_column(text)) is not None]
    parts = [column for column in found if column.fixed and column.field.name in (_MATERIAL, "weight_g")]
    parts = [column for column in parts if column.group not in of_several]  # `Case weight` beside `Units per case`
    if not parts or len(whole) < len(_OF_WHOLE) or any(c.mapped or c.table == "component" for c in columns):
        return None
    kinds = {str(column.group): dict(column.fixed)[_TYPE] for column in parts}
    numbers = {group: at for at, group in enumerate(kinds, 2)}
    named = {f"component_1_{name}": letter(column.position) for name, column in whole.items()}
    for column in parts:
        named.setdefault(f"component_{numbers[str(column.group)]}_{column.field.name}", letter(column.position))
    types = {f"component_{numbers[group]}_{_TYPE}": kind for group, kind in kinds.items()}
    total = whole["weight_g"]
    headers = ", ".join(quote(column.header) for column in parts)
    message = Message(
        "{headers} are of parts, and {whole} may be of the packaging without them or with them; none of them is read. "
        "If it is without them, say so: mapping={mapping}. If it is with them: mapping={other}.",
        headers=headers,
        whole=quote(total.header),
        mapping={"columns": named, "constants": types},
        other={"columns": {of_sku[name].name: letter(of_sku[name].position) for name in _OF_WHOLE}},
    )
    held = [*whole.values(), *parts]
    return held, question("column", message, could_be=["components", WHOLE], sheet=sheet, text=headers)


def check_component_type(columns: Sequence[Column], mapped: SheetMapping) -> None:
    """Refuse a mapped field of components beside SKUs where nothing says which part of the packaging a line is."""
    every = [*columns, *mapped.constants]
    parts = [column.name for column in every if column.mapped and column.table == "component" and column.group is None]
    if parts and not any(column.name == _TYPE for column in every):
        message = Message(
            "The mapping is wrong: {name} is a component's, and component_type says which part each line is; map "
            'it too, or give it as a constant: {{"constants": {{"component_type": "body"}}}}.',
            name=parts[0],
        )
        raise invalid_mapping(message)
