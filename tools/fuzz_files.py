"""Read files that nobody meant: the examples, cut, spliced and overwritten from a seed; workbooks part by part, too.

Any outcome but rows or a refusal is a finding: another exception, more CPU time or memory than a file may take, a
process that dies. A finding is written where `--keep` says and becomes a case of the reader's tests.

    python -m tools.fuzz_files --seeds 1000 --from 0 --files examples other/folder
"""

import argparse
import io
import multiprocessing
import random
import resource
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from pipelines.steps.reading import ReadingRefused, Upload, read_upload, type_rows
from pipelines.steps.template import template
from schemas.labels import LANGUAGES
from schemas.sentences import told

MOST_SECONDS: Final = 10.0
"""CPU time that one file may take."""
MOST_MIB: Final = 400
"""Memory that reading may take over what the process held before its first file."""
_STUCK_SECONDS: Final = 120
_LARGEST: Final = 256 * 1024
"""Bytes of a file that is worth mutating: what is larger costs seeds."""
_TOKENS: Final = (
    b'"', b'""', b";", b",", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\x00", b"\x1a", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xfe\xff", b"\xff", b"\x92", b"\xc3", b"\xed\xa0\x80", b"sep=;\n", b"'", b'="0"', b"#N/A", b"null", b"1,234",
    b"1e999", b"-0", b"84-86", b"NaN", b"inf", b"12 kg", b"9" * 400, b"Total", b"Example", b"sku_code", b"name",
    b"component_type", b"packagings_1_", b"annual_volume_fr", b"A" * 70_000, b";" * 5_000, b"\n" * 500,
    b"\xe2\x80\xa8", b"\xc2\xa0", b"\xf0\x9f\xa7\xb4", b"<", b">", b"</row>", b"<row>", b"<c ",
    b'<c r="XFD1048576"><v>1</v></c>', b'r="A0"', b't="s"', b's="999999"', b"<v>", b"</v>", b"<f>1+1</f>", b"&amp;",
    b"&#0;", b"&#xD800;", b"&x;", b"<!--", b"]]>", b"<![CDATA[", b"<!DOCTYPE a>", b'ref="A1:XFD1048576"',
    b"<mergeCell ref=\"A1:B99\"/>", b"-1", b"4294967296", b"99999999999999999999", b'hidden="1"', b'state="hidden"',
    b"\xc3\xa9",
)  # fmt: skip
"""What breaks readers of text and of XML."""


def corpus(folders: list[Path]) -> list[tuple[str, bytes]]:
    """Name and bytes of every file below the folders that can be mutated, and of the templates, in one order."""
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix.lower() in (".csv", ".xlsx"))
    files = [(path.name, path.read_bytes()) for path in paths if 0 < path.stat().st_size <= _LARGEST]
    return [*files, *((f"template-{lang}.xlsx", template(lang)) for lang in LANGUAGES)]


def mutated(seed: int, files: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """The file of a seed: always the same one."""
    rng = random.Random(seed)
    name, data = rng.choice(files)
    if data.startswith(b"PK") and rng.random() < 0.9:
        return name, _with_mutated_part(rng, data)
    _, other = rng.choice(files)
    return name, _overwritten(rng, data, other)


def _with_mutated_part(rng: random.Random, data: bytes) -> bytes:
    """The archive with one or two of its parts mutated, so that the damage is behind the decompression."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        parts = {name: archive.read(name) for name in archive.namelist()}
        for name in rng.sample(sorted(parts), min(len(parts), rng.choice((1, 1, 2)))):
            parts[name] = _overwritten(rng, parts[name], rng.choice(list(parts.values())))
        for name, content in parts.items():
            if rng.random() > 0.01:
                made.writestr(name, content)
    return target.getvalue()


def _overwritten(rng: random.Random, data: bytes, other: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((0, 1, 1, 2, 10, 100, 5_000)))
        match rng.randrange(6):
            case 0:
                data = data[:at] + rng.choice(_TOKENS) + data[end:]
            case 1:
                data = data[:at] + rng.choice(_TOKENS) * rng.choice((1, 2, 30)) + data[at:]
            case 2:
                data = data[:at] + data[end:]
            case 3:
                data = data[:end] + data[at:]
            case 4:
                start = rng.randrange(len(other) + 1)
                data = data[:at] + other[start : start + rng.choice((1, 20, 2_000))] + data[end:]
            case _:
                data = data[:at] + rng.randbytes(end - at) + data[end:]
    return data


def read(name: str, data: bytes) -> str:
    """How the file ends: `rows`, or the code of its refusal, told in every language.

    A file without the needed columns is read once more with its first two named, so that its cells are typed too.
    """
    try:
        _read(name, data, None)
    except ReadingRefused as refused:
        if refused.issues[0].code == "missing_column":
            with suppress(ReadingRefused):
                _read(name, data, {"columns": {"sku_code": "A", "name": "B"}})
                return "rows with a mapping"
        for issue in refused.issues:
            for lang in LANGUAGES:
                told(issue.message, lang).encode()
        return refused.issues[0].code
    return "rows"


def _read(name: str, data: bytes, mapping: dict[str, object] | None) -> None:
    upload = read_upload(data, name, mapping=mapping, today=date(2026, 11, 21))
    type_rows(Upload.from_bytes(upload.to_bytes()), default_year=2026, served_markets={"FR", "DE"})


def work(seeds: range, folders: list[Path], said: Connection) -> None:
    """Read the files of some seeds; each seed is said before it is read, its outcome afterwards."""
    files = corpus(folders)
    read("warm.csv", b"sku_code;name\nA;B\n")
    before = _peak_mib()
    for seed in seeds:
        name, data = mutated(seed, files)
        said.send((seed, None))
        begun = time.process_time()
        try:
            outcome = read(name, data)
        except Exception as error:  # whatever comes is what is looked for
            outcome = f"! {type(error).__name__}: {error}"[:300]
        if (seconds := time.process_time() - begun) > MOST_SECONDS:
            outcome = f"! {seconds:.1f} s of CPU"
        if (taken := _peak_mib() - before) > MOST_MIB:
            said.send((seed, f"! {taken:.0f} MiB"))
            return  # the peak of a process never falls: what follows needs another one
        said.send((seed, outcome))


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def outcomes(seeds: range, folders: list[Path]) -> Iterator[tuple[int, str]]:
    """Each seed with its outcome; findings begin with `!`. A worker that dies is followed by another."""
    context = multiprocessing.get_context("spawn")
    while seeds:
        here, there = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(seeds, folders, there))
        worker.start()
        there.close()
        reading, done = seeds.start, seeds.start
        try:
            while here.poll(_STUCK_SECONDS):
                reading, outcome = here.recv()
                if outcome is not None:
                    done = reading + 1
                    yield reading, outcome
        except EOFError:
            worker.join()
        finally:  # it is stuck, or nobody wants to know any more
            if worker.is_alive():
                worker.kill()
                worker.join()
        if done <= reading and done in seeds:
            yield reading, f"! the process ended with {worker.exitcode}"
            done = reading + 1
        seeds = range(done, seeds.stop)


def main() -> int:
    """1 where something was found."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=500, help="how many")
    arguments.add_argument("--from", type=int, default=0, dest="first", help="the first")
    arguments.add_argument("--minutes", type=float, default=600, help="end after so long")
    arguments.add_argument("--files", type=Path, nargs="+", default=[Path("examples")], help="folders to mutate")
    arguments.add_argument("--keep", type=Path, help="folder for what was found")
    asked = arguments.parse_args()
    counted: Counter[str] = Counter()
    end = time.monotonic() + asked.minutes * 60
    for seed, outcome in outcomes(range(asked.first, asked.first + asked.seeds), asked.files):
        counted["found" if outcome.startswith("!") else outcome] += 1
        if outcome.startswith("!"):
            print(f"seed {seed}: {outcome}", flush=True)
            if asked.keep:
                name, data = mutated(seed, corpus(asked.files))
                (asked.keep / f"{seed}-{name}").write_bytes(data)
        if time.monotonic() > end:
            break
    print(", ".join(f"{count} {outcome}" for outcome, count in counted.most_common()))
    return 1 if counted["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
