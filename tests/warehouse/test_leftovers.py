"""What a killed supervisor leaves is found by its mark and ended; what belongs to a living one, or to nobody, stays."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.processes import lives
from warehouse.operate import leftovers
from warehouse.operate.leftovers import Mark
from warehouse.operate.settings import SettingsError

_DEAF = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
_LISTENING = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(600)
"""
GONE = Mark(os.getpid(), 1.0)
"""A supervisor whose number another process has by now."""

Start = Callable[..., psutil.Process]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program with a mark, which hears no SIGTERM."""
    started = []

    def begin(mark: Mark | None, data_dir: Path, program: str = _DEAF) -> psutil.Process:
        environment = os.environ | {"PCDS_DATA_DIR": str(data_dir)} | (mark.variables if mark else {})
        process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        found = psutil.Process(process.pid)
        found.said = process.stdout.readline().strip()
        return found

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_orphans_of_a_data_directory_are_found_and_ended_though_they_hear_nothing(start: Start, tmp_path: Path) -> None:
    orphan = start(GONE, tmp_path)
    others = [start(GONE, tmp_path / "other"), start(None, tmp_path), start(Mark.own(), tmp_path)]
    assert leftovers.orphans(tmp_path) == [orphan]
    leftovers.end([orphan], grace_seconds=0.1)
    assert not lives(orphan)
    assert all(map(lives, others))
    assert leftovers.orphans(tmp_path) == []


def test_a_supervisor_knows_its_own_whoever_started_them(start: Start, tmp_path: Path) -> None:
    own = start(Mark.own(), tmp_path)
    start(GONE, tmp_path)
    assert leftovers.of_supervisor(Mark.own()) == [own]
    assert Mark.from_process(own) == Mark.own()
    assert Mark.own().lives
    assert not GONE.lives


def test_whoever_listens_is_named_where_one_may_know(start: Start, tmp_path: Path) -> None:
    holder = start(None, tmp_path, _LISTENING)
    assert leftovers.listening(int(holder.said)) == holder


_SERVING = """
import sys, time
from pathlib import Path
from warehouse.operate.leftovers import serving_alone
with serving_alone(Path(sys.argv[1])):
    print(flush=True)
    time.sleep(600)
"""


def test_a_place_is_served_once_until_that_process_ends_however_it_does(tmp_path: Path) -> None:
    assert not leftovers.is_served(tmp_path)
    with subprocess.Popen([sys.executable, "-c", _SERVING, str(tmp_path)], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with (
            pytest.raises(SettingsError, match=rf"\(process {first.pid}\) runs on {tmp_path} already; end it, or name"),
            leftovers.serving_alone(tmp_path),
        ):
            pytest.fail("there are two")
        assert leftovers.is_served(tmp_path)
        first.kill()
    assert not leftovers.is_served(tmp_path)
    with leftovers.serving_alone(tmp_path):
        assert leftovers.is_served(tmp_path)
