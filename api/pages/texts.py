"""Loads the texts of the pages in each language: the rows of `texts/*.csv` (key, en, fr, de), by key.

A text may have gaps, `{name}`. `schemas.labels` has the words of fields and codes.
"""

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from schemas.numbers import is_one

FOLDER: Final = Path(__file__).parent / "texts"


def rows() -> Iterator[dict[str, str]]:
    """Yield every row of every file."""
    for file in sorted(FOLDER.glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            yield from csv.DictReader(lines)


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    return {row["key"]: row for row in rows()}


def text(key: str, lang: str, **gaps: object) -> str:
    """Return the text of a key in a language, its gaps filled. Raise `KeyError` for an unknown key.

    Where the language counts the gap `count` as one, the text of `<key>.one` is taken if there is one. A text that
    does not show the number is of 1 alone: in French 0 is counted like 1.
    """
    known, count = _texts(), str(gaps.get("count"))
    one = f"{key}.one"
    if (
        one in known
        and count.isdecimal()
        and is_one(int(count), lang)
        and (count == "1" or "{count}" in known[one][lang])
    ):
        key = one
    return known[key][lang].format(**gaps) if gaps else known[key][lang]
