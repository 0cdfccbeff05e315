"""Finds what an answer to an import's questions writes: only what the import did not read before (decisions §13).

The file is read twice: with the mapping of before, and with the answer. What the second reading gives that the first
did not was held back, whatever kind of question held it. A SKU that the import rejected is written whole.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from json import dumps, loads
from typing import BinaryIO, Final

import polars as pl

from pipelines.imports.report import Work
from pipelines.reading.rows import TypedRows
from pipelines.writing.json_fields import COLUMNS, LEGACY
from pipelines.writing.patch import Patch, RowIssue
from schemas.issues import Issue
from schemas.messages import Message
from schemas.vocabularies import SUBSTANCES
from warehouse.imports.report import rejected_codes
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Pool

_CHANGED: Final = Message(
    "Somebody has changed this SKU since the file was imported, and an answer overwrites nothing of theirs. Compare "
    "the line with the SKU, and write what is right there, or send the file again."
)
_OF_ONE_SUBSTANCE: Final = tuple(
    {LEGACY[substance], *(name for name in COLUMNS if name.startswith(f"{substance}_"))} for substance in SUBSTANCES
)
"""Columns that are read together: half of an entry would be judged without the other half."""


def rows_due(
    pool: Pool,
    objects: Objects,
    work: Work,
    typed: TypedRows,
    read: Callable[[Callable[[], BinaryIO]], TypedRows],
) -> TypedRows:
    """Return the rows that an import writes: of an answer those that were held back, of any other all that are typed.

    `read` types the rows of a packed table.
    """
    if work.answers is None:
        return typed
    before = read(partial(objects.file, work.before_key))
    with pool.company(work.company_id) as conn:
        rejected = rejected_codes(conn, work.id)
    return held_back(typed, before, rejected)


def held_back(typed: TypedRows, before: TypedRows, rejected: Collection[str]) -> TypedRows:
    """Return the rows as the answer writes them: the fields that `before` did not give, or gave otherwise.

    `before` are the rows that the import has written, except those of the codes `rejected`.
    """
    codes = typed.values.select("sku_code")
    written = before.values.filter(~pl.col("sku_code").is_in(list(rejected)))
    flags = before.given.filter(~before.values["sku_code"].is_in(list(rejected)))
    names = [name for name in typed.given.columns if name != "sku_code"]
    known = [name for name in names if name in written.columns]
    was = codes.join(written.select("sku_code", *known), on="sku_code", how="left", maintain_order="left")
    was_given = codes.join(
        flags.select(known).with_columns(written["sku_code"]), on="sku_code", how="left", maintain_order="left"
    )
    values, given = typed.values, typed.given
    fresh: dict[str, pl.Series] = {}
    for name in names:
        if name not in known:
            fresh[name] = given[name]
            continue
        old = was[name].cast(values[name].dtype, strict=False)
        stored = was_given[name].fill_null(value=False)
        if name == "volumes":
            values = values.with_columns(volumes=_new_units(values[name], old))
            fresh[name] = given[name] & values[name].is_not_null()
        else:
            fresh[name] = given[name] & ~(stored & values[name].eq_missing(old))
    fresh |= _whole_substances(fresh, given)
    due = pl.DataFrame(fresh).select(pl.any_horizontal(pl.all())).to_series() if fresh else given["sku_code"] & False
    values = values.with_columns(pl.when(flag).then(values[name]).alias(name) for name, flag in fresh.items())
    values = values.filter(due).with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
    given = given.with_columns(flag.alias(name) for name, flag in fresh.items()).filter(due)
    return TypedRows(values, given, typed.errors, typed.rejected, typed.unnamed)


def _whole_substances(fresh: Mapping[str, pl.Series], given: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the columns of each substance, given where any of them is."""
    whole: dict[str, pl.Series] = {}
    for columns in _OF_ONE_SUBSTANCE:
        if of_one := [name for name in fresh if name in columns]:
            some = pl.DataFrame([fresh[name] for name in of_one]).select(pl.any_horizontal(pl.all())).to_series()
            whole |= {name: given[name] & some for name in of_one}
    if (source := "substances_source") in fresh and whole:
        any_of = pl.DataFrame([flag.alias(name) for name, flag in whole.items()])
        whole[source] = given[source] & any_of.select(pl.any_horizontal(pl.all())).to_series()
    return whole


def _new_units(texts: pl.Series, before: pl.Series) -> pl.Series:
    """Return the units by market and period that were not read before; null where there are none."""
    found = [_other_units(text, old) for text, old in zip(texts, before, strict=True)]
    return pl.Series(texts.name, found, dtype=pl.String)


def _other_units(text: str | None, before: str | None) -> str | None:
    if text is None or before is None or text == before:
        return None if text == before else text
    known = loads(before)
    new = {key: units for key, units in loads(text).items() if key not in known or known[key] != units}
    return dumps(new, sort_keys=True, separators=(",", ":")) if new else None


def without_changed(patch: Patch, changed: Collection[str]) -> tuple[Patch, list[RowIssue]]:
    """Return the patch without the SKUs that somebody else has changed, and a fault for each of their rows."""
    codes = zip(patch.values["row"], patch.values["sku_code"], strict=True)
    rows = [row for row, code in codes if code in changed]
    return patch.without(rows), [RowIssue(row, Issue("version_conflict", _CHANGED, "sku_code")) for row in rows]
