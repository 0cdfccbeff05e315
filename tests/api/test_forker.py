"""The process that forks Dagster's programs says how each ended, also one that an earlier forker had forked."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from warehouse.operate import forks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")


def test_a_program_of_an_earlier_forker_ended_with_it() -> None:
    """It was asked about by a supervisor that had not heard yet, and ended with every program that it had forked."""
    child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], {})
    assert forks.status_of(child) == 3
    assert forks.status_of(os.getppid()) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('No such place.')", 1, "No such place.\n"),
        ("raise ValueError('a fault')", 1, "ValueError: a fault\n"),
    ],
)
def test_a_program_ends_as_python_ends_one(end: str, status: int, said: str, tmp_path: Path) -> None:
    """Its threads are joined, what is to be done at exit is done, and what it printed is written."""
    lines = [
        *("import atexit, sys, threading, time", "atexit.register(print, 'at exit')"),
        *("threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()", "print('program')", end),
    ]
    (tmp_path / "forked_program.py").write_text("\n".join(lines))
    started = [sys.executable, "-c", "from api.operate import forker; forker.run_program('forked_program')"]
    ended = subprocess.run(
        started, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (status, "program\nthread\nat exit\n")
    assert ended.stderr.endswith(said)
