"""Reads the producer's own statements for the UK file from CSV: ratings (`--ram`) and drinks containers (`--drinks`).

A cell that is empty, or ambiguous, is refused with its line; nothing is guessed. A line about a SKU that is not in the
declaration is ignored, so that one file may serve many periods.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from compliance.declarations.uk.lines import DRINKS
from compliance.declarations.uk.ratings import RATINGS
from compliance.declarations.uk.rules import FileRefused
from compliance.declarations.uk.tables import codes
from schemas.formulas import is_computed
from schemas.vocabularies import VOCABULARIES

_ANSWERS: Final = {"Y": True, "N": False}


class StatementsRefused(ValueError):  # noqa: N818  (an answer, not a fault)
    """A file of statements cannot be used; the text names file and line and says what would be right."""


def ratings(path: Path | None) -> pl.DataFrame:
    """Read `RATINGS` from a CSV `sku_code, component_type, rating`; none without a file.

    Raises `StatementsRefused`, and `FileRefused` with error 100 for an unknown rating.
    """
    found: dict[tuple[str, ...], str] = {}
    for line, (sku_code, component_type, rating) in _lines(path, ("sku_code", "component_type", "rating")):
        if component_type not in VOCABULARIES["component_type"]:
            raise _refused(path, line, f"component_type is one of {', '.join(VOCABULARIES['component_type'])}")
        if rating not in codes("ram_rag_rating"):
            raise FileRefused(["100"], f"Line {line} of the ratings says {rating or 'nothing'}.")
        _add(found, (sku_code, component_type), rating, path, line)
    return pl.DataFrame([(*key, rating) for key, rating in found.items()], schema=RATINGS, orient="row")


def drinks(path: Path | None) -> pl.DataFrame:
    """Read `DRINKS` from a CSV `sku_code, drinks_container`; none without a file. Raises `StatementsRefused`."""
    found: dict[tuple[str, ...], str] = {}
    for line, (sku_code, answer) in _lines(path, ("sku_code", "drinks_container")):
        if answer not in _ANSWERS:
            raise _refused(path, line, "drinks_container is Y or N")
        _add(found, (sku_code,), answer, path, line)
    return pl.DataFrame([(*key, _ANSWERS[answer]) for key, answer in found.items()], schema=DRINKS, orient="row")


def _lines(path: Path | None, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of the file with the cells of these columns, trimmed."""
    if path is None:
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
                raise StatementsRefused(
                    f"{path.name}: the column {missing[0]} is missing; it has {', '.join(columns)}."
                )
            for row in reader:
                yield reader.line_num, [_unescaped((row[column] or "").strip()) for column in columns]
    except OSError as error:
        raise StatementsRefused(f"{path.name} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise StatementsRefused(f"{path.name} is no CSV file in UTF-8; save it as one.") from None


def _unescaped(cell: str) -> str:
    """Return the cell without the `'` that the service puts before text that a spreadsheet would compute."""
    return cell[1:] if cell.startswith("'") and is_computed(cell[1:]) else cell


def _add(found: dict[tuple[str, ...], str], key: tuple[str, ...], value: str, path: Path | None, line: int) -> None:
    if found.setdefault(key, value) != value:
        raise _refused(path, line, f"{' '.join(key)} stands before with {found[key]}; keep one of the two")


def _refused(path: Path | None, line: int, right: str) -> StatementsRefused:
    return StatementsRefused(f"{path.name if path else 'The file'}, line {line}: {right}.")
