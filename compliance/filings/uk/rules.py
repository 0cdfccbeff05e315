"""Applies the regulator's published rules: which error codes a row has, and which values a cell may have.

Columns, codes, terms, kinds and errors are rows of `rules/uk_packaging_data/*.csv`, each with its source: the
regulator's own published validation code. No rule is written here. The written file is checked against them, and the
code that fills a part's subtype and rating asks them too, so that the two cannot differ.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import polars as pl

from compliance.tables import RULES, TableError, rows, words

FOLDER: Final = RULES / "uk_packaging_data"
MARKET: Final = "GB"
"""The only market whose declaration has this form."""
LARGE: Final = "L"
MARKETPLACE: Final = "OM"
"""The activity of a producer who sells through an online marketplace of its own."""
_ANY: Final = "*"
_BLANK: Final = "-"


class Kind(NamedTuple):
    """A packaging type with its class, which is blank for drinks containers."""

    packaging_type: str
    packaging_class: str


class Facts(NamedTuple):
    """The facts that decide the kind of a part, as `types.csv` writes them: Y or N, or a code."""

    organisation_size: str
    marketplace: str
    drinks_container: str
    reusable: str
    packaging_level: str
    household_type: str


@lru_cache(maxsize=1)
def columns() -> tuple[str, ...]:
    """Return the columns of the file, in their order."""
    return tuple(row["column"] for row in rows(FOLDER / "columns.csv"))


@lru_cache(maxsize=1)
def identity() -> tuple[str, ...]:
    """Return the columns that tell two rows of an organisation apart."""
    return tuple(row["column"] for row in rows(FOLDER / "columns.csv") if row["tells_apart"] == "Y")


@lru_cache(maxsize=16)
def codes(column: str) -> Mapping[str, str]:
    """Return the codes of a column with their meaning."""
    return MappingProxyType(
        {row["code"]: row["meaning"] for row in rows(FOLDER / "codes.csv") if row["column"] == column}
    )


@lru_cache(maxsize=1)
def terms() -> Mapping[str, str]:
    """Return the named conditions, by name."""
    return MappingProxyType({row["term"]: row["when"] for row in rows(FOLDER / "terms.csv")})


@lru_cache(maxsize=256)
def kind_of(facts: Facts) -> Kind | None:
    """Return the first row of `types.csv` that fits; None where the file has no place for such a part."""
    for row in _types():
        if all(row[name] == _ANY or value in words(row[name]) for name, value in facts._asdict().items()):
            packaging_class = row["packaging_class"]
            return Kind(row["packaging_type"], "" if packaging_class == _BLANK else packaging_class)
    return None


@lru_cache(maxsize=1)
def _types() -> tuple[dict[str, str], ...]:
    return tuple(rows(FOLDER / "types.csv"))


Row = Mapping[str, str]
"""The cells of a row by column, a blank one as the empty text."""
_ATOM: Final = re.compile(r"(?P<column>\w+)(?P<contrary>!?)(?P<sign>[=~>])(?P<value>.*)")
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
    match = _ATOM.fullmatch(text)
    if match is None:
        return _term(text)
    column, value = match["column"], match["value"]
    if column not in columns():
        raise TableError(f"A condition of the packaging data file names {column}, which is no column.")
    meets = _meets(column, match["sign"], value)
    if match["contrary"]:
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
        code
        for word in value.split("|")
        for code in (codes(column) if word == _ALL_CODES else ["" if word == _BLANK else word])
    )
    return lambda cell: cell in among


DUPLICATE: Final = "40"
EMPTY: Final = "82"
_OF_A_DRINKS_CONTAINER: Final = "37"
_NAMED: Final = 5

Standing = Literal["needed", "taken", "refused"]
"""Whether a cell must have a value, may have it, or must not."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An error code of the regulator that a file of this service could meet.

    `organisation_sizes` are the sizes whose rows it checks; `when` is None for a rule about the whole file.
    """

    code: str
    organisation_sizes: tuple[str, ...]
    when: Condition | None
    message: str

    def refuses(self, row: Row) -> bool:
        """Return whether the row has this error."""
        # A rule for both sizes checks every row, also one whose size is no code.
        looks = len(self.organisation_sizes) > 1 or row["organisation_size"] in self.organisation_sizes
        return self.when is not None and looks and self.when.holds(row)


class FileRefused(ValueError):  # noqa: N818  (an answer, not a fault)
    """The regulator would refuse this file; `numbers` are its error codes, the text explains each in words.

    `uncounted` lists what was left out of the file, where counting was reached.
    """

    def __init__(self, numbers: Iterable[str], more: str = "", uncounted: pl.DataFrame | None = None) -> None:
        self.numbers, self.uncounted = sorted(numbers, key=int), uncounted
        messages = " ".join(f"{number}: {rules()[number].message}" for number in self.numbers)
        super().__init__(f"The file would be refused. {messages}{' ' + more if more else ''}")


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """Return the rules that our files can meet, by code. Raise `TableError` for a condition that cannot be parsed."""
    return {
        row["code"]: Rule(
            row["code"],
            tuple(row["organisation_size"].split("|")),
            condition(row["when"]) if row["when"] else None,
            " ".join(filter(None, (f"{row['message']}.", row["advice"]))),
        )
        for row in rows(FOLDER / "errors.csv")
        if row["export_can_meet"] == "Y"
    }


def faults(row: Row) -> frozenset[str]:
    """Return every error code whose condition the row meets."""
    return frozenset(rule.code for rule in rules().values() if rule.refuses(row))


def stated_faults(row: Row, stated: frozenset[str]) -> frozenset[str]:
    """Return the error codes of a row with only the `stated` columns filled: of rules that read no other column."""
    return frozenset(
        code for code in faults(row) if (when := rules()[code].when) is not None and when.columns <= stated
    )


def standing(row: Row, column: str, value: str) -> Standing:
    """Return how the rules treat a value in a cell of a row, given the row's other cells."""
    without, with_it = faults({**row, column: ""}), faults({**row, column: value})
    if with_it - without:
        return "refused"
    return "needed" if without - with_it else "taken"


def drinks_materials(row: Row) -> list[str]:
    """Return the materials that a row of drinks containers may have."""
    materials = codes("packaging_material")
    return [
        material
        for material in materials
        if _OF_A_DRINKS_CONTAINER not in faults({**row, "packaging_material": material})
    ]


def hold(table: Iterable[Row], uncounted: pl.DataFrame | None = None) -> None:
    """Raise `FileRefused` with the error codes for which a file of these rows would be refused.

    Where SKUs are not counted, the sentence names the first of them with their missing facts.
    """
    lines = list(table)
    numbers = {code for row in lines for code in faults(row)}
    if len({tuple(row[column].casefold() for column in identity()) for row in lines}) < len(lines):
        numbers.add(DUPLICATE)
    if not lines:
        numbers.add(EMPTY)
    if numbers:
        raise FileRefused(numbers, _left_out(uncounted), uncounted)


def _left_out(uncounted: pl.DataFrame | None) -> str:
    if uncounted is None or uncounted.is_empty():
        return ""
    names = ", ".join(
        f"{code} ({reason})" for code, reason in uncounted.select("sku_code", "reason").head(_NAMED).rows()
    )
    more = f" and {uncounted.height - _NAMED} more" if uncounted.height > _NAMED else ""
    return f"Not counted: {names}{more}."
