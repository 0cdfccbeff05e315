"""What reading one file may cost, measured in a process of its own, since the peak of a process never falls.

    echo '["FILE", ...]' | python -m tests.pipelines.reading.budget

reads each file, as a table for import or as a technical file if its name ends in `.document`, and prints what it has
cost. The files' own making is not counted. Each line of files has a process of its own, forked from one that has loaded
what reads them and has read none: to load that costs a second.
"""

import atexit
import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.media import detect_media_type
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import Upload, read_upload
from schemas.normalise import Unfit
from tests.pace import slowness
from tests.pipelines.reading.writing import TODAY

ROOT = Path(__file__).parents[3]
MOST_SECONDS = 2.0
"""On the machine of `tests.pace`; what a slower one takes longer is taken off."""
MOST_MIB = 400
DOCUMENT = ".document"
_WARM = b"sku_code;name;material;weight_grams;markets;packaging_format\nA;B;PET;1,5 kg;FR;bottle\n"


@dataclass(frozen=True)
class Cost:
    """CPU seconds of one file on the machine of `tests.pace`, MiB over the most that was held before, and the end."""

    seconds: float
    mib: float
    outcome: str


def costs(files: Mapping[str, bytes], folder: Path) -> dict[str, Cost]:
    """What each file costs; one whose name ends in `.document` is read as a technical file."""
    paths = []
    for at, (name, data) in enumerate(files.items()):
        paths.append(folder / f"{at}{DOCUMENT if name.endswith(DOCUMENT) else ''}")
        paths[-1].write_bytes(data)
    measurer = _measurer()
    assert measurer.stdin
    assert measurer.stdout
    measurer.stdin.write(json.dumps([*map(str, paths)]) + "\n")
    measurer.stdin.flush()
    return {name: Cost(**json.loads(measurer.stdout.readline())) for name in files}


@cache
def _measurer() -> subprocess.Popen[str]:
    """The process of this session's tests that forks those that read."""
    program = [sys.executable, "-m", "tests.pipelines.reading.budget"]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    atexit.register(process.kill)
    return process


def outcome(data: bytes) -> str:
    """How the import of a file ends: the code of its refusal, or its rows and faults."""
    try:
        upload = read_upload(data, "file", today=TODAY)
        typed = type_rows(Upload.from_bytes(upload.to_bytes()), default_year=TODAY.year, served_markets=set())
    except ReadingRefused as refused:
        return refused.issues[0].code
    faults = sorted(set(typed.errors["code"]))
    return " ".join([f"{typed.values.height} rows", *faults])


def judged(data: bytes) -> str:
    """The media type of a technical file, or the code of its refusal."""
    try:
        return detect_media_type(io.BytesIO(data), None).media_type
    except Unfit as unfit:
        return unfit.code


def _spent() -> tuple[float, float]:
    """MiB that this process has held at most, not those of the one that started it, and its CPU seconds."""
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) / 1024, time.process_time()


def _measured(paths: list[str]) -> Iterator[dict[str, object]]:
    outcome(_WARM)
    judged(b"")
    for path in paths:
        data = Path(path).read_bytes()
        mib, begun = _spent()
        ended = (judged if path.endswith(DOCUMENT) else outcome)(data)
        peak, end = _spent()
        seconds = end - begun
        if seconds >= MOST_SECONDS:
            seconds /= slowness()
        yield {"seconds": round(seconds, 3), "mib": round(peak - mib), "outcome": ended}


def main() -> None:
    """Read each line's files in a forked process; one that ended half-way is followed by a cost of nothing."""
    for line in sys.stdin:
        if os.fork() == 0:
            for cost in _measured(json.loads(line)):
                print(json.dumps(cost), flush=True)
            os._exit(0)
        if os.wait()[1] != 0:
            print(json.dumps({}), flush=True)


if __name__ == "__main__":
    main()
