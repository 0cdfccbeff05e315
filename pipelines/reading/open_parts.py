"""Holds back graphs with a part whose word says no type, and asks what it is (decisions §13).

`Film` may be the seal of a tray, a wrap around a box or the packaging itself: as a body it would make the box a
composite. The SKU's other fields are read; its graph is, once `mapping.values` of component_type says what the word is.
"""

from typing import Final

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from pipelines.reading.fields import Column
from pipelines.reading.part_types import part_type
from pipelines.reading.questions import question
from pipelines.reading.sheet import Sheet
from pipelines.reading.values import as_codes, unescaped
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import shown
from schemas.vocabularies import VOCABULARIES
from schemas.words import fold

_FILMS: Final = frozenset({"film", "foil", "wrap", "shrink_wrap", "stretch_wrap", "bubble_wrap", "luggage_wrap"})
_OF_FILM: Final = ("sleeve", "seal", "label", "liner", "body")
"""What a film, a foil or a wrap can be, the packaging itself last."""
_OF_PACKAGING: Final = ("body", "liner", "sleeve")
"""What a bag, a net or an insert can be."""
_MOST: Final = 100
"""Words that are asked about one by one; more words than that are no names of parts."""
_CLEARED: Final = ("null", "NULL")


def without_open(parts: Sheet, main: Sheet, *, separate: bool) -> tuple[Sheet, list[Asked]]:
    """Return the components of the SKUs whose parts all have a type, and a question for each open word.

    An unknown word in a column of component_type is a fault of its line as well: there the field's own vocabulary is
    known. `separate` is true for a components sheet, whose mapping is its own.
    """
    of_main = {column.position for column in main.columns if column.name in ("packaging_format", "material")}
    held = parts.table["line"].is_in(list(parts.held))
    questions: dict[tuple[str, str], Asked] = {}
    named = [c for c in parts.columns if c.field.name in ("component_type", "shape") and c.constant is None]
    for column in named:
        cells = unescaped(parts.table[column.name])
        typed = next((c for c in parts.columns if c.group == column.group and c.field.name == "component_type"), None)
        if column.field.name == "shape" and typed is not None:
            cells = cells.set(parts.table[typed.name].is_not_null(), None)
        words = [word for word in cells.drop_nulls().unique(maintain_order=True) if _is_open(word)]
        faulty = column.field.name == "component_type" and column.position not in of_main
        asked = [word for word in words if not faulty or resolve_format(word, ruleset.load()) is not None]
        if asked:
            held |= cells.is_in(asked).fill_null(value=False)
        for word in words[:_MOST]:
            questions.setdefault((column.header, fold(word)), _question(column, word, parts, separate=separate))
    return _without_skus(parts, held), list(questions.values())[:_MOST]


def _is_open(word: str) -> bool:
    return part_type(word) is None and bool(word.strip()) and word not in _CLEARED and not word.startswith("#")


def _without_skus(parts: Sheet, held: pl.Series) -> Sheet:
    """Return the components without all lines of the SKUs that have one of the lines held back."""
    if not held.any():
        return parts
    codes = unescaped(parts.table["sku_code"]).to_frame("code").select(as_codes(pl.col("code")))["code"]
    of_skus = codes.is_in(codes.filter(held).drop_nulls().to_list()).fill_null(value=False)
    return parts.rows_at((~(held | of_skus)).arg_true().to_list())


def _question(column: Column, word: str, parts: Sheet, *, separate: bool) -> Asked:
    """Return an open word as `source.asked` shows it, with the piece of mapping that settles it."""
    found = resolve_format(word, ruleset.load())
    could_be = list(
        VOCABULARIES["component_type"] if found is None else _OF_FILM if found.key in _FILMS else _OF_PACKAGING
    )
    message = Message(
        "{text} can be several parts of a packaging, or the packaging itself; the components of its items are not "
        "read. Say what it is: mapping={mapping}.",
        text=shown(word),
        mapping={"values": {"component_type": {word: could_be[0]}}},
    )
    return question(
        "value",
        message,
        could_be=could_be,
        column=column,
        sheet=parts.name,
        text=word,
        of_components=separate,
    )
