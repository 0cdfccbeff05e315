"""Finds the known header inside a longer one: without a remark in brackets, without camelCase, in one language.

`Contact alimentaire (O/N)`, `packagingMaterial`, `Matériau / Material`. Each function returns texts to look up;
`columns.py` recognises them.
"""

import re
from collections.abc import Iterator

from schemas.words import code_of

_REMARK = re.compile(r"(?<!\s)\s*+[(\[]([^()\[\]]*+)[)\]]")
_AT_END = re.compile(r"[(\[]([^()\[\]]*+)[)\]]\s*+$")
_FEWEST_WORDS = 3
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BETWEEN_LANGUAGES = re.compile(r"(?<=\s)[/|](?=\s)|\n")


def wordings(header: str) -> Iterator[str]:
    """Yield the header in other words: without a remark for the person who fills it in, and with `camelCase` split."""
    bare = _REMARK.sub(lambda found: "" if code_of(found[1], "line") == "help" else found[0], header)
    if bare != header:
        yield bare
    if not re.search(r"\s", header) and _CAMEL.search(header):
        yield _CAMEL.sub(" ", header)


def term_and_note(header: str) -> tuple[str, str] | None:
    """Return a header's first line, and the note below it or behind it in brackets; None where there is no such note.

    `Verp.-gewicht Glas` over `Zugehörige Einheit in NTG-P-049`. A remark of one or two words is part of the term.
    """
    lines = [line.strip() for line in header.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        return lines[0], " ".join(lines[1:])
    found = _AT_END.search(header)
    if found is None or len(found[1].split()) < _FEWEST_WORDS:
        return None
    return header[: found.start()], found[1]


def language_sides(header: str) -> list[str]:
    """Return the sides of a header that is written in two or three languages; empty where it has one side."""
    sides = [side for part in _BETWEEN_LANGUAGES.split(header) if (side := part.strip())]
    return sides if 1 < len(sides) <= 3 else []
