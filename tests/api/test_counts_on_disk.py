"""What API processes count in files of one folder: a full disk costs counts, never the process."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from api.operate.start import COUNTED

_NOTE = """
from api.http import metrics
for number in range(4_000):
    metrics.note("GET", f"/api/v1/a-route-with-a-name-as-long-as-ours/{number}", 200, 0.1)
metrics.note("GET", "/again", 200, 0.1)
metrics.note_damaged("missing")
print("alive")
"""


def noted(folder: Path, *, largest: int = resource.RLIM_INFINITY) -> None:
    """Count in a process that may make files up to so many bytes: behind that a write fails as on a full disk."""
    done = subprocess.run(
        [sys.executable, "-c", _NOTE],
        env=os.environ | {COUNTED: str(folder)},
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
    )
    assert (done.returncode, done.stdout) == (0, b"alive\n"), done.stderr.decode()


def test_the_files_have_no_hole_that_a_full_disk_could_not_fill(tmp_path: Path) -> None:
    """The kernel ends a process that writes into such a hole of a mapped file, whatever it is doing (SIGBUS)."""
    noted(tmp_path)
    files = list(tmp_path.iterdir())
    assert {file.suffix for file in files} == {".db"}
    assert max(file.stat().st_size for file in files) > 2**20, "more than was reserved"
    for file in files:
        assert file.stat().st_blocks * 512 >= file.stat().st_size, file


@pytest.mark.parametrize("largest", [2**18, 2**20])
def test_without_room_for_its_counts_a_process_goes_on(tmp_path: Path, largest: int) -> None:
    noted(tmp_path, largest=largest)
    assert [file for file in tmp_path.iterdir() if file.suffix != ".db"] == []
