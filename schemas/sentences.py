"""What the service says to a caller, told again in the caller's language.

A sentence is made in English where its fault is found, and is stored so: a report that is written once can then be read
in any language. Here its words are known again by the table `sentences.csv` (part, en, fr, de), and what stood in their
gaps, such as a cell of the caller, is put into the gaps of the other sentence. A row with a `part` is no sentence of
its own: it fills the gap of that name. Choosing the language is `api.languages`; short labels are `labels.py`.
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
"""The language in which sentences are made."""
_LONGEST: Final = 8_192
"""Characters; a value in a sentence is cut at 200, and where gaps end is tried at every place that fits."""


FIGURES: Final = frozenset({"score", "kept", "cap", "total", "parts"})
"""Gaps that hold a number that the service has computed; what a caller has sent stays as it was sent."""
_FIGURE: Final = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True, slots=True)
class _Known:
    """A row of the table: how its English is recognised, and its text in each language."""

    longest: str
    """Its longest words between two gaps: where they are missing, nothing needs to be compared."""
    pattern: re.Pattern[str]
    texts: Mapping[str, str]
    weight: int
    """Its characters outside of gaps: of two rows that fit, the one that says more is meant."""


def told(sentence: str, lang: str) -> str:
    """The sentence in a language of `LANGUAGES`; one that the table does not know, or that is very long, stays."""
    return sentence if lang == ORIGINAL or len(sentence) > _LONGEST else _told(sentence, "", lang)


def _told(sentence: str, part: str, lang: str) -> str:
    for known in _table().get(part, ()):
        if known.longest in sentence and (found := known.pattern.fullmatch(sentence)):
            gaps = {name: _in_gap(held, name, lang) for name, held in found.groupdict().items()}
            return known.texts[lang].format_map(gaps)
    return sentence


def _in_gap(held: str, name: str, lang: str) -> str:
    """What stands in a gap: a figure of ours with the language's decimal mark, everything else told or left."""
    return held.replace(".", ",") if name in FIGURES and _FIGURE.fullmatch(held) else _told(held, name, lang)


@cache
def _table() -> Mapping[str, tuple[_Known, ...]]:
    """The rows by the gap that they fill, those that say most first."""
    parts: dict[str, list[_Known]] = {}
    for row in rows():
        literals = [literal for literal, *_ in Formatter().parse(row["en"])]
        known = _Known(max(literals, key=len), _pattern(row["en"]), row, sum(map(len, literals)))
        parts.setdefault(row["part"], []).append(known)
    return {part: tuple(sorted(of, key=lambda known: -known.weight)) for part, of in parts.items()}


def rows() -> Iterator[dict[str, str]]:
    """The table as it is written."""
    with (Path(__file__).parent / "sentences.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _pattern(text: str) -> re.Pattern[str]:
    """Matches the text with anything in its gaps; a gap that comes twice holds the same both times."""
    pattern, seen = "", set[str]()
    for literal, gap, *_ in Formatter().parse(text):
        pattern += re.escape(literal)
        if gap is not None:
            pattern += f"(?P={gap})" if gap in seen else f"(?P<{gap}>.*?)"
            seen.add(gap)
    return re.compile(pattern, re.DOTALL)
