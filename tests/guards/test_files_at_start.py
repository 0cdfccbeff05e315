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
    ("api.operate.server.__main__", "api.app"): (431, 2140),
    ("api.operate.serve",): (115, 1160),
    ("api.operate.prepare",): (135, 1245),
    ("api.cli",): (110, 1210),
    ("pipelines.readers.child",): (98, 700),
    ("pipelines.engine.worker",): (240, 2335),
    ("pipelines.engine.forker",): (104, 1150),
    ("pipelines.engine.ui",): (188, 2580),
    ("pipelines.engine.daemon",): (104, 1885),
    ("pipelines.engine.code_server", "pipelines.definitions"): (239, 2335),
}
"""Modules of ours, and all, by what a process imports."""


@pytest.mark.parametrize("modules", AT_MOST, ids=lambda modules: modules[0])
def test_a_process_loads_no_more_files_than_these(modules: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", COUNT, *modules], cwd=ROOT, capture_output=True, text=True, check=True)
    ours, of_all = (int(number) for number in done.stdout.split())
    assert (ours <= AT_MOST[modules][0], of_all <= AT_MOST[modules][1]) == (True, True), (ours, of_all)
