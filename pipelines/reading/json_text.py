"""Writes typed columns as JSON text, column by column: volumes and graphs in the form that the write path reads.

The text has no spaces, like the stored text, so that unchanged volumes compare equal as text.
"""

import json

import polars as pl


def json_members(key: str, values: pl.Series, given: pl.Series) -> pl.Series:
    """Return `"key":value` for each row where the value is given (a given null is `null`), else null."""
    text = _encoded(values).fill_null("null")
    pairs = (
        pl.DataFrame({"text": text}).select(pl.concat_str(pl.lit(f"{json.dumps(key)}:"), pl.col("text"))).to_series()
    )
    return pairs.set(~given, None)


def join_json(parts: list[pl.Series], opening: str, closing: str) -> pl.Series:
    """Return the parts of each row between brackets; null where a row has no part."""
    frame = pl.DataFrame({str(at): part for at, part in enumerate(parts)})
    some = pl.any_horizontal(pl.all().is_not_null())
    text = pl.concat_str(pl.lit(opening), pl.concat_str(pl.all(), separator=",", ignore_nulls=True), pl.lit(closing))
    return frame.select(pl.when(some).then(text)).to_series()


def _encoded(values: pl.Series) -> pl.Series:
    """Return each value as JSON. Text is encoded once for each distinct value."""
    if values.dtype == pl.String:
        distinct = values.drop_nulls().unique(maintain_order=True)
        encoded = [json.dumps(value, ensure_ascii=False) for value in distinct]
        return values.replace_strict(distinct, encoded, default=None, return_dtype=pl.String)
    if values.dtype == pl.Boolean:
        return values.cast(pl.String)
    return values.cast(pl.String)
