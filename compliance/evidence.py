"""Judges which evidence a pack has for each of Articles 5 to 12 of Regulation (EU) 2025/40, and what is missing.

By Article 39(1) a declaration of conformity states that their requirements are demonstrated; Annex VII says by which
documents. Each row of `needs.csv` is what an article asks to be shown; `types.csv` says which type of technical file
shows it, and one that names no article counts for none. An exemption that the record cannot decide is asked. Days are
ISO texts.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple

from compliance import marks, ruleset
from compliance.tables import RULES, Row, cited, rows
from compliance.words import resolve_format

FOLDER: Final = RULES / "evidence"
SOON_DAYS: Final = 60
HELD, ENDS, PARTIAL, ENDED = "held", "ends", "partial", "ended"
"""What the files of a need are together: valid, valid and all ending soon, valid for some parts alone, none valid."""
OPEN, NOT_CONCERNED = "open", "not_concerned"
STATES: Final = (ENDED, "missing", PARTIAL, ENDS, OPEN, "later", HELD, NOT_CONCERNED)
"""States of a need and of an article, the worst first; `later` is what is not held and not asked yet."""
_YES: Final = ""
_OF_ANNEX_VII: Final = re.compile(r"Annex VII, point (\d(?:\(\w\))?)")
_CONTEXTS: Final = (("pharmaceutical", "medicinal"), ("dangerous_goods", "dangerous"))
_EXEMPT: Final = "exempt"
_COMPOSTABLE: Final = "compostable_art_9"
_NO_PLASTIC: Final = ("paper", "glass", "metal", "wood", "textile")
_BY_STATES: Final = {"capsule": ("metal",), "pod": ("metal",), "carrier_bag": _NO_PLASTIC}
"""Formats that a Member State may require to be compostable, with the materials that Article 9(2)(a) leaves out."""
_MAYBE_LIGHTWEIGHT: Final = ("wood", "textile", "other")
_OF_PLASTIC: Final = {"no": "no.plastic", "small": "no.small", "unknown": "ask.plastic", "unweighed": "ask.weights"}
_LABELS: Final = ("material", "reusable")


class Facts(NamedTuple):
    """What a record says that decides which articles concern it.

    `plastic` is yes or no, `small` where each plastic part is below 5 % of the weight, `unweighed` where that is not
    known, `unknown` where it is not known whether a part is plastic. `place` is where it is sold: in or out of the
    Union, unknown.
    """

    food_contact: bool | None = None
    reusable: bool | None = None
    reuse_deposit_system: bool | None = None
    packaging_level: str | None = None
    packaging_format: str | None = None
    use_contexts: Sequence[str] = ()
    material: str | None = None
    plastic: str = "unknown"
    place: str = "in"


class Need(NamedTuple):
    """What an article asks to be shown of a pack, its state, and the key of why not or of a question."""

    key: str
    article: int
    state: str
    reason: str


@cache
def needs() -> Mapping[str, Row]:
    """Return what the articles ask, by key, in their order."""
    return {row["key"]: row for row in rows(FOLDER / "needs.csv")}


@cache
def types() -> Mapping[str, Row]:
    """Return what each type of technical file shows."""
    return {row["type"]: row for row in rows(FOLDER / "types.csv")}


@cache
def _answers() -> Mapping[str, Row]:
    return {row["key"]: row for row in rows(FOLDER / "answers.csv")}


@cache
def annex_vii() -> Mapping[str, str]:
    """Return the point of Annex VII that each type of technical file is of, where it is of no article."""
    points = {key: _OF_ANNEX_VII.match(row["source"]) for key, row in types().items() if not row["need"]}
    return {key: point[1] for key, point in points.items() if point}


def proving() -> tuple[list[str], list[str]]:
    """Return the types of files that show a need by themselves, and the need of each."""
    alone = [row for row in types().values() if row["alone"] == "Y"]
    return [row["type"] for row in alone], [row["need"] for row in alone]


@cache
def articles() -> Sequence[int]:
    """Return Articles 5 to 12."""
    return sorted({int(row["article"]) for row in needs().values()})


def judge(facts: Facts, held: Mapping[str, str], today: date) -> list[Need]:
    """Return each need of a pack with its state; `held` says what the files of a need are together."""
    concerns = _concerns(facts)
    return [
        Need(key, int(row["article"]), _state(concerns[key], held.get(key), row["from"], today), concerns[key])
        for key, row in needs().items()
    ]


def _state(concern: str, held: str | None, begins: str, today: date) -> str:
    if concern.startswith("no."):
        return NOT_CONCERNED
    if held in (HELD, ENDS):
        return held
    if concern != _YES:
        return OPEN
    return held or ("later" if begins > today.isoformat() else "missing")


def by_article(judged: Sequence[Need]) -> dict[int, str]:
    """Return the state of each article: the worst of what it asks."""
    states = {article: {need.state for need in judged if need.article == article} for article in articles()}
    return {article: next(state for state in STATES if state in of) for article, of in states.items()}


def _concerns(facts: Facts) -> dict[str, str]:
    """Return by need an empty text where it concerns the pack, else the key of why not, or of the question."""
    if facts.place == "out":
        return dict.fromkeys(needs(), "no.union")
    named = resolve_format(facts.packaging_format, ruleset.load()) if facts.packaging_format else None
    is_compostable = named is not None and _COMPOSTABLE in named.flags
    context = _exempting_context(facts)
    return {
        "metals": _YES,
        "pfas": _truth(facts.food_contact, "food"),
        "recyclability": _recyclability(facts, context),
        "recycled": _recycled(facts, context, is_compostable=is_compostable),
        "biobased": "no.biobased",
        "compostability": _YES if is_compostable else _compostability(facts, named.key if named else None),
        "minimisation": _YES,
        "reuse": _truth(facts.reusable, "reuse"),
        "labels": _labels(facts),
    }


def _truth(truth: bool | None, key: str) -> str:
    return f"ask.{key}" if truth is None else _YES if truth else f"no.{key}"


def _exempting_context(facts: Facts) -> str:
    """Return the use by which Articles 6(11) and 7(4) exempt the pack, or may; empty where none does.

    Transport packaging of dangerous goods is exempt, as its grade and its recycled content have it; other is asked.
    """
    if "dangerous_goods" in facts.use_contexts and facts.packaging_level == "transport":
        return _EXEMPT
    return next((key for context, key in _CONTEXTS if context in facts.use_contexts), "")


def _recyclability(facts: Facts, context: str) -> str:
    if context == _EXEMPT:
        return "no.dangerous"
    if context:
        return f"ask.{context}"
    is_sales = facts.packaging_level in (None, "sales")
    return "ask.lightweight" if is_sales and facts.material in _MAYBE_LIGHTWEIGHT else _YES


def _compostability(facts: Facts, form: str | None) -> str:
    """Return why Article 9 does not concern a pack that is none of point 1 by its format, or what is asked."""
    if form is None:
        return "ask.format"
    if form in _BY_STATES:
        return "no.states" if facts.material in _BY_STATES[form] else "ask.states"
    return "ask.beverage_bag" if form == "bag" and "beverage" in facts.use_contexts else "no.compostability"


def _recycled(facts: Facts, context: str, *, is_compostable: bool) -> str:
    if facts.plastic in _OF_PLASTIC:
        return _OF_PLASTIC[facts.plastic]
    if context == _EXEMPT:
        return "no.recycled_dangerous"
    if is_compostable:
        return "ask.compostable"
    return f"ask.recycled_{context}" if context else _YES


def _labels(facts: Facts) -> str:
    of_marks = marks.Facts(
        facts.packaging_level,
        facts.reusable,
        facts.reuse_deposit_system,
        facts.packaging_format,
        facts.use_contexts,
    )
    coming = [label for label in marks.labels(None, of_marks) if label.label in _LABELS]
    if any(label.answer == "needed" for label in coming):
        return _YES
    if not coming:
        return "no.labels"
    return "ask.reuse" if coming[0].field == "reusable" else f"ask.{coming[0].reason}"


def file_state(expires_on: str | None, today: date) -> str:
    """Return whether a file is valid, ends within `SOON_DAYS`, or has ended; its last day is of its validity."""
    if expires_on is None or expires_on > last_soon(today):
        return "valid"
    return ENDS if expires_on >= today.isoformat() else ENDED


def last_soon(today: date) -> str:
    """Return the last day of what ends soon."""
    return (today + timedelta(days=SOON_DAYS)).isoformat()


def said(need: str, lang: str) -> dict[str, str | None]:
    """Return what a need asks in a language, with its article and the earliest day from which it is asked."""
    row = needs()[need]
    return {"sentence": row[lang], "reference": cited(row["reference"], lang), "applies_from": row["from"] or None}


def why(reason: str, lang: str) -> dict[str, str | None]:
    """Return why a need does not concern a pack, or the question and the field that answers it; nulls where it does."""
    row = _answers().get(reason, {})
    return {"reason": row.get(lang), "field": row.get("field") or None}
