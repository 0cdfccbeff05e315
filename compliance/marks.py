"""Judges what is printed on a pack: marks that must go, labels that come, and environmental claims.

Articles 12 and 14 of Regulation (EU) 2025/40. By 12(9) only a printed symbol of producer responsibility ends; deposit
marks are of 12(1) and 12(10), and sorting, disposal and material marks say nothing of it. A mark that the table does
not know, or of which it cannot say what it means, is asked. Days are ISO texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple  # Any: what is printed, of `schemas.marks`

from compliance import ruleset
from compliance.scopes import FACTS, Face, standing_of
from compliance.tables import RULES, Row, cited, rows, words
from compliance.words import resolve_format
from schemas.words import fold

FOLDER: Final = RULES / "marks"
CHANGE, DEPENDS, CLEAR, NOT_RECORDED, OUTSIDE = "change", "depends", "clear", "not_recorded", "outside"
"""States of a SKU under Article 12(9); a mark has the first two and the third."""
CLAIMS: Final = ("breach", "missing", "open", "met", "not_covered")
"""States of a claim, the worst first."""
_EPR: Final = "epr"
NOTHING: Final[dict[str, Any]] = {
    "marks": None,
    "claims": [],
    **dict.fromkeys(("artwork_reference", "artwork_state", "changes_on")),
}
"""What a record that says nothing holds."""
Printed = Mapping[str, Any]
"""What is printed, of `schemas.marks.MarksInput`; its `marks` are None where nobody has said which there are."""


class Facts(NamedTuple):
    """What a SKU's record says that decides the labels it needs."""

    packaging_level: str | None = None
    reusable: bool | None = None
    reuse_deposit_system: bool | None = None
    packaging_format: str | None = None
    use_contexts: Sequence[str] | None = ()
    sorting_label_scheme: str | None = None
    material_marking_applied: bool | None = None


class Judged(NamedTuple):
    """A mark: its row's key, None where it is not in the table; its kind, answer, and the key of its sentence."""

    key: str | None
    kind: str
    answer: str
    reason: str


class Label(NamedTuple):
    """A label that a pack needs, or may need; `reason` is the key of its sentence, `field` would decide."""

    label: str
    answer: str
    reason: str
    field: str | None = None


@cache
def table() -> Mapping[str, Row]:
    """Return the table of marks by key."""
    return {row["key"]: row for row in rows(FOLDER / "marks.csv")}


@cache
def _names() -> Mapping[str, str]:
    texts = ((key, (*words(row["names"]), row["en"], row["fr"], row["de"])) for key, row in table().items())
    return {fold(name): key for key, names in texts for name in names}


@lru_cache(maxsize=4096)
def _key_of(text: str) -> str | None:
    folded = fold(text)
    patterns = (key for key, row in table().items() if row["pattern"] and re.fullmatch(row["pattern"], folded))
    return _names().get(folded) or next(patterns, None)


@cache
def _sentences() -> Mapping[str, Row]:
    return {row["key"]: row for row in rows(FOLDER / "sentences.csv")}


def deadline() -> str:
    """Return the day from which no pack bears a printed symbol of producer responsibility."""
    return _sentences()[_EPR]["from"]


def is_doubtful(name: str) -> bool:
    """Return whether the company has to say what a mark means: the table cannot, or does not know it."""
    key = _key_of(name)
    return key is None or table()[key]["kind"] == DEPENDS


def judge_mark(mark: Printed) -> Judged:
    """Return what Article 12(9) means for one mark; what the company says of it counts where the table cannot say."""
    key = _key_of(mark["mark"])
    kind = table()[key]["kind"] if key else "unknown"
    if kind in (DEPENDS, "unknown"):
        if mark["of_epr"] is None:
            return Judged(key, kind, DEPENDS, kind)
        kind = _EPR if mark["of_epr"] else "other"
    if kind != _EPR:
        return Judged(key, kind, CLEAR, kind)
    return Judged(key, kind, CLEAR, "digital") if mark["carrier"] == "digital" else Judged(key, kind, CHANGE, _EPR)


def state_of(printed: Printed | None, *, in_union: bool | None) -> str:
    """Return the state of a SKU with what is printed; `in_union` is None where no market is known."""
    if in_union is False:
        return OUTSIDE
    if printed is None or printed["marks"] is None:
        return NOT_RECORDED
    answers = {judge_mark(mark).answer for mark in printed["marks"]}
    if CHANGE in answers:
        return CHANGE if in_union else DEPENDS
    return DEPENDS if DEPENDS in answers else CLEAR


def asks(state: str, *, in_union: bool | None) -> list[str]:
    """Return the keys of the questions that would decide the state of a SKU, beside those of its marks."""
    if state == NOT_RECORDED:
        return ["ask.marks"]
    return ["ask.markets"] if state == DEPENDS and in_union is None else []


def timing(printed: Printed | None, today: date) -> str:
    """Return whether what must change does so in time: by its day `in_time` or `late`, `open` without a day.

    `changes_on` is the first day of packs without the mark. Once the deadline has come, a mark still recorded is late.
    """
    changes_on = printed and printed["changes_on"]
    if today.isoformat() >= deadline() or (changes_on and changes_on > deadline()):
        return "late"
    return "in_time" if changes_on else "open"


def labels(printed: Printed | None, facts: Facts) -> Iterator[Label]:
    """Yield the labels of Article 12 that a pack of the Union needs, in their order."""
    printed = printed or {"marks": None, "claims": ()}
    kinds = {judge_mark(mark).kind for mark in printed["marks"] or ()}
    if facts.sorting_label_scheme not in (None, "none"):
        kinds.add("sorting")
    if facts.material_marking_applied:
        kinds.add("material")
    about = {claim["property"] for claim in printed["claims"]}
    deposit = True if "deposit" in kinds else facts.reuse_deposit_system
    named = resolve_format(facts.packaging_format, ruleset.load()) if facts.packaging_format else None
    key, uses = named.key if named else None, tuple(facts.use_contexts or ())
    face = Face(facts.packaging_level, facts.reusable, facts.reuse_deposit_system, key, uses)
    container = standing_of(face)[FACTS.index("deposit_container")]
    level, is_sent = facts.packaging_level, facts.packaging_level == "e_commerce"
    if level is None:
        yield Label("material", DEPENDS, "material.level", "packaging_level")
    elif not is_sent and level != "transport" and deposit is None and container.field:
        yield Label("material", DEPENDS, "material.deposit", container.field)
    elif is_sent or (level != "transport" and not deposit):
        is_compostable = named is not None and "compostable_art_9" in named.flags
        kind = "compostable" if is_compostable else "medicinal" if "pharmaceutical" in uses else "needed"
        yield Label("material", "needed", f"material.{kind}")
    if facts.reusable is None and (level == "transport" or deposit):  # what is often for re-use
        yield Label("reusable", DEPENDS, "reusable.depends", "reusable")
    elif facts.reusable:
        yield Label("reusable", "needed", "reusable.needed")
    if "recycled" in kinds or "recycled_content" in about:
        yield Label("recycled", "needed", "recycled.needed")
    if "biobased" in about:
        yield Label("biobased", "needed", "biobased.needed")
    if container.answer == "yes" and "deposit" not in kinds:
        yield Label("deposit", DEPENDS, "deposit.depends")
    if not kinds.isdisjoint(("sorting", "material", "recycling")):
        yield Label("replaced", DEPENDS, "replaced.depends")


def judge_claim(claim: Printed) -> tuple[str, Sequence[str]]:
    """Return the state of an environmental claim by Article 14, and the keys of the sentences that say why."""
    if claim["property"] == "other":
        return "not_covered", ["claim.not_covered"]
    if claim["exceeds"] is False:
        return "breach", ["claim.breach"]
    unanswered = [name for name in ("property", "exceeds") if claim[name] is None]
    lacking = [name for name in ("about", "proof") if claim["proof_id" if name == "proof" else name] is None]
    state = "missing" if lacking else "open" if unanswered else "met"
    return state, [f"claim.{name}" for name in (*unanswered, *lacking)] or ["claim.met"]


def said(key: str, lang: str) -> dict[str, str | None]:
    """Return a sentence in a language, with its article and the day from which it applies."""
    row = _sentences()[key]
    return {"sentence": row[lang], "reference": cited(row["article"], lang), "applies_from": row["from"] or None}
