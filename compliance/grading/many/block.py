"""A block of SKUs, assessed in arrays: its units with their results, and what its SKUs' own columns decide."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from compliance.grading.many.assess import Assessed, assess
from compliance.grading.many.coded import Coded
from compliance.grading.many.codes import GRADES, MISSING
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

    def streams(self) -> Ints:
        """Return the stream of each SKU, -1 for none."""
        own = np.flatnonzero((self.skus.body >= 0) & ~self.exempt)
        stream = np.full(self.skus.count, -1)
        stream[own] = self.found.stream[self.skus.body[own]]
        return stream


def graded(blocks: Sequence[Block]) -> pl.DataFrame:
    """Return the answers of blocks by one rule-set (`GRADED`), one block after the other."""
    score = np.concatenate([block.skus.score for block in blocks])
    score = np.floor((score + TOLERANCE) * 10_000 + 0.5) / 10_000  # as `rounded_score` rounds
    streams = pl.Series([*blocks[0].tables.streams, None], dtype=pl.String)
    stream = np.concatenate([block.streams() for block in blocks])
    return pl.DataFrame(
        {
            "grade": pl.Series(GRADES)[np.concatenate([block.skus.grade for block in blocks])],
            "score": pl.Series(score).fill_nan(None),
            "provisional": np.concatenate([block.provisional for block in blocks]),
            "stream": streams[np.where(stream < 0, streams.len() - 1, stream)],
            "missing": np.concatenate([block.missing for block in blocks]),
        },
        schema=GRADED,
    )


def assessed(coded: Coded, tables: Tables) -> Block:
    """Return the SKUs of a block, assessed."""
    count, level, outside = len(coded), coded.level, coded.outside
    has_part, has_body = np.zeros((2, count), np.bool_)
    has_part[coded.sku] = True
    has_body[coded.sku[tables.parts.type.ints(coded.part) == BODY]] = True
    kept = has_body & (outside == 0)
    units = _units(coded, kept, tables)
    found = assess(units, tables)
    result = Skus(found, count, level, tables)
    exempt = np.zeros(count, np.bool_)
    exempt[kept] = tables.exempt(found.group[result.body[kept]], level[kept])
    missing = np.where(~has_part, MISSING["material"], np.where(coded.has_graph & ~has_body, MISSING["components"], 0))
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


def _units(coded: Coded, kept: Bools, tables: Tables) -> Units:
    """Return the units: the body's of each SKU first, then one for each part that comes off (step 4a, d)."""
    form_apart = tables.parts.form_apart.ints(coded.part)
    order = np.flatnonzero(kept[coded.sku])
    order = order[np.argsort(2 * coded.sku[order] + (form_apart[order] > 0), kind="stable")]
    sku, form_apart = coded.sku[order], form_apart[order]
    apart = form_apart > 0
    first = apart.copy()
    first[:1] = True
    first[1:] |= sku[1:] != sku[:-1]
    head = np.flatnonzero(first)
    heads = Heads(sku[head], np.where(apart[head], form_apart[head], coded.form[sku[head]]), apart[head])
    members = Lines(np.cumsum(first) - 1, coded.part[order], coded.grams[order], coded.unweighed[order])
    return Units.of(heads, members, tables.parts)
