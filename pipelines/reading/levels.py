"""Finds the level of packaging that a header or a title names: `Primary packaging`, `Emballage secondaire (carton)`.

Forms put the levels side by side. The SKU is the sold unit, so its columns are those of the sales packaging; a carton
around twelve of them is no part of one. The words are in `words.csv`: the vocabulary `level_packaging`, and
`level_title` for words that mean a level only in a title (`Primary`): a primary material is the main one.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

import polars as pl

from compliance import ruleset
from compliance.words import resolve_format
from schemas.words import code_of, fold, words

SALES: Final = "sales"
_LONGEST_NAME: Final = 4
_MOST_WORDS: Final = 12


def level_of(title: str) -> str | None:
    """Return the level that a title names in any of its words; None where it names none, or two."""
    tokens = fold(title).split()[:_MOST_WORDS]
    levels = {level for start, end in _runs(len(tokens)) if (level := _known().get(" ".join(tokens[start:end])))}
    return levels.pop() if len(levels) == 1 else None


def level_at(tokens: Sequence[str], at: int, *, in_title: bool = False) -> tuple[str, int] | None:
    """Return the level that is named by the longest phrase which begins at a word, and the phrase's end.

    `Primary` alone means the sales level only `in_title` or in a note.
    """
    for end in range(min(len(tokens), at + _LONGEST_NAME), at, -1):
        phrase = " ".join(tokens[at:end])
        level = _known().get(phrase)
        if level is not None and (in_title or level != SALES or phrase in words("level_packaging")):
            return level, end
    return None


def names_sales_level(header: str) -> bool:
    """Return whether a header names the sales packaging by more than one word: `Primary packaging material`."""
    tokens = fold(header).split()[:_MOST_WORDS]
    names = {" ".join(tokens[start:end]) for start, end in _runs(len(tokens))}
    return any(words("level_packaging").get(name) == SALES for name in names)


@cache
def _known() -> dict[str, str]:
    return {**words("level_title"), **words("level_packaging")}


def are_levels(cells: pl.Series) -> bool:
    """Return whether every given cell is a word for a level, and at least one is no word for a packaging (`Pallet`)."""
    distinct = cells.drop_nulls().unique()
    if not len(distinct) or any(code_of(cell, "packaging_level") is None for cell in distinct):
        return False
    rules = ruleset.load()
    return any(resolve_format(cell, rules) is None for cell in distinct)


def are_mostly_levels(cells: pl.Series) -> bool:
    """Return whether most given cells name a level (`Primary`), and none names only a use (`Online`)."""
    given = cells.drop_nulls()
    levels = {cell for cell in given.unique() if code_of(cell, "packaging_level") is not None}
    uses = {cell for cell in given.unique() if code_of(cell, "use_context") is not None}
    return 2 * int(given.is_in(list(levels)).sum()) > len(given) and uses < levels


def _runs(count: int) -> list[tuple[int, int]]:
    """Return start and end of every run of words, the longest first."""
    return [(start, start + size) for size in range(count, 0, -1) for start in range(count - size + 1)]
