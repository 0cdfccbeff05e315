"""The code lists of the file, read once: periods, levels, combinations, codes and error numbers.

Rows are `rules/uk_packaging_data/*.csv`, each with its source: the regulator's own published validation code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from compliance.tables import RULES, rows, words

FOLDER: Final = RULES / "uk_packaging_data"
MARKET: Final = "GB"
"""The only market whose declaration has this form."""
LARGE: Final = "L"
MARKETPLACE: Final = "OM"
"""The activity of those who sell through an online marketplace of their own."""
ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Period:
    """A submission period; `rating` says whether household rows have one: never, optional or mandatory."""

    code: str
    rating: str


@dataclass(frozen=True, slots=True)
class Level:
    """What a packaging level is in the file; `follows_type`: household or not as stated, else never household."""

    packaging_class: str
    reusable_class: str
    follows_type: bool


@dataclass(frozen=True, slots=True)
class Combination:
    """A type with a class: the materials it may have, whether plastic says its shape, and where a rating is asked.

    `rating` is asked (of every material), glass (of glass alone) or never.
    """

    packaging_type: str
    packaging_class: str
    materials: tuple[str, ...]
    plastic_subtype: bool
    rating: str

    def takes(self, material: str) -> bool:
        """Whether the type has rows of this material."""
        return ANY in self.materials or material in self.materials

    def asks_rating(self, material: str) -> bool:
        """Whether a row of this material has a recyclability rating."""
        return self.rating == "asked" or (self.rating == "glass" and material == "GL")


@lru_cache(maxsize=1)
def columns() -> tuple[str, ...]:
    """The columns of the file, in their order."""
    return tuple(row["column"] for row in rows(FOLDER / "columns.csv"))


@lru_cache(maxsize=1)
def periods() -> Mapping[tuple[str, int, int], Period]:
    """The periods that can be reported, by organisation size, year and half (0 is the year)."""
    table = rows(FOLDER / "periods.csv")
    return MappingProxyType(
        {
            (row["organisation_size"], int(row["year"]), int(row["half"])): Period(row["period"], row["rating"])
            for row in table
        }
    )


@lru_cache(maxsize=1)
def levels() -> Mapping[str, Level]:
    """What each packaging level is in the file."""
    return MappingProxyType(
        {
            row["packaging_level"]: Level(row["packaging_class"], row["reusable_class"], row["follows_type"] == "Y")
            for row in rows(FOLDER / "levels.csv")
        }
    )


@lru_cache(maxsize=4)
def combinations(organisation_size: str, *, marketplace: bool) -> Mapping[tuple[str, str], Combination]:
    """The combinations that organisations of this size and activity report, by type and class (blank: none)."""
    return MappingProxyType(
        {
            (row["packaging_type"], row["packaging_class"]): Combination(
                row["packaging_type"], row["packaging_class"], words(row["materials"]), row["plastic_subtype"] == "Y",
                row["rating"],
            )
            for row in rows(FOLDER / "combinations.csv")
            if row["organisation_size"] == organisation_size and (row["marketplace"] == "Y") == marketplace
        }
    )  # fmt: skip


@lru_cache(maxsize=8)
def codes(column: str) -> Mapping[str, str]:
    """The codes of a column with their meaning."""
    return MappingProxyType(
        {row["code"]: row["meaning"] for row in rows(FOLDER / "codes.csv") if row["column"] == column}
    )


@lru_cache(maxsize=1)
def errors() -> Mapping[str, str]:
    """The regulator's error numbers that our rows could meet, each with the rule in our words."""
    return MappingProxyType({row["number"]: row["sentence"] for row in rows(FOLDER / "errors.csv")})
