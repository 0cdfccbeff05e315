"""Measures imports of SKUs with components: each layout beside a flat file of as many lines, and a whole migration.

The flat file is ours too (`imports` compares it with a floor). CPU seconds are those of every process of the service:
on a machine with other work they say more than elapsed ones.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench import data
from bench.graph_data import LAYOUTS, Layout, graph_file
from bench.imports import over_idle, run_import
from bench.report import Line, against
from bench.service import Service

BOUND: Final = 1.5
LINES_PER_SECOND: Final = 25_000
MOST_MIB: Final = 700
_PARTS: Final = 5
_MIGRATION_PARTS: Final = 4
_MIGRATIONS: Final[tuple[tuple[Layout, int], ...]] = (("sheet", 4), ("wide", 4), ("sheet", 10))
"""Layouts with the number of files that are sent at once."""


class _Spent(NamedTuple):
    seconds: float
    cpu: float


def measure(service: Service, rows: int, rounds: int) -> Iterator[Line]:
    """Yield the lines of each layout with `rows` components, then those of a portfolio of four times as many SKUs."""
    for layout in LAYOUTS:
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


def _migration(service: Service, layout: Layout, files: int, skus: int) -> Iterator[Line]:
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
