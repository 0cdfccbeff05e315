"""Finds sections of the guides by words, in any order; letters and accents do not matter.

A section is found where each word is a part of its headings or of its text. All guides are a quarter of a megabyte, so
every section is looked at: an index would be more code than time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from markupsafe import Markup

from api.reference.guides import Section, guides
from schemas.words import fold

MOST: Final = 30
"""Sections shown of one search."""
_MOST_WORDS: Final = 8
_MOST_CHARACTERS: Final = 200
_AROUND: Final = 160
"""Characters of a text shown before and after the first word found."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that was found, with the text in it that has most of the words."""

    section: Section
    text: Markup


@dataclass(frozen=True, slots=True)
class _Looked:
    """A section as it is looked at."""

    section: Section
    headings: str
    texts: tuple[str, ...]


def search(question: str) -> list[Hit]:
    """Return the sections with all words, best first: those with more of the words in their headings."""
    words = list(dict.fromkeys(fold(question[:_MOST_CHARACTERS]).split()))[:_MOST_WORDS]
    if not words:
        return []
    ranked: list[tuple[int, int, int, _Looked]] = []
    for place, looked in enumerate(_all()):
        if all(word in looked.headings or any(word in text for text in looked.texts) for word in words):
            in_headings = sum(word in looked.headings for word in words)
            together = max((sum(word in text for word in words) for text in looked.texts), default=0)
            ranked.append((-in_headings, -together, place, looked))
    return [_hit(looked, words) for *_, looked in sorted(ranked, key=lambda found: found[:3])]


@cache
def _all() -> tuple[_Looked, ...]:
    return tuple(
        _Looked(section, fold(" ".join(section.headings)), tuple(map(fold, section.texts)))
        for guide in guides().values()
        for section in guide.sections
    )


def _hit(looked: _Looked, words: list[str]) -> Hit:
    best = max(
        range(len(looked.texts)), key=lambda place: sum(word in looked.texts[place] for word in words), default=None
    )
    return Hit(looked.section, Markup() if best is None else _marked(looked.section.texts[best], words))


def _marked(text: str, words: list[str]) -> Markup:
    """Return the text around the first word, cut at spaces, with the words marked where one begins."""
    any_word = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    pattern = re.compile(rf"\b(?:{any_word})", re.IGNORECASE)
    first = pattern.search(text)
    begin = max(0, first.start() - _AROUND) if first else 0
    end = begin + 2 * _AROUND
    if begin:
        begin = text.find(" ", begin) + 1
    if end < len(text):
        end = max(text.rfind(" ", begin, end), begin + 1)
    shown = text[begin:end]
    return Markup().join(
        (Markup("… ") if begin else "", *_pieces(pattern, shown), Markup(" …") if end < len(text) else "")
    )


def _pieces(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    done = 0
    for found in pattern.finditer(text):
        yield text[done : found.start()]
        yield Markup("<mark>{}</mark>").format(found[0])
        done = found.end()
    yield text[done:]
