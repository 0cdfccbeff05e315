"""Classes of a rule-set and of its tables' rows: the meaning of each field, and how a row of text becomes an object.

`compliance.ruleset` lists the versions and reads their tables into a rule-set.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import inf
from types import MappingProxyType
from typing import Final, TypeAlias

from compliance.tables import words
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
    title: str
    covers: str
    streams: frozenset[str]
    supersedes: tuple[str, ...]
    status: str
    title_seen: str
    say: str
    source_url: str


@dataclass(frozen=True, slots=True)
class Guidance:
    """A document that explains the law without binding force (`guidance.csv`); `read` says how much of it was read."""

    document: str
    date: str
    status: str
    on: str
    what_it_says: str
    read: str
    source_url: str


def question(row: dict[str, str]) -> Question:
    """Parse a row of `attribute_questions.csv`."""
    return Question(row["field"], row["component_type"], row["ask_en"], row["ask_fr"], row["ask_de"])


def rule_text(row: dict[str, str]) -> Mapping[str, str]:
    """Parse a row of `rule_texts.csv`: a rule's text (`feature` of `dfr_rules.csv`, in English) by other language."""
    return MappingProxyType({"fr": row["text_fr"], "de": row["text_de"]})


def standard_part(row: dict[str, str]) -> StandardPart:
    """Parse a row of `en18120.csv`."""
    return StandardPart(
        part=row["part"],
        title=row["title"],
        covers=row["covers"],
        streams=frozenset(words(row["streams"])),
        supersedes=words(row["supersedes_rules"]),
        status=row["status"],
        title_seen=row["title_seen"],
        say=row["say"],
        source_url=row["source_url"],
    )


def guidance(row: dict[str, str]) -> Guidance:
    """Parse a row of `guidance.csv`."""
    return Guidance(
        row["document"], row["date"], row["status"], row["on"], row["what_it_says"], row["read"], row["source_url"]
    )


TOLERANCE: Final = 5e-10
"""Half a unit of the ninth decimal: comparing a share with a bound shifted by it is comparing the share rounded
to nine decimals, half away from zero (grading.md, step 5), without rounding anything."""

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
    named: frozenset[str]
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
        return _meets(self.named, material, targets)

    def asks_code(self, material: Material, targets: frozenset[str]) -> bool:
        """Return whether the row applies to the code: named, or not excluded where the row has only exclusions."""
        if self.named and not _meets(self.named, material, targets):
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
        match self.operator:
            case "gt":
                return value > self.bound
            case "ge":
                return value >= self.bound
            case "lt":
                return value < self.bound
            case _:
                return value <= self.bound


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

    `when` is empty or (what is weighed, percent of the unit above which the row fits).
    """

    group: str
    form: str
    when: tuple[str, float] | None
    stream: str | None
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
    article: str


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


def material(row: dict[str, str]) -> Material:
    """Parse a row of `materials.csv`."""
    implied: dict[str, Value] = {}
    if row["typical_density_g_cm3"]:
        implied["density_g_cm3"] = float(row["typical_density_g_cm3"])
    if row["implies"]:
        field, _, value = row["implies"].partition("=")
        implied[field] = float(value) if re.fullmatch(r"[\d.]+", value) else value
    return Material(
        code=row["code"],
        family=row["family"],
        contract_families=frozenset(words(row["contract_families"])),
        group=row["group"],
        implied=MappingProxyType(implied),
        weight_optional=row["weight_optional"] == "Y",
        layers_unrecorded=row["layers_unrecorded"] == "Y",
        specified=row["specified"] == "Y",
    )


def rule(row: dict[str, str]) -> Rule:
    """Parse a row of `dfr_rules.csv`."""
    tokens = words(row["polymer_codes"])
    comparing = row["attribute_op"] in {"gt", "ge", "lt", "le"}
    low_shift = -TOLERANCE if row["min_inclusive"] == "true" else TOLERANCE
    high_shift = TOLERANCE if row["max_inclusive"] == "true" else -TOLERANCE
    return Rule(
        rule_id=row["rule_id"],
        stream=row["stream"],
        parameter=row["parameter"],
        feature=row["feature"],
        types=frozenset(words(row["component_types"])),
        named=frozenset(token for token in tokens if not token.startswith("-")),
        excluded=frozenset(token[1:] for token in tokens if token.startswith("-")),
        share_basis=row["share_basis"],
        low=float(row["min_share_pct"]) + low_shift if row["min_share_pct"] else -inf,
        high=float(row["max_share_pct"]) + high_shift if row["max_share_pct"] else inf,
        attribute_of=row["attribute_of"],
        field=row["attribute_field"],
        operator=row["attribute_op"],
        values=frozenset(words(row["attribute_value"])),
        bound=float(row["attribute_value"]) if comparing else 0.0,
        recordable=row["recordable"] == "Y",
        effect=row["effect"],
        removed=float(row["removed_pct"] or 0) / 100,
        lists=row["lists"],
        verdict=row["verdict"],
        source_url=row["source_url"],
        basis=row.get("basis", ""),
        confidence=row.get("confidence", ""),
    )


def word_fact(row: dict[str, str]) -> WordFact:
    """Parse what a row of `alias_words.csv` gives: `colour=dark`, `metallised=true`."""
    name, _, value = row["gives"].partition("=")
    return WordFact(name, True if value == "true" else value, frozenset(words(row["families"])))


def stream_row(row: dict[str, str]) -> StreamRow:
    """Parse a row of `streams.csv`."""
    weighed, _, percent = row["when"].partition(">")
    return StreamRow(
        group=row["group"],
        form=row["form"],
        when=(weighed, float(percent)) if row["when"] else None,
        stream=None if row["stream"] == "none" else row["stream"],
        targets=frozenset(words(row["target_groups"])),
        reason=row["reason"],
    )


def packaging_format(row: dict[str, str]) -> Format:
    """Parse a row of `formats.csv`."""
    return Format(row["key"], None if row["form"] == "other" else row["form"], frozenset(words(row["flags"])))


def limit(row: dict[str, str]) -> Limit:
    """Parse a row of `limits.csv`."""
    day = date.fromisoformat(row["applies_from"]) if row["applies_from"] else None
    return Limit(row["comparator"], row["value"], row["unit"], day, row["article_ref"])


def ban(row: dict[str, str], texts: Mapping[str, str]) -> Ban:
    """Parse a row of `annex_v.csv`, with its row of `flag_texts.csv`: empty where there is none."""
    return Ban(
        code=row["code"],
        format=row["format"],
        applies_from=date.fromisoformat(row["applies_from"]),
        reference=row["article_ref"],
        required_facts=row["required_facts"],
        open_facts=row["open_facts"],
        flag_text=row["flag_text"],
        texts=MappingProxyType({lang: texts[f"text_{lang}"] for lang in LANGUAGES[1:] if texts}),
    )


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """All tables of one version. Compared by identity, so that it can be a cache key at no cost.

    `attachments_speak_for_layers` says whether, by analogy, a row that also names a cap or a seal applies to the wall
    (grading.md, step 6). `word_facts` are what words of a material text give; rule-sets before 2026-11-22 read none,
    so that what they graded stays computable. `questions` by field and component type, `texts` by rule and language,
    `en18120` and `guidance` are empty in versions before 2026-11-22.
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
    questions: Mapping[tuple[str, str], Question]
    texts: Mapping[str, Mapping[str, str]]
    en18120: tuple[StandardPart, ...]
    guidance: tuple[Guidance, ...]

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
