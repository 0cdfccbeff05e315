"""Measures imports, POST to completed, beside the floor's load of the same file: new, all changed, identical."""

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID, uuid4

import psycopg

from bench import data, floors
from bench.report import Line, against
from bench.service import Service

_LOOK_SECONDS = 0.1
SMALL_FILES = 7
MOST_SECONDS_OF_SMALL = 0.25
KINDS = (("first load", False), ("all rows changed", True), ("identical again", True))


def run_import(service: Service, key: str, path: Path, *, every: float = 0.02) -> tuple[float, dict[str, Any]]:
    """Return the seconds from POST to completed, and the import as it is polled at the end, `every` so many seconds."""
    headers = {"X-API-Key": key, "Content-Type": "application/octet-stream"}
    body = path.read_bytes()
    address = f"{service.url}/api/v1/imports?filename={path.name}"
    return completed(service, urllib.request.Request(address, data=body, headers=headers), every=every)


def completed(
    service: Service, request: urllib.request.Request, *, every: float = 0.02
) -> tuple[float, dict[str, Any]]:
    """Return the same of a request that is answered with an import, by the key in its headers."""
    headers, begun = {"X-API-Key": request.headers["X-api-key"]}, time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        poll = f"{service.url}/api/v1/imports/{json.load(answer)['id']}?limit=1"
    while True:
        with urllib.request.urlopen(urllib.request.Request(poll, headers=headers)) as answer:
            status = json.load(answer)
        if status["status"] in ("completed", "failed"):
            assert status["status"] == "completed", status["failure"]
            return time.perf_counter() - begun, status
        time.sleep(every)


def measure(service: Service, rows: int, rounds: int) -> Iterator[Line]:
    """Yield every line about imports; floor and service take turns, the medians of the rounds are compared."""
    with psycopg.connect(service.database.owner_url) as owner:
        floors.create_table(owner)
    for suffix, bound, made in ((".csv", 2.0, data.csv_file), (".xlsx", 1.6, data.xlsx_file)):
        ours, floor = _rounds(service, rows, rounds, made)
        for number, (name, _) in enumerate(KINDS):
            work = f"import of {rows} x {len(data.COLUMNS)}, {suffix[1:].upper()}, {name}"
            yield against(work, median(ours[number]), median(floor[number]), bound=bound)
    yield from _small(service)
    yield _memory(service, rows)


def _small(service: Service) -> Iterator[Line]:
    """Yield what an import of 100 rows takes that no run is under way of, and one right behind another."""
    service.wait_until_published()
    _, key = service.company()
    files = [data.csv_file(100, changed=False, seed=seed) for seed in range(2, 2 + SMALL_FILES)]
    alone = []
    for path in files:
        service.wait_until_idle()
        alone.append(run_import(service, key, path)[0])
    behind = [run_import(service, key, path)[0] for path in files]
    work = "import of 100 rows, each file another, warm"
    yield against(work, median(alone), MOST_SECONDS_OF_SMALL, bound=1)
    yield Line(f"{work}, of the same company right behind another", f"{median(behind):.2f} s")


def _rounds(
    service: Service, rows: int, rounds: int, made: Callable[..., Path]
) -> tuple[list[list[float]], list[list[float]]]:
    ours: list[list[float]] = [[] for _ in KINDS]
    floor: list[list[float]] = [[] for _ in KINDS]
    for _ in range(rounds):
        service.wait_until_published()  # the company of the round before, which else slows these imports
        company, (_, key) = uuid4(), service.company()
        for number, (_, changed) in enumerate(KINDS):
            path = made(rows, changed=changed)
            floor[number].append(_floor(service, company, path))
            seconds, status = run_import(service, key, path)
            assert status["counts"]["rejected"] == 0, status["errors"]
            ours[number].append(seconds)
    return ours, floor


def _floor(service: Service, company: UUID, path: Path) -> float:
    with psycopg.connect(service.database.app_url) as app:
        return floors.load(app, company, path)


def _memory(service: Service, rows: int) -> Line:
    _, key = service.company()
    with over_idle(service) as mib:
        run_import(service, key, data.xlsx_file(rows, changed=False))
    return Line(f"peak memory of an XLSX import of {rows} rows", f"{mib[0]:.0f} MiB over idle")


@contextmanager
def over_idle(service: Service) -> Iterator[list[float]]:
    """Yield a list of one number: by the end of the block, the most MiB over those before that all processes had."""
    idle, most, done = sum(service.private_mib().values()), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_SECONDS):
            most[0] = max(most[0], sum(service.private_mib().values()) - idle)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()
