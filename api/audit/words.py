"""Describes a change in words: the field and its old and new value, in the reader's language.

The paths are those of `services.review.compare`; `schemas.messages` has the words of fields and codes.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from api.pages.render import name_of_field, text
from compliance import grading
from compliance.ruleset import RuleSet
from schemas.fields import COMPONENT, SKU, Field
from schemas.json_values import JsonMapping
from schemas.messages import LANGUAGES, format_word, number, word
from schemas.skus.types import Component, PartFacts
from schemas.vocabularies import CONTENTS, RESOURCE_TYPES
from services.review.compare import Change, leaves
from services.review.entries import FACTS, AskedPart

_MISSING_FACTS: Final = "Not assessed, because facts are missing: "
"""The beginning of a grade's reason that ends in paths (`compliance.grading.trace`)."""
_PATH: Final = re.compile(r"[a-z_]+(?:\[\d+\])?(?:\.[a-z_]+)*")
_PART: Final = re.compile(r"components\[(\d+)\]\.(.+)")
_LINE: Final = re.compile(r"components\[(\d+)\]")
_PLACE: Final = re.compile(r"\[\d+\]$")
"""The place in a list behind a field: of `markets[0]`."""
_SUBSTANCE: Final = re.compile(r"substances\.(\w+)(?:\.(\w+))?")
_VOCABULARIES: Final = {
    "status": "substance_status",
    "source": "substances_source",
    "unit": "substance_unit",
    "basis": "substance_basis",
}
"""Vocabularies of the parts of a substance's entry."""
_OWN_WORDS: Final = {"substance_unit": "unit", "substance_basis": "basis"}
"""Vocabularies whose words are in the page texts, with their keys."""
_DIGITS: Final = 12
"""Decimals of a compared value: as many as anybody sends."""
_NO_FIELDS: Final = frozenset({"hazardous_contents", "components", "units of half 1", "units of half 2"})
"""Facts with a text of their own."""
_UNITS: Final = frozenset({"g", "percent", "g/cm3", "um"})


class ChangeRow(NamedTuple):
    """One row of the comparison: the field, the current value, the new one."""

    field: str
    now: str
    then: str
    differs: bool


def change_rows(changes: Sequence[Change], parts: Sequence[str], lang: str) -> list[ChangeRow]:
    """Return the changes in words; `parts` are the component types of the graph after the change."""
    rows = []
    for change in changes:
        field, vocabulary = _name_and_vocabulary(change.field, parts, lang)
        vocabulary = "packaging_format" if change.field == "packaging_format" else vocabulary
        now, then = (value_in_words(stored, vocabulary, lang) for stored in (change.now, change.then))
        rows.append(ChangeRow(field, now, then, change.now != change.then))
    return rows


def parts_in_words(types: Sequence[str], materials: Sequence[str], lang: str) -> list[str]:
    """Return the parts of a graph by type and material, as `change_rows` takes them; without materials as they are."""
    pairs = zip_longest(types, materials[: len(types)], fillvalue="")
    return [
        f"{word('component_type', kind, lang)}, {word('material_family', of, lang)}" if of else kind
        for kind, of in pairs
    ]


class AskedRow(NamedTuple):
    """A part that was asked about: its facts then and now in words, empty where they are not known or it is gone.

    `article` is the number that the supplier says to sell it under.
    """

    asked: list[str]
    now: list[str]
    differs: bool
    article: str | None


def fact_names(lang: str) -> list[str]:
    """Return the names of the facts by which a part is known."""
    names = {name: field_in_words("component", name, COMPONENT[name], lang) for name in FACTS}
    return list((names | {"position_in_sku": text("review.parts.position", lang)}).values())


def asked_rows(parts: Sequence[AskedPart], articles: Mapping[str, str], lang: str) -> list[AskedRow]:
    """Return the parts that were asked about in words, with the supplier's `articles` by their ids."""
    return [
        AskedRow(_facts(part.asked, lang), _facts(part.now, lang), bool(part.differs), articles.get(part.id))
        for part in parts
    ]


def part_in_words(line: Component | PartFacts, lang: str) -> str:
    """Return a line of a graph, or what is kept of it, in words: type, material, polymer, position and weight."""
    values: Mapping[str, object] = line
    words = [code_in_words(name, str(values[name]), lang) if values.get(name) else "–" for name in FACTS[:2]]
    position, weight = line.get("position_in_sku"), line.get("weight_g")
    return ", ".join(
        [
            *words,
            *filter(None, [line.get("polymer_or_grade")]),
            *([f"{text('review.parts.position', lang)} {position}"] if position is not None else []),
            *([f"{number(weight, lang, digits=_DIGITS)} g"] if weight is not None else []),
        ]
    )


def _facts(facts: PartFacts | None, lang: str) -> list[str]:
    if facts is None:
        return []
    values: Mapping[str, object] = facts
    return [value_in_words(values[name], COMPONENT[name].vocabulary, lang) for name in FACTS]


def path_in_words(path: str, lang: str, parts: Sequence[str] = ()) -> str:
    """Return a path of the contract in words, its part with the type that `parts` has at its place."""
    return _name_and_vocabulary(path, parts, lang)[0]


def fact_in_words(field: str, lang: str) -> str:
    """Return the name of a fact that is missing; one that no record has, has a text of its own."""
    return text(f"fact.{field}", lang) if field in _NO_FIELDS else path_in_words(field, lang)


def grade_reason(sentence: str, lang: str, rules: RuleSet) -> str:
    """Return a grade's reason from its English; fields that it asks for are named in words, not by paths."""
    paths = sentence.removeprefix(_MISSING_FACTS).rstrip(".").split(", ") if sentence.startswith(_MISSING_FACTS) else []
    return with_names(grading.translated_text(sentence, (rules,), lang), paths, lang)


def with_names(sentence: str, paths: Sequence[str], lang: str, parts: Sequence[str] = ()) -> str:
    """Return a sentence with the names of these paths instead of the paths; `parts` as in `path_in_words`."""
    return _PATH.sub(lambda match: path_in_words(match[0], lang, parts) if match[0] in paths else match[0], sentence)


def _name_and_vocabulary(path: str, parts: Sequence[str], lang: str) -> tuple[str, str | None]:
    """Return the meaning of a path in words, and the vocabulary of its value."""
    if match := _LINE.fullmatch(path):
        return f"{int(match[1]) + 1}. {text('item.part', lang)}", None
    if path == "supplier_article" or path.startswith("articles."):  # of an answer; of a part, by its id
        return text("item.supplier_article", lang), None
    path = _PLACE.sub("", path)
    table, fields, name, prefix = "sku", SKU, path, ""
    if path in COMPONENT and path not in SKU:  # of a SKU without components: a fact of its one body
        table, fields = "component", COMPONENT
    if match := _PART.fullmatch(path):
        place = int(match[1])
        part = word("component_type", parts[place], lang) if place < len(parts) and parts[place] else ""
        table, fields, name = "component", COMPONENT, match[2]
        prefix = f"{place + 1}. {part or text('item.part', lang)}: "
    field = fields.get(name)
    vocabulary = field.vocabulary if field else None
    if match := _SUBSTANCE.fullmatch(name):
        vocabulary = _VOCABULARIES.get(match[2] or "")
    return prefix + field_in_words(table, name, field, lang), vocabulary


def field_in_words(table: str, name: str, field: Field | None, lang: str) -> str:
    """Return a field's name with its unit; for a substance's entry, the substance and the part of the entry."""
    if match := _SUBSTANCE.fullmatch(name):
        substance = text(f"substance.{match[1]}", lang)
        return f"{substance}: {text(f'substance_part.{match[2]}', lang)}" if match[2] else substance
    unit = f" ({text(f'unit.{field.unit}', lang)})" if field and field.unit in _UNITS else ""
    return name_of_field(table, name, lang) + unit


def value_in_words(stored: object, vocabulary: str | None, lang: str) -> str:
    """Return a value in words, a code of a vocabulary by its word; a dash where nothing is stored."""
    match stored:
        case None:
            return "–"
        case [] | Mapping() if not stored:
            return "–"
        case bool():
            return text("supplier.yes" if stored else "supplier.no", lang)
        case list():
            return ", ".join(value_in_words(member, vocabulary, lang) for member in stored)
        case Mapping():
            return "; ".join(f"{name}: {value_in_words(member, None, lang)}" for name, member in stored.items())
        case float():
            return number(stored, lang, digits=_DIGITS)
    return code_in_words(vocabulary, str(stored), lang) if vocabulary else str(stored)


def code_in_words(vocabulary: str, stored: str, lang: str) -> str:
    """Return a code of a vocabulary in words: from here for codes that only pages show, else from `labels`."""
    if vocabulary == "packaging_format":
        return format_word(stored, lang)
    if prefix := _OWN_WORDS.get(vocabulary):
        return text(f"{prefix}.{stored}", lang)
    return word(vocabulary, stored, lang)


_REASONS: Final = {
    "accepted": re.compile(
        rf"(?P<record>{'|'.join(RESOURCE_TYPES)}) [0-9a-f-]{{36}} accepted(?:: (?P<said>.*))?", re.DOTALL
    ),
    "archived": re.compile(r"Archived\."),
    "expired": re.compile(r"Its last day, (?P<day>[\d-]+), has passed\."),
    "regraded": re.compile(r"Regraded by rule-set (?P<version>.+)\."),
    "undone": re.compile(r"Undo of the import (?P<filename>.+)\."),
}
"""Reasons that the service gives for a write, stored in English; all others are what somebody wrote."""


def action_in_words(action: str, lang: str) -> str:
    """Return the words for an action of the audit log, which is the type of a change as well."""
    resource, _, verb = action.partition(".")
    return f"{text(f'audit.resource.{resource}', lang)}: {text(f'audit.verb.{verb}', lang)}"


def reason_in_words(reason: str, lang: str) -> str:
    """Return the reason of a write in words."""
    for key, pattern in _REASONS.items():
        if match := pattern.fullmatch(reason):
            gaps = match.groupdict()
            if record := gaps.get("record"):
                gaps["record"] = text(f"audit.resource.{record}", lang)
            said = gaps.pop("said", None)
            return text(f"reason.{key}", lang, **gaps) + (f": {said}" if said else "")
    return reason


_SHOWN_APART: Final = ("draft", "translations", "renews", "is_against_record", "asked")
"""Members of an entry that its own page shows elsewhere."""


def payload_rows(kind: str, payload: JsonMapping, lang: str) -> list[tuple[str, str]]:  # stored JSON
    """Return an entry's contents, field by field, where it is not compared with a record; without a draft's points."""
    shown_apart = {"sku_update": "changes", "supplier_answer": "components"}.get(kind)
    rows = [
        _payload_row(name, stored, lang) for name, stored in payload.items() if name not in (*_SHOWN_APART, shown_apart)
    ]
    if shown_apart is None or shown_apart not in payload:
        return rows
    lines = (payload if kind == "supplier_answer" else payload["changes"]).get("components") or []
    asked = payload.get("asked") or {}
    kept = [asked.get(line.get("component_id")) or {} for line in lines]
    parts = [line.get("component_type") or of.get("component_type", "") for line, of in zip(lines, kept, strict=True)]
    fields = payload["changes"] if kind == "sku_update" else {"components": lines}
    new_values = [Change(path, None, stored) for path, stored in leaves(fields) if not path.endswith(".component_id")]
    return [(row.field, row.then) for row in change_rows(new_values, parts, lang)] + rows


def gone_rows(
    payload: JsonMapping, parts: Sequence[AskedPart], lang: str
) -> list[tuple[str, list[tuple[str, str]]]]:  # stored JSON
    """Return each part that an entry says something of and that is gone, in words, with what it says."""
    answers = {answer.get("component_id"): answer for answer in payload.get("components") or ()}
    lines = (*(payload.get("component_changes") or ()), *(payload.get("changes", {}).get("components") or ()))
    answers |= {str(change["id"]): change for change in lines if change.get("id")}
    found = []
    for part in parts:
        if part.is_gone and part.id in answers:
            changes = [Change(field, None, stored) for field, stored in leaves(answers[part.id])]
            of_part = [change for change in changes if change.field not in ("component_id", "id")]
            name = part_in_words(part.asked, lang) if part.asked else text("item.part", lang)
            found.append((name, [(row.field, row.then) for row in change_rows(of_part, (), lang)]))
    return found


def _payload_row(name: str, stored: object, lang: str) -> tuple[str, str]:
    """Return a member of the entry in words; one that no table has a word for stays unchanged."""
    try:
        label = text(f"review.payload.{name}", lang)
    except KeyError:
        label = name
    if name == "lang" and stored in LANGUAGES:
        return label, text(f"lang.{stored}", lang)
    if name == "type" and isinstance(stored, str):
        return label, CONTENTS[lang].get(stored, stored)
    return label, stored if name == "sha256" and isinstance(stored, str) else value_in_words(stored, None, lang)
