"""Letters without their accents, for comparing words. What is compared is `words.py` and `compliance.words`."""

import unicodedata
from functools import lru_cache


def without_accents(text: str) -> str:
    """The text in compatibility decomposition (Unicode Standard Annex 15), without its combining characters.

    Each character by itself: decomposing a text also sorts its combining characters, which takes a time that grows
    with the square of their number, and here they are dropped.
    """
    return text if text.isascii() else "".join(map(_bare, text))


@lru_cache(maxsize=4096)
def _bare(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character)
    return "".join(part for part in decomposed if not unicodedata.combining(part))
