"""Standings: a SKU's answers to the facts that decide a scope, and each market scope's verdict on them (step 7a).

Many SKUs give few different answers: `compliance.scopes` evaluates each once, and SKUs refer to it by number.
"""

from functools import lru_cache
from typing import Final, NamedTuple

import polars as pl

from compliance.ruleset import RuleSet
from compliance.scopes import Face, Standing, judge_scope, standing_of
from compliance.words import resolve_format

NUMBER: Final = pl.UInt32()
"""The number of a standing, in one portfolio."""
_FACE: Final = ("packaging_level", "reusable", "reuse_deposit_system", "packaging_format_key", "use_contexts")
_JUDGED: Final = pl.Schema(
    {"standing": NUMBER, "scope_key": pl.String(), "verdict": pl.String(), "fields": pl.List(pl.String())}
)


class Standings(NamedTuple):
    """The standings of a portfolio by their number, and the number of each SKU (`sku`, `standing`), in their order."""

    known: tuple[Standing, ...]
    of_sku: pl.DataFrame


def standings(skus: pl.DataFrame, rules: RuleSet) -> Standings:
    """Return the standings of numbered SKUs (`skus` is the portfolio's, in the order of their numbers)."""
    keys = {text: _key(text, rules) for text in skus["packaging_format"].unique()}
    given = skus.select(
        "sku",
        *_FACE[:3],
        pl.col("packaging_format").replace_strict(keys, return_dtype=pl.String).alias(_FACE[3]),
        pl.col("use_contexts").list.join("|").fill_null("").alias(_FACE[4]),
    )
    faces = given.select(_FACE).unique()
    answered = [
        standing_of(Face(level, reusable, deposit, key, tuple(filter(None, uses.split("|")))))
        for level, reusable, deposit, key, uses in faces.iter_rows()
    ]
    known = {standing: number for number, standing in enumerate(dict.fromkeys(answered))}
    numbers = pl.Series("standing", [known[standing] for standing in answered], dtype=NUMBER)
    of_sku = given.join(faces.with_columns(numbers), on=_FACE, how="left", nulls_equal=True, maintain_order="left")
    return Standings(tuple(known), of_sku.select("sku", "standing"))


@lru_cache(maxsize=256)
def judgements(known: tuple[Standing, ...], scope_keys: tuple[str, ...]) -> pl.DataFrame:
    """Return `standing`, `scope_key`, `verdict` (in, out, ask), `fields`: each scope's judgement of each standing."""
    found = [
        (number, key, verdict, list(fields))
        for number, standing in enumerate(known)
        for key in scope_keys
        for verdict, fields, _ in (judge_scope(key, standing),)
    ]
    return pl.DataFrame(found, schema=_JUDGED, orient="row")


def _key(text: str | None, rules: RuleSet) -> str | None:
    found = resolve_format(text, rules) if text else None
    return found.key if found else None
