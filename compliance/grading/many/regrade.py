"""Regrades rows in arrays: which answers change, and which rows' traces surely say the same by two rule-sets.

Traces are compared by numbers of what they say. Where a number differs, or there is none, the kernel makes and compares
the traces of that row; so a doubt costs time, and changes no answer.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from compliance.grading.many.keys import Bools, Ints, any_in, meaning
from compliance.grading.many.parts import UNGRADED, BeyondArraysError, frames_of
from compliance.grading.many.steps import Block, answers, body_changes, grade_skus, part_trials
from compliance.grading.many.tables import Tables, tables_of
from compliance.grading.rows import Answer, Inputs, grade_rows, regrade_rows, told_of_unlisted
from compliance.rule_rows import RuleSet


def grade_block(rows: Sequence[Inputs], rules: RuleSet) -> list[Answer]:
    """Return what `grade_rows` returns."""
    try:
        with tables_of(rules) as tables:
            block = grade_skus(frames_of(rows), tables)
    except BeyondArraysError:
        return grade_rows(rows, rules)
    return answers(block, rows)


_Rows = tuple[Ints, NDArray[np.float64]]
"""The SKU of each row, and the rows."""


def regrade_block(
    rows: Sequence[Inputs], stored: Sequence[Answer], graded_by: Sequence[RuleSet | None], rules: RuleSet
) -> list[Answer | None]:
    """Return what `regrade_rows` returns."""
    sets = {rules, *(was for was in graded_by if was is not None)}
    try:
        with ExitStack() as lent:
            tables = {rules: lent.enter_context(tables_of(rules)) for rules in sorted(sets, key=id)}
            changed, unsure = _compared(rows, stored, graded_by, rules, tables)
    except BeyondArraysError:
        return regrade_rows(rows, stored, graded_by, rules)
    for place in unsure:
        [changed[place]] = regrade_rows([rows[place]], [stored[place]], [graded_by[place]], rules)
    return changed


def _compared(
    rows: Sequence[Inputs],
    stored: Sequence[Answer],
    graded_by: Sequence[RuleSet | None],
    new: RuleSet,
    tables: Mapping[RuleSet, Tables],
) -> tuple[list[Answer | None], list[int]]:
    """Return the answers, and the places of the rows that the kernel has to compare."""
    frames = frames_of(rows)
    now = grade_skus(frames, tables[new])
    changed: list[Answer | None] = [
        answer if answer != held or was is None else None
        for answer, held, was in zip(answers(now, rows), stored, graded_by, strict=True)
    ]
    unsure: list[int] = []
    for was in {version for version in graded_by if version not in (None, new)}:
        same = _same(now, grade_skus(frames, tables[was]))
        unsure += [
            place
            for place, version in enumerate(graded_by)
            if version is was and changed[place] is None and not same[place]
        ]
    return changed, unsure


def _same(now: Block, then: Block) -> Bools:
    """Return whether the traces of a SKU by two rule-sets surely differ in the version alone."""
    if told_of_unlisted(now.tables.rules) != told_of_unlisted(then.tables.rules):
        return np.zeros(now.skus.count, np.bool_)
    same = np.ones(now.skus.count, np.bool_)
    for rows in (_of_skus, _of_units, _of_parts):
        same &= _equal(rows(now), rows(then), same.size)
    for block in (now, then):
        same[block.left] = False
    to_compare = same & now.provisional
    if to_compare.any():
        lines, before = ((r.caps, r.grade_lines, r.disqualified_score) for r in (now.tables.rules, then.tables.rules))
        if lines != before:  # equal effects would give other grades
            return same & ~now.provisional
        for trials in (_of_alternatives, _of_body_trials, _of_part_trials):
            same &= _equal(trials(now, to_compare), trials(then, to_compare), same.size)
    return same


def _equal(now: _Rows, then: _Rows, skus: int) -> Bools:
    """Return whether a SKU has the same rows in both; rows of a SKU keep their order."""
    counts = [np.bincount(rows[0], minlength=skus) for rows in (now, then)]
    equal = np.equal(*counts)
    (sku, one), (_, other) = (_in_order(rows, equal) for rows in (now, then))
    differs = ~((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
    same: Bools = equal & ~any_in(sku, differs, skus)
    return same


def _in_order(rows: _Rows, kept: Bools) -> _Rows:
    order = np.argsort(rows[0], kind="stable")
    order = order[kept[rows[0][order]]]
    return rows[0][order], rows[1][order]


def _rows(sku: Ints, *columns: NDArray[np.generic]) -> _Rows:
    return sku, np.stack([column.astype(np.float64) for column in columns], axis=1)


def _of_skus(block: Block) -> _Rows:
    return _rows(
        np.arange(block.skus.count),
        block.outside,
        block.exempt,
        block.provisional,
        block.skus.grade,
        block.skus.score,
    )


def _of_units(block: Block) -> _Rows:
    assessed, rules = block.assessed, block.tables.rules
    scores, caps = assessed.scores, np.array(rules.caps)
    streams = np.array([*(meaning(("stream", name)) for name in block.tables.streams), -1])
    cap = np.where(scores.limited < 0, -1, caps[np.clip(scores.limited, 0, caps.size - 1)])
    return _rows(
        assessed.units.heads.sku,
        assessed.units.heads.apart,
        streams[assessed.stream],
        scores.grade,
        scores.score,
        scores.kept,
        scores.limited,
        cap,
        assessed.missing,
        (assessed.word & block.tables.words.layers) > 0,
    )


def _of_parts(block: Block) -> _Rows:
    units, parts, cases = block.assessed.units, block.tables.parts, block.tables.cases
    codes = np.array([*(meaning(("code", code)) for code in parts.codes), -1])
    case = block.assessed.case
    traces = np.full(case.size, -1)
    traces[case >= 0] = cases.traces(case[case >= 0])
    return _rows(
        units.heads.sku[units.unit],
        units.grams,
        units.member,
        units.type,
        parts.at("type", units.part),
        codes[units.material],
        parts.at("weightless", units.part),
        parts.at("generic", units.part),
        parts.at("hides_layers", units.part),
        traces,
    )


def _assessed_units(block: Block, skus: Bools) -> Bools:
    """Return the assessed units of these SKUs: those whose open facts are listed."""
    to_ask: Bools = skus[block.assessed.units.heads.sku] & (block.assessed.scores.grade != UNGRADED)
    return to_ask


def _of_alternatives(block: Block, skus: Bools) -> _Rows:
    """Return what the open facts of each part could change: equal where each has the same effects and other parts."""
    assessed, to_ask = block.assessed, _assessed_units(block, skus)
    placed = np.flatnonzero((assessed.case >= 0) & to_ask[assessed.units.unit])
    return _rows(assessed.units.heads.sku[assessed.units.unit[placed]], block.tables.cases.could(assessed.case[placed]))


def _of_body_trials(block: Block, skus: Bools) -> _Rows:
    """Return the effects of each trial of an attribute of a whole body."""
    assessed, effects = block.assessed, block.tables.effects
    at, word, (trial, places, effect) = body_changes(assessed, _assessed_units(block, skus), block.tables)
    sku = assessed.units.heads.sku
    start = assessed.units.start[at][trial]
    changes = _rows(sku[at][trial], word[trial], places - start, effects.at("meaning", effect))
    trials = _rows(sku[at], word, np.full(at.size, -1), np.full(at.size, -1))
    return np.concatenate([trials[0], changes[0]]), np.concatenate([trials[1], changes[1]])


def _of_part_trials(block: Block, skus: Bools) -> _Rows:
    """Return the results of each trial of another part: grade and score of its unit, and whether it exempts."""
    assessed, tables = block.assessed, block.tables
    at, places, tried = part_trials(assessed, _assessed_units(block, skus), tables)
    sku = assessed.units.heads.sku[at]
    body = block.skus.is_body[at]
    exempt = body & tables.exempt(np.where(body, tried.group, -1), block.skus.levels[sku])
    return _rows(sku, places - assessed.units.start[at], tried.scores.grade, tried.scores.score, exempt)
