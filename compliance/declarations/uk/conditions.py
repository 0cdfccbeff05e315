"""Parses conditions over a row of the file, from the cells `when` of `errors.csv` and `terms.csv`.

A condition is clauses joined by ` OR `, each of atoms joined by ` AND `. An atom is `column=a|b`, `column~pattern` (of
the whole cell) or `column>number`, with `!` before the sign for its contrary; or the name of a term, `!` before it for
its contrary. `-` is a blank cell, `[codes]` every code of the column in `codes.csv`. `rules` applies conditions.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from compliance.declarations.uk.tables import codes, columns, terms
from compliance.tables import TableError

Row = Mapping[str, str]
"""The cells of a row by column, a blank one as the empty text."""
_ATOM: Final = re.compile(r"(?P<column>\w+)(?P<contrary>!?)(?P<sign>[=~>])(?P<value>.*)")
_BLANK: Final = "-"
_ALL_CODES: Final = "[codes]"


class Condition(NamedTuple):
    """A predicate over a row, and the columns that it reads."""

    holds: Callable[[Row], bool]
    columns: frozenset[str]


@lru_cache(maxsize=256)
def condition(when: str) -> Condition:
    """Return the condition of a cell. Raise `TableError` where it names no column or term."""
    clauses = [[_atom(atom) for atom in clause.split(" AND ")] for clause in when.split(" OR ")]
    return Condition(
        lambda row: any(all(atom.holds(row) for atom in atoms) for atoms in clauses),
        frozenset[str]().union(*(atom.columns for atoms in clauses for atom in atoms)),
    )


def _atom(text: str) -> Condition:
    found = _ATOM.fullmatch(text)
    if found is None:
        return _term(text)
    column, value = found["column"], found["value"]
    if column not in columns():
        raise TableError(f"A condition of the packaging data file names {column}, which is no column.")
    meets = _meets(column, found["sign"], value)
    if found["contrary"]:
        return Condition(lambda row: not meets(row[column]), frozenset({column}))
    return Condition(lambda row: meets(row[column]), frozenset({column}))


def _term(text: str) -> Condition:
    name = text.removeprefix("!")
    if name not in terms():
        raise TableError(f"A condition of the packaging data file names {name}, which is no term.")
    term = condition(terms()[name])
    return Condition(lambda row: not term.holds(row), term.columns) if text.startswith("!") else term


def _meets(column: str, sign: str, value: str) -> Callable[[str], bool]:
    if sign == "~":
        pattern = re.compile(value)
        return lambda cell: pattern.fullmatch(cell) is not None
    if sign == ">":
        return lambda cell: cell.isascii() and cell.isdecimal() and int(cell) > int(value)
    among = frozenset(
        code for word in value.split("|") for code in (codes(column) if word == _ALL_CODES else [_cell(word)])
    )
    return lambda cell: cell in among


def _cell(word: str) -> str:
    return "" if word == _BLANK else word
