"""Parses a statement: its topics, its figures with their comparison, its demands, its unknown words.

A statement of several figures ("25 ppb for one and 250 ppb for the sum") is parsed in parts with one figure each; a
part takes over what the other parts supply.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from compliance.statements.figures import (
    LANGS,
    MARK,
    Day,
    Figure,
    Lang,
    Quantity,
    Reference,
    mark_figures,
    of,
    without_lead_in,
)

Claim = Literal["forbid", "require", "permit", "exempt", "unclear"] | None
_COMPARATORS: Final = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_ROLES: Final = ("from", "until", "by", "before")
_CITED: Final = "cited"
"""The concept of a statement that names an article: it can replace the article's topic."""
_CASE: Final = "case"
"""The concept of a statement that gives the value of one pack, not a limit."""
_NEAR: Final = 5
"""Most tokens between a comparator or a role and its figure."""
_STOPS: Final = frozenset(",;")
_SEPARATORS: Final = _STOPS | {"and", "while", "whereas", "but", "et", "tandis", "mais", "und", "wahrend", "aber"}
_TOKEN: Final = re.compile(rf"{MARK}\d+|[a-z0-9]+|[;,]")


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity and its comparison: `>=`, `>`, `<=`, `<`, or none.

    `is_case` where it is no limit but the value of one pack: packaging *with 150 ppm*.
    """

    quantity: Quantity
    operator: str = ""
    is_case: bool = False

    def holds(self, value: float) -> bool:
        """Return whether a value in the same unit meets the comparison; any does without an operator."""
        own = self.quantity.value
        return {">=": value >= own, ">": value > own, "<=": value <= own, "<": value < own}.get(self.operator, True)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date and its role: from, until, by, before, or none."""

    day: Day
    role: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed content of a statement, or of one part of it.

    `topics` are its own, `lent` those of its other parts. `negated` where a negation belongs to no demand.
    """

    topics: frozenset[str]
    lent: frozenset[str]
    amounts: tuple[Amount, ...]
    moments: tuple[Moment, ...]
    references: tuple[Reference, ...]
    claim: Claim
    negated: bool
    now: bool
    only: bool
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    at: int
    name: str = ""
    kind: str = "word"
    figure: Figure | None = None


def read(statement: str, lang: Lang, corpus: str) -> list[Reading]:
    """Return the parts of a statement, parsed in the language that has most of its words; `lang` where several do.

    `corpus` is its subject, `regulation` or `service`: some words have different meanings in the two.
    """
    statement = without_lead_in(statement)
    tried = [_read(statement, tongue, corpus) for tongue in (lang, *(tongue for tongue in LANGS if tongue != lang))]
    return min(tried, key=lambda parts: sum(len(part.unknown) for part in parts))


def _read(statement: str, lang: Lang, corpus: str) -> list[Reading]:
    text = mark_figures(statement, lang)
    tokens = _TOKEN.findall(text.text)
    items = _items(tokens, text.figures, lang, corpus)
    spans = _spans(tokens, items)
    whole = _reading(items)
    if len(spans) < 2:
        return [whole]
    parts = [_reading([item for item in items if start <= item.at < stop]) for start, stop in spans]
    return [_completed(part, whole, [other for other in parts if other is not part]) for part in parts]


def _items(tokens: list[str], figures: Sequence[Figure], lang: Lang, corpus: str) -> list[_Item]:
    vocabulary, items = of(lang, corpus), list[_Item]()
    places = [at for at, token in enumerate(tokens) if token not in _STOPS]
    for place, _, concept in vocabulary.found([tokens[at] for at in places]):
        at = places[place]
        token = tokens[at]
        if token[0] == MARK:
            items.append(_Item(at, figure=figures[int(token[1:])], kind="figure"))
        elif concept is not None:
            items.append(_Item(at, concept.name, concept.kind))
        elif token not in vocabulary.neutral:
            items.append(_Item(at, token, "unknown"))
    return items


def _spans(tokens: list[str], items: Sequence[_Item]) -> list[tuple[int, int]]:
    """Return where each part with a quantity begins and ends; one span where the statement cannot be cut."""
    quantities = [item.at for item in items if isinstance(item.figure, Quantity)]
    cuts = [at for at, token in enumerate(tokens) if token in _SEPARATORS]
    starts = [0]
    for before, after in pairwise(quantities):
        between = [cut for cut in cuts if before < cut < after]
        if not between:
            return [(0, len(tokens))]
        starts.append(between[0])
    return list(zip(starts, [*starts[1:], len(tokens)], strict=True))


def _completed(part: Reading, whole: Reading, others: Sequence[Reading]) -> Reading:
    """Return a part completed from the others: their topics, their demand, and the cited act."""
    lent = frozenset().union(*(other.topics for other in others)) - part.topics
    return replace(
        part,
        lent=lent,
        claim=part.claim or whole.claim,
        moments=part.moments or _first_moments(others),
        references=part.references or whole.references,
        unknown=whole.unknown,
        only=whole.only,
    )


def _first_moments(others: Sequence[Reading]) -> tuple[Moment, ...]:
    """Return the one date that all parts share; none where the others have several."""
    found = {moment for other in others for moment in other.moments}
    return tuple(found) if len(found) == 1 else ()


def _reading(items: Sequence[_Item]) -> Reading:
    marks = [item for item in items if item.kind == "mark"]
    names = [item.name for item in marks]
    amounts, used = _amounts(items, marks)
    claim, negated = _claim([item.name for item in marks if item not in used])
    references = tuple(item.figure for item in items if isinstance(item.figure, Reference))
    topics = {item.name for item in items if item.kind in ("topic", "soft")}
    topics |= {_CITED for each in references if each.kind == "article"} | {_CASE for each in amounts if each.is_case}
    return Reading(
        topics=frozenset(topics),
        lent=frozenset(),
        amounts=amounts,
        moments=_moments(items, marks),
        references=references,
        claim=claim,
        negated=negated,
        now="now" in names,
        only="only" in names or {"ne", "que"} <= set(names),
        unknown=tuple(item.name for item in items if item.kind == "unknown"),
    )


def _amounts(items: Sequence[_Item], marks: Sequence[_Item]) -> tuple[tuple[Amount, ...], list[_Item]]:
    """Return the quantities with their comparators, and the marks that belong to a comparison."""
    found, used = list[Amount](), list[_Item]()
    comparators = [mark for mark in marks if mark.name in _COMPARATORS]
    quantities = [item for item in items if isinstance(item.figure, Quantity)]
    for item in quantities:
        assert isinstance(item.figure, Quantity)
        near = [mark for mark in comparators if 0 < item.at - mark.at <= _NEAR and mark not in used]
        behind = [mark for mark in comparators if 0 < mark.at - item.at <= 2 and mark not in used]
        loose = [mark for mark in comparators if mark not in used] if len(quantities) == 1 else []
        mark = next(iter([*behind[:1], *near[-1:], *loose[-1:]]), None)
        if mark is None:
            found.append(Amount(item.figure, is_case=any(m.name == "with" and item.at - m.at == 1 for m in marks)))
            continue
        used.append(mark)
        operator = _COMPARATORS[mark.name]
        denied = next((other for other in marks if other.name == "not" and 0 < mark.at - other.at <= 3), None)
        if denied is not None:
            used.append(denied)
            operator = complement(operator)
        found.append(Amount(item.figure, operator))
    return tuple(found), used


def _moments(items: Sequence[_Item], marks: Sequence[_Item]) -> tuple[Moment, ...]:
    found = []
    for item in items:
        if isinstance(item.figure, Day):
            near = [mark.name for mark in marks if mark.name in _ROLES and 0 < item.at - mark.at <= _NEAR]
            onward = [mark.name for mark in marks if mark.name == "from" and 0 < mark.at - item.at <= 1]
            found.append(Moment(item.figure, (near[-1:] or onward or [""])[0]))
    return tuple(found)


def _claim(names: list[str]) -> tuple[Claim, bool]:
    """Return the demand, with its negations resolved, and whether a negation is left over."""
    words, negated = set(names), names.count("not") % 2 == 1
    if "forbid" in words:
        return ("unclear" if {"permit", "exempt"} & words else "permit" if negated else "forbid"), False
    if "exempt" in words:
        return ("require" if negated else "exempt"), False
    if "permit" in words:
        return ("unclear" if {"must", "require"} & words else "forbid" if negated else "permit"), False
    if "must" in words:
        return ("forbid" if negated else "require"), False
    if "require" in words:
        return ("exempt" if negated else "require"), False
    return None, negated


def complement(operator: str) -> str:
    """Return the comparison that holds exactly where this one does not."""
    return {">=": "<", ">": "<=", "<=": ">", "<": ">=", "": ""}[operator]
