"""How many files each process loads until it works: what is loaded and never used is memory and a longer start.

A test fails when a number grows, and each is lowered with each gain; what an addition loads is decided here.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api")
COUNT = f"""
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(sum(name.partition(".")[0] in {ROOMS} for name in sys.modules), len(sys.modules))
"""
AT_MOST = {
    ("api.operate.server", "api.app"): (358, 2075),
    ("api.operate.serve",): (121, 1185),
    ("api.operate.prepare",): (150, 1280),
    ("api.cli",): (124, 1240),
    ("pipelines.readers.child",): (75, 690),
    ("pipelines.engine.worker",): (212, 2325),
    ("api.operate.forker",): (112, 1175),
    ("pipelines.engine.ui",): (116, 2515),
    ("pipelines.engine.daemon",): (112, 1910),
    ("pipelines.engine.code_server", "pipelines.definitions"): (211, 2325),
}
"""Modules of ours, and all, by what a process imports."""


@pytest.mark.parametrize("modules", AT_MOST, ids=lambda modules: modules[0])
def test_a_process_loads_no_more_files_than_these(modules: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", COUNT, *modules], cwd=ROOT, capture_output=True, text=True, check=True)
    ours, of_all = (int(number) for number in done.stdout.split())
    assert (ours <= AT_MOST[modules][0], of_all <= AT_MOST[modules][1]) == (True, True), (ours, of_all)
