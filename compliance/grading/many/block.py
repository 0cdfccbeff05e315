"""A block of SKUs, assessed in arrays: its units with their results, and what its SKUs' own columns decide."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from compliance.grading.many.assess import Assessed, assess
from compliance.grading.many.codes import GRADES, MISSING
from compliance.grading.many.columns import with_bodies
from compliance.grading.many.kernel import GRADED
from compliance.grading.many.keys import Bools, Ints
from compliance.grading.many.parts import BODY
from compliance.grading.many.provisional import Skus, provisional
from compliance.grading.many.tables import Tables
from compliance.grading.many.units import Heads, Lines, Units
from compliance.grading.trials import MANY
from compliance.rule_rows import TOLERANCE


@dataclass(frozen=True, slots=True)
class Block:
    """The units of the SKUs and the SKUs' results. `missing` are the bits of missing facts.

    `outside` is the number of the reason for which a SKU needs no grade, 0 where there is none. `wide` are the SKUs of
    so many parts that the kernel grades them.
    """

    tables: Tables
    found: Assessed
    skus: Skus
    outside: Ints
    exempt: Bools
    missing: Ints
    provisional: Bools
    wide: Ints

    def graded(self) -> pl.DataFrame:
        """Return the answers (`GRADED`)."""
        tables, skus = self.tables, self.skus
        own = (skus.body >= 0) & ~self.exempt
        stream = np.full(skus.count, len(tables.streams))
        stream[own] = self.found.stream[skus.body[own]]
        stream[stream < 0] = len(tables.streams)
        score = np.floor((skus.score + TOLERANCE) * 10_000 + 0.5) / 10_000  # as `rounded_score` rounds
        return pl.DataFrame(
            {
                "grade": pl.Series(GRADES)[skus.grade],
                "score": pl.Series(score).fill_nan(None),
                "provisional": self.provisional,
                "stream": pl.Series([*tables.streams, None], dtype=pl.String)[stream],
                "missing": self.missing,
            },
            schema=GRADED,
        )


def assessed(skus: pl.DataFrame, components: pl.DataFrame, tables: Tables) -> Block:
    """Return the SKUs of the columns, assessed."""
    lines = with_bodies(skus, components)
    sku, count = lines["sku"].to_numpy().astype(np.int64), skus.height
    part = tables.coding.parts(lines, skus)
    form, level, outside = tables.coding.own_columns(skus)
    has_graph, has_part, has_body = np.zeros((3, count), np.bool_)
    has_graph[components["sku"].to_numpy()] = True
    has_part[sku] = True
    has_body[sku[tables.parts.type.ints(part) == BODY]] = True
    kept = has_body & (outside == 0)
    units = _units(part, lines, form, kept[sku], tables)
    found = assess(units, tables)
    result = Skus(found, count, level, tables)
    exempt = np.zeros(count, np.bool_)
    exempt[kept] = tables.exempt(found.group[result.body[kept]], level[kept])
    missing = np.where(~has_part, MISSING["material"], np.where(has_graph & ~has_body, MISSING["components"], 0))
    np.bitwise_or.at(missing, units.heads.sku, np.where(exempt[units.heads.sku], 0, found.missing))
    return Block(
        tables=tables,
        found=found,
        skus=result,
        outside=outside,
        exempt=exempt,
        missing=missing,
        provisional=provisional(found, result, tables),
        wide=np.unique(units.heads.sku[units.size > MANY]),
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
