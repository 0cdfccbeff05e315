"""Serves the floor of requests under one uvicorn worker, and compares its load with that of the service."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median

from bench.report import Line
from bench.service import Load, load
from tools.ports import free_port


@contextmanager
def serving(*app: str, environment: Mapping[str, str], first: Sequence[bytes]) -> Iterator[int]:
    """Serve an application by uvicorn for the block, and yield its port once it answered the requests of `first`."""
    port = free_port()
    program = [sys.executable, "-m", "uvicorn", *app, "--port", str(port), "--log-level", "error", "--no-access-log"]
    child = subprocess.Popen(program, env={**os.environ, **environment}, stderr=subprocess.DEVNULL)
    try:
        _answered(port, first)
        yield port
    finally:
        child.terminate()
        child.wait(10)


def _answered(port: int, first: Sequence[bytes]) -> None:
    for _ in range(200):
        try:
            load(port, list(first), connections=1)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the application did not start")


def compared(work: str, pairs: Sequence[tuple[Load, Load]], bound: float | None) -> Iterator[Line]:
    """Yield rate and p50 of floor and service, the medians of their rounds."""
    floor_rate, our_rate = (median(pair[side].per_second for pair in pairs) for side in (0, 1))
    floor_p50, our_p50 = (median(pair[side].p50_ms for pair in pairs) for side in (0, 1))
    yield Line(f"{work}: requests a second", f"{our_rate:.0f}/s", f"{floor_rate:.0f}/s", floor_rate / our_rate, bound)
    yield Line(f"{work}: p50", f"{our_p50:.1f} ms", f"{floor_p50:.1f} ms", our_p50 / floor_p50, bound)
