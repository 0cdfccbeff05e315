"""What the producer states about itself and its submission, which no packaging data can tell."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from compliance.declarations.uk.tables import LARGE, MARKETPLACE, Period, errors, periods

_ORGANISATION: Final = re.compile(r"[0-9]{6}")
_SUBSIDIARY: Final = re.compile(r"[A-Za-z0-9]{0,32}")


class FileRefused(ValueError):  # noqa: N818  (an answer, not a fault)
    """The regulator would refuse this file; `numbers` are its error numbers, the text says each in words.

    `uncounted` is what was left out of it, where it came so far that something was counted.
    """

    def __init__(self, numbers: list[str], more: str = "", uncounted: pl.DataFrame | None = None) -> None:
        self.numbers, self.uncounted = numbers, uncounted
        said = " ".join(f"{number}: {errors()[number]}" for number in numbers)
        super().__init__(f"The file would be refused. {said}{' ' + more if more else ''}")


@dataclass(frozen=True, slots=True)
class Producer:
    """Codes of `rules/uk_packaging_data/codes.csv`; `household_type` is what sales and shipment packaging is."""

    organisation_id: str
    organisation_size: str = LARGE
    activity: str = "SO"
    household_type: str = "HH"
    subsidiary_id: str = ""

    @property
    def is_large(self) -> bool:
        """Large organisations report by half, with types, shapes and ratings; small ones report the year."""
        return self.organisation_size == LARGE

    @property
    def is_marketplace(self) -> bool:
        """Whether what is reported was sold through an online marketplace of the producer's."""
        return self.activity == MARKETPLACE


def submission(producer: Producer, year: int, half: int) -> Period:
    """The period of a submission, `half` 0 for the year. Raises `FileRefused` with every error number that holds."""
    if faults := list(_faults(producer, year, half)):
        raise FileRefused(faults)
    return periods()[producer.organisation_size, year, half]


def _faults(producer: Producer, year: int, half: int) -> Iterator[str]:
    if not _ORGANISATION.fullmatch(producer.organisation_id):
        yield "01"
    if not _SUBSIDIARY.fullmatch(producer.subsidiary_id):
        yield "46"
    if producer.is_large and half == 0:
        yield "909"
    elif not producer.is_large and half != 0:
        yield "910"
    elif (producer.organisation_size, year, half) not in periods():
        yield "44"
