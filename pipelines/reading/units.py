"""Recognises words for units, with the factor to the unit of a field. The factors are data in `units.csv`."""

import csv
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from math import isclose
from pathlib import Path

from schemas.words import code_of, words


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that can be converted: `factor` times the value is the value in the field's unit."""

    name: str
    dimension: str
    factor: Decimal


def unit_of(word: str, field_unit: str | None) -> Unit | None:
    """Return the unit that a word names (`kg`, `grammes`, `%`), or None where the field cannot be given in it."""
    word = "percent" if word.strip() == "%" else word
    for dimension in _by_field_unit().get(field_unit or "", {}):
        code = code_of(word, dimension)
        if code is not None:
            return _by_field_unit()[field_unit or ""][dimension].get(code)
    return None


def unit_by_factor(factor: float, field_unit: str | None) -> Unit | None:
    """Return the first unit of this factor to a field's unit; None where there is none."""
    units = (unit for by_name in _by_field_unit().get(field_unit or "", {}).values() for unit in by_name.values())
    return next((unit for unit in units if isclose(float(unit.factor), factor, rel_tol=1e-9)), None)


@cache
def first_words_of_units() -> frozenset[str]:
    """Return the words with which a unit begins."""
    dimensions = {dimension for units in _by_field_unit().values() for dimension in units}
    return frozenset(word.split()[0] for dimension in dimensions for word in words(dimension) if word)


@cache
def _by_field_unit() -> dict[str, dict[str, dict[str, Unit]]]:
    """Return the units by field unit, dimension and unit code."""
    table: dict[str, dict[str, dict[str, Unit]]] = {}
    with (Path(__file__).parent / "units.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            unit = Unit(row["unit"], row["dimension"], Decimal(row["factor"]))
            table.setdefault(row["field_unit"], {}).setdefault(row["dimension"], {})[row["unit"]] = unit
    return table
