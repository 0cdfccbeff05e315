"""Loads the code lists of the file: columns, codes, terms, and the type and class of a part.

The rows are `rules/uk_packaging_data/*.csv`, each with its source: the regulator's own published validation code. They
are read once. `compliance.filings.uk.rules` has the errors.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from compliance.tables import RULES, rows, words

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
