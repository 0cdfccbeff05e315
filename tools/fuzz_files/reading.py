"""Reads files one after the other in a process, and reports each one's outcome and cost."""

import io
import math
import resource
import time
from contextlib import suppress
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.media import detect_media_type
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import Upload, read_upload
from schemas.messages import LANGUAGES, translate
from schemas.normalise import Unfit
from tools.fuzz_files.mutated import corpus, mutated

MOST_SECONDS: Final = 2.0
"""Most CPU time of one file."""
MOST_MIB: Final = 400
"""Most memory of reading beyond the process's memory before its first file."""
_KILLED_AFTER_SECONDS: Final = 20
"""CPU time of one file after which the system ends the process; the seed is known, because it is sent before."""


def read(name: str, data: bytes) -> str:
    """Read a file; return `rows`, or the code of its refusal, after translating it to every language.

    It is judged as evidence too. A file without the needed columns is read again with its first two columns named, so
    that its cells are typed too.
    """
    with suppress(Unfit):
        detect_media_type(io.BytesIO(data), None)
    try:
        _read(name, data, None)
    except ReadingRefused as refused:
        if refused.issues[0].code == "missing_column":
            with suppress(ReadingRefused):
                _read(name, data, {"columns": {"sku_code": "A", "name": "B"}})
                return "rows with a mapping"
        for issue in refused.issues:
            for lang in LANGUAGES:
                translate(issue.message, lang).encode()
        return refused.issues[0].code
    return "rows"


def _read(name: str, data: bytes, mapping: dict[str, object] | None) -> None:
    upload = read_upload(data, name, mapping=mapping, today=date(2026, 11, 21))
    type_rows(Upload.from_bytes(upload.to_bytes()), default_year=2026, served_markets={"FR", "DE"})


def work(seeds: range, folders: list[Path], said: Connection) -> None:
    """Read the files of some seeds; each seed is sent before its file is read, its outcome afterwards."""
    files = corpus(folders)
    read("warm.csv", b"sku_code;name\nA;B\n")
    before = _peak_mib()
    for seed in seeds:
        name, data = mutated(seed, files)
        said.send((seed, None))
        begun = time.process_time()
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(begun) + _KILLED_AFTER_SECONDS, hard))
        try:
            outcome = read(name, data)
        except Exception as error:  # every other exception is a finding
            outcome = f"! {type(error).__name__}: {error}"[:300]
        if (seconds := time.process_time() - begun) > MOST_SECONDS:
            outcome = f"! {seconds:.1f} s of CPU, {len(data)} bytes"
        if (taken := _peak_mib() - before) > MOST_MIB:
            said.send((seed, f"! {taken:.0f} MiB, {len(data)} bytes"))
            return  # the peak of a process never falls: the next files need another process
        said.send((seed, outcome))


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
