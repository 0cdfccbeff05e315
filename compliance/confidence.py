"""Vocabulary of confidence: how sure a row of the EPR tables is, in the same words for all of them.

A row has the word after its source. A text may follow the word, separated by a comma, and says which part of the row is
less sure. The pages have the texts that explain a word to a reader.
"""

from typing import Final

CONFIDENCES: Final = (
    "primary",
    "official_page",
    "scheme",
    "scheme_dated",
    "secondary",
    "secondary_old",
    "third_party",
    "ours",
    "from memory",
    "unverified",
    "unknown",
)
"""In this order: read in the law; on a page of the authority; of the scheme, now or long ago; reported by others, now
or long ago; in somebody's data; a choice of ours; from memory; not verified; nothing found.
"""
NONE: Final = "none"
"""Where no row of a table applies and the family of a material is used as its category."""


def word(text: str) -> str:
    """Return the word of the vocabulary with which a confidence begins."""
    return text.partition(", ")[0]


def is_confidence(text: str) -> bool:
    """Return whether a cell states its row's confidence in the words of the vocabulary."""
    return word(text) in CONFIDENCES
