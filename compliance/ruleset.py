"""Loads rule-sets: the tables of a version, read once into an immutable object, and refused whole if they contradict.

`compliance.rule_rows` defines that object and the meaning of a row; `compliance.grading` uses it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import isinf
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compliance import rule_rows
from compliance.rule_rows import COMPARISONS, Exclusion, Format, Limit, Question, Rule, RuleSet, StandardPart, Value
from compliance.tables import RULES, Row, TableError, parse_table, record_of_row, refuse, rows, text
from compliance.words import normalise
from schemas.messages import LANGUAGES
from schemas.vocabularies import VOCABULARIES

__all__ = ["RULES", "TABLES", "VERSION", "RuleSet", "load", "parse", "read", "texts", "versions"]

EFFECTS: Final = frozenset({"none", "removed", "limited", "removed_limited", "not_assessed", "disqualify"})
OPERATORS: Final = frozenset({"", "eq", "in", *COMPARISONS, "is_true", "is_false"})
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
    "ban_exclusions.csv": ("category",),
}
"""All tables of a rule-set, with the columns that name a row."""
FURTHER: Final = frozenset(
    {"attribute_questions.csv", "rule_texts.csv", "flag_texts.csv", "en18120.csv", "guidance.csv", "ban_exclusions.csv"}
)
"""The optional tables, which older rule-sets lack; no grade depends on them."""
TABLES: Final = tuple(KEYS)
"""The file names of all tables of a rule-set."""
VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
"""The name of a version: the day of its tables."""


def versions() -> list[str]:
    """Return the published versions, oldest first; a version is the day of its tables."""
    return sorted(path.name for path in RULES.iterdir() if VERSION.fullmatch(path.name))


@lru_cache(maxsize=16)
def load(version: str | None = None) -> RuleSet:
    """Return the rule-set of a published version, by default the newest; each version is one object.

    Raise `TableError` where there is no such version or its tables contradict each other.
    """
    if version is None:
        return load(versions()[-1])
    if version not in versions():
        raise TableError(f"There is no rule-set {version}; published are {', '.join(versions())}.")
    return read(RULES / version)


def read(folder: Path) -> RuleSet:
    """Return the rule-set of a folder's tables; the folder's name is its version. Raise `TableError` as `parse`."""
    return parse(folder.name, texts(folder))


def texts(folder: Path) -> dict[str, str]:
    """Return the text of a folder's tables by file name; optional ones only where they exist.

    Raise `TableError` where one cannot be read.
    """
    return {name: text(folder / name) for name in TABLES if name not in FURTHER or (folder / name).exists()}


def parse(version: str, tables: Mapping[str, str]) -> RuleSet:
    """Return the rule-set of these tables, each the text of a CSV file by its name.

    Optional tables are empty where they are missing. Raise `TableError` where another table or a column is missing, a
    cell does not fit its column, or the tables contradict each other.
    """
    try:
        parsed = {name: parse_table(name, tables.get(name, "") if name in FURTHER else tables[name]) for name in TABLES}
        rules = _assembled(version, parsed)
        check(rules, parsed)
    except KeyError as missing:
        raise TableError(f"Rule-set {version}: the column or row {missing} is missing.") from missing
    except TableError:
        raise
    except ValueError as fault:
        raise TableError(f"Rule-set {version}: a cell has another form than its column ({fault}).") from fault
    return rules


def _assembled(version: str, tables: Mapping[str, Sequence[Row]]) -> RuleSet:
    rules = {row["rule_id"]: rule_rows.rule(row) for row in tables["dfr_rules.csv"]}
    stream_rows = tuple(rule_rows.stream_row(row) for row in tables["streams.csv"])
    attributes = tables["attributes.csv"]
    words_to_drop = tables["alias_words.csv"]
    flag_texts = {row["code"]: row for row in tables["flag_texts.csv"]}
    scoring = {row["key"]: row["value"] for row in tables["scoring.csv"]}
    return RuleSet(
        version=version,
        rules=MappingProxyType(rules),
        materials=MappingProxyType({row["code"]: rule_rows.material(row) for row in tables["materials.csv"]}),
        streams=MappingProxyType(
            {group: tuple(r for r in stream_rows if r.group == group) for group in {r.group for r in stream_rows}}
        ),
        targets=MappingProxyType({row.stream: row.targets for row in stream_rows if row.stream}),
        aliases=MappingProxyType({row["alias_norm"]: row["canonical_code"] for row in tables["polymer_aliases.csv"]}),
        dropped_words=MappingProxyType(
            {
                kind: frozenset(row["word"] for row in words_to_drop if row["kind"] == kind)
                for kind in {row["kind"] for row in words_to_drop}
            }
        ),
        word_facts=MappingProxyType(
            {row["word"]: rule_rows.word_fact(row) for row in words_to_drop if row.get("gives")}
        ),
        formats=MappingProxyType(
            {
                row["word_norm"]: record_of_row(Format, row, form=None if row["form"] == "other" else row["form"])
                for row in tables["formats.csv"]
            }
        ),
        vocabularies=MappingProxyType(_vocabularies(attributes)),
        makes_provisional=frozenset(row["field"] for row in attributes if row["open_makes_provisional"] == "Y"),
        implied_codes=MappingProxyType(
            {(row["field"], row["value"]): row["implies_code"] for row in attributes if row["implies_code"]}
        ),
        bands=MappingProxyType(_bands(rules)),
        caps=tuple(float(scoring[key]) for key in sorted(key for key in scoring if key.startswith("cap_"))),
        grade_lines=tuple((grade, float(scoring[f"grade_{grade}"])) for grade in "ABC"),
        disqualified_score=float(scoring["disqualified_score"]),
        attachments_speak_for_layers=scoring.get("analogy_attachments_to_layers", "Y") == "Y",
        limits=MappingProxyType({row["code"]: record_of_row(Limit, row) for row in tables["limits.csv"]}),
        bans=tuple(rule_rows.ban(row, flag_texts.get(row["code"], {})) for row in tables["annex_v.csv"]),
        exclusions=tuple(record_of_row(Exclusion, row) for row in tables["ban_exclusions.csv"]),
        questions=MappingProxyType(
            {
                (row["field"], row["component_type"]): record_of_row(
                    Question, row, **{lang: row[f"ask_{lang}"] for lang in LANGUAGES}
                )
                for row in tables["attribute_questions.csv"]
            }
        ),
        texts=MappingProxyType(
            {
                row["rule_id"]: MappingProxyType({lang: row[f"text_{lang}"] for lang in LANGUAGES[1:]})
                for row in tables["rule_texts.csv"]
            }
        ),
        en18120=tuple(record_of_row(StandardPart, row) for row in tables["en18120.csv"]),
    )


def _vocabularies(attributes: Sequence[Row]) -> dict[str, tuple[Value, ...]]:
    """Return the values of each closed vocabulary; numbers and derived fields have none."""
    values: dict[str, tuple[Value, ...]] = {}
    for row in attributes:
        if row["value"] not in {"number", "derived"}:
            value: Value = row["value"] == "true" if row["value"] in {"true", "false"} else row["value"]
            values[row["field"]] = (*values.get(row["field"], ()), value)
    return values


def _bands(rules: dict[str, Rule]) -> dict[str, tuple[float, ...]]:
    """Return, for each number field, the bounds that any rule compares it with, ascending."""
    numeric = [rule for rule in rules.values() if rule.operator in COMPARISONS]
    fields = {rule.field for rule in numeric}
    return {field: tuple(sorted({rule.bound for rule in numeric if rule.field == field})) for field in fields}


def by_kind(rules: RuleSet) -> Mapping[str, int]:
    """Return the number of rules of each kind of source, the kinds in alphabetical order; without rules it is 0."""
    counts = Counter(
        next(kind for beginning, kind in _kinds() if rule.source_url.startswith(beginning))
        for rule in rules.rules.values()
    )
    return {kind: counts[kind] for kind in sorted({kind for _, kind in _kinds()}, key=str.casefold)}


@cache
def _kinds() -> tuple[tuple[str, str], ...]:
    return tuple((row["begins_with"], row["kind"]) for row in rows(RULES / "source_kinds.csv"))


def unread_parts(stream: str | None, rules: RuleSet) -> list[StandardPart]:
    """Return the parts that take precedence over the rules of a recycling stream."""
    return [part for part in rules.en18120 if part.say and stream in part.streams]


def unread(stream: str | None, rules: RuleSet) -> list[str]:
    """Return the sentences beside a grade of a recycling stream, in English; none for a stream without a standard."""
    return [part.say for part in unread_parts(stream, rules)]


def check(rules: RuleSet, tables: Mapping[str, Sequence[Row]]) -> None:
    """Raise `TableError` with every contradiction found, each naming its row."""
    faults = (
        *_repeated_rows(tables),
        *_materials(rules),
        *_words(rules),
        *_streams(rules),
        *(fault for rule in rules.rules.values() for fault in _rule(rule, rules)),
        *_scoring(rules, tables["scoring.csv"]),
        *_notes(rules),
        *_flag_texts(rules, tables["flag_texts.csv"]),
        *_exclusions(rules),
    )
    refuse(f"Rule-set {rules.version}", faults)


def _repeated_rows(tables: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    for name, columns in KEYS.items():
        seen = Counter(tuple(row[column] for column in columns) for row in tables[name])
        for key, count in seen.items():
            if count > 1:
                yield f"{name}: {' '.join(key)} stands {count} times."


def _materials(rules: RuleSet) -> Iterator[str]:
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


def _words(rules: RuleSet) -> Iterator[str]:
    for alias, code in rules.aliases.items():
        if code not in rules.materials:
            yield f"polymer_aliases.csv, {alias}: {code} is not in materials.csv."
        if normalise(alias) != alias:
            yield f"polymer_aliases.csv, {alias}: alias_norm is not in normal form."
    for word, format_row in rules.formats.items():
        if normalise(word) != word:
            yield f"formats.csv, {word}: word_norm is not in normal form."
        if format_row.form is not None and format_row.form not in FORMS:
            yield f"formats.csv, {word}: form {format_row.form} is unknown."
    of_key = {format_row.key: format_row for format_row in rules.formats.values()}
    for word, format_row in rules.formats.items():
        if of_key[format_row.key] != format_row:
            yield f"formats.csv, {word}: key {format_row.key} has two forms or flags."


def _streams(rules: RuleSet) -> Iterator[str]:
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


def _rule(rule: Rule, rules: RuleSet) -> Iterator[str]:
    where = f"dfr_rules.csv, {rule.rule_id}:"
    codes = {*rules.materials, *(m.group for m in rules.materials.values()), "@target"}
    allowed = rules.vocabularies.get(rule.field)
    if rule.stream != "any" and rule.stream not in rules.targets:
        yield f"{where} stream {rule.stream} is not in streams.csv."
    if not rule.types <= {*VOCABULARIES["component_type"], "*"}:
        yield f"{where} a component type is unknown."
    if not rule.types and rule.rule_id not in STEP_6_RULES:
        yield f"{where} no component type is given."
    if not rule.materials | rule.excluded <= codes:
        yield f"{where} {', '.join(sorted((rule.materials | rule.excluded) - codes))} is neither a code nor a group."
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


def _scoring(rules: RuleSet, rows: Sequence[Row]) -> Iterator[str]:
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


def _notes(rules: RuleSet) -> Iterator[str]:
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


def _exclusions(rules: RuleSet) -> Iterator[str]:
    facts = {item.partition("=")[0] for ban in rules.bans for item in ban.open_facts.split("; ")}
    for row in rules.exclusions:
        if unknown := row.excludes - facts:
            yield f"ban_exclusions.csv, {row.category}: no ban asks {', '.join(sorted(unknown))}."
        if wrong := [word for word in (*row.words, *row.unless) if normalise(word) != word]:
            yield f"ban_exclusions.csv, {row.category}: {', '.join(wrong)} is not in normal form."


def _flag_texts(rules: RuleSet, texts: Sequence[Row]) -> Iterator[str]:
    if unknown := {row["code"] for row in texts} - {ban.code for ban in rules.bans}:
        yield f"flag_texts.csv: {', '.join(sorted(unknown))} is not in annex_v.csv."
    for ban in rules.bans:
        if ban.texts and not all(ban.texts.values()):
            yield f"flag_texts.csv, {ban.code}: a language has no text."
