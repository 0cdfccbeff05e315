"""Checks that the tables of a rule-set agree with each other: a rule-set that does not is refused whole.

Each check returns a sentence for each fault; `compliance.rule_rows` defines the meaning of the tables.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isinf
from typing import Final

from compliance.rule_rows import Rule, RuleSet
from compliance.tables import Row, TableError
from compliance.words import normalise
from schemas.vocabularies import VOCABULARIES

EFFECTS: Final = frozenset({"none", "removed", "limited", "removed_limited", "not_assessed", "disqualify"})
OPERATORS: Final = frozenset({"", "eq", "in", "gt", "ge", "lt", "le", "is_true", "is_false"})
FORMS: Final = frozenset({"bottle", "rigid", "tray", "film"})
STEP_6_RULES: Final = ("ANY-011a", "ANY-011b", "ANY-011c", "ANY-011d", "ANY-012")
"""The rows that step 6 applies by name; they have no component types."""
BODY_WIDE: Final = ("colour", "additives")
"""The attributes that apply to the whole body when one body component gives them."""
_UNIT_FIELDS: Final = frozenset({"form", "layers_recorded"})
KEYS: Final = {
    "dfr_rules.csv": ("rule_id",),
    "materials.csv": ("code",),
    "streams.csv": ("group", "form", "when"),
    "polymer_aliases.csv": ("alias_norm",),
    "alias_words.csv": ("word",),
    "formats.csv": ("word_norm",),
    "attributes.csv": ("field", "value"),
    "scoring.csv": ("key",),
    "limits.csv": ("code",),
    "annex_v.csv": ("code",),
    "ppwr_categories.csv": ("category_no",),
    "attribute_questions.csv": ("field", "component_type"),
    "rule_texts.csv": ("rule_id",),
    "en18120.csv": ("part",),
    "guidance.csv": ("document", "date"),
    "flag_texts.csv": ("code",),
}
"""All tables of a rule-set, with the columns that name a row."""
FURTHER: Final = frozenset(
    {"attribute_questions.csv", "rule_texts.csv", "flag_texts.csv", "en18120.csv", "guidance.csv"}
)
"""The optional tables, which rule-sets before 2026-11-22 lack; no grade depends on them."""


def check(rules: "RuleSet", tables: Mapping[str, Sequence[Row]]) -> None:
    """Raise `TableError` with every contradiction found, each naming its row."""
    faults = [
        *_repeated_rows(tables),
        *_materials(rules),
        *_words(rules),
        *_streams(rules),
        *(fault for rule in rules.rules.values() for fault in _rule(rule, rules)),
        *_scoring(rules, tables["scoring.csv"]),
        *_notes(rules),
        *_flag_texts(rules, tables["flag_texts.csv"]),
    ]
    if faults:
        raise TableError(f"Rule-set {rules.version}: " + " ".join(faults))


def _repeated_rows(tables: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    for name, columns in KEYS.items():
        seen = Counter(tuple(row[column] for column in columns) for row in tables[name])
        for key, count in seen.items():
            if count > 1:
                yield f"{name}: {' '.join(key)} stands {count} times."


def _materials(rules: "RuleSet") -> Iterator[str]:
    families = set(VOCABULARIES["material_family"])
    known_fields = {*rules.vocabularies, *rules.bands, "density_g_cm3", "thickness_um"}
    for material in rules.materials.values():
        if not material.contract_families <= families:
            yield f"materials.csv, {material.code}: contract_families has a family that the contract does not know."
        if material.specified and material.group not in rules.streams:
            yield f"materials.csv, {material.code}: group {material.group} has no row in streams.csv."
        if not set(material.implied) <= known_fields:
            yield f"materials.csv, {material.code}: implies an attribute that attributes.csv does not have."
    for code in rules.implied_codes.values():
        if code not in rules.materials:
            yield f"attributes.csv: implies_code {code} is not in materials.csv."


def _words(rules: "RuleSet") -> Iterator[str]:
    for alias, code in rules.aliases.items():
        if code not in rules.materials:
            yield f"polymer_aliases.csv, {alias}: {code} is not in materials.csv."
        if normalise(alias) != alias:
            yield f"polymer_aliases.csv, {alias}: alias_norm is not in normal form."
    for word, found in rules.formats.items():
        if normalise(word) != word:
            yield f"formats.csv, {word}: word_norm is not in normal form."
        if found.form is not None and found.form not in FORMS:
            yield f"formats.csv, {word}: form {found.form} is unknown."
    of_key = {found.key: found for found in rules.formats.values()}
    for word, found in rules.formats.items():
        if of_key[found.key] != found:
            yield f"formats.csv, {word}: key {found.key} has two forms or flags."


def _streams(rules: "RuleSet") -> Iterator[str]:
    groups = {material.group for material in rules.materials.values()}
    for row in (row for group_rows in rules.streams.values() for row in group_rows):
        if row.group not in groups:
            yield f"streams.csv, {row.group}: no material has this group."
        if row.form not in {*FORMS, "any"}:
            yield f"streams.csv, {row.group}: form {row.form} is unknown."
        if row.when and row.when[0] not in {*groups, "non_paper_layers"}:
            yield f"streams.csv, {row.group}: cannot weigh {row.when[0]}."
        if row.stream and row.targets != rules.targets[row.stream]:
            yield f"streams.csv: stream {row.stream} has two sets of target groups."


def _rule(rule: Rule, rules: "RuleSet") -> Iterator[str]:
    where = f"dfr_rules.csv, {rule.rule_id}:"
    codes = {*rules.materials, *(m.group for m in rules.materials.values()), "@target"}
    allowed = rules.vocabularies.get(rule.field)
    if rule.stream != "any" and rule.stream not in rules.targets:
        yield f"{where} stream {rule.stream} is not in streams.csv."
    if not rule.types <= {*VOCABULARIES["component_type"], "*"}:
        yield f"{where} a component type is unknown."
    if not rule.types and rule.rule_id not in STEP_6_RULES:
        yield f"{where} no component type is given."
    if not rule.named | rule.excluded <= codes:
        yield f"{where} {', '.join(sorted((rule.named | rule.excluded) - codes))} is neither a code nor a group."
    if rule.effect not in EFFECTS or rule.operator not in OPERATORS or rule.lists not in {"always", "fired", "never"}:
        yield f"{where} effect, attribute_op or lists has an unknown value."
    if rule.share_basis not in {"", "row", "code", "target"} or rule.bounded == (isinf(rule.low) and isinf(rule.high)):
        yield f"{where} bounds and share_basis must be given together."
    if (rule.effect in {"removed", "removed_limited"}) != (0 < rule.removed <= 1):
        yield f"{where} removed_pct does not fit the effect {rule.effect}."
    if not rule.recordable and rule.lists != "never":
        yield f"{where} a row that the record cannot answer lists nothing."
    if rule.recordable and rule.operator in {"eq", "in"} and allowed is not None and not rule.values <= set(allowed):
        yield f"{where} {rule.field} has no such value."
    if rule.recordable and rule.field and allowed is None and rule.field not in {*rules.bands, *_UNIT_FIELDS}:
        yield f"{where} the field {rule.field} is not in attributes.csv."
    if rule.attribute_of == "body" and rule.field not in BODY_WIDE:
        yield f"{where} only {' and '.join(BODY_WIDE)} hold for the whole body."


def _scoring(rules: "RuleSet", rows: Sequence[Row]) -> Iterator[str]:
    if missing := [rule_id for rule_id in STEP_6_RULES if rule_id not in rules.rules]:
        yield f"dfr_rules.csv: {', '.join(missing)} is missing."
    switch = next((row["value"] for row in rows if row["key"] == "analogy_attachments_to_layers"), "Y")
    if switch not in {"Y", "N"}:
        yield f"scoring.csv, analogy_attachments_to_layers: {switch} is neither Y nor N."
    if list(rules.caps) != sorted(rules.caps, reverse=True):
        yield "scoring.csv: more limited features must not raise the cap."
    lines = [line for _, line in rules.grade_lines]
    if lines != sorted(lines, reverse=True):
        yield "scoring.csv: the lines of A, B and C must fall."


def _notes(rules: "RuleSet") -> Iterator[str]:
    for question in rules.questions.values():
        where = f"attribute_questions.csv, {question.field} {question.component_type}".rstrip() + ":"
        if question.component_type and question.component_type not in VOCABULARIES["component_type"]:
            yield f"{where} the component type is unknown."
        if not (question.en and question.fr and question.de):
            yield f"{where} a language has no sentence."
    for rule_id, by_language in rules.texts.items():
        if rule_id not in rules.rules:
            yield f"rule_texts.csv, {rule_id}: there is no such rule in dfr_rules.csv."
        if not all(by_language.values()):
            yield f"rule_texts.csv, {rule_id}: a language has no text."
    for part in rules.en18120:
        if unknown := part.streams - rules.targets.keys():
            yield f"en18120.csv, {part.part}: stream {', '.join(sorted(unknown))} is not in streams.csv."


def _flag_texts(rules: "RuleSet", texts: Sequence[Row]) -> Iterator[str]:
    if unknown := {row["code"] for row in texts} - {ban.code for ban in rules.bans}:
        yield f"flag_texts.csv: {', '.join(sorted(unknown))} is not in annex_v.csv."
    for ban in rules.bans:
        if ban.texts and not all(ban.texts.values()):
            yield f"flag_texts.csv, {ban.code}: a language has no text."
