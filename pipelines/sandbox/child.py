"""Runs a reader process, which reads one file after the other for its parent (`python -m pipelines.sandbox.child`).

It has only what reading needs and one end of a channel: no database, no credentials, no network connection. It ends
when the parent does, and is killed where a file uses up a limit.
"""

import errno
import gc
import json
import socket
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Final

from pipelines.reading.refusal import ReadingRefused
from pipelines.sandbox import channel
from pipelines.sandbox.confine import confine, processor_seconds
from pipelines.sandbox.tasks import TASKS, warm_up
from schemas.json_values import JsonObject
from schemas.messages import to_json
from schemas.normalise import Unfit

_MOST_ISSUES: Final = 100
_NEW_OBJECTS: Final = 50_000
"""New objects before the garbage collector searches for cycles, as in the worker."""


def main() -> None:
    """Serve the parent until it closes the channel; the only argument is the JSON with which `process` starts it."""
    start = json.loads(sys.argv[1])
    confine(start["parent"], start["memory_mib"])
    warm_up()
    gc.collect()
    gc.freeze()  # the objects that exist now are kept for the life of the process
    gc.set_threshold(_NEW_OBJECTS)
    with socket.socket(fileno=start["channel"]) as parent:
        try:
            channel.send(parent, {"ready": True})
            while True:
                request, (source, answer) = channel.receive_with_files(parent, 2)
                with source, answer:
                    outcome = _run_request(request, source, answer, start["cpu_seconds"])
                channel.send(parent, outcome)
                gc.collect()
        except (EOFError, OSError):  # the parent is gone
            return


def _run_request(request: JsonObject, source: BinaryIO, answer: BinaryIO, cpu_seconds: float) -> dict[str, object]:
    """Run a request and return the message about it; where that is `done`, the answer's file contains the result."""
    try:
        source.seek(0)
        with processor_seconds(cpu_seconds):
            TASKS[request["task"]](source, answer, **request["arguments"])
    except ReadingRefused as refused:
        issues = [asdict(each) | {"message": to_json(each.message)} for each in refused.issues[:_MOST_ISSUES]]
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
