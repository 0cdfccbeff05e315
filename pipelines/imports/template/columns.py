"""Decides the columns of the template: fields, headers, comments and choices."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pipelines.reading.fields import (
    PART_HELPERS,
    SUBSTANCE_DETAILS,
    VOLUME_YEAR,
    WEIGHT_HELPERS,
    Table,
    fields_of,
    volume_field,
)
from schemas.fields import Field
from schemas.labels import header, meaning, word
from schemas.vocabularies import VOCABULARIES

_UNITS: Final = {"percent": "%", "um": "µm", "g/cm3": "g/cm³"}
"""Units as they are shown, where that differs from their name."""
_STORAGE: Final = 10**9
_MARKETS: Final = ("FR", "DE")
"""Markets whose volumes have a column; their comment explains how to name others."""
_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `name` is the import's own name of it, `choices` are the words of its drop-down list."""

    name: str
    field: Field
    header: str
    comment: str
    choices: tuple[str, ...] = ()


def columns(table: Table, lang: str) -> list[Column]:
    """Return the columns of a sheet in the order of the field table, without deprecated, rare and helping ones."""
    unwanted = {field.name for field in (*WEIGHT_HELPERS, *PART_HELPERS, *SUBSTANCE_DETAILS, VOLUME_YEAR)}
    fields = [field for field in fields_of(table).values() if not field.deprecated and field.name not in unwanted]
    found = [Column(f.name, f, _header(table, f, lang), _comment(table, f, lang), choices(f, lang)) for f in fields]
    return found if table == "component" else [*found, *_volumes(lang)]


def _volumes(lang: str) -> Iterator[Column]:
    field = volume_field()
    for market in _MARKETS:
        title = f"{header('sku', field.name, lang)} {market}"
        yield Column(f"{field.name}_{market.lower()}", field, title, _comment("sku", field, lang))
    yield Column(VOLUME_YEAR.name, VOLUME_YEAR, _header("sku", VOLUME_YEAR, lang), _comment("sku", VOLUME_YEAR, lang))


def choices(field: Field, lang: str) -> tuple[str, ...]:
    """Return the words for the values of a field with a closed vocabulary."""
    if field.kind == "truth":
        return word("truth", "true", lang), word("truth", "false", lang)
    if field.vocabulary is None:
        return ()
    return tuple(word(field.vocabulary, code, lang) for code in VOCABULARIES[field.vocabulary])


def _header(table: Table, field: Field, lang: str) -> str:
    title = header(table, field.name, lang)
    return f"{title} ({_UNITS.get(field.unit, field.unit)})" if field.unit else title


def _comment(table: Table, field: Field, lang: str) -> str:
    """Return meaning, unit and limits, a line each."""
    lines = [meaning(table, field, lang)]
    if field.required:
        lines.append(phrase("required", lang))
    if field.unit:
        lines.append(phrase("unit", lang).format(_UNITS.get(field.unit, field.unit)))
    low, high = _bound(field.minimum), _bound(field.maximum)
    if low is not None and high is not None:
        lines.append(phrase("between", lang).format(low, high))
    elif low is not None:
        lines.append(phrase("at_least", lang).format(low))
    if field.max_length is not None:
        lines.append(phrase("longest", lang).format(field.max_length))
    if field.kind in ("codes", "markets"):
        lines.append(phrase("several", lang))
    return "\n".join(lines)


def _bound(limit: float | None) -> float | None:
    """Return a limit that concerns packaging; None for the widest number that can be stored."""
    return None if limit is None or abs(limit) >= _STORAGE else limit


@cache
def phrase(name: str, lang: str) -> str:
    """Return a sentence of the template's own, with a place for each number."""
    with (_HERE / "phrases.csv").open(encoding="utf-8", newline="") as file:
        return next(row["text"] for row in csv.DictReader(file) if (row["phrase"], row["lang"]) == (name, lang))
