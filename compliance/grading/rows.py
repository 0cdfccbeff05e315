"""Grades stored rows: few by the kernel, once for each distinct input, many in arrays (`compliance.grading.many`).

A grade is cached for long, because a file repeats its inputs; its assessment is cached briefly, because a write that
grades one SKU explains it right after. `GRADED_INPUTS` lists the columns that are read; no rule is here.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import orjson

from compliance.grading.assessment import Assessment, UnitAssessment, assess, rounded_score
from compliance.grading.firing import Outcome, Rows, rows_for_type
from compliance.grading.provisional import Judgement, judge, open_facts
from compliance.grading.trace import build_trace, in_language
from compliance.rule_rows import Material, Rule
from compliance.ruleset import RuleSet
from schemas.messages import ORIGINAL
from schemas.rules import GradeTrace
from schemas.skus.types import Sku

_CACHED = 65_536


def explanation(assessed: Assessment, rules: RuleSet) -> Hashable:
    """Return everything that a trace follows from except grade, score, and the open facts of a provisional one."""
    return assessed.why_none, tuple(assessed.missing), tuple(_unit(unit, rules) for unit in assessed.units)


def _unit(assessed: UnitAssessment, rules: RuleSet) -> Hashable:
    limited = assessed.result.limited
    unlisted = assessed.unlisted(rules)
    return (
        assessed.stream,
        assessed.unit.name,
        assessed.result,
        None if limited is None else rules.cap(limited),
        None if unlisted is None else _rule(unlisted),
        tuple(
            (member.index, member.part.component_type, member.part.material.code if member.part.material else None)
            for member in assessed.unit.members
        ),
        tuple(_outcome(result) for result in assessed.outcomes),
        tuple(_assumed(assessed, rules)),
    )


def _assumed(assessed: UnitAssessment, rules: RuleSet) -> Iterator[Hashable]:
    """Yield the assumptions: for open attributes, and for facts that no record has."""
    if assessed.stream is None:
        return
    for result in assessed.outcomes:
        yield _open(result, rules)
    for part, matched in zip(assessed.unit.parts, assessed.unit.types, strict=True):
        assert part.material is not None
        yield _unrecordable(rules, assessed.stream, matched, part.material)


def told_of_part(rules: RuleSet, result: Outcome, rows: Rows) -> tuple[Hashable, ...]:
    """Return all that a trace says of one part whatever its weight, and its effect."""
    return (
        rows.stream,
        rows.component_type,
        rows.material.code,
        result.effect,
        result.by_analogy,
        _outcome(result),
        _open(result, rules),
        _unrecordable(rules, rows.stream, rows.component_type, rows.material),
    )


def told_of_unlisted(rules: RuleSet) -> Hashable:
    """Return all that a trace says of parts that no row lists, and what their rows do."""
    few, many = rules.rules["ANY-011c"], rules.rules["ANY-011d"]
    return tuple((_rule(rule), rule.low, rule.high, rule.removed) for rule in (few, many))


def _open(result: Outcome, rules: RuleSet) -> Hashable:
    return tuple((rule.field, rule.rule_id, rule.field in rules.makes_provisional) for rule in result.open)


@lru_cache(maxsize=_CACHED)
def _outcome(result: Outcome) -> Hashable:
    return (tuple(map(_rule, result.standing)), tuple(map(_rule, result.overruled)), result.effect.unlisted)


@lru_cache(maxsize=_CACHED)
def _unrecordable(rules: RuleSet, stream: str, component_type: str, material: Material) -> Hashable:
    targets = rules.targets[stream]
    return tuple(
        (rule.rule_id, rule.feature)
        for rule in rows_for_type(rules, stream, component_type)
        if not rule.recordable and rule.asks_code(material, targets)
    )


def _rule(rule: Rule) -> Hashable:
    return rule.rule_id, rule.verdict, rule.feature, rule.source_url, rule.effect, rule.basis, rule.confidence


GRADED_INPUTS: Final = (
    "material",
    "material_subtype",
    "packaging_format",
    "packaging_level",
    "weight_grams",
    "use_contexts",
    "svhc",
    "components",
)
"""The columns of a stored SKU that a grade depends on, in the order of `grade_rows`."""

Inputs: TypeAlias = tuple[
    str | None, str | None, str | None, str | None, float | None, str | None, str | None, str | None
]
"""The values of `GRADED_INPUTS`."""
Answer: TypeAlias = tuple[str, float | None, bool]

FEW: Final = 25
"""Fewer graphs than this are graded sooner by the kernel: a block costs some milliseconds whatever its size."""
BLOCK: Final = 5_000
"""Rows that are graded together: larger arrays fall out of the processor's caches, smaller ones cost more calls."""

_IDS: Final = re.compile(r'"id": ?"[^"]*",?')
_NO_GRAPHS: Final = (None, "[]")


def grade_many(rows: Sequence[Inputs], rules: RuleSet) -> list[Answer]:
    """Return grade, score and provisional of each row of `GRADED_INPUTS`, as `grade_rows` does."""
    if _have_few_graphs(rows):
        return grade_rows(rows, rules)
    from compliance.grading.many.regrade import grade_block  # noqa: PLC0415  (a process that grades few loads no arrays)

    blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    return [answer for block in blocks for answer in grade_block(block, rules)]


def regrade_many(
    rows: Sequence[Inputs], stored: Sequence[Answer], graded_by: Sequence[RuleSet | None], rules: RuleSet
) -> list[Answer | None]:
    """Return each row's new answer where it or its trace differs from the stored one, as `regrade_rows` does."""
    if _have_few_graphs(rows):
        return regrade_rows(rows, stored, graded_by, rules)
    from compliance.grading.many.regrade import regrade_block  # noqa: PLC0415  (see above)

    blocks = [slice(start, start + BLOCK) for start in range(0, len(rows), BLOCK)]
    answers = (regrade_block(rows[block], stored[block], graded_by[block], rules) for block in blocks)
    return [answer for block in answers for answer in block]


def _have_few_graphs(rows: Sequence[Inputs]) -> bool:
    """Return whether the kernel grades the rows sooner: it remembers rows without a graph, which arrays leave to it."""
    return sum(row[-1] not in _NO_GRAPHS for row in rows) < FEW


def grade_rows(rows: Iterable[Inputs], rules: RuleSet) -> list[Answer]:
    """Return grade, score and provisional of each row of `GRADED_INPUTS`.

    `use_contexts` is Postgres array text such as `{food,takeaway}`, `svhc` and `components` are JSON text; null where
    there is none.
    """
    return [_graded(deciding(row), rules) for row in rows]


def regrade_rows(
    rows: Iterable[Inputs], stored: Iterable[Answer], graded_by: Iterable[RuleSet | None], rules: RuleSet
) -> list[Answer | None]:
    """Return each row's new answer where it or the trace differs from the stored one; None where nothing changes.

    `graded_by` are the rule-sets of the stored answers; None where a rule-set no longer exists, so that its trace
    cannot be computed and the row counts as changed.
    """
    return [
        _regraded(deciding(row), answer, was, rules) for row, answer, was in zip(rows, stored, graded_by, strict=True)
    ]


def deciding(row: Inputs) -> Inputs:
    """Return what decides of a row: with a graph its weights count, without one only whether the body has weight."""
    material, subtype, form, level, weight, contexts, svhc, graph = row
    if graph in _NO_GRAPHS:
        has_weight = weight if weight is None else float(weight > 0)
        return material, subtype, form, level, has_weight, contexts, svhc, None
    return material, subtype, form, level, None, contexts, svhc, _IDS.sub("", graph)


def explain_row(row: Inputs, record: Sku, rules: RuleSet, *, day: RuleSet, lang: str = ORIGINAL) -> GradeTrace:
    """Return the `grade_trace` of a row of `GRADED_INPUTS` by the rule-set that graded it, in one of `LANGUAGES`.

    `record` is the same row, which supplies the lines' ids; `day` is the rule-set of the day, which supplies the
    questions.
    """
    return in_language(build_trace(_judged(deciding(row), rules), record, rules, day), (rules, day), lang)


@lru_cache(maxsize=32_768)
def _regraded(row: Inputs, stored: Answer, was: RuleSet | None, rules: RuleSet) -> Answer | None:
    answer = _graded(row, rules)
    if answer != stored or was is None:
        return answer
    return None if was is rules or _says_the_same(row, was, rules) else answer


def _says_the_same(row: Inputs, was: RuleSet, rules: RuleSet) -> bool:
    """Return whether the traces by two rule-sets differ only in the version; for most a first comparison decides."""
    record, now = record_of(row), _judged(row, rules)
    then = assess(record, was)
    if explanation(then, was) != explanation(now.assessment, rules):
        before, after = (
            build_trace(_judged(row, rule_set), record, rule_set, rules, with_open=False) for rule_set in (was, rules)
        )
        if {**before, "ruleset_version": None} != {**after, "ruleset_version": None}:
            return False
    return not now.provisional or open_facts(record, then, was) == open_facts(record, now.assessment, rules)


@lru_cache(maxsize=32_768)
def _graded(row: Inputs, rules: RuleSet) -> Answer:
    judged = _judged(row, rules)
    return judged.assessment.result.grade, rounded_score(judged.assessment.result.score), judged.provisional


@lru_cache(maxsize=64)
def _judged(row: Inputs, rules: RuleSet) -> Judgement:
    return judge(record_of(row), rules)


def record_of(row: Inputs) -> Sku:
    """Return the graded record of a row of `GRADED_INPUTS`."""
    material, subtype, form, level, weight, contexts, svhc, components = row
    return {
        "material": material,
        "material_subtype": subtype,
        "packaging_format": form,
        "packaging_level": level,
        "weight_grams": weight,
        "use_contexts": contexts.strip("{}").split(",") if contexts else (),
        "svhc": orjson.loads(svhc) if svhc else None,
        "components": orjson.loads(components) if components else (),
    }


class Judged(NamedTuple):
    """The sorting stream of a packaging's body, None where none is known, and the ids of the rules that fired.

    `exempt` is what has no grade because Article 6 of Regulation (EU) 2025/40 does not apply to it, or may not.
    """

    stream: str | None
    rules: tuple[str, ...]
    exempt: bool


def judged_rows(rows: Iterable[Inputs], rules: RuleSet) -> list[Judged]:
    """Return the stream of each row of `GRADED_INPUTS`, the rules that fired on it by id, and whether it is exempt."""
    return [_fired(deciding(row), rules) for row in rows]


@lru_cache(maxsize=32_768)
def _fired(row: Inputs, rules: RuleSet) -> Judged:
    assessed, fired = assess(record_of(row), rules), set[str]()
    units = assessed.units
    for unit in units:
        for part in unit.outcomes:
            fired.update(rule.rule_id for rule in part.standing)
        if (unlisted := unit.unlisted(rules)) is not None:
            fired.add(unlisted.rule_id)
    return Judged(units[0].stream if units else None, tuple(sorted(fired)), assessed.why_none is not None)
