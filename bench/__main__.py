"""Prints the whole table on standard output as Markdown: `python -m bench`."""

import argparse
import platform
import time
from typing import Final

import psutil

from bench import graphs, imports, pages, requests, snapshots
from bench.loaded import loaded
from bench.report import HEAD, Line
from bench.service import started

_PARTS: Final = ("snapshots", "requests", "pages", "imports", "graphs")


def _arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=50_000, help="rows of imported files, SKUs in a service")
    arguments.add_argument(
        "--skus",
        type=int,
        nargs="*",
        default=[1_000, 50_000],
        help="SKUs of the portfolios whose publication is measured (1000000 on demand)",
    )
    arguments.add_argument("--rounds", type=int, default=3, help="rounds of each import")
    arguments.add_argument("--only", choices=_PARTS, help="one part of the table")
    return arguments.parse_args()


def main() -> None:
    """Measure and print line by line, so that an interrupted run has printed its finished lines."""
    asked = _arguments()
    print(f"{psutil.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}\n")
    print(HEAD)
    if asked.only in (None, "snapshots"):
        _portfolios(asked.skus)
    if asked.only == "snapshots":
        return
    begun = time.perf_counter()
    with started() as service:
        _print(Line("first start, from an empty data directory", f"{time.perf_counter() - begun:.1f} s"))
        time.sleep(2)
        held = ", ".join(f"{name} {mib:.0f}" for name, mib in sorted(service.private_mib().items()))
        _print(Line("private memory idle, MiB", held))
        parts = {
            "requests": requests.measure(service),
            "pages": pages.measure(service, asked.rows),
            "imports": imports.measure(service, asked.rows, asked.rounds),
            "graphs": graphs.measure(service, asked.rows, asked.rounds),
        }
        for name, lines in parts.items():
            if asked.only in (None, name):
                for line in lines:
                    _print(line)


def _portfolios(sizes: list[int]) -> None:
    for skus in sizes:
        with loaded(skus) as held:
            for line in snapshots.measure(held):
                _print(line)


def _print(line: Line) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
