"""Finds the component_type of a part that the file describes only in words: `Couvercle`, `Barquette / Coque`."""

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from schemas.words import code_of

_BODY = "body"


def part_type_of_word(text: str) -> str | None:
    """Return the component_type that a text names, as a whole or in one of its parts between slashes."""
    return next((code for word in (text, *text.split("/")) if (code := code_of(word, "component_type"))), None)


def part_type_or_body(text: str) -> str | None:
    """Return the component_type that a text names; `body` where it names a packaging instead: `Flacon`, `Tray`."""
    return part_type_of_word(text) or (_BODY if resolve_format(text, ruleset.load()) is not None else None)


def part_types(texts: pl.Series) -> pl.Series:
    """Return the type that each text names, else `body`."""
    distinct = texts.drop_nulls().unique()
    types = [part_type_of_word(text) or _BODY for text in distinct]
    return texts.replace_strict(distinct, types, default=_BODY, return_dtype=pl.String)
