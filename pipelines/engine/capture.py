"""Copies what this process writes to standard output and standard error, log lines included, to files.

The text still goes to its stream. What belongs here: the capture, for any Python process. What does not: the naming and
reading of the files (`pipelines.engine.run_logs`). Output of C libraries and child processes is not captured.
"""

import logging
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO, Any, Final, TextIO, cast  # Any: any attribute of a stream

LARGEST_BYTES: Final = 8 * 2**20
"""The largest copy. Text beyond it goes to the process's log alone."""
_TRUNCATION_NOTE: Final = b"\n[This copy ends here: the rest is in the log of the process.]\n"


class Sink:
    """A file that is created by its first byte. A full disk fails no run."""

    def __init__(self, path: Path) -> None:
        """Prepare the sink; the file is opened at the first write."""
        self._path, self._lock, self._left = path, threading.Lock(), LARGEST_BYTES
        self._file: IO[bytes] | None = None

    def write(self, text: str) -> int:
        """Write immediately, without a buffer, so that readers of a running run's log see the text."""
        data = text.encode("utf-8", "backslashreplace")
        with self._lock:
            if self._left and data:
                try:
                    self._write(data)
                except OSError:
                    self._left = 0
        return len(text)

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
        self._file.write(data[: self._left])
        if len(data) >= self._left:
            self._file.write(_TRUNCATION_NOTE)
        self._left = max(self._left - len(data), 0)

    def close(self) -> None:
        """Write nothing more: later text belongs to another run."""
        with self._lock:
            self._left = 0
            if self._file is not None:
                self._file.close()


class TeeStream:
    """A text stream that also writes its text to a capture; everything else is delegated to the stream."""

    def __init__(self, stream: TextIO, sink: Sink) -> None:
        self._stream, self._sink = stream, sink

    def write(self, text: str) -> int:
        """Write to the stream first, so that the process's log comes before any copy of it."""
        written = self._stream.write(text)
        self._sink.write(text)
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def capture_output(out: Path, err: Path) -> Iterator[None]:
    """Copy what Python writes to standard output and error during the block, log lines included.

    Other threads' lines are included as well, so a process captures one run at a time.
    """
    with ExitStack() as ends:
        written, errors = Sink(out), Sink(err)
        for sink in (written, errors):
            ends.callback(sink.close)
        both = cast("TextIO", TeeStream(sys.stderr, errors))
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream in (sys.stderr, sys.__stderr__):
                ends.callback(handler.setStream, handler.stream)
                handler.setStream(both)
        ends.enter_context(redirect_stdout(cast("TextIO", TeeStream(sys.stdout, written))))
        ends.enter_context(redirect_stderr(both))
        yield
