"""Ends what a run of tests started, however the run ended: a killed one ends nothing, and its services would go on.

A process of its own waits for the end of the run. Then it ends each process that has the run's directory in its
environment, or in its command as Postgres has, and removes the directory. What belongs here: beginning that process,
and what it does. On Linux alone, where every environment can be read.
"""

import os
import select
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

ROOT: Final = "PCDS_TESTS_ROOT"
"""The variable that names the run's directory: whatever the run starts inherits it."""
_LOOKS: Final = 10
"""At most: a supervisor that is being ended may start a program once more."""


def begin(root: Path) -> None:
    """Have what this process and those below it start from here on end with this process."""
    if sys.platform == "linux":
        command = [sys.executable, "-P", __file__, str(root), str(os.getpid())]
        silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        # In a session of its own: no signal to the run's group ends it.
        os.posix_spawn(command[0], command, os.environ, file_actions=silent, setsid=True)


def remove(root: Path) -> None:
    """Remove the run's directory."""
    for data_dir in ("data", "founded"):
        shutil.rmtree((root / data_dir / "postgres").resolve(), ignore_errors=True)  # may be a link to outside
    shutil.rmtree(root, ignore_errors=True)


def main(root: str, run: int) -> None:
    """Wait, then end and remove. The imports wait until then, so that the process that waits is a small one."""
    with suppress(ProcessLookupError):  # it has ended
        select.select([os.pidfd_open(run)], [], [])
    from warehouse.operate import leftovers  # noqa: PLC0415  (see above)

    for _ in range(_LOOKS):
        if not (left := list(_started_by(root))):
            break
        leftovers.end(left)
    remove(Path(root))


def _started_by(root: str) -> Iterator[object]:
    import psutil  # noqa: PLC0415  (see above)

    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            told = [process.environ().get(ROOT), *process.cmdline()]
            if process.pid != os.getpid() and any(each == root or each.startswith(f"{root}/") for each in told if each):
                yield process


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
