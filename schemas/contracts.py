"""Pandera contracts of data frames, made from the field tables: an import run checks them before it writes.

A contract restates, column by column, what the reader promises. A failure is a fault of the service and stops the run;
it never judges a caller's row. It checks a collected DataFrame: on a LazyFrame Pandera checks only names and types. The
API imports nothing from here, because importing Pandera would slow its start.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final  # Any: polars' classes of types

import pandera.polars as pa
import polars as pl

from schemas.fields import SKU, Field
from schemas.vocabularies import SUBSTANCES, VOCABULARIES

_ARRAY: Final = r"^\{[\w,-]*\}$"
_UUID: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_DTYPES: Final[dict[str, Any]] = {"number": pl.Float64, "integer": pl.Int64, "truth": pl.Boolean}

_PLACE: Final = {
    "row": pa.Column(pl.Int64, pa.Check.ge(0), unique=True),
    "line": pa.Column(pl.Int64, pa.Check.ge(1)),
    "sheet": pa.Column(pl.String, nullable=True),
}
"""Position of a typed row among the typed rows, and its line and sheet in the caller's file."""

_ENTRY_CODES: Final = {"unit": "substance_unit", "basis": "substance_basis", "source": "substances_source"}
_DERIVED: Final = {
    "name": pa.Column(pl.String, pa.Check.str_length(1, 500), nullable=True),
    **{
        f"{name}_status": pa.Column(pl.String, pa.Check.isin(VOCABULARIES["substance_status"]), nullable=True)
        for name in SUBSTANCES
    },
    **{f"{name}_value": pa.Column(pl.Float64, pa.Check.ge(0), nullable=True) for name in SUBSTANCES},
    **{
        f"{name}_{part}": pa.Column(pl.String, pa.Check.isin(VOCABULARIES[vocabulary]), nullable=True)
        for name in SUBSTANCES
        for part, vocabulary in _ENTRY_CODES.items()
    },
    **{f"{name}_evidence": pa.Column(pl.String, pa.Check.str_length(0, 2000), nullable=True) for name in SUBSTANCES},
    "volumes": pa.Column(pl.String, pa.Check.str_startswith("{"), nullable=True),
    "articles": pa.Column(pl.String, pa.Check.str_startswith("["), nullable=True),
    "components": pa.Column(pl.String, pa.Check.str_startswith("["), nullable=True),
    **{name: pa.Column(pl.String, pa.Check.str_startswith("{"), nullable=True) for name in ("printed", "roles")},
}
"""Typed columns that differ from the field of their name: parts of a field, a field as JSON text, or the name, which
may be empty for a SKU that is already stored.
"""

_CATALOGUE_TEXTS: Final = (
    "system",
    "register_name",
    "register_url",
    "law_title",
    "law_reference",
    "law_date_seen",
    "scope",
    "reporting_period",
    "local_labelling_rule",
    "source_url",
    "source_note",
    "composite_basis",
    "composite_note",
)
"""Columns of the jurisdiction catalogue that may hold any text, or none."""


_KEPT: Final = 128
"""Contracts that are kept, one for each set of columns that files have: Pandera spends milliseconds on a new one."""


@lru_cache(_KEPT)
def parsed_table(columns: tuple[str, ...]) -> pa.DataFrameSchema:
    """Return the contract of a sheet as it was read: every column is text, every line has its number in the file."""
    texts = {name: pa.Column(pl.String, nullable=True) for name in columns if name != "line"}
    return pa.DataFrameSchema({"line": pa.Column(pl.Int64, pa.Check.ge(1)), **texts}, strict=True)


@lru_cache(_KEPT)
def typed_rows(columns: tuple[str, ...]) -> pa.DataFrameSchema:
    """Return the contract of typed rows with these columns. Raise KeyError for a column that no field table has."""
    return pa.DataFrameSchema({name: _typed(name) for name in columns}, strict=True)


def jurisdictions(
    regions: Collection[str], systems: Collection[str], composites: Collection[str]
) -> pa.DataFrameSchema:
    """Return the contract of the jurisdiction catalogue with these vocabularies.

    It has one row per code, full dates, and a depth from 1 to 3.
    """
    text = pa.Column(pl.String, nullable=True)
    return pa.DataFrameSchema(
        {
            "code": pa.Column(pl.String, pa.Check.str_matches(r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$"), unique=True),
            "name": pa.Column(pl.String, pa.Check.str_length(1, 200)),
            "parent_code": pa.Column(pl.String, pa.Check.str_matches(r"^[A-Z]{2}$"), nullable=True),
            "depth": pa.Column(pl.Int64, pa.Check.isin([1, 2, 3])),
            "region": pa.Column(pl.String, pa.Check.isin(sorted(regions))),
            "system_key": pa.Column(pl.String, pa.Check.isin(sorted(systems))),
            "in_catalogue": pa.Column(pl.Boolean),
            "composite_rule": pa.Column(pl.String, pa.Check.isin(sorted(composites))),
            "composite_threshold_percent": pa.Column(pl.Int64, pa.Check.in_range(0, 100), nullable=True),
            **{name: pa.Column(pl.Date, nullable=True) for name in ("law_date", "verified_on", "reviewed_on")},
            **dict.fromkeys(_CATALOGUE_TEXTS, text),
        },
        strict=True,
    )


_MARKET: Final = pa.Check.str_matches(r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$")
_MADE: Final[dict[str, pa.Check]] = {
    "market": _MARKET,
    "year": pa.Check.in_range(1900, 2100),
    "half": pa.Check.isin([0, 1, 2]),
    "recyclability_grade": pa.Check.isin(VOCABULARIES["recyclability_grade"]),
    "ruleset_version": pa.Check.str_matches(r"^\d{4}-\d{2}-\d{2}"),
    **dict.fromkeys(("lowest_score", "highest_score"), pa.Check.in_range(0, 100)),
    **dict.fromkeys(
        (
            *(
                "weight_grams",
                "weight_g",
                "units_placed",
                "units",
                "skus",
                "threshold_tonnes",
                "tonnes",
                "tonnes_upper",
            ),
            *("grams", "single_use_grams", "in_scope_grams", "undecided_grams"),
            *("in_scope_tonnes", "undecided_tonnes", "out_of_scope_tonnes", "removed"),
        ),
        pa.Check.ge(0),
    ),
    "verdict": pa.Check.isin(["above", "near", "below", "undecidable"]),
}
"""What holds of a column in every table that we make, by its name: tables of ours use a name for one meaning."""


def made(
    columns: Mapping[str, Any], *, key: Sequence[str], needed: Collection[str] = (), coded: Collection[str] = ()
) -> pa.DataFrameSchema:
    """Return the contract of a table that we make: its columns with types; each `key` once, and never empty.

    `needed` are further columns that are never empty, `coded` those with a code of the vocabulary of their name.
    """
    of_codes = {name: pa.Check.isin(VOCABULARIES[name]) for name in coded}
    return pa.DataFrameSchema(
        {
            name: pa.Column(dtype, of_codes.get(name, _MADE.get(name)), nullable=name not in {*key, *needed})
            for name, dtype in columns.items()
        },
        unique=list(key),
        strict=True,
    )


def _typed(name: str) -> pa.Column:
    if name in _PLACE:
        return _PLACE[name]
    return _DERIVED[name] if name in _DERIVED else _of_field(SKU[name])


def _of_field(field: Field) -> pa.Column:
    """Return the column of one field: its type, bounds, vocabulary or form."""
    checks: list[pa.Check] = []
    if field.minimum is not None and field.kind in _DTYPES:
        checks.append(pa.Check.ge(field.minimum))
    if field.maximum is not None and field.kind in _DTYPES:
        checks.append(pa.Check.le(field.maximum))
    if field.max_length is not None:
        checks.append(pa.Check.str_length(field.min_length or 0, field.max_length))
    if field.kind == "code" and field.vocabulary:
        checks.append(pa.Check.isin(VOCABULARIES[field.vocabulary]))
    pattern = {"gtin": r"^(\d{8}|\d{12,14})$", "uuid": _UUID, "codes": _ARRAY, "markets": _ARRAY}.get(field.kind)
    if pattern:
        checks.append(pa.Check.str_matches(pattern))
    return pa.Column(_DTYPES.get(field.kind, pl.String), checks, nullable=field.nullable)
