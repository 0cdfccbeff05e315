"""How many files each process loads until it works: what is loaded and never used is memory and a longer start.

A test fails when a number grows, and each is lowered with each gain; what an addition loads is decided here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from api.operate import forker, start

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api")
COUNT = f"""
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(sum(name.partition(".")[0] in {ROOMS} for name in sys.modules), len(sys.modules))
"""
THREADS = """
import importlib
from pathlib import Path
from api.operate import forker

for name in forker._LOADED:
    importlib.import_module(name)
print(len(list(Path("/proc/self/task").iterdir())))
"""
AT_MOST = {
    ("api.operate.server", "api.app"): (389, 1989),
    ("api.operate.serve",): (29, 605),
    ("api.operate.prepare",): (147, 1269),
    ("api.cli",): (18, 575),
    ("pipelines.readers.child",): (72, 677),
    ("pipelines.engine.worker",): (219, 2317),
    ("api.operate.forker",): (16, 541),
    ("pipelines.engine.ui",): (22, 2123),
    ("pipelines.engine.daemon",): (14, 1490),
    ("pipelines.engine.code_server", "pipelines.definitions"): (218, 2316),
}
"""Modules of ours, and all, by what a process imports."""


@pytest.mark.parametrize("modules", AT_MOST, ids=lambda modules: modules[0])
def test_a_process_loads_no_more_files_than_these(modules: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", COUNT, *modules], cwd=ROOT, capture_output=True, text=True, check=True)
    ours, of_all = (int(number) for number in done.stdout.split())
    assert (ours <= AT_MOST[modules][0], of_all <= AT_MOST[modules][1]) == (True, True), (ours, of_all)


@pytest.mark.skipif(not forker.SUPPORTED, reason="nothing is forked here")
def test_what_the_forker_loads_starts_no_thread() -> None:
    """A fork loses threads: Polars' allocator would return no memory in any forked program."""
    environment = os.environ | start.MEMORY
    loading = [sys.executable, "-c", THREADS]
    done = subprocess.run(loading, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
