"""Admission beside none: a list request with the key's limit and window, and the same with the key looked up alone."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import psycopg

from bench import data
from bench.imports import run_import
from bench.report import Line
from bench.service import Load, Service, free_port, load, raw_request
from bench.unlimited_app import FUNCTION

READS, ROUNDS, WARM_UP = 400, 5, 50


def measure(service: Service) -> Iterator[Line]:
    """A page of 50 as callers ask for it; both applications are started alike and take turns over eight connections."""
    _, key = service.company()
    run_import(service, key, data.csv_file(2000, changed=False))
    with psycopg.connect(service.database.owner_url) as owner:
        owner.execute(FUNCTION)
    page = [raw_request("GET", "/api/v1/skus?limit=50", key)] * READS
    unlimited, limited = ("bench.unlimited_app:app",), ("api.app:create", "--factory")
    with _serving(service, *unlimited) as floor, _serving(service, *limited) as ours:
        pairs = [(load(floor, page, connections=8), load(ours, page, connections=8)) for _ in range(ROUNDS)]
    yield from _lines("GET a page of 50, key with limit and window", pairs)


def _lines(work: str, pairs: list[tuple[Load, Load]]) -> Iterator[Line]:
    floor_rate, our_rate = (median(pair[side].per_second for pair in pairs) for side in (0, 1))
    floor_p50, our_p50 = (median(pair[side].p50_ms for pair in pairs) for side in (0, 1))
    yield Line(f"{work}: requests a second", f"{our_rate:.0f}/s", f"{floor_rate:.0f}/s", floor_rate / our_rate, 1.25)
    yield Line(f"{work}: p50", f"{our_p50:.1f} ms", f"{floor_p50:.1f} ms", our_p50 / floor_p50, 1.25)


@contextmanager
def _serving(service: Service, *app: str) -> Iterator[int]:
    """An application under one uvicorn worker, with the settings of the service and the same place for its log."""
    port = free_port()
    program = [sys.executable, "-m", "uvicorn", *app, "--port", str(port), "--log-level", "error", "--no-access-log"]
    environment = {**os.environ, "PCDS_DATA_DIR": str(service.data_dir)}
    child = subprocess.Popen(program, env=environment, stderr=subprocess.DEVNULL)
    try:
        _listening(port)
        yield port
    finally:
        child.terminate()
        child.wait(10)


def _listening(port: int) -> None:
    for _ in range(200):
        try:
            load(port, [raw_request("GET", "/healthz", "-")] * WARM_UP, connections=1)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the floor did not start")
