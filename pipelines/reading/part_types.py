"""Finds the component_type of a part that the file describes only in words: `Couvercle`, `Barquette / Coque`.

A word of a whole rigid packaging is its body. A word that no list has, or that may be a body or a part of one (film,
foil, wrap, sheet, bag), is open: `open_parts.py` asks what it is.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from schemas.words import code_of, fold

_BODY: Final = "body"
_NOT_WHOLE: Final = frozenset(
    {"corrugated_sheet", "loose_fill", "protective_foam", "spool", "rack", "dispenser", "cutlery"}
)
"""Rigid formats that are no packaging around a product, but lie in one or hold several."""


def part_type_of_word(text: str) -> str | None:
    """Return the component_type that a text names, as a whole or in one of its parts between slashes."""
    return next((code for word in (text, *text.split("/")) if (code := code_of(word, "component_type"))), None)


def part_type(text: str) -> str | None:
    """Return the component_type that a text means: `body` for a rigid packaging (`Flacon`); None where it is open."""
    if (code := part_type_of_word(text)) is not None:
        return code
    found = resolve_format(text, ruleset.load())
    if found is None:
        return None
    if (code := code_of(found.key, "component_type")) is not None:
        return code
    return _BODY if found.form not in (None, "film") and found.key not in _NOT_WHOLE else None


def names_part(text: str) -> bool:
    """Return whether a text is a word for a part or for a packaging: `Couvercle`, `Film`."""
    return part_type_of_word(text) is not None or resolve_format(text, ruleset.load()) is not None


def part_types(texts: pl.Series, answered: Mapping[str, str | None] | None = None) -> pl.Series:
    """Return the type that each text means, `body` where there is no text.

    `answered` are the types that the caller's mapping gives, by folded text. With them a text whose type is open stays,
    to be asked about; without, it is no word for a part, and the part is the `body`.
    """
    distinct = texts.drop_nulls().unique()
    types = [(answered or {}).get(fold(t)) or part_type(t) or (_BODY if answered is None else t) for t in distinct]
    return texts.replace_strict(distinct, types, default=_BODY, return_dtype=pl.String)
