"""Recognises words for units, with the factor to the unit of a field. The factors are data in `units.csv`."""

import csv
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from math import isclose
from pathlib import Path
from typing import Final

from schemas.words import code_of, fold


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


def without_unit(header: str, field_unit_of: dict[str, str | None]) -> tuple[str, Unit] | None:
    """Split a header that ends in a unit: (folded header without it, unit); None where it ends in none.

    `field_unit_of` gives the unit of the field that each folded header fits.
    """
    tokens = fold(header).split()
    for size in (1, 2, 3):
        rest, last = tokens[:-size], " ".join(tokens[-size:])
        if rest and rest[-1] in _BEFORE_A_UNIT:
            rest = rest[:-1]
        bare = " ".join(rest)
        if bare in field_unit_of and (unit := unit_of(last, field_unit_of[bare])):
            return bare, unit
    return None


def unit_within(words: str, field_unit: str | None) -> Unit | None:
    """Return the only unit among words, such as those of a header; None where there is none, or there are two.

    A header of a single word names none: `T` may be a column as well as a tonne.
    """
    found = {unit for _, unit in _units_among(fold(words).split(), field_unit)}
    return found.pop() if len(found) == 1 else None


def extract_unit(tokens: list[str], field_unit: str | None) -> tuple[list[str], Unit] | None:
    """Return folded words without the only unit among them, and the unit; None where there is not exactly one."""
    found = _units_among(tokens, field_unit)
    if len(found) != 1:
        return None
    at, unit = found[0]
    before = tokens[: at - 1] if at and tokens[at - 1] in _BEFORE_A_UNIT else tokens[:at]
    return [*before, *tokens[at + 1 :]], unit


def _units_among(tokens: list[str], field_unit: str | None) -> list[tuple[int, Unit]]:
    """Return the positions of words that are units of a field, with the units."""
    if not 1 < len(tokens) <= _MOST_WORDS:
        return []
    return [(at, unit) for at, token in enumerate(tokens) if (unit := unit_of(token, field_unit)) is not None]


_BEFORE_A_UNIT = frozenset({"in", "en"})
_MOST_WORDS: Final = 40
"""Words of the longest header that is searched for a unit."""


@cache
def _by_field_unit() -> dict[str, dict[str, dict[str, Unit]]]:
    """Return the units by field unit, dimension and unit code."""
    table: dict[str, dict[str, dict[str, Unit]]] = {}
    with (Path(__file__).parent / "units.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            unit = Unit(row["unit"], row["dimension"], Decimal(row["factor"]))
            table.setdefault(row["field_unit"], {}).setdefault(row["dimension"], {})[row["unit"]] = unit
    return table
