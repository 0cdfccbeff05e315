"""Makes the rows of the file: sums lines of one identity exactly, in whole kilograms, ordered by codes (step 8)."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

import polars as pl

from compliance.declarations.uk.lines import IDENTITY, Lines
from compliance.declarations.uk.producer import Producer
from compliance.declarations.uk.rules import hold
from compliance.rollup.exact import COUNT, within_reach

_EXACT: Final = Context(prec=60)
_DRINKS: Final = ("HDC", "NDC")


@dataclass(frozen=True, slots=True)
class PackagingFile:
    """A file that the published rules accept.

    `rows` are cells by column; `difference_kg` is the exact sum of the counted weight minus the written weight.
    """

    rows: tuple[dict[str, str], ...]
    difference_kg: Decimal
    uncounted: pl.DataFrame


def sum_blocks(blocks: Iterable[Lines]) -> Lines:
    """Return the lines of several blocks of SKUs as one row per identity. Raise `OverflowError` beyond 10^14 tonnes."""
    every = [Lines(_sum(block.lines), block.uncounted) for block in blocks]
    lines = pl.concat([block.lines for block in every])
    within_reach(lines["grams"])
    return Lines(_sum(lines), pl.concat([block.uncounted for block in every]).sort("sku_code", "reason"))


def packaging_file(lines: Lines, producer: Producer, period: str) -> PackagingFile:
    """Return the file of summed lines. Raise `FileRefused` with the error codes of the regulator's refusal."""
    exact = Decimal(0)
    rows = []
    for *identity, grams, units in lines.lines.sort(IDENTITY).iter_rows():
        kilograms = _EXACT.scaleb(grams, -3)
        whole = kilograms.quantize(Decimal(1), rounding=ROUND_HALF_UP, context=_EXACT)
        exact += kilograms - whole
        if whole > 0:
            cells = _cells(dict(zip(IDENTITY, identity, strict=True)), whole, units)
            rows.append({**producer.row(period), **cells})
    hold(rows, lines.uncounted)
    return PackagingFile(tuple(rows), exact, lines.uncounted)


def _sum(lines: pl.DataFrame) -> pl.DataFrame:
    within_reach(lines["grams"])
    return lines.group_by(IDENTITY).agg(pl.col("grams").sum(), pl.col("units").cast(COUNT).sum())


def _cells(identity: dict[str, str], kilograms: Decimal, units: Decimal) -> dict[str, str]:
    return {
        "packaging_type": identity["type"],
        "packaging_class": identity["class"],
        "packaging_material": identity["material"],
        "packaging_material_subtype": identity["subtype"],
        "packaging_material_weight": format(kilograms, "f"),
        "packaging_material_units": format(units, "f") if identity["type"] in _DRINKS else "",
        "ram_rag_rating": identity["rating"],
    }
