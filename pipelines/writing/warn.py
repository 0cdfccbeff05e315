"""Warns about rows that are written all the same: one function finds every warning of a write, by JSON and by file.

What belongs here: warnings. What refuses a row is in `admit`, `resolve`, `merge` and `refuse`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, cast

import orjson
import polars as pl

from compliance import grading
from compliance.likely_weights import unlikely_weight
from compliance.ruleset import RuleSet
from compliance.weights import weight_mismatch
from pipelines.writing.patch import RowIssue, array_values
from pipelines.writing.prepared import Prepared
from schemas.issues import Issue
from schemas.messages import Message
from schemas.sku import Sku

_RETURNED: Final = Message(
    "The SKU was archived and comes back with this write. Archive it again if it is no longer sold; batches and imports"
    " take archived as keep."
)
_READ: Final = (
    *("row", "components_weight_g", "weight_grams", "packaging_format", "packaging_level"),
    *("material", "material_subtype", "markets", "components"),
)


def warnings_of(written: Prepared) -> Iterator[RowIssue]:
    """Yield the warnings of the accepted rows of a write, in the order of its rows."""
    sent = sent_volumes(written)
    for row, parts_g, weight_g, form, level, material, subtype, markets, graph in written.merged.rows(_READ):
        given = {
            "weight_grams": weight_g,
            "packaging_format": form,
            "packaging_level": level,
            "material": material,
            "material_subtype": subtype,
            "markets": array_values(markets),
            "components": orjson.loads(graph) if graph else [],
        }
        for issue in warnings_of_record(cast(Sku, given), parts_g, sent.get(row), written.rules):
            yield RowIssue(row, issue)
    yield from returned_from_archive(written)


def returned_from_archive(written: Prepared) -> Iterator[RowIssue]:
    """Yield a warning for each row that brings a SKU back from the archive, or in a dry run would."""
    if written.returned:
        issue = Issue("returned_from_archive", _RETURNED, "sku_code")
        yield from (
            RowIssue(row, issue) for row, code in written.merged.rows(("row", "sku_code")) if code in written.returned
        )


def sent_volumes(written: Prepared) -> dict[int, str]:
    """Return the volumes that a write sends, by row, as `volumes.merged` takes them."""
    values = written.patch.values
    return {row: sent for row, sent in values.rows(("row", "volumes")) if sent} if "volumes" in values else {}


def warnings_of_record(sku: Sku, parts_weight_g: float | None, sent: str | None, rules: RuleSet) -> list[Issue]:
    """Return the warnings of one record as it would be stored; `sent` are the volumes that the write gives it."""
    stated_g = sku["weight_grams"]
    weights = weight_mismatch(stated_g, parts_weight_g)
    answered_g = parts_weight_g if stated_g is None else stated_g
    unlikely = unlikely_weight(answered_g, sku["packaging_format"], sku["packaging_level"])
    return [
        *([weights] if weights else []),
        *([unlikely] if unlikely else []),
        *grading.warnings(sku, rules),
        *market_warnings(sku["markets"], sent),
    ]


def warns_of_material(values: pl.DataFrame, rules: RuleSet) -> pl.Series:
    """Return for each row of a file whether its own material text would be warned about, if it had no parts."""
    names = [name for name in ("material", "material_subtype") if name in values.columns]
    if "material_subtype" not in names:
        return pl.repeat(value=False, n=values.height, eager=True)
    texts = values.select(names)
    distinct = texts.unique(maintain_order=True)
    warned = [bool(grading.warnings(cast(Sku, row), rules)) for row in distinct.iter_rows(named=True)]
    found = texts.join(
        distinct.with_columns(warned=pl.Series(warned, dtype=pl.Boolean)),
        on=names,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return found["warned"]


def market_warnings(markets: Sequence[str] | None, volume_patch: str | None) -> list[Issue]:
    """Return a warning for each market with volumes that the SKU does not name (decisions §11); it is never refused."""
    if not markets or volume_patch is None:
        return []
    named = {key.split("/")[0] for key, units in orjson.loads(volume_patch).items() if units is not None}
    return [
        Issue("market_not_named", Message("The SKU's markets do not name {code}.", code=code), "markets")
        for code in sorted(named - set(markets))
    ]
