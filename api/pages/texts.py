"""Loads the texts of the pages in each language: the rows of `texts/*.csv` (key, en, fr, de), by key.

A text may have gaps, `{name}`. `schemas.labels` has the words of fields and codes.
"""

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

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

    Where the gap `count` is 1, the text of `<key>.one` is taken if there is one.
    """
    known = _texts()
    if str(gaps.get("count")) == "1":
        key = f"{key}.one" if f"{key}.one" in known else key
    return known[key][lang].format(**gaps) if gaps else known[key][lang]
