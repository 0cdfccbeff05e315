"""Prints the whole table on standard output as Markdown: `python -m bench`."""

import argparse
import platform
import subprocess
import time
from collections.abc import Iterable, Iterator
from typing import Final

import psutil

from bench import changes, graphs, imports, pages, requests, snapshots
from bench.report import HEAD, Line, against
from bench.service import started
from warehouse.operate.clock import Clock

_PARTS: Final = ("snapshots", "requests", "pages", "imports", "graphs", "changes")
_MOST_SECONDS_OF_START: Final = 8.0


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
    """Measure and print line by line, so that an interrupted run has printed its finished lines; say what is broken."""
    asked = _arguments()
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    day, machine = Clock().now().date(), f"{psutil.cpu_count()} cores, {platform.system()} {platform.machine()}"
    print(f"{commit.stdout.strip() or 'no commit'}, {day}, {machine}, Python {platform.python_version()}\n")
    print(HEAD)
    broken = [line.work for line in _printed(_measured(asked)) if line.is_broken]
    print(f"\nBounds broken: {'; '.join(broken) or 'none'}")


def _printed(lines: Iterable[Line]) -> Iterator[Line]:
    """Print each line as soon as it is measured."""
    for line in lines:
        print(line, flush=True)
        yield line


def _measured(asked: argparse.Namespace) -> Iterator[Line]:
    if asked.only in (None, "snapshots"):
        for skus in asked.skus:
            with snapshots.loaded(skus) as held:
                yield from snapshots.measure(held)
    if asked.only == "snapshots":
        return
    begun = time.perf_counter()
    with started() as service:
        work = "first start, from an empty data directory"
        yield against(work, time.perf_counter() - begun, _MOST_SECONDS_OF_START, bound=1)
        time.sleep(2)
        idle = ", ".join(f"{name} {mib:.0f}" for name, mib in sorted(service.private_mib().items()))
        yield Line("private memory idle, MiB", idle)
        parts = {
            "requests": requests.measure(service),
            "pages": pages.measure(service, asked.rows),
            "imports": imports.measure(service, asked.rows, asked.rounds),
            "graphs": graphs.measure(service, asked.rows, asked.rounds),
            "changes": changes.measure(service),
        }
        for name, lines in parts.items():
            if asked.only in (None, name):
                yield from lines


if __name__ == "__main__":
    main()
