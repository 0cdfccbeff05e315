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
"""Read in the law; on a page of the authority; of the scheme, now or long ago; told by others, now or long ago; in
somebody's data; a choice of ours; remembered; not verified; nothing found."""
NONE: Final = "none"
"""Where no row of a table says anything: the family of a material stands for its category."""


def word(text: str) -> str:
    """The word of the vocabulary that a confidence begins with."""
    return text.partition(", ")[0]


def is_confidence(text: str) -> bool:
    """Whether a cell says how sure its row is in the words of the vocabulary."""
    return word(text) in CONFIDENCES
