"""How many files of ours run to read the smallest table: who follows it opens so many.

The test fails when the number grows, and it is lowered with each gain.
"""

import sys
import threading
from pathlib import Path
from types import FrameType

from tests.pipelines.reading.writing import delimited, read

ROOT = Path(__file__).parents[3]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines")
AT_MOST = 23
ROWS = [["sku_code", "name", "material", "weight_grams"], ["A-1", "Bottle", "glass", 210], ["A-2", "Cap", "plastic", 2]]


def test_a_table_of_two_rows_runs_no_more_files_than_these() -> None:
    data = delimited(ROWS)
    read(data)  # words, rules and headers are read from their tables once in a process
    files: set[str] = set()

    def note(frame: FrameType, _: str, __: object) -> None:
        files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        read(data)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    ours = {str(Path(file).relative_to(ROOT)) for file in files if Path(file).is_relative_to(ROOT)}
    run = sorted(file for file in ours if file.split("/")[0] in ROOMS)
    assert len(run) <= AT_MOST, run
