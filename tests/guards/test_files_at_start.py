"""How many files each process loads until it works: what is loaded and never used is memory and a longer start.

A test fails when a number grows, and each is lowered with each gain; what an addition loads is decided here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from api.operate import start
from warehouse.operate import forks

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api")
COUNT = f"""
import gc, importlib, os, sys
gc.disable()
del sys.modules["gc"]
for name in sys.argv[1:]:
    importlib.import_module(name)
print(sum(name.partition(".")[0] in {ROOMS} for name in sys.modules), len(sys.modules), flush=True)
os._exit(0)
"""
"""To look for garbage in what is loaded, and to take it apart in the end, takes as long as to load it. The module
for that is counted where something else loads it.
"""
THREADS = """
import importlib, os, sys
from pathlib import Path
from {module} import {what} as load

load()
print(*sorted({{(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}}), flush=True)
os._exit(0)
"""
POLARS = {"jemalloc_bg_thd", "polars-ooc-clea"}
"""Threads that importing Polars starts, which a forked process does without (decision 0061)."""
AT_MOST = {
    ("api.operate.server", "api.app"): (403, 2015),
    ("api.operate.serve",): (32, 608),
    ("api.operate.prepare",): (151, 1285),
    ("api.cli",): (18, 575),
    ("pipelines.readers.child",): (80, 685),
    ("pipelines.engine.worker",): (230, 2340),
    ("api.operate.forker",): (17, 542),
    ("pipelines.engine.ui",): (22, 2123),
    ("pipelines.engine.daemon",): (24, 1517),
    ("pipelines.engine.code_server", "pipelines.definitions"): (229, 2339),
}
"""Modules of ours, and all, by what a process imports."""


@pytest.mark.parametrize("modules", AT_MOST, ids=lambda modules: modules[0])
def test_a_process_loads_no_more_files_than_these(modules: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", COUNT, *modules], cwd=ROOT, capture_output=True, text=True, check=True)
    ours, of_all = (int(number) for number in done.stdout.split())
    assert (ours <= AT_MOST[modules][0], of_all <= AT_MOST[modules][1]) == (True, True), (ours, of_all)


@pytest.mark.skipif(not forks.SUPPORTED, reason="nothing is forked here")
@pytest.mark.parametrize(("module", "what"), [("api.operate.forker", "load"), ("pipelines.readers.template", "load")])
def test_what_is_forked_has_started_no_thread_that_is_missed(module: str, what: str) -> None:
    """A fork loses threads: one of Polars' pool, which it starts at the first query, would be waited for in vain."""
    environment = os.environ | start.MEMORY
    loading = [sys.executable, "-c", THREADS.format(module=module, what=what)]
    done = subprocess.run(loading, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert len({*done.stdout.split()} - POLARS) == 1, done.stdout
