"""Prints the whole table on standard output as Markdown: `python -m bench`."""

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import psutil

from bench import (
    access,
    audit,
    connector,
    exports,
    grading,
    graphs,
    idempotency,
    imports,
    lists,
    pages,
    reading,
    regrade,
    requests,
    review,
    rollup,
    snapshots,
    uploads,
)
from bench.loaded import loaded
from bench.report import HEAD, Line
from bench.service import started

_OF_PORTFOLIOS: Final = {  # regrades last: they leave every SKU changed
    "snapshots": snapshots.measure,
    "rollup": rollup.measure,
    "exports": exports.measure,
    "regrade": regrade.measure,
}


_PARTS: Final = (
    "grading",
    "reading",
    "regrade",
    "snapshots",
    "rollup",
    "exports",
    "requests",
    "access",
    "idempotency",
    "lists",
    "pages",
    "uploads",
    "audit",
    "imports",
    "graphs",
    "review",
    "connector",
)


def _arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=50_000, help="rows of imported files, SKUs in a service")
    arguments.add_argument(
        "--skus",
        type=int,
        nargs="*",
        default=[1_000, 50_000],
        help="SKUs of the portfolios that snapshots, rollups and regrades are measured on (1000000 on demand)",
    )
    arguments.add_argument("--grade", type=int, default=50_000, help="most SKUs to grade alone (1000000 on demand)")
    arguments.add_argument("--entries", type=int, default=1_000_000, help="entries of the large audit ledger")
    arguments.add_argument("--rounds", type=int, default=3, help="rounds of each import")
    arguments.add_argument(
        "--only",
        choices=_PARTS,
        help="one part of the table",
    )
    arguments.add_argument("--files", type=Path, nargs="*", default=[], help="producers' data files that are read, too")
    return arguments.parse_args()


def main() -> None:
    """Measure and print line by line, so that an interrupted run has printed its finished lines."""
    asked = _arguments()
    print(f"{psutil.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}\n")
    print(HEAD)
    alone: dict[str, Callable[[], Iterator[Line]]] = {  # these need no service
        "grading": lambda: grading.measure(asked.grade),
        "reading": lambda: reading.measure(asked.rows, asked.rounds, asked.files),
    }
    for name, measured in alone.items():
        if asked.only in (None, name):
            for line in measured():
                _print(line)
    if asked.only in (None, *_OF_PORTFOLIOS):
        _portfolios(asked.skus, asked.only)
    if asked.only in (*alone, *_OF_PORTFOLIOS):
        return
    begun = time.perf_counter()
    with started() as service:
        _print(Line("first start, from an empty data directory", f"{time.perf_counter() - begun:.1f} s"))
        time.sleep(2)
        held = ", ".join(f"{name} {mib:.0f}" for name, mib in sorted(service.private_mib().items()))
        _print(Line("private memory idle, MiB", held))
        parts = {
            "requests": requests.measure(service),
            "access": access.measure(service),
            "idempotency": idempotency.measure(service),
            "lists": lists.measure(service, asked.rows),
            "pages": pages.measure(service, asked.rows),
            "uploads": uploads.measure(service),
            "audit": audit.measure(service, asked.entries),
            "review": review.measure(service),
            "connector": connector.measure(service, asked.rows),
            "imports": imports.measure(service, asked.rows, asked.rounds),
            "graphs": graphs.measure(service, asked.rows, asked.rounds),
        }
        for name, lines in parts.items():
            if asked.only in (None, name):
                for line in lines:
                    _print(line)


def _portfolios(sizes: list[int], only: str | None) -> None:
    for skus in sizes:
        with loaded(skus) as held:
            for name, measured in _OF_PORTFOLIOS.items():
                if only in (None, name):
                    for line in measured(held):
                        _print(line)


def _print(line: Line) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
