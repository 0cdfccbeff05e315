"""What reading one file may cost, measured in a process of its own, since the peak of a process never falls.

    python -m tests.pipelines.reading.budget FILE...

reads each file, as a table for import or as a technical file if its name ends in `.document`, and prints what it has
cost. The files' own making is not counted.
"""

import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    program = [sys.executable, "-m", "tests.pipelines.reading.budget", *map(str, paths)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(zip(files, (Cost(**json.loads(line)) for line in done.stdout.splitlines()), strict=True))


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


if __name__ == "__main__":
    for cost in _measured(sys.argv[1:]):
        print(json.dumps(cost))
