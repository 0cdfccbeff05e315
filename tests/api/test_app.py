"""The app in a process of its own (`api.app`)."""

import subprocess
import sys

import pytest

from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

# In a process of its own: in a test's worker a collection of garbage would go through what every library left behind.
_PROGRAM = """
import faulthandler, gc, sys
faulthandler.dump_traceback_later(100, exit=True)  # says where it hangs
from pathlib import Path
from starlette.testclient import TestClient
from api.app import create
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

settings, database = Settings.load(data_dir=Path(sys.argv[1])), Database(*sys.argv[2:])
before = gc.get_threshold(), gc.get_freeze_count()
with TestClient(create(settings, database)):
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
with TestClient(create(settings, database, alone=True)) as http:
    assert http.get("/healthz").status_code == 200  # it may not have frozen anything yet, but has when it ends
assert gc.get_freeze_count() > 100_000
assert gc.get_threshold()[0] > before[0][0]
"""


@pytest.mark.long
def test_only_alone_in_its_process_it_sets_what_is_collected_and_when(settings: Settings, database: Database) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", _PROGRAM, str(settings.data_dir)]
    done = subprocess.run(
        [*command, database.owner_url, database.app_url, database.dagster_url],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
