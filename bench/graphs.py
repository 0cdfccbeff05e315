"""Measures imports of SKUs with components: each layout beside a flat file of as many lines, and a whole migration.

The flat file is ours too (`imports` compares it with a floor). CPU seconds are those of every process of the service:
on a machine with other work they say more than elapsed ones. The files come from a seed and stay in `.cache`.
"""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Final, Literal, NamedTuple

import polars as pl
import xlsxwriter

from bench import data
from bench.imports import over_idle, run_import
from bench.portfolio import KNOWN_BODIES
from bench.report import Line, against
from bench.service import Service

_Layout = Literal["sheet", "long", "wide"]
_LAYOUTS: Final[tuple[_Layout, ...]] = ("sheet", "long", "wide")
"""A workbook with a components sheet, a CSV with a line for each component, a CSV with numbered groups of columns."""

_Cells = tuple[str | float | None, ...]
_Sku = tuple[_Cells, list[_Cells]]
"""The cells of a SKU, and those of each of its components."""
_SKU: Final = ("sku_code", "name", "packaging_level", "packaging_format", "markets", "food_contact", "annual_volume_fr")
_PART: Final = ("component_type", "material_family", "polymer_or_grade", "weight_g", "colour", "separable")
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

BOUND: Final = 1.5
LINES_PER_SECOND: Final = 25_000
MOST_MIB: Final = 700
_PARTS: Final = 5
_MIGRATION_PARTS: Final = 4
_MIGRATIONS: Final[tuple[tuple[_Layout, int], ...]] = (("sheet", 4), ("wide", 4), ("sheet", 10))
"""Layouts with the number of files that are sent at once."""


class _Spent(NamedTuple):
    seconds: float
    cpu: float


def measure(service: Service, rows: int, rounds: int) -> Iterator[Line]:
    """Yield the lines of each layout with `rows` components, then those of a portfolio of four times as many SKUs."""
    for layout in _LAYOUTS:
        graph = graph_file(layout, rows // _PARTS, _PARTS)
        made = data.xlsx_file if layout == "sheet" else data.csv_file
        flat = made(rows, changed=False)
        ours, floor = [], []
        for _ in range(rounds):
            floor.append(_imported(service, [flat]))
            ours.append(_imported(service, [graph]))
        work = f"import of {rows // _PARTS} SKUs x {_PARTS} ({layout}), beside a flat file of {rows} lines"
        yield against(work, median(s for s, _ in ours), median(s for s, _ in floor), bound=BOUND)
        yield against(f"{work}, CPU", median(cpu for _, cpu in ours), median(cpu for _, cpu in floor), bound=BOUND)
    for layout, files in _MIGRATIONS:
        yield from _migration(service, layout, files, 4 * rows)


def _migration(service: Service, layout: _Layout, files: int, skus: int) -> Iterator[Line]:
    """Send all files of a portfolio at once, and measure to the completion of the last.

    The portfolio before it is published first: to publish 200 000 SKUs beside the next migration is work of its own.
    """
    paths = [graph_file(layout, skus // files, _MIGRATION_PARTS, seed=seed) for seed in range(files)]
    service.wait_until_published()
    with over_idle(service) as mib:
        spent = _imported(service, paths)
    lines = skus * _MIGRATION_PARTS
    work = f"{skus} SKUs x {_MIGRATION_PARTS} in {files} files ({layout}) at once: {spent.seconds:.1f} s"
    reached, wanted = lines / spent.seconds, LINES_PER_SECOND
    yield Line(f"{work}, component lines a second", f"{reached:.0f}/s", f"{wanted}/s", wanted / reached, 1)
    yield Line(f"{work}, CPU of all processes", f"{spent.cpu:.1f} s", f"{lines / spent.cpu:.0f} lines a CPU second")
    yield Line(f"{work}, memory over idle", f"{mib[0]:.0f} MiB", f"{MOST_MIB} MiB", mib[0] / MOST_MIB, 1)


def _imported(service: Service, paths: list[Path]) -> _Spent:
    """Import the files at once into a new company; every row has to be accepted."""
    _, key = service.company()
    every = 0.02 * len(paths)  # polls of many files at once would be work of their own
    cpu, begun = service.cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(len(paths)) as threads:
        ended = threads.map(lambda path: run_import(service, key, path, every=every), paths)
        reports = [status for _, status in ended]
    spent = _Spent(time.perf_counter() - begun, service.cpu_seconds() - cpu)
    for report in reports:
        assert report["counts"]["rejected"] == 0, report["errors"]
    return spent


def graph_file(layout: _Layout, skus: int, parts: int, *, seed: int = 1) -> Path:
    """Write a file of that many SKUs, each of that many components."""
    path = data.CACHE / f"graph-{layout}-{seed}-{skus}x{parts}.{'xlsx' if layout == 'sheet' else 'csv'}"
    if not path.exists():
        data.CACHE.mkdir(exist_ok=True)
        made = list(_skus(skus, parts, seed))
        if layout == "sheet":
            _write_workbook(path, made)
        else:
            (_long if layout == "long" else _wide)(made).write_csv(path)
    return path


def _skus(count: int, parts: int, seed: int) -> Iterator[_Sku]:
    rng = random.Random(seed)
    for number in range(count):
        family, grade, form = rng.choice(KNOWN_BODIES)
        code, name, level = f"G{seed}-{number:06d}", f"{form} {number} of file {seed}", rng.choice(("sales", "grouped"))
        sku = (code, name, level, form, rng.choice(("FR", "FR;DE", "ES;PT")), "true", rng.randrange(200_000))
        lines = [("body", family, grade), *(rng.choice(_OTHERS) for _ in range(parts - 1))]
        yield sku, [(*line, *_further(rng)) for line in lines]


def _further(rng: random.Random) -> _Cells:
    """Return weight, colour, and whether the part comes off."""
    return round(rng.uniform(0.1, 60), 3), rng.choice(_COLOURS), rng.choice(("true", "false", None))


def _write_workbook(path: Path, made: list[_Sku]) -> None:
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        tables = {
            "SKUs": [_SKU, *(sku for sku, _ in made)],
            "components": [("sku_code", *_PART), *((sku[0], *part) for sku, lines in made for part in lines)],
        }
        for name, lines in tables.items():
            sheet = book.add_worksheet(name)
            for at, line in enumerate(lines):
                sheet.write_row(at, 0, ["" if cell is None else cell for cell in line])


def _long(made: list[_Sku]) -> pl.DataFrame:
    names = [*_SKU, *(name if name == "component_type" else f"component_{name}" for name in _PART)]
    lines = [(*sku, *part) for sku, parts in made for part in parts]
    return pl.DataFrame(lines, schema=names, orient="row", infer_schema_length=None)


def _wide(made: list[_Sku]) -> pl.DataFrame:
    numbers = range(1, len(made[0][1]) + 1)
    names = [*_SKU, *(f"component_{number}_{name}" for number in numbers for name in _PART)]
    lines = [(*sku, *(cell for part in parts for cell in part)) for sku, parts in made]
    return pl.DataFrame(lines, schema=names, orient="row", infer_schema_length=None)
