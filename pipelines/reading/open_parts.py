"""Holds back graphs with a part whose word says no type, and asks what it is (decisions §13).

`Film` may be the seal of a tray, a wrap around a box or the packaging itself: as a body it would make the box a
composite. The SKU's other fields are read; its graph is, once `mapping.values` of component_type says what the word is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from pipelines.reading.fields import Column
from pipelines.reading.part_types import part_type
from pipelines.reading.questions import question
from pipelines.reading.sheet import Sheet
from pipelines.reading.values import as_codes, unescaped
from schemas.messages import Message
from schemas.normalise import shown
from schemas.report import Asked
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
    held = pl.repeat(value=False, n=parts.table.height, eager=True)
    questions: dict[tuple[str, str], Asked] = {}
    for column in _columns_of_words(parts):
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


def _columns_of_words(parts: Sheet) -> Sequence[Column]:
    """Return the columns whose texts give the types of parts."""
    return [c for c in parts.columns if c.field.name in ("component_type", "shape") and c.constant is None]


def _is_open(word: str) -> bool:
    return part_type(word) is None and bool(word.strip()) and word not in _CLEARED and not word.startswith("#")


def _without_skus(parts: Sheet, held: pl.Series) -> Sheet:
    """Return the components without all lines of the SKUs that have one of the lines held back."""
    if not held.any():
        return parts
    codes = unescaped(parts.table["sku_code"]).to_frame("code").select(as_codes(pl.col("code")))["code"]
    skus = codes.filter(held).drop_nulls().unique().to_list()
    kept = ~(held | codes.is_in(skus).fill_null(value=False))
    kinds = None if parts.kinds is None else parts.kinds.filter(kept)
    return replace(parts, table=parts.table.filter(kept), kinds=kinds)


def _possible_types(word: str) -> list[str]:
    found = resolve_format(word, ruleset.load())
    if found is None:
        return list(VOCABULARIES["component_type"])
    return list(_OF_FILM if found.key in _FILMS else _OF_PACKAGING)


def _question(column: Column, word: str, parts: Sheet, *, separate: bool) -> Asked:
    """Return an open word as `source.asked` shows it, with the piece of mapping that settles it."""
    could_be = _possible_types(word)
    piece: dict[str, object] = {"values": {"component_type": {word: could_be[0]}}}
    message = Message(
        "{text} can be several parts of a packaging, or the packaging itself; the components of its items are not "
        'read. Say what it is: mapping={{"values": {{"component_type": {{"{word}": "{type}"}}}}}}.',
        text=shown(word),
        word=word,
        type=could_be[0],
    )
    return question(
        "value",
        message,
        piece,
        could_be=could_be,
        at=column.position,
        header=column.header,
        sheet=parts.name,
        text=word,
        of_components=separate,
    )
