"""Translates the service's sentences from English to the caller's language.

The code that finds a fault writes its sentence in English, and it is stored in English: a report that is written once
can then be read in any language. This module recognises a sentence by the table `sentences.csv` (part, en, fr, de) and
puts the contents of its gaps, such as a cell of the caller, into the gaps of the translation. A row with a `part` is no
whole sentence: it translates the contents of the gap of that name. `api.languages` chooses the language; `labels.py`
has short labels.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Final

from schemas.labels import LANGUAGES

ORIGINAL: Final = LANGUAGES[0]
"""The language in which sentences are written."""
_LONGEST: Final = 8_192
"""Characters. A value in a sentence is cut at 200; the end of a gap is tried at every place that fits."""


FIGURES: Final = frozenset({"score", "kept", "cap", "total", "parts"})
"""Gaps with a number that the service computed; values that a caller sent stay unchanged."""
_FIGURE: Final = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True, slots=True)
class _Known:
    """A row of the table: the pattern of its English sentence, and its text in each language."""

    longest: str
    """Its longest words between two gaps: a sentence without them is not compared further."""
    pattern: re.Pattern[str]
    texts: Mapping[str, str]
    weight: int
    """Its characters outside of gaps: of two rows that match, the one with more is chosen."""


def told(sentence: str, lang: str) -> str:
    """Return the sentence in a language of `LANGUAGES`; return one unchanged that is unknown or very long."""
    return sentence if lang == ORIGINAL or len(sentence) > _LONGEST else _told(sentence, "", lang)


def _told(sentence: str, part: str, lang: str) -> str:
    for known in _table().get(part, ()):
        if known.longest in sentence and (found := known.pattern.fullmatch(sentence)):
            gaps = {name: _in_gap(held, name, lang) for name, held in found.groupdict().items()}
            return known.texts[lang].format_map(gaps)
    return sentence


def _in_gap(held: str, name: str, lang: str) -> str:
    """Return a gap's contents: a computed figure with the language's decimal mark, others translated or unchanged."""
    return held.replace(".", ",") if name in FIGURES and _FIGURE.fullmatch(held) else _told(held, name, lang)


@cache
def _table() -> Mapping[str, tuple[_Known, ...]]:
    """Return the rows by the gap that they translate, those with the most characters first."""
    parts: dict[str, list[_Known]] = {}
    for row in rows():
        literals = [literal for literal, *_ in Formatter().parse(row["en"])]
        known = _Known(max(literals, key=len), _pattern(row["en"]), row, sum(map(len, literals)))
        parts.setdefault(row["part"], []).append(known)
    return {part: tuple(sorted(of, key=lambda known: -known.weight)) for part, of in parts.items()}


def rows() -> Iterator[dict[str, str]]:
    """Return the rows of the table as they are in the file."""
    with (Path(__file__).parent / "sentences.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of the text with anything in its gaps; a gap that comes twice must have equal contents."""
    pattern, seen = "", set[str]()
    for literal, gap, *_ in Formatter().parse(text):
        pattern += re.escape(literal)
        if gap is not None:
            pattern += f"(?P={gap})" if gap in seen else f"(?P<{gap}>.*?)"
            seen.add(gap)
    return re.compile(pattern, re.DOTALL)
