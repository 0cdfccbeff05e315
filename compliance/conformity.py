"""Judges a record against the conformity that a declaration would state (decisions §13), and reads its fixed texts.

The texts, in every language, are one table (`rules/conformity/texts.csv`): a declaration is offered in a language only
where the Official Journal's wording of Annex VIII stands in it with its source (decision 0093).

One verdict for the draft of a declaration of conformity, the page that issues it, the operation that issues it, and
`pcds doctor`: what contradicts conformity, so that nothing is issued, and what is open, which is shown and refuses
nothing. By Article 39(1) of Regulation (EU) 2025/40 the declaration states that the requirements of Articles 5 to 12
are fulfilled.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from functools import cache
from typing import Final, NamedTuple, cast

from compliance.annex_v import LAYERS, bans, in_words, open_fields, undecided
from compliance.grading import provisional
from compliance.grading.assessment import assess
from compliance.ruleset import RuleSet
from compliance.substances import Declaration, breach, declarations, is_above, part_named
from compliance.tables import RULES, rows
from compliance.weights import total_g, weight_mismatch
from schemas.issues import Issue
from schemas.messages import LANGUAGES, Message
from schemas.normalise import quote
from schemas.refusals import Refused
from schemas.skus.types import Component, Sku, SubstanceEntry
from schemas.vocabularies import SUBSTANCES, Substance

_HEAVY_METALS: Final = "heavy_metals_sum"
"""The row of `limits.csv` with the limit of Article 5(4)."""
_UNDECLARED: Final[dict[Substance, Message]] = {
    "pfas": Message("Nothing is declared about PFAS."),
    "svhc": Message("Nothing is declared about substances of very high concern (SVHC)."),
    "bpa": Message("Nothing is declared about bisphenol A."),
    "heavy_metals": Message("Nothing is declared about heavy metals."),
}
_BANS_OPEN: Final[dict[str, tuple[str, Message]]] = {
    "packaging_format": (
        "packaging_format",
        Message("What kind of packaging it is, is not said in words that are known; a format ban cannot be ruled out."),
    ),
    "packaging_level": (
        "packaging_level",
        Message("Its level is not said; a format ban that depends on it cannot be ruled out."),
    ),
    "use_contexts": (
        "use_contexts",
        Message("What it is used for is not said; a format ban that depends on it cannot be ruled out."),
    ),
    "material": (
        "components",
        Message("What its body is made of is not said; a format ban that depends on it cannot be ruled out."),
    ),
    "polymer_or_grade": (
        "components",
        Message("Which plastic its body is of is not said; a format ban that depends on it cannot be ruled out."),
    ),
    "thickness_um": (
        "components",
        Message("How thick its body is, is not said; a format ban that depends on it cannot be ruled out."),
    ),
}
"""Where each fact that `annex_v.undecided` names is answered, and what is said of it."""
_OF_LINE: Final = re.compile(r"components\[(\d+)\]\.(\w+)")
_ONLY_IN_FOOD_CONTACT: Final = ("pfas", "bpa")


class OpenPoint(NamedTuple):
    """What the record leaves open; `field` names where it would be answered."""

    field: str
    message: Message


class Verdict(NamedTuple):
    """What contradicts a declaration of conformity, each fact by itself, and what is open beside it."""

    against: list[Issue]
    open: list[OpenPoint]


def judge(record: Sku, rules: RuleSet, *, on: date) -> Verdict:
    """Return the verdict on a record for a declaration that is issued on a day (UTC)."""
    return Verdict(against(record, rules, on=on), list(_open(record, rules, on)))


def against(record: Sku, rules: RuleSet, *, on: date) -> list[Issue]:
    """Return what refuses a declaration: PFAS in food contact, heavy metals, certain bans in force on that day."""
    pfas = _above(record, "pfas", rules) if record.get("food_contact") else []
    reasons = [
        Issue(
            "pfas_food_contact_prohibited",
            Message(
                "Food-contact packaging with PFAS above the limit does not fulfil Article 5(5) of Regulation (EU) "
                "2025/40: {breach}.",
                breach=breach("pfas", declaration, rules),
            ),
            "substances.pfas",
        )
        for declaration in pfas
    ]
    reasons += [
        Issue(
            "regulator_rule",
            Message(
                "Packaging with heavy metals above {limit} mg/kg does not fulfil Article 5(4) of Regulation (EU) "
                "2025/40: {breach}. Decisions 2001/171/EC (glass) and 2009/292/EC (plastic crates and pallets) "
                "derogate on conditions that no field records.",
                limit=str(rules.limits[_HEAVY_METALS].value),
                breach=breach("heavy_metals", declaration, rules),
            ),
            "substances.heavy_metals",
        )
        for declaration in _above(record, "heavy_metals", rules)
    ]
    reasons += [
        Issue(
            "regulator_rule",
            Message(
                "This packaging format is banned since {since}, by {reference}: {ban}.",
                since=ban.applies_from.isoformat(),
                reference=ban.reference,
                ban=ban.flag_text,
            ),
            "packaging_format",
        )
        for ban, open_facts in bans(record, rules)
        if not open_facts and ban.applies_from <= on
    ]
    return reasons


def _above(record: Sku, substance: Substance, rules: RuleSet) -> list[Declaration]:
    return [
        declaration for declaration in declarations(record, substance) if is_above(substance, declaration.entry, rules)
    ]


def _open(record: Sku, rules: RuleSet, on: date) -> Iterator[OpenPoint]:
    yield from open_substances(record, rules)
    for ban, open_facts in bans(record, rules):
        if open_facts:
            facts = ", ".join(map(in_words, open_facts))
            sentence = Message("A format ban may apply ({ban}), if: {facts}.", ban=ban.flag_text, facts=facts)
            yield OpenPoint("packaging_format", sentence)
        elif ban.applies_from > on:
            since = ban.applies_from.isoformat()
            sentence = Message("A format ban applies from {since}: {ban}.", since=since, ban=ban.flag_text)
            yield OpenPoint("packaging_format", sentence)
    yield from (OpenPoint(*_BANS_OPEN[fact]) for fact in undecided(record, rules))
    yield from (OpenPoint("components", sentence) for sentence in _of_grade(record, rules))
    contradiction = weight_mismatch(record.get("weight_grams"), total_g(record.get("components") or ()))
    if contradiction:
        yield OpenPoint("weight_grams", contradiction.message)


def is_declared(record: Sku, substance: Substance) -> bool:
    """Return whether the record says something of a substance: of the packaging itself, or of each of its parts."""
    own, lines = record.get(substance), record.get("components") or ()
    of_parts = [_status(line, substance) for line in lines]
    return any(said and not {None, "unknown"} & set(said) for said in ([own["status"] if own else None], of_parts))


def open_substances(record: Sku, rules: RuleSet) -> Iterator[OpenPoint]:
    """Yield what the record leaves open about substances."""
    touches_food = record.get("food_contact")
    if touches_food is None:
        sentence = Message("Whether it touches food is not said; limits for PFAS and bisphenol A depend on it.")
        yield OpenPoint("food_contact", sentence)
    for substance, undeclared in _UNDECLARED.items():
        is_asked = touches_food is not False or substance not in _ONLY_IN_FOOD_CONTACT
        if is_asked and not is_declared(record, substance):
            yield OpenPoint(f"substances.{substance}", undeclared)
    for declaration in _above(record, "svhc", rules):
        sentence = Message(
            "Substances of very high concern are above 0.1 % by weight in {part}: whoever receives it is told, by "
            "Article 33 of Regulation (EC) No 1907/2006.",
            part=part_named(declaration.part),
        )
        yield OpenPoint("substances.svhc", sentence)
    for declaration in _above(record, "bpa", rules):
        sentence = Message(
            "Bisphenol A is declared for {part}; Regulation (EU) 2024/3190 bars most uses in contact with food.",
            part=part_named(declaration.part),
        )
        yield OpenPoint("substances.bpa", sentence)


def _of_grade(record: Sku, rules: RuleSet) -> Iterator[Message]:
    """Yield what the grade leaves open about Article 6: that there is none, and why, or what it is worth."""
    assessed, is_provisional = provisional.judge(record, rules)
    grade = assessed.result.grade
    if grade == "not_assessed" and assessed.why_none is not None:
        yield assessed.why_none
    elif grade == "not_assessed" and assessed.missing:
        yield Message("There is no recyclability grade: too little is recorded.")
    elif grade == "not_assessed":
        yield Message("There is no recyclability grade: no rule says how such packaging is recycled.")
    if grade == "not_recyclable":
        yield Message(
            "Its indicative grade is below C: by Article 6(2) and (3) such packaging may not be placed on the market "
            "from 1 January 2030, or 24 months after the delegated acts if that is later."
        )
    if is_provisional:
        yield Message("The recyclability grade is provisional: a fact that nobody gave could change it.")


class Hanging(NamedTuple):
    """The fields of some parts on which a record's grade, a format ban or its declaration hang; empty where none does.

    A substance is a field by its name.
    """

    grade: frozenset[str]
    ban: frozenset[str]
    declaration: frozenset[str]


def hanging(record: Sku, line_ids: Collection[str], rules: RuleSet) -> Hanging:
    """Return what answers about these lines of a record could settle.

    A declaration hangs on what its grade and bans hang on, and on substances about which neither the record nor one
    of the lines says anything.
    """
    own = {at: line for at, line in enumerate(record.get("components") or ()) if line["id"] in line_ids}
    assessed = assess(record, rules)
    named = [(fact.line, fact.field) for fact in provisional.open_facts(record, assessed, rules)]
    named += [(int(path[1]), path[2]) for path in map(_OF_LINE.fullmatch, assessed.missing) if path]
    grade = frozenset(name for at, name in named if at in own)
    layers = [line for line in own.values() if line["component_type"] in LAYERS]
    ban = frozenset(name for name in open_fields(record, rules) if any(line.get(name) is None for line in layers))
    undeclared = {
        substance
        for point in open_substances(record, rules)
        if (substance := point.field.removeprefix("substances.")) in SUBSTANCES
        and any(_status(line, substance) in (None, "unknown") for line in own.values())
    }
    return Hanging(grade, ban, grade | ban | undeclared)


def _status(line: Component, substance: str) -> str | None:
    entry = cast("Mapping[str, SubstanceEntry | None]", line.get("substances") or {}).get(substance)
    return entry["status"] if entry else None


class PointOfAnnex(NamedTuple):
    """One point of Annex VIII: its number, its key, whether a declaration needs a text on it.

    `adds` is whether a person may add to what the records say: they know the packaging alone, and by point 5 and
    Article 39(3) a declaration names the other Union acts that apply, such as those on contact with food.
    """

    point: int
    key: str
    needed: bool
    adds: bool
    source: str


@cache
def points() -> tuple[PointOfAnnex, ...]:
    """Return the points of a declaration in their order; 0 is its number, 9 its signature."""
    return tuple(
        PointOfAnnex(int(row["point"]), row["key"], row["needed"] == "yes", row["adds"] == "yes", row["source"])
        for row in rows(RULES / "conformity" / "points.csv")
    )


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    """Return the texts of each offered language by key: those of which every text is there, the official ones too."""
    table = rows(RULES / "conformity" / "texts.csv")
    kinds = {(row["key"], row["kind"]) for row in table}
    by_language = {
        lang: {(row["key"], row["kind"]): row["text"] for row in table if row["language"] == lang and row["source"]}
        for lang in LANGUAGES
    }
    return {
        lang: {key: text for (key, _), text in texts.items()}
        for lang, texts in by_language.items()
        if texts.keys() == kinds
    }


def offered_languages() -> tuple[str, ...]:
    """Return the languages in which a declaration is drafted and issued."""
    return tuple(_texts())


def load_texts(lang: str) -> Mapping[str, str]:
    """Return the texts of a declaration in a language, by key. Raises `Refused`, naming those offered, for another."""
    if lang not in _texts():
        sentence = Message(
            "A declaration is not offered in {lang}, of which the service has no wording of the Official Journal; "
            "choose among {offered}.",
            lang=quote(lang),
            offered=", ".join(offered_languages()),
        )
        raise Refused([Issue("not_in_vocabulary", sentence, "lang")])
    return _texts()[lang]


def retention_years(rules: RuleSet, *, reusable: bool) -> int:
    """Return how many years a declaration is kept after the packaging was placed on the market (Article 15(3))."""
    return int(rules.limits["doc_retention_reusable" if reusable else "doc_retention_single"].value)
