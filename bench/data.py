"""Makes the files to measure: 50 000 rows of 25 columns, made from a seed and stored in `.cache` beside this file."""

import random
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import xlsxwriter
from stdnum import ean

CACHE = Path(__file__).parent / ".cache"
_MATERIALS = [
    ("plastic", "PET"),
    ("plastic", "rPET"),
    ("plastic", "HDPE"),
    ("plastic", "LDPE"),
    ("plastic", "PP"),
    ("plastic", "PS"),
    ("paper", "PAP 20"),
    ("paper", "PAP 21"),
    ("paper", "kraft paper"),
    ("glass", "GL 70"),
    ("glass", "GL 71"),
    ("metal", "aluminium"),
    ("metal", "tinplate"),
    ("wood", "wood"),
    ("composite", "PET/PE"),
]
_FORMATS = ["bottle", "tray", "film", "pouch", "box", "jar", "can", "bag", "tub", "sleeve", "crate", "tube"]
_LEVELS = ["sales", "sales", "sales", "grouped", "transport", "e_commerce"]
_MARKETS = ["FR", "DE", "FR;DE", "FR;DE;BE", "GB", "ES;PT", "IT", "NL;BE;LU", "US-CA", "AT;DE"]
COLUMNS = (
    "sku_code",
    "name",
    "description",
    "material",
    "material_subtype",
    "weight_grams",
    "recycled_content_percent",
    "food_contact",
    "product_category",
    "markets",
    "gtin",
    "ppwr_role",
    "packaging_level",
    "packaging_format",
    "empty_space_ratio",
    "reusable",
    "reuse_system_type",
    "reuse_cycles_target",
    "reuse_deposit_system",
    "use_contexts",
    "minimisation_assessed",
    "sorting_label_scheme",
    "material_marking_applied",
    "annual_volume_fr",
    "annual_volume_de",
)


def rows(count: int, *, changed: bool, seed: int = 1) -> Iterator[tuple[object, ...]]:
    """Yield rows in the order of `COLUMNS`; with `changed`, the same codes with other weights, names and volumes."""
    rng = random.Random(seed)
    for number in range(count):
        material, subtype = rng.choice(_MATERIALS)
        gtin = f"{3_250_390_000_000 + number:013d}"[:12]
        reusable = rng.random() < 0.1
        weight = round(rng.uniform(0.5, 900), 2)
        units = rng.randrange(1_000, 2_000_000)
        yield (
            f"SKU-{number:06d}",
            f"Packaging {number} {rng.choice(_FORMATS)}{' v2' if changed else ''}",
            f"Made for line {number % 97}, drawing {number * 7 % 9973}",
            material,
            subtype,
            round(weight + 1.5, 2) if changed else weight,
            rng.choice([0, 10, 25, 30, 50, 100]),
            rng.choice(["true", "false"]),
            f"category {number % 40}",
            rng.choice(_MARKETS),
            gtin + ean.calc_check_digit(gtin),
            rng.choice(["manufacturer", "importer"]),
            rng.choice(_LEVELS),
            rng.choice(_FORMATS),
            rng.randrange(0, 50),
            "true" if reusable else "false",
            "open_pool" if reusable else None,
            rng.randrange(5, 60) if reusable else None,
            "true" if reusable else None,
            rng.choice(["food", "cosmetics", "household", "industrial", "food;beverage"]),
            rng.choice(["true", "false"]),
            rng.choice(["triman_fr", "none", "harmonised_eu"]),
            "true",
            units + 10 if changed else units,
            rng.randrange(0, 500_000),
        )


def frame(count: int, *, changed: bool, seed: int = 1) -> pl.DataFrame:
    """Return the rows as a frame of the types that the floor loads."""
    return pl.DataFrame(
        list(rows(count, changed=changed, seed=seed)), schema=list(COLUMNS), orient="row", infer_schema_length=None
    )


def csv_file(count: int, *, changed: bool, seed: int = 1) -> Path:
    """Write the rows as UTF-8 CSV; those of another seed have the same codes and other values."""
    path = CACHE / f"{count}{'-changed' if changed else ''}{f'-{seed}' if seed > 1 else ''}.csv"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        frame(count, changed=changed, seed=seed).write_csv(path)
    return path


def xlsx_file(count: int, *, changed: bool) -> Path:
    """Write the rows as a workbook of one sheet, numbers as numbers."""
    path = CACHE / f"{count}{'-changed' if changed else ''}.xlsx"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
            sheet = book.add_worksheet("portfolio")
            sheet.write_row(0, 0, COLUMNS)
            for line, row in enumerate(rows(count, changed=changed), start=1):
                sheet.write_row(line, 0, ["" if cell is None else cell for cell in row])
    return path
