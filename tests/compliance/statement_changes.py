"""Changes of true statements that make them false or wider, for tests and for reading by eye (`python -m`)."""

import re
from collections.abc import Iterator

_FIGURE = re.compile(r"(?<![\d(/.-])(\d+(?:[.,]\d+)?)(?=\s?(?:%|mg|ppb|ppm|µg|years|days|kg|litre|m2|micron))")
_YEAR = re.compile(r"\b(20[0-4]\d|19\d\d)\b")
_WORDS = (
    ("must not", "may"), ("may not", "may"), ("must", "must not"), ("must", "may"), ("must", "need not"),
    ("may", "must"), ("may", "may not"), ("banned", "allowed"), ("banned", "not banned"), ("prohibited", "permitted"),
    ("exempt", "not exempt"), ("at least", "at most"), ("at most", "at least"), ("need", "need no"),
    ("needs", "needs no"), ("below", "above"), ("above", "below"), ("more than", "less than"), ("from", "until"),
    ("by", "until"), ("since", "before"),
)  # fmt: skip
_ADDED = (
    " without exception", " in Germany", " for wine", " for medical devices", " of glass", " of cardboard",
    " for take-away", " for micro-enterprises", " in hospitals", " unless it is reusable", " for cosmetics",
    " without food contact", ", but not in 2031", " in some cases", " only for retailers", " in a re-use system",
    " with more than 5 litres", " if it was placed on the market before 2020", " for importers", " of PET",
    " for 2 kg packs",
)  # fmt: skip


def changed(statement: str) -> Iterator[str]:
    """Yield a statement with another figure, year, demand or comparison, with a quantifier, with an added condition."""
    statement = statement.rstrip(".")
    for hit in _FIGURE.finditer(statement):
        yield statement[: hit.start()] + str(int(float(hit[1].replace(",", "."))) + 7) + statement[hit.end() :]
    for hit in _YEAR.finditer(statement):
        for years in (3, -3):
            yield statement[: hit.start()] + str(int(hit[1]) + years) + statement[hit.end() :]
    for old, new in _WORDS:
        if re.search(rf"(?<![a-z]){old}(?![a-z])", statement):
            yield re.sub(rf"(?<![a-z]){old}(?![a-z])", new, statement, count=1)
    low = statement if statement[:3].isupper() else statement[0].lower() + statement[1:]
    for quantifier in ("All", "Only", "Each"):
        yield f"{quantifier} {low}"
    for text in _ADDED:
        yield statement + text


def shortened(statement: str) -> Iterator[str]:
    """Yield a statement without each of its words in turn."""
    tokens = statement.rstrip(".").split()
    for place in range(len(tokens)):
        yield " ".join(tokens[:place] + tokens[place + 1 :])
