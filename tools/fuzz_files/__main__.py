"""Read fuzzed files: the examples, mutated from a seed byte by byte or by the grammar of XML and of CSV.

Any outcome except rows or a refusal is a finding: another exception, more than two seconds of CPU time or 400 MiB, a
process that dies. A finding is written to the folder of `--keep` and becomes a case of the reader's tests.

    python -m tools.fuzz_files --seeds 1000 --from 0 --files examples other/folder
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.fuzz_files.mutated import corpus, mutated
from tools.fuzz_files.reading import work

_STUCK_SECONDS: Final = 600
"""For a process that uses no CPU time; the system ends one that uses it long before."""


def outcomes(seeds: range, folders: list[Path]) -> Iterator[tuple[int, str]]:
    """Yield each seed with its outcome; findings begin with `!`. A worker that dies is replaced."""
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
        finally:  # the worker is stuck, or the caller stopped iterating
            if worker.is_alive():
                worker.kill()
                worker.join()
        if done <= reading and done in seeds:
            yield reading, f"! the process ended with {worker.exitcode}"
            done = reading + 1
        seeds = range(done, seeds.stop)


def main() -> int:
    """Return exit status 1 where there was a finding."""
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
