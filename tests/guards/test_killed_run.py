"""A run of the tests that is killed leaves nothing: what it started is found by its directory and ended."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests import keeper
from tests.processes import lives
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
RUN = """
import json, os, subprocess, sys, time
from pathlib import Path
from tests import keeper
from warehouse.operate.embedded import running
from warehouse.operate.settings import Settings
root = Path(os.environ[keeper.ROOT])
keeper.begin(root)
with running(Settings.load(data_dir=root / "data"), durable=False):
    postmaster = int((root / "data" / "postgres" / "postmaster.pid").read_text().split()[0])
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    print(json.dumps([program.pid, postmaster]), flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="environments of other processes are read on Linux alone")
def test_what_a_killed_run_started_ends(open_dir: Path) -> None:
    root = open_dir / "run"
    root.mkdir(mode=0o711)
    other = subprocess.Popen([sys.executable, "-c", "input()"], cwd=ROOT, stdin=subprocess.PIPE)
    environment = os.environ | {keeper.ROOT: str(root)}
    with subprocess.Popen([sys.executable, "-c", RUN], cwd=ROOT, env=environment, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        started = [psutil.Process(pid) for pid in json.loads(run.stdout.readline())]
        assert all(map(lives, started))
        run.kill()
    wait_until(lambda: not any(map(lives, started)))
    wait_until(lambda: not root.exists())
    assert other.poll() is None, "what another run started goes on"
    other.communicate(b"\n")
