"""Makes files of SKUs with components, in each layout, from a seed; they are stored in `.cache` beside this file."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import polars as pl
import xlsxwriter

from bench.data import CACHE

Layout = Literal["sheet", "long", "wide"]
LAYOUTS: Final[tuple[Layout, ...]] = ("sheet", "long", "wide")
"""A workbook with a components sheet, a CSV with a line for each component, a CSV with numbered groups of columns."""

Cells = tuple[str | float | None, ...]
Sku = tuple[Cells, list[Cells]]
"""The cells of a SKU, and those of each of its components."""
_SKU: Final = ("sku_code", "name", "packaging_level", "packaging_format", "markets", "food_contact", "annual_volume_fr")
_PART: Final = ("component_type", "material_family", "polymer_or_grade", "weight_g", "colour", "separable")
_BODIES: Final = (
    ("plastic", "PET", "bottle"),
    ("plastic", "HDPE", "bottle"),
    ("plastic", "PP", "tray"),
    ("plastic", "LDPE", "bag"),
    ("plastic", "PS", "cup"),
    ("paper", "PAP 21", "box"),
    ("glass", "GL 70", "jar"),
    ("metal", "aluminium", "can"),
    ("composite", "PET/PE", "pouch"),
)
_OTHERS: Final = (
    ("cap", "plastic", "HDPE"),
    ("cap", "plastic", "PP"),
    ("label", "paper", "PAP 22"),
    ("label", "plastic", "PP"),
    ("sleeve", "plastic", "PET"),
    ("seal", "metal", "aluminium"),
    ("closure", "metal", "tinplate"),
)
_COLOURS: Final = ("transparent", "light", "dark", None)


def graph_file(layout: Layout, skus: int, parts: int, *, seed: int = 1) -> Path:
    """Write a file of that many SKUs, each of that many components."""
    path = CACHE / f"graph-{layout}-{seed}-{skus}x{parts}.{'xlsx' if layout == 'sheet' else 'csv'}"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        made = list(_skus(skus, parts, seed))
        if layout == "sheet":
            _write_workbook(path, made)
        else:
            (_long if layout == "long" else _wide)(made).write_csv(path)
    return path


def _skus(count: int, parts: int, seed: int) -> Iterator[Sku]:
    rng = random.Random(seed)
    for number in range(count):
        family, grade, form = rng.choice(_BODIES)
        code, name, level = f"G{seed}-{number:06d}", f"{form} {number} of file {seed}", rng.choice(("sales", "grouped"))
        sku = (code, name, level, form, rng.choice(("FR", "FR;DE", "ES;PT")), "true", rng.randrange(200_000))
        lines = [("body", family, grade), *(rng.choice(_OTHERS) for _ in range(parts - 1))]
        yield sku, [(*line, *_further(rng)) for line in lines]


def _further(rng: random.Random) -> Cells:
    """Return weight, colour, and whether the part comes off."""
    return round(rng.uniform(0.1, 60), 3), rng.choice(_COLOURS), rng.choice(("true", "false", None))


def _write_workbook(path: Path, made: list[Sku]) -> None:
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        tables = {
            "SKUs": [_SKU, *(sku for sku, _ in made)],
            "components": [("sku_code", *_PART), *((sku[0], *part) for sku, lines in made for part in lines)],
        }
        for name, lines in tables.items():
            sheet = book.add_worksheet(name)
            for at, line in enumerate(lines):
                sheet.write_row(at, 0, ["" if cell is None else cell for cell in line])


def _long(made: list[Sku]) -> pl.DataFrame:
    names = [*_SKU, *(name if name == "component_type" else f"component_{name}" for name in _PART)]
    lines = [(*sku, *part) for sku, parts in made for part in parts]
    return pl.DataFrame(lines, schema=names, orient="row", infer_schema_length=None)


def _wide(made: list[Sku]) -> pl.DataFrame:
    numbers = range(1, len(made[0][1]) + 1)
    names = [*_SKU, *(f"component_{number}_{name}" for number in numbers for name in _PART)]
    lines = [(*sku, *(cell for part in parts for cell in part)) for sku, parts in made]
    return pl.DataFrame(lines, schema=names, orient="row", infer_schema_length=None)
