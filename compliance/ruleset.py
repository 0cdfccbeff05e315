"""Loads rule-sets: the tables of a version, read once into an immutable object.

`compliance.rule_rows` defines that object and the meaning of a row; `compliance.grading` uses it.
`compliance.ruleset_checks` checks that the tables agree with each other.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compliance import rule_rows
from compliance.rule_rows import Rule, RuleSet, StandardPart, Value
from compliance.ruleset_checks import FURTHER, KEYS, check
from compliance.tables import RULES, Row, TableError, parse_table, rows, text

__all__ = ["RULES", "TABLES", "VERSION", "RuleSet", "load", "parse", "read", "texts", "versions"]


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
        found = {name: parse_table(name, tables.get(name, "") if name in FURTHER else tables[name]) for name in TABLES}
        rules = _assembled(version, found)
        check(rules, found)
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
        formats=MappingProxyType({row["word_norm"]: rule_rows.packaging_format(row) for row in tables["formats.csv"]}),
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
        limits=MappingProxyType({row["code"]: rule_rows.limit(row) for row in tables["limits.csv"]}),
        bans=tuple(rule_rows.ban(row, flag_texts.get(row["code"], {})) for row in tables["annex_v.csv"]),
        questions=MappingProxyType(
            {
                (row["field"], row["component_type"]): rule_rows.question(row)
                for row in tables["attribute_questions.csv"]
            }
        ),
        texts=MappingProxyType({row["rule_id"]: rule_rows.rule_text(row) for row in tables["rule_texts.csv"]}),
        en18120=tuple(rule_rows.standard_part(row) for row in tables["en18120.csv"]),
        guidance=tuple(rule_rows.guidance(row) for row in tables["guidance.csv"]),
    )


def _vocabularies(attributes: Sequence[Row]) -> dict[str, tuple[Value, ...]]:
    """Return the values of each closed vocabulary; numbers and derived fields have none."""
    found: dict[str, tuple[Value, ...]] = {}
    for row in attributes:
        if row["value"] not in {"number", "derived"}:
            value: Value = row["value"] == "true" if row["value"] in {"true", "false"} else row["value"]
            found[row["field"]] = (*found.get(row["field"], ()), value)
    return found


def _bands(rules: dict[str, Rule]) -> dict[str, tuple[float, ...]]:
    """Return, for each number field, the bounds that any rule compares it with, ascending."""
    numeric = [rule for rule in rules.values() if rule.operator in {"gt", "ge", "lt", "le"}]
    fields = {rule.field for rule in numeric}
    return {field: tuple(sorted({rule.bound for rule in numeric if rule.field == field})) for field in fields}


MEMORY: Final = "memory"
OURS: Final = "ours"
"""The two kinds that nobody else can check; their number never rises from release to release."""


def by_kind(rules: RuleSet) -> Mapping[str, int]:
    """Return the number of rules of each kind of source, the kinds in alphabetical order; without rules it is 0."""
    found = Counter(_kind(rule.source_url) for rule in rules.rules.values())
    return {kind: found[kind] for kind in sorted({kind for _, kind in _kinds()}, key=str.casefold)}


def _kind(source: str) -> str:
    return next(kind for beginning, kind in _kinds() if source.startswith(beginning))


@lru_cache(maxsize=1)
def _kinds() -> tuple[tuple[str, str], ...]:
    return tuple((row["begins_with"], row["kind"]) for row in rows(RULES / "source_kinds.csv"))


def unread_parts(stream: str | None, rules: RuleSet) -> list[StandardPart]:
    """Return the parts that take precedence over the rules of a recycling stream."""
    return [part for part in rules.en18120 if part.say and stream in part.streams]


def unread(stream: str | None, rules: RuleSet) -> list[str]:
    """Return the sentences beside a grade of a recycling stream, in English; none for a stream without a standard."""
    return [part.say for part in unread_parts(stream, rules)]
