"""Names the columns that a list of items can show, and says each value in words, for a page and for an export."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.requests import Request

from api.pages import changes
from api.pages.texts import text
from schemas.fields import SKU
from schemas.json_values import JsonMapping
from schemas.labels import format_word
from schemas.numbers import number
from services.item_export import COLUMNS
from warehouse.skus.search import SORTS

USUAL: Final = ("recyclability_grade", "doc_status", "markets")
"""The columns of a list where a person chose none."""

_OWN_NAMES: Final = {
    "recyclability_grade": "review.grade",
    "recyclability_score": "items.column.score",
    "doc_status": "items.doc",
    "markets": "items.markets",
    "brand_id": "item.of.brand_id",
    "created_at": "items.column.created",
    "updated_at": "items.column.updated",
}
"""Columns whose name is no field's."""


def chosen(request: Request) -> tuple[str, ...]:
    """Return the columns that a page's address names, in our order; the usual ones where it names none of ours."""
    named = request.query_params.getlist("columns")
    return tuple(name for name in COLUMNS if name in named) or USUAL


def name_of(column: str, lang: str) -> str:
    """Return a column's name with its unit."""
    if column in _OWN_NAMES:
        return text(_OWN_NAMES[column], lang)
    return changes.field_in_words("sku", column, SKU[column], lang)


def choices(lang: str) -> list[tuple[str, str]]:
    """Return all columns with their names."""
    return [(column, name_of(column, lang)) for column in COLUMNS]


def can_sort(column: str) -> bool:
    """Return whether a list can be sorted by the column."""
    return column in SORTS


def in_words(item: JsonMapping, column: str, brands: Mapping[str, str], lang: str) -> str:
    """Return an item's value in words; a dash where nothing is stored."""
    value = item[column]
    if value is None or value == []:
        return "–"
    if column in ("recyclability_grade", "doc_status"):
        return text(f"{'grade' if column == 'recyclability_grade' else column}.{value}", lang)
    if column == "brand_id":
        return brands.get(str(value), "–")
    if column == "markets":
        return ", ".join(value)
    if column == "packaging_format":
        return format_word(value, lang)
    if column in ("created_at", "updated_at"):
        return str(value)[:10]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value, lang, digits=2 if column == "recyclability_score" else 6)
    return changes.value_in_words(value, SKU[column].vocabulary, lang)


def rows_in_words(
    items: Sequence[JsonMapping], columns: Sequence[str], brands: Mapping[str, str], lang: str
) -> list[list[str]]:
    """Return the values of each item in words, in the order of the columns."""
    return [[in_words(item, column, brands, lang) for column in columns] for item in items]
