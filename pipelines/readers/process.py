"""Controls one reader process from its parent: starts it, sends it requests, watches it while it reads, and kills it.

A `Reader` belongs to one thread, which must live as long as the process: the kernel ends the process with it.
"""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from select import POLLIN, poll
from typing import BinaryIO, Final, NoReturn, TypeVar

import psutil

from pipelines.readers import channel, requests, variables
from pipelines.readers.requests import Limits, ReadingStopped, ReadRequest, Reason, Source
from pipelines.reading.grid import ReadingRefused
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import from_json
from schemas.normalise import Unfit
from warehouse.operate import forks
from warehouse.operate.forks import Forked

T = TypeVar("T")

_START_SECONDS: Final = 60.0
_LOOK_MILLISECONDS: Final = 50
"""Time between two checks of a reader's memory; its own ceiling limits what it can allocate in between."""
_MIB: Final = 2**20


class ReaderFault(RuntimeError):  # noqa: N818  (the other modules say fault)
    """An internal fault in a reader, or a reader that does not start; gives the place and nothing of the file."""


class ReaderDied(Exception):  # noqa: N818  (the code that catches it tries once more)
    """The process ended by itself, or another program killed it."""


class Reader:
    """A process that reads files within the limits, one after the other."""

    def __init__(self, limits: Limits, template: Path | None = None) -> None:
        """`template` is the socket of the process that forks readers; where none answers there, one is started."""
        self._limits, self._template = limits, template
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self._channel: socket.socket | None = None

    @property
    def alive(self) -> bool:
        """Return whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start a process and wait until it is ready; a running one is kept. Raises `ReaderFault`."""
        if self.alive:
            return
        self.end()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = self._forked(theirs) or self._started(theirs)
        self._channel.settimeout(_START_SECONDS)
        try:
            channel.receive(self._channel)
        except (OSError, EOFError):
            self.end()
            # It has got no file yet: what it lacks is of the machine.
            lacks = OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            raise ReaderFault("a process that reads files did not start") from lacks

    def _forked(self, theirs: socket.socket) -> Forked | None:
        if self._template is None or not forks.SUPPORTED:
            return None
        limits = {"cpu_seconds": self._limits.cpu_seconds, "memory_mib": self._limits.memory_mib}
        return forks.fork(self._template, limits, [theirs.fileno()])

    def _started(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        """Start a process that loads its code itself, and ends with this thread."""
        start = {
            "channel_number": theirs.fileno(),
            "parent": os.getpid(),
            "cpu_seconds": self._limits.cpu_seconds,
            "memory_mib": self._limits.memory_mib,
        }
        # -P: nothing is imported from the folder in which the program is started.
        command = [sys.executable, "-P", "-m", "pipelines.readers.child", json.dumps(start)]
        return subprocess.Popen(  # noqa: S603  (our own program, no shell)
            command,
            env=variables.of_reader(),
            cwd="/",
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a panic there may quote the file
        )

    def run(self, request: ReadRequest[T]) -> T:
        """Return the answer to a request.

        Raises `ReadingRefused` and `Unfit` as the task does, `ReadingStopped` where it used up a limit, `ReaderDied`,
        and `ReaderFault`. After `ReadingStopped` and `ReaderDied` the process is gone.
        """
        with _open_source(request.source) as source, _scratch() as answer:
            outcome = self._call(request, source, answer)
            match outcome:
                case {"refused": sent, "outline": outline}:
                    issues = [Issue(**issue | {"message": from_json(issue["message"])}) for issue in sent]
                    raise ReadingRefused(issues, outline)
                case {"unfit": [code, message]}:
                    raise Unfit(code, from_json(message))
                case {"stopped": "memory"}:
                    self._stop("memory", request)
                case {"fault": kind, "at": place, "errno": number}:
                    # The caller sees by the number whether it is a fault of the machine that passes.
                    cause = None if number is None else OSError(number, os.strerror(number))
                    raise ReaderFault(f"{kind} in a reader, task {request.task}, at {place}") from cause
                case {"done": True}:
                    if os.fstat(answer.fileno()).st_size > self._limits.memory_mib * _MIB:
                        self._stop("memory", request)
                    return request.read_answer(*requests.read(answer))
        raise ReaderFault("a reader said something that no reader says")

    def end(self) -> None:
        """End the process immediately; does nothing where there is none."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def kill(self) -> None:
        """Kill the process from another thread; the thread that waits for its answer gets `ReaderDied`."""
        if (process := self._process) is not None:
            process.kill()

    def private_mib(self) -> float:
        """Return the private memory of the process, in MiB; 0 where it is gone."""
        if self._process is None:
            return 0.0
        try:
            memory = psutil.Process(self._process.pid).memory_info()
        except psutil.Error:
            return 0.0
        return float(memory.rss - getattr(memory, "shared", 0)) / _MIB

    def _call(self, request: ReadRequest[object], source: BinaryIO, answer: BinaryIO) -> JsonObject:
        """Send a request and wait for the process's answer within the limits."""
        assert self._channel is not None, "a reader is started before it is asked"
        deadline, waiting = time.monotonic() + self._limits.wall_seconds, poll()
        waiting.register(self._channel, POLLIN)
        self._channel.settimeout(self._limits.wall_seconds)
        try:
            channel.send(self._channel, {"task": request.task, "arguments": request.arguments}, [source, answer])
            while not waiting.poll(_LOOK_MILLISECONDS):
                if time.monotonic() > deadline:
                    self._stop("time", request)
                if self.private_mib() > self._limits.memory_mib:
                    self._stop("memory", request)
            return channel.receive(self._channel)
        except TimeoutError:
            self._stop("time", request)
        except (OSError, EOFError):
            self._raise_for_exit_status(request)

    def _raise_for_exit_status(self, request: ReadRequest[object]) -> NoReturn:
        """Raise the exception for the exit status of the process."""
        assert self._process is not None
        status = self._process.wait()
        self.end()
        if status == -signal.SIGPROF:
            raise ReadingStopped("processor", self._limits, request.file_kind)
        if status == -signal.SIGABRT:  # Rust aborts where it cannot allocate memory
            raise ReadingStopped("memory", self._limits, request.file_kind)
        raise ReaderDied(f"a reader ended with status {status}")

    def _stop(self, reason: Reason, request: ReadRequest[object]) -> NoReturn:
        self.end()
        raise ReadingStopped(reason, self._limits, request.file_kind)


def _open_source(source: Source) -> BinaryIO:
    if not isinstance(source, bytes):
        return source()
    file = _scratch()
    file.write(source)
    file.flush()
    return file


def _scratch() -> BinaryIO:
    """Open a file without a name: in memory where the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("pcds-reading"), "w+b")
    return tempfile.TemporaryFile()
