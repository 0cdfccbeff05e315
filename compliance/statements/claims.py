"""Takes a statement apart into claims: what each is about, what it demands, of how much, from when, what was unlisted.

A figure takes the comparison or the role of a date that stands right beside it, and no other. A word that belongs to
nothing makes a claim unclear or is kept as not understood, so that no provision decides it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from compliance.statements.words import (
    CLASSES,
    CONTENT,
    DAY_OF_YEAR,
    LANGS,
    MARK,
    Concept,
    CorpusName,
    Day,
    Figure,
    Lang,
    Lexicon,
    Quantity,
    Reference,
    kinds,
    lexicon,
    mark_figures,
    without_lead_in,
)
from compliance.tables import words

_TOKEN: Final = re.compile(rf"{MARK}\d+|[a-z0-9]+|[;,.:]")
_STOPS: Final = frozenset(";,.:")
_GAPS: Final = frozenset(
    words("a|an|of|the|le|la|les|l|de|du|d|des|d|un|une|den|dem|der|das|die|vom|zum|am|im|von|auf|zu")
)
"""Words that may stand between a figure and its comparison or role."""
_MOST_GAPS: Final = 2
_LONGEST_BESIDE: Final = 6
"""Most words of a comparison or a role."""
_NEGATIONS: Final = frozenset(words("not|nicht|pas"))
_OF: Final = frozenset(words("of|der|des|von|vom|de|d|du"))
_NOT_ONLY: Final = frozenset(words("pas|plus|aucun|aucune|jamais|ni|rien|nul"))
"""Second halves of a French negation, beside which *ne* is no *ne ... que*."""
_DUTY: Final = frozenset(words("muss|mussen"))
"""Verbs with which a German *bis* is a deadline: something has to be done by then."""
_BASE_YEAR: Final = 2018
"""The year with which Article 43 compares."""
_CUTS: Final = frozenset(words(";|,|.|and|while|whereas|but|et|tandis|mais|und|wahrend|aber"))
_CLAUSES: Final = _CUTS | frozenset(
    words("that|which|who|whose|because|if|when|where|unless|qui|que|dont|si|car|lorsque|weil|wenn|dass|falls|sofern")
)
_NEGATED: Final = {
    "forbid": "permit", "must": "forbid", "require": "exempt", "permit": "forbid", "exempt": "holds", "holds": "exempt",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity with its comparison: `>=`, `>`, `<=`, `<`, `case` for the value of one pack, or none."""

    quantity: Quantity
    operator: str = ""
    is_part: bool = False
    """Whether it is a part of the subject: 40 % of the packaging."""

    def within(self, other: "Amount") -> "Amount":
        """Return the same amount in the dimension of another where possible."""
        return replace(self, quantity=self.quantity.within(other.quantity.dimension))

    def alike(self, owns: Sequence["Amount"]) -> list["Amount"]:
        """Return those with which this amount compares."""
        return [own for own in owns if self.within(own).quantity.dimension == own.quantity.dimension]

    def holds(self, value: float) -> bool:
        """Return whether a value lies on this amount's side."""
        limit = self.quantity.value
        sides = {">=": value >= limit, ">": value > limit, "<=": value <= limit, "<": value < limit}
        return sides.get(self.operator, value == limit)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date with its role: from, from_only, until, by, before, after, in, latest, `bis` (until or by), or none."""

    day: Day
    role: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a statement says."""

    about: dict[str, int]
    """Its content with the place of each concept."""
    demand: str | None
    """forbid, oblige, permit, exempt, holds, endeavour, isnot (it is not so), or none."""
    marks: frozenset[str] = frozenset()
    """all, each, only, now, rule and the like."""
    amounts: tuple[Amount, ...] = ()
    moments: tuple[Moment, ...] = ()
    references: tuple[Reference, ...] = ()
    lent: frozenset[str] = frozenset()
    """What the statement's other parts supply."""
    ahead: bool = False
    """Whether a later part alone names a class, which need not be what this part is about."""
    unlisted: tuple[str, ...] = ()
    """Its words that no list has."""
    unclear: str = ""
    """Why it cannot be judged."""
    verb: int = 0
    """Where its demand stands."""
    only: str = ""
    """What it is only about: the content that follows the word."""

    @property
    def universal(self) -> bool:
        """Whether it speaks of all that it names."""
        return bool({"all", "each", "no_exception"} & self.marks)

    @property
    def of_rule(self) -> bool:
        """Whether it speaks of the rule itself, so that its scope and its day may stay unsaid."""
        return "rule" in self.marks or any(reference.kind != "act" for reference in self.references)

    @property
    def classes(self) -> list[str]:
        """The classes and formats of packaging that it names."""
        return [name for name in self.about if kinds()[name] in CLASSES]


@dataclass(slots=True)
class _Item:
    """A phrase of the statement with its meaning."""

    at: int
    concept: Concept
    size: int = 1

    @property
    def name(self) -> str:
        return self.concept.name

    @property
    def kind(self) -> str:
        return self.concept.kind


@dataclass(slots=True)
class _Text:
    """A statement in tokens, and what its parts are, with their places."""

    tokens: list[str]
    figures: tuple[Figure, ...]
    lexicon: Lexicon
    items: list[_Item] = field(default_factory=list)
    amounts: list[tuple[int, Amount]] = field(default_factory=list)
    moments: list[tuple[int, Moment]] = field(default_factory=list)
    references: list[tuple[int, Reference]] = field(default_factory=list)
    unlisted: list[tuple[int, str]] = field(default_factory=list)
    unclear: str = ""
    denies: bool = False
    """Whether a comparison has a negation in it, which a verb before it could take: need not exceed."""


def read(statement: str, lang: Lang, corpus: CorpusName) -> tuple[list[Claim], bool]:
    """Return the claims of a statement, and whether its beginning denies them ("it is not true that").

    It is taken in the language that knows most of its words; in `lang` where several do.
    """
    statement, denied = without_lead_in(statement)
    best = _read(statement, lang, corpus)
    for other in LANGS:
        if other != lang and (least := _count_unlisted(best)):
            claims = _read(statement, other, corpus)
            best = claims if _count_unlisted(claims) < least else best
    return best, denied


def _count_unlisted(claims: list[Claim]) -> int:
    return sum(len(claim.unlisted) for claim in claims)


def _read(statement: str, lang: Lang, corpus: CorpusName) -> list[Claim]:
    marked = mark_figures(statement, lang)
    text = _Text(_TOKEN.findall(marked.text), marked.figures, lexicon(lang, corpus))
    _name(text, _beside_figures(text))
    _adjectives(text, lang)
    spans = _spans(text)
    if not spans:
        return [replace(_claim(text, 0, len(text.tokens)), unclear="several figures of one kind")]
    claims = [_claim(text, start, stop) for start, stop in spans]
    if len(claims) == 1:
        return claims
    return [_completed(claim, claims[:place], claims[place + 1 :]) for place, claim in enumerate(claims)]


def _beside_figures(text: _Text) -> list[int]:
    """Give each figure the phrase beside it, and return the places of the other tokens."""
    used: set[int] = set()
    for at, token in enumerate(text.tokens):
        if token[0] != MARK:
            continue
        figure = text.figures[int(token[1:])]
        used.add(at)
        if isinstance(figure, Reference):
            text.references.append((at, figure))
            continue
        kind = "when" if isinstance(figure, Day) or figure.dimension == DAY_OF_YEAR else "compare"
        phrases = [phrase for side in (-1, 1) if (phrase := _phrase(text, at, kind, side, used))]
        places = [place for _, phrase_places in phrases for place in phrase_places]
        used.update(places)
        text.denies |= any(text.tokens[place] in _NEGATIONS for place in places)
        names = [name for name, _ in phrases]
        names = [name for name in names if name not in ("case", "at")] or names  # at 25 ppb or more
        if len(set(names)) > 1:
            text.unclear = "two comparisons of one figure"
        name = names[0] if names else ""
        if not isinstance(figure, Day):
            text.amounts.append((at, Amount(figure, name if kind == "compare" else "")))
        elif name != "base" or figure.year != _BASE_YEAR:
            if name.endswith("_end"):  # the end of a year is its last day
                figure = figure if figure.month else Day(figure.year, 12, 31)
            role = name.removesuffix("_end")
            text.moments.append((at, Moment(figure, "by" if role == "bis" and _DUTY & set(text.tokens) else role)))
    return [at for at in range(len(text.tokens)) if at not in used]


def _phrase(text: _Text, at: int, kind: str, side: int, used: set[int]) -> tuple[str, list[int]] | None:
    """Return the longest phrase that ends before a figure or begins after it, small words between them aside."""
    for gaps in range(_MOST_GAPS + 1):
        first = at + side * (gaps + 1)
        inner = range(at + side, first, side)
        if any(not 0 <= place < len(text.tokens) or text.tokens[place] not in _GAPS for place in inner):
            return None
        for size in range(_LONGEST_BESIDE, 0, -1):
            places = sorted(range(first, first + side * size, side))
            if places[0] < 0 or places[-1] >= len(text.tokens) or used & set(places):
                continue
            if concept := text.lexicon.beside.get((kind, side, " ".join(text.tokens[place] for place in places))):
                return (concept.name, [*places, *inner]) if concept.name != "none" else None
    return None


def _name(text: _Text, left: list[int]) -> None:
    """Name the phrases of the tokens that are left; stops are no tokens of a phrase."""
    places = [at for at in left if text.tokens[at] not in _STOPS]
    tokens = [text.tokens[at] for at in places]
    at = 0
    while at < len(tokens):
        size, concepts = text.lexicon.longest_at(tokens, at)
        if not concepts:
            text.unlisted.append((places[at], tokens[at]))
        text.items += [_Item(places[at], concept, places[at + size - 1] - places[at] + 1) for concept in concepts]
        at += size


def _adjectives(text: _Text, lang: Lang) -> None:
    """Turn an adjective that belongs to a noun (reusable packaging) into a class; others are what is said of it."""
    items = [item for item in text.items if item.kind != "skip" or lang != "fr"]
    for place, item in enumerate(items):
        if item.kind != "adj":
            continue
        beside = items[place - 1 : place] if lang == "fr" else items[place + 1 : place + 2]
        for other in beside:
            near = lang == "fr" or other.at <= item.at + item.size
            if near and (other.kind in CLASSES or other.name == "packaging"):
                item.concept = Concept(f"{item.name}_pack", "class")


def _spans(text: _Text) -> list[tuple[int, int]]:
    """Return where each part with a figure of its own begins and ends; none where the statement cannot be cut."""
    by_kind: dict[str, list[int]] = {}
    dimensions = {amount.quantity.dimension for _, amount in text.amounts}
    for at, amount in text.amounts:  # a number without a unit may count what the other counts: 20 tools, of which 17
        by_kind.setdefault("" if "" in dimensions else amount.quantity.dimension, []).append(at)
    by_kind["date"] = [at for at, _ in text.moments]
    most = max(by_kind.values(), key=len)
    if len(most) < 2:
        return [(0, len(text.tokens))]
    cuts = [at for at, token in enumerate(text.tokens) if token in _CUTS]
    starts = [0]
    for before, after in pairwise(most):
        cut = next((cut for cut in cuts if before < cut < after), None)
        if cut is None:
            return []
        starts.append(cut)
    spans = list(zip(starts, [*starts[1:], len(text.tokens)], strict=True))
    text.items = [item for item in text.items if item.at not in starts[1:] or item.name != "contrast"]
    fits = all(sum(start <= at < stop for at in places) < 2 for places in by_kind.values() for start, stop in spans)
    return spans if fits else []


def _claim(text: _Text, start: int, stop: int) -> Claim:
    """Return what a part of the statement says."""
    items = [item for item in text.items if start <= item.at < stop]
    about: dict[str, int] = {}
    for item in items:
        if item.kind in CONTENT:
            about.setdefault(item.name, item.at)
    for at, reference in text.references:
        act = f"act_{reference.text.replace('/', '_')}"
        if start <= at < stop and reference.kind == "act" and act in kinds():
            about[act] = at
    demand, unclear = _demand(items, text)
    marks = _marks(items, text)
    if any(item.name == "no" for item in items):
        marks |= {"all", "no_exception"} if demand == "holds" else {"all"}  # no packaging is exempt, none may
    if demand == "isnot" and "rule" in marks:
        demand = "exempt"  # there is no limit on it
    if text.denies and any(item.name == "require" for item in items):
        unclear = unclear or "a negation between verb and comparison"
    only = next((item.at for item in items if item.name == "only"), stop)
    return Claim(
        about=about,
        demand=demand,
        marks=marks,
        amounts=tuple(replace(amount, is_part=_is_part(at, text)) for at, amount in text.amounts if start <= at < stop),
        moments=tuple(moment for at, moment in text.moments if start <= at < stop),
        references=tuple(reference for at, reference in text.references if start <= at < stop),
        unlisted=tuple(word for at, word in text.unlisted if start <= at < stop),
        unclear=unclear or text.unclear,
        verb=next((item.at for item in items if item.kind == "mode"), 0),
        only=next((item.name for item in items if item.at > only and item.kind in CONTENT), ""),
    )


def _is_part(at: int, text: _Text) -> bool:
    """Return whether a share is one of things: it is followed by `of` and a noun."""
    if at + 1 >= len(text.tokens) or text.tokens[at + 1] not in _OF:
        return False
    noun = next((item for item in text.items if item.at > at and item.kind not in ("skip", "mark")), None)
    return noun is not None and (noun.kind in CLASSES or noun.name == "packaging")


def _marks(items: list[_Item], text: _Text) -> frozenset[str]:
    """Return the marks, with those of what stands side by side: all packaging, packaging for a format."""
    marks = {item.name for item in items if item.kind == "mark"}
    if _NOT_ONLY & set(text.tokens) or any(moment.role == "from_only" for _, moment in text.moments):
        marks.discard("ne")  # it belongs to pas, or to qu'à partir de
    if any(item.kind == "ruletopic" for item in items):
        marks.add("rule")
    for one, other in pairwise(item for item in items if item.kind != "skip"):
        if one.name == "all" and other.name in ("packaging", "operator"):
            marks.add(f"all_{other.name}")
        apart = one.name == "packaging" and other.kind == "format" and other.at > one.at + one.size
        if apart or (one.kind == "format" and other.name == "packaging" and one.at == other.at):
            marks.add("packaging_of")  # the packaging of tea bags, in German one word
    return frozenset(marks)


def _demand(items: list[_Item], text: _Text) -> tuple[str | None, str]:
    """Return what is demanded, its negation resolved, and why that is unclear."""
    nots = [item for item in items if item.kind == "not"]
    verbs = [item for item in items if item.kind == "mode"]
    names = {item.name for item in verbs}
    strong = names - {"holds", "ban"}
    if len(nots) > 1 or len(strong) > 1 or ("ban" in names and strong - {"forbid", "exempt"}):
        return None, "several demands or negations"
    base = next(iter(strong), "forbid" if "ban" in names else "holds" if "holds" in names else None)
    if not nots:
        return ("oblige" if base in ("must", "require") else base), ""
    negation = nots[0]
    if negation.name == "not":
        end = negation.at + negation.size
        following = next((item for item in items if item.at >= end and item.kind != "skip"), None)
        if following and (
            (following.at == end and following.kind in CLASSES)
            or following.kind == "actor"
            or following.name in ("all", "each", "only")
        ):
            return None, "a negation of one word"
    verb = next((item for item in verbs if item.name == base), None)
    if verb is not None:
        if any(text.tokens[at] in _CLAUSES for at in range(*sorted((verb.at, negation.at)))):
            return None, "a negation apart from its verb"
        if negation.name == "not" and any(negation.at < item.at < verb.at and item.kind in CONTENT for item in items):
            return None, "a negation before its verb"
    return _NEGATED.get(base or "", "isnot"), "a negated aim" if base == "endeavour" else ""


def _completed(part: Claim, earlier: list[Claim], later: list[Claim]) -> Claim:
    """Return a part completed by the others: their content, their demand, their date, their article."""
    others = [*earlier, *later]
    moments = {moment for other in others for moment in other.moments}
    return replace(
        part,
        lent=frozenset().union(*(other.about for other in others)) - part.about.keys(),
        ahead=not any(claim.classes for claim in (*earlier, part)) and any(claim.classes for claim in later),
        demand=part.demand or next((other.demand for other in others if other.demand), None),
        moments=part.moments or (tuple(moments) if len(moments) == 1 else ()),
        references=part.references or others[0].references,
        marks=part.marks.union(*(other.marks for other in others)),
        unlisted=(*part.unlisted, *(word for other in others for word in other.unlisted)),
        unclear=part.unclear or next((other.unclear for other in others if other.unclear), ""),
    )
