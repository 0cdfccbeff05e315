"""Grades blocks of SKUs in arrays, and by the kernel what arrays do not take."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from compliance.grading.many.assess import Assessed, assess
from compliance.grading.many.codes import GRADES, MISSING, BeyondArraysError
from compliance.grading.many.columns import with_bodies
from compliance.grading.many.kernel import GRADED, by_the_kernel
from compliance.grading.many.keys import Bools, Ints
from compliance.grading.many.parts import BODY
from compliance.grading.many.provisional import Skus, provisional
from compliance.grading.many.tables import Tables, forget, tables_of
from compliance.grading.many.units import Heads, Lines, Units
from compliance.grading.trials import MANY
from compliance.rule_rows import TOLERANCE, RuleSet

BLOCK: Final = 10_000
"""SKUs that are graded together: more need more memory, and gain nothing."""


def grade_columns(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return `GRADED` of SKUs (`SKU_COLUMNS`) with their components (`COMPONENT_COLUMNS`, in the order of the SKUs)."""
    return pl.concat([_block(*block, rules) for block in _blocks(skus, components)] or [pl.DataFrame(schema=GRADED)])


def _blocks(skus: pl.DataFrame, components: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield SKUs with their components, in blocks; a component's `sku` counts from the first of its block."""
    ends = np.searchsorted(components["sku"].to_numpy(), np.arange(0, skus.height + BLOCK, BLOCK)).tolist()
    for number, start in enumerate(range(0, skus.height, BLOCK)):
        lines = components.slice(ends[number], ends[number + 1] - ends[number])
        yield skus.slice(start, BLOCK), lines.with_columns(pl.col("sku") - start)


def _block(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    tables = tables_of(rules)
    with tables.lock:
        try:
            return _in_arrays(skus, components, tables)
        except BeyondArraysError:
            return by_the_kernel(skus, components, range(skus.height), rules)
        except BaseException:
            forget(rules)  # a row may be half written
            raise


def _in_arrays(skus: pl.DataFrame, components: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    lines = with_bodies(skus, components)
    sku, parts = lines["sku"].to_numpy().astype(np.int64), tables.parts
    part = tables.coding.parts(lines, skus["svhc"].gather(lines["sku"]))
    form, level, outside = tables.coding.own_columns(skus)
    has_graph = np.zeros(skus.height, np.bool_)
    has_graph[components["sku"].to_numpy()] = True
    has_part, has_body = np.zeros((2, skus.height), np.bool_)
    has_part[sku] = True
    has_body[sku[parts.type.ints(part) == BODY]] = True
    left_out = ~has_body | (outside > 0)
    units = _units(part, lines, form, ~left_out[sku], tables)
    found = assess(units, tables)
    standing = Skus(found, skus.height, level, tables)
    missing = np.where(~has_part, MISSING["material"], np.where(has_graph & ~has_body, MISSING["components"], 0))
    result = _graded(found, standing, missing, provisional(found, standing, tables), tables)
    wide = np.unique(units.heads.sku[units.size > MANY])
    return (
        _with_rows(result, wide, by_the_kernel(skus, components, wide.tolist(), tables.rules)) if wide.size else result
    )


def _units(part: Ints, lines: pl.DataFrame, form: Ints, kept: Bools, tables: Tables) -> Units:
    """Return the units: the body's of each SKU first, then one for each part that comes off (step 4a, d)."""
    sku, weight = lines["sku"].to_numpy().astype(np.int64), lines["weight_g"]
    form_apart = tables.parts.form_apart.ints(part)
    apart = form_apart > 0
    order = np.flatnonzero(kept)
    order = order[np.lexsort((apart[order], sku[order]))]
    sku, part, apart, form_apart = sku[order], part[order], apart[order], form_apart[order]
    grams = weight.fill_null(0.0).to_numpy()[order]
    first = apart.copy()
    first[:1] = True
    first[1:] |= sku[1:] != sku[:-1]
    head = np.flatnonzero(first)
    heads = Heads(sku[head], np.where(apart[head], form_apart[head], form[sku[head]]), apart[head])
    members = Lines(np.cumsum(first) - 1, part, grams, weight.is_null().to_numpy()[order])
    return Units.of(heads, members, tables.parts)


def _graded(found: Assessed, skus: Skus, missing: Ints, could_change: Bools, tables: Tables) -> pl.DataFrame:
    sku, has_units = found.units.heads.sku, skus.body >= 0
    exempt = np.zeros(skus.count, np.bool_)
    exempt[has_units] = tables.exempt(found.group[skus.body[has_units]], skus.levels[has_units])
    np.bitwise_or.at(missing, sku, np.where(exempt[sku], 0, found.missing))
    stream = np.where(has_units & ~exempt, found.stream[skus.body] if len(found.units) else -1, -1)
    score = np.floor((skus.score + TOLERANCE) * 10_000 + 0.5) / 10_000  # as `rounded_score` rounds
    return pl.DataFrame(
        {
            "grade": pl.Series(GRADES)[skus.grade],
            "score": pl.Series(score).fill_nan(None),
            "provisional": could_change,
            "stream": pl.Series([*tables.streams, None])[np.where(stream < 0, len(tables.streams), stream)],
            "missing": missing,
        },
        schema=GRADED,
    )


def _with_rows(graded: pl.DataFrame, places: Ints, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the table with other rows at some places."""
    source = np.arange(graded.height)
    source[places] = graded.height + np.arange(places.size)
    return pl.concat([graded, rows])[source]
