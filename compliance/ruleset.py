"""The rule-sets that there are: the tables of a version, read once into an immutable object.

What that object is and what a row means is said in `compliance.rule_rows`; what is done with it, in
`compliance.grading`. Whether the tables
agree with each other is checked in `compliance.ruleset_checks`.
"""

import re
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from compliance import rule_rows
from compliance.rule_rows import Rule, RuleSet, Value
from compliance.ruleset_checks import check
from compliance.tables import RULES, TableError, rows

__all__ = ["RuleSet", "load", "read", "versions"]


def versions() -> list[str]:
    """The published versions, oldest first; a version is the day of its tables."""
    return sorted(path.name for path in RULES.iterdir() if re.fullmatch(r"\d{4}-\d{2}-\d{2}", path.name))


@lru_cache(maxsize=16)
def load(version: str | None = None) -> RuleSet:
    """The rule-set of a published version, by default the newest: one object a version, however it is asked for.

    Raises `TableError` where there is no such version or its tables contradict each other.
    """
    if version is None:
        return load(versions()[-1])
    if version not in versions():
        raise TableError(f"There is no rule-set {version}; published are {', '.join(versions())}.")
    return read(RULES / version)


def read(folder: Path) -> RuleSet:
    """The rule-set whose tables lie in a folder; the folder's name is its version.

    Raises `TableError` where a table or column is missing, a cell has another form than its column, or the tables
    contradict each other.
    """
    try:
        found = _assembled(folder)
    except KeyError as missing:
        raise TableError(f"Rule-set {folder.name}: the column or row {missing} is missing.") from missing
    except TableError:
        raise
    except ValueError as fault:
        raise TableError(f"Rule-set {folder.name}: a cell has another form than its column ({fault}).") from fault
    check(found, folder)
    return found


def _assembled(folder: Path) -> RuleSet:
    rules = {row["rule_id"]: rule_rows.rule(row) for row in rows(folder / "dfr_rules.csv")}
    stream_rows = tuple(rule_rows.stream_row(row) for row in rows(folder / "streams.csv"))
    attributes = rows(folder / "attributes.csv")
    words_to_drop = rows(folder / "alias_words.csv")
    scoring = {row["key"]: row["value"] for row in rows(folder / "scoring.csv")}
    return RuleSet(
        version=folder.name,
        rules=MappingProxyType(rules),
        materials=MappingProxyType({row["code"]: rule_rows.material(row) for row in rows(folder / "materials.csv")}),
        streams=MappingProxyType(
            {group: tuple(r for r in stream_rows if r.group == group) for group in {r.group for r in stream_rows}}
        ),
        targets=MappingProxyType({row.stream: row.targets for row in stream_rows if row.stream}),
        aliases=MappingProxyType(
            {row["alias_norm"]: row["canonical_code"] for row in rows(folder / "polymer_aliases.csv")}
        ),
        dropped_words=MappingProxyType(
            {
                kind: frozenset(row["word"] for row in words_to_drop if row["kind"] == kind)
                for kind in {row["kind"] for row in words_to_drop}
            }
        ),
        formats=MappingProxyType(
            {row["word_norm"]: rule_rows.packaging_format(row) for row in rows(folder / "formats.csv")}
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
        limits=MappingProxyType({row["code"]: rule_rows.limit(row) for row in rows(folder / "limits.csv")}),
        bans=tuple(rule_rows.ban(row) for row in rows(folder / "annex_v.csv")),
    )


def _vocabularies(attributes: list[dict[str, str]]) -> dict[str, tuple[Value, ...]]:
    """The values of each closed vocabulary; numbers and derived fields have none."""
    found: dict[str, tuple[Value, ...]] = {}
    for row in attributes:
        if row["value"] not in {"number", "derived"}:
            value: Value = row["value"] == "true" if row["value"] in {"true", "false"} else row["value"]
            found[row["field"]] = (*found.get(row["field"], ()), value)
    return found


def _bands(rules: dict[str, Rule]) -> dict[str, tuple[float, ...]]:
    """For each number field the bounds that any rule compares it with, ascending."""
    numeric = [rule for rule in rules.values() if rule.operator in {"gt", "ge", "lt", "le"}]
    fields = {rule.field for rule in numeric}
    return {field: tuple(sorted({rule.bound for rule in numeric if rule.field == field})) for field in fields}
