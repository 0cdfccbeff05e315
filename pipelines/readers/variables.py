"""Names the environment variables of a process that reads files: what a program needs to start, and nothing secret."""

import os
from pathlib import Path
from typing import Final

from pipelines import allocator

_CODE: Final = Path(__file__).parents[2]
_PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "PYTHONDONTWRITEBYTECODE")
"""Variables that a program needs to start; no other is passed on, so that no secret is."""
_MOST_THREADS: Final = 4


def of_reader() -> dict[str, str]:
    """Return the variables of a reader."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return kept | {
        "PYTHONPATH": str(_CODE),
        "LC_ALL": "C.UTF-8",
        allocator.VARIABLE: allocator.READER_SETTING,
        "POLARS_MAX_THREADS": str(min(_MOST_THREADS, os.cpu_count() or 1)),
    }
