"""Runs a reader process, which reads one file after the other for its parent (`python -m pipelines.readers.child`).

It has only what reading needs and one end of a channel: no database, no credentials, no network connection. It ends
when the parent does, and is killed where a file uses up a limit.
"""

import contextlib
import ctypes
import errno
import gc
import json
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Final

from pipelines.readers import channel, requests
from pipelines.readers.tasks import TASKS, load_words
from pipelines.reading.grid import ReadingRefused
from schemas.json_values import JsonObject
from schemas.messages import to_json
from schemas.normalise import Unfit

_PR_SET_PDEATHSIG: Final = 1  # prctl(2)
_MIB: Final = 2**20
_RESERVED_MIB: Final = 512
"""Allocators and thread stacks reserve more than they use; this is added to twice the limit."""


def confine(parent: int, memory_mib: int) -> None:
    """Confine this process, which the process `parent` started, for as long as it lives."""
    _end_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a stop signals the whole group; files of open requests are still read
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_FSIZE, memory_mib * _MIB)  # an answer is a file; Python turns the signal into an OSError
    _bound(resource.RLIMIT_DATA, (2 * memory_mib + _RESERVED_MIB) * _MIB)
    with contextlib.suppress(OSError):  # where memory is still short, the kernel kills a reader first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


@contextmanager
def processor_seconds(most: float) -> Iterator[None]:
    """Have the kernel kill this process by SIGPROF when its threads have used this much processor time in the block."""
    signal.setitimer(signal.ITIMER_PROF, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _end_with(parent: int) -> None:
    """Have the kernel end this process with the thread that started it, which lives as long as it needs the process."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the signal was set
        os._exit(1)


def _bound(what: int, most: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


_MOST_ISSUES: Final = 100
_NEW_OBJECTS: Final = 50_000
"""New objects before the garbage collector searches for cycles, as in the worker."""


def main() -> None:
    """Serve the parent until it closes the channel; the only argument is the JSON with which `process` starts it.

    The words are loaded first, so that no file's limits pay for them.
    """
    load_words()
    serve(**json.loads(sys.argv[1]))


def serve(channel_number: int, *, parent: int, cpu_seconds: float, memory_mib: int) -> None:
    """Serve the process at the other end of the channel until it closes it; end with the process `parent`."""
    confine(parent, memory_mib)
    gc.collect()
    gc.freeze()  # the objects that exist now are kept for the life of the process
    gc.set_threshold(_NEW_OBJECTS)
    with socket.socket(fileno=channel_number) as asking:
        try:
            channel.send(asking, {"ready": True})
            while True:
                request, (source, answer) = channel.receive_with_files(asking, 2)
                with source, answer:
                    outcome = _run_request(request, source, answer, cpu_seconds)
                channel.send(asking, outcome)
                gc.collect()
        except (EOFError, OSError):  # the parent is gone
            return


def _run_request(request: JsonObject, source: BinaryIO, answer: BinaryIO, cpu_seconds: float) -> dict[str, object]:
    """Run a request and return the message about it; where that is `done`, the answer's file contains the result."""
    try:
        source.seek(0)
        with processor_seconds(cpu_seconds):
            requests.write(answer, *TASKS[request["task"]](source, **request["arguments"]))
    except ReadingRefused as refused:
        issues = [asdict(issue) | {"message": to_json(issue.message)} for issue in refused.issues[:_MOST_ISSUES]]
        return {"refused": issues, "outline": refused.outline}
    except Unfit as unfit:
        return {"unfit": [unfit.code, to_json(unfit.message)]}
    except MemoryError:
        return {"stopped": "memory"}
    except BaseException as error:  # Polars' panics are no Exception
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EFBIG:
            return {"stopped": "memory"}
        return {"fault": type(error).__name__, "at": _place(error), "errno": number}
    return {"done": True}


def _place(error: BaseException) -> str:
    """Return the place of an internal fault; never its message, which may quote the caller's file."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return ", ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)


if __name__ == "__main__":
    main()
