"""Classes of a rule-set and of its tables' rows: the meaning of each field, and how a row of text becomes an object.

`compliance.ruleset` lists the versions and reads their tables into a rule-set.
"""

import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from math import inf
from types import MappingProxyType
from typing import Any, Final, TypeAlias  # Any: numbers of one kind

from compliance.tables import Row, record_of_row, words
from schemas.messages import LANGUAGES


@dataclass(frozen=True, slots=True)
class Question:
    """The question for a field that is not given (`attribute_questions.csv`), in English, French and German.

    `component_type` is empty where the question fits a part of any type; a question with the type takes precedence.
    """

    field: str
    component_type: str
    en: str
    fr: str
    de: str


@dataclass(frozen=True, slots=True)
class StandardPart:
    """One part of EN 18120:2026 (`en18120.csv`) and the streams whose rules it would supersede.

    `say` is the sentence for a caller; it is empty where the part sets no design rules.
    """

    part: str
    streams: frozenset[str]
    say: str


TOLERANCE: Final = 5e-10
"""Half a unit of the ninth decimal: comparing a share with a bound shifted by it is comparing the share rounded
to nine decimals, half away from zero (grading.md, step 5), without rounding anything."""

COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
"""How the tables write that a number is compared with a bound."""

Value: TypeAlias = str | float | bool | frozenset[str]
"""The value of a part's design attribute; `additives` is a set."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """One canonical material code (`materials.csv`); `implied` are the attributes that follow from its name."""

    code: str
    family: str
    contract_families: frozenset[str]
    group: str
    implied: Mapping[str, Value]
    weight_optional: bool
    layers_unrecorded: bool
    specified: bool


LOWERING_VERDICTS: Final = ("incompatible", "not_assessed", "limited")
"""Verdicts of rules that lower a grade, the worst first: a person looks for these."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One row of `dfr_rules.csv`.

    `low` and `high` bound the share in percent, `low` inside and `high` outside, with `TOLERANCE` already applied;
    both are infinite where the row has no bounds. `removed` is the part of the weight that leaves, 0 to 1. `basis` is
    `source`, `extended` or `ours`, `confidence` how sure the source is (compliance/rules/README.md).
    """

    rule_id: str
    stream: str
    parameter: str
    feature: str
    types: frozenset[str]
    materials: frozenset[str]
    excluded: frozenset[str]
    share_basis: str
    low: float
    high: float
    attribute_of: str
    field: str
    operator: str
    values: frozenset[str]
    bound: float
    recordable: bool
    effect: str
    removed: float
    lists: str
    verdict: str
    source_url: str
    basis: str
    confidence: str

    @property
    def published(self) -> bool:
        """Whether the row says exactly what its published source says."""
        return (self.basis, self.confidence) == ("source", "published")

    @property
    def bounded(self) -> bool:
        """Whether the row applies to a range of shares."""
        return bool(self.share_basis)

    def asks_type(self, component_type: str) -> bool:
        """Return whether the row applies to parts of this type."""
        return component_type in self.types or "*" in self.types

    def names(self, material: Material, targets: frozenset[str]) -> bool:
        """Return whether the row names the code or its group; `@target` means the stream's target groups."""
        return _meets(self.materials, material, targets)

    def asks_code(self, material: Material, targets: frozenset[str]) -> bool:
        """Return whether the row applies to the code: named, or not excluded where the row has only exclusions."""
        if self.materials and not _meets(self.materials, material, targets):
            return False
        return not _meets(self.excluded, material, targets)

    def met_by(self, value: Value) -> bool:
        """Return whether the attribute's value meets the row's condition; an array does with one of its elements."""
        match self.operator:
            case "eq" | "in":
                if isinstance(value, frozenset):
                    return not self.values.isdisjoint(value)
                return value in self.values
            case "is_true":
                return value is True
            case "is_false":
                return value is False
        assert isinstance(value, int | float)
        return COMPARISONS[self.operator](value, self.bound)


def _meets(tokens: frozenset[str], material: Material, targets: frozenset[str]) -> bool:
    return material.code in tokens or material.group in tokens or ("@target" in tokens and material.group in targets)


@dataclass(frozen=True, slots=True)
class WordFact:
    """The attribute that a word of a material text gives (`alias_words.csv`): *schwarz* gives colour dark.

    `families` are the families of the contract whose parts it is said of, empty for every one: white glass has no
    colour.
    """

    field: str
    value: Value
    families: frozenset[str]

    def holds_for(self, material: Material) -> bool:
        """Return whether the word is said of this material."""
        return not self.families or not self.families.isdisjoint(material.contract_families)


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One row of `streams.csv`: a predominant group in a form goes to a sorting stream, or to none.

    `when` is empty or (what is weighed, percent of the unit above which the row fits). `category_no` is the number in
    Table 1 of Annex II, empty where it names none.
    """

    group: str
    form: str
    when: tuple[str, float] | None
    stream: str | None
    category_no: str
    targets: frozenset[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Format:
    """The meaning of a word for a packaging format; `form` is None where the word does not decide it."""

    key: str
    form: str | None
    flags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Limit:
    """A legal limit (`limits.csv`); `value` keeps the written digits for exact comparison."""

    comparator: str
    value: str
    unit: str
    applies_from: date | None


@dataclass(frozen=True, slots=True)
class Ban:
    """One banned format (`annex_v.csv`) with the facts that point to it.

    `texts` are its `flag_text` in other languages (`flag_texts.csv`), empty where the rule-set has none of it.
    """

    code: str
    format: str
    applies_from: date
    reference: str
    required_facts: str
    open_facts: str
    flag_text: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Words of a product category in which the open facts that it `excludes` are not so (`ban_exclusions.csv`).

    With a word of `unless` in it the category decides nothing: vegetable crisps may be fresh vegetables or crisps.
    """

    category: str
    words: tuple[str, ...]
    excludes: frozenset[str]
    unless: tuple[str, ...]


def material(row: Row) -> Material:
    """Parse a row of `materials.csv`."""
    implied: dict[str, Value] = {}
    if row["typical_density_g_cm3"]:
        implied["density_g_cm3"] = float(row["typical_density_g_cm3"])
    if row["implies"]:
        field, _, value = row["implies"].partition("=")
        implied[field] = float(value) if re.fullmatch(r"[\d.]+", value) else value
    return record_of_row(Material, row, implied=MappingProxyType(implied))


def rule(row: Row) -> Rule:
    """Parse a row of `dfr_rules.csv`."""
    tokens = words(row["polymer_codes"])
    comparing = row["attribute_op"] in COMPARISONS
    low_shift = -TOLERANCE if row["min_inclusive"] == "true" else TOLERANCE
    high_shift = TOLERANCE if row["max_inclusive"] == "true" else -TOLERANCE
    return record_of_row(
        Rule,
        row,
        types=frozenset(words(row["component_types"])),
        materials=frozenset(token for token in tokens if not token.startswith("-")),
        excluded=frozenset(token[1:] for token in tokens if token.startswith("-")),
        low=float(row["min_share_pct"]) + low_shift if row["min_share_pct"] else -inf,
        high=float(row["max_share_pct"]) + high_shift if row["max_share_pct"] else inf,
        field=row["attribute_field"],
        operator=row["attribute_op"],
        values=frozenset(words(row["attribute_value"])),
        bound=float(row["attribute_value"]) if comparing else 0.0,
        removed=float(row["removed_pct"] or 0) / 100,
        basis=row.get("basis", ""),
        confidence=row.get("confidence", ""),
    )


def word_fact(row: Row) -> WordFact:
    """Parse what a row of `alias_words.csv` gives: `colour=dark`, `metallised=true`."""
    name, _, value = row["gives"].partition("=")
    return record_of_row(WordFact, row, field=name, value=True if value == "true" else value)


def stream_row(row: Row) -> StreamRow:
    """Parse a row of `streams.csv`."""
    weighed, _, percent = row["when"].partition(">")
    return record_of_row(
        StreamRow,
        row,
        when=(weighed, float(percent)) if row["when"] else None,
        stream=None if row["stream"] == "none" else row["stream"],
        targets=frozenset(words(row["target_groups"])),
    )


def ban(row: Row, texts: Mapping[str, str]) -> Ban:
    """Parse a row of `annex_v.csv`, with its row of `flag_texts.csv`: empty where there is none."""
    by_language = {lang: texts[f"text_{lang}"] for lang in LANGUAGES[1:] if texts}
    return record_of_row(Ban, row, reference=row["article_ref"], texts=MappingProxyType(by_language))


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """All tables of one version. Compared by identity, so that it can be a cache key at no cost.

    `attachments_speak_for_layers` says whether, by analogy, a row that also names a cap or a seal applies to the wall
    (grading.md, step 6). `word_facts` are what words of a material text give; rule-sets before 2026-11-22 read none,
    so that what they graded stays computable. `questions` by field and component type, `texts` by rule and language
    and `en18120` are empty in versions before 2026-11-22.
    """

    version: str
    rules: Mapping[str, Rule]
    materials: Mapping[str, Material]
    streams: Mapping[str, tuple[StreamRow, ...]]
    targets: Mapping[str, frozenset[str]]
    aliases: Mapping[str, str]
    dropped_words: Mapping[str, frozenset[str]]
    word_facts: Mapping[str, WordFact]
    formats: Mapping[str, Format]
    vocabularies: Mapping[str, tuple[Value, ...]]
    makes_provisional: frozenset[str]
    implied_codes: Mapping[tuple[str, str], str]
    bands: Mapping[str, tuple[float, ...]]
    caps: tuple[float, ...]
    grade_lines: tuple[tuple[str, float], ...]
    disqualified_score: float
    attachments_speak_for_layers: bool
    limits: Mapping[str, Limit]
    bans: tuple[Ban, ...]
    exclusions: tuple[Exclusion, ...]
    questions: Mapping[tuple[str, str], Question]
    texts: Mapping[str, Mapping[str, str]]
    en18120: tuple[StandardPart, ...]

    def question(self, field: str, component_type: str = "") -> Question | None:
        """Return the question for a field: that for parts of this type where the tables have one."""
        return self.questions.get((field, component_type)) or self.questions.get((field, ""))

    def cap(self, limited: int) -> float:
        """Return the highest score with so many limited features."""
        return self.caps[min(limited, len(self.caps) - 1)]

    def band(self, field: str, number: float) -> float:
        """Return a number that compares with every bound of the field as `number` does.

        Conditions compare with few bounds only, so that parts that differ within a band share one cache entry.
        """
        bounds = self.bands.get(field, ())
        place = bisect_left(bounds, number)
        if place < len(bounds) and bounds[place] == number:
            return number
        if place == 0:
            return bounds[0] - 1 if bounds else 0.0
        return bounds[-1] + 1 if place == len(bounds) else (bounds[place - 1] + bounds[place]) / 2
