"""One reader process as its parent sees it: started, asked, watched while it reads, killed where it must be.

A `Reader` belongs to one thread, which must live as long as the process: the kernel ends the process with it.
"""

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
from typing import Any, BinaryIO, Final, NoReturn, TypeVar

import psutil

from pipelines.reading.refusal import ReadingRefused
from pipelines.sandbox import channel
from pipelines.sandbox.limits import Limits, ReadingStopped, Reason
from pipelines.sandbox.orders import Order, Source
from schemas.issues import Issue
from schemas.messages import from_json
from schemas.normalise import Unfit

T = TypeVar("T")

_START_SECONDS: Final = 60.0
_LOOK_MILLISECONDS: Final = 50
"""Between two looks at what a reading holds; what it can take in between, its own ceiling bounds."""
_MIB: Final = 2**20
_CODE: Final = Path(__file__).parents[3]
_PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "PYTHONDONTWRITEBYTECODE")
"""Variables that a program needs to start; all others stay with the parent, and with them every secret."""
_MOST_THREADS: Final = 4
_PURGED_AFTER: Final = "dirty_decay_ms:30000,muzzy_decay_ms:30000"


class ReaderFault(RuntimeError):  # noqa: N818  (the rest of the house says fault)
    """A fault of ours in a reader, or a reader that does not start; says where and nothing of the file."""


class ReaderDied(Exception):  # noqa: N818  (who catches it tries once more)
    """The process ended by itself, or somebody else's kill ended it."""


class Reader:
    """A process that reads files within the limits, one after the other."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Have a process that is ready; one that is there stays. Raises `ReaderFault`."""
        if self.alive:
            return
        self.end()
        self._channel, theirs = socket.socketpair()
        with theirs:
            said = {
                "channel": theirs.fileno(),
                "parent": os.getpid(),
                "cpu_seconds": self._limits.cpu_seconds,
                "memory_mib": self._limits.memory_mib,
            }
            # -P: the folder that the program is started in is no place to import from.
            command = [sys.executable, "-P", "-m", "pipelines.sandbox.child", json.dumps(said)]
            self._process = subprocess.Popen(  # noqa: S603  (our own program, no shell)
                command,
                env=_environment(),
                cwd="/",
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a panic there may quote the file
            )
        self._channel.settimeout(_START_SECONDS)
        try:
            channel.receive(self._channel)
        except (OSError, EOFError):
            self.end()
            raise ReaderFault("a process that reads files did not start") from None

    def run(self, order: Order[T]) -> T:
        """What the order asks for.

        Raises `ReadingRefused` and `Unfit` as the task does, `ReadingStopped` where it used up a limit, `ReaderDied`,
        and `ReaderFault`. After the last three the process is gone.
        """
        with _opened(order.source) as source, _scratch() as answer:
            said = self._asked(order, source, answer)
            match said:
                case {"refused": issues}:
                    raise ReadingRefused([Issue(**each | {"message": from_json(each["message"])}) for each in issues])
                case {"unfit": [code, message]}:
                    raise Unfit(code, from_json(message))
                case {"stopped": "memory"}:
                    self._stop("memory", order)
                case {"fault": kind, "at": place}:
                    raise ReaderFault(f"{kind} in a reader, task {order.task}, at {place}")
                case {"done": True}:
                    if os.fstat(answer.fileno()).st_size > self._limits.memory_mib * _MIB:
                        self._stop("memory", order)
                    return order.taken(answer)
        raise ReaderFault("a reader said something that no reader says")

    def end(self) -> None:
        """End the process at once, wherever it is; nothing happens where there is none."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def kill(self) -> None:
        """Kill the process from another thread; whoever waits for its answer gets `ReaderDied`."""
        if (process := self._process) is not None:
            process.kill()

    def private_mib(self) -> float:
        """Memory that the process alone holds, in MiB; 0 where it is gone."""
        if self._process is None:
            return 0.0
        try:
            held = psutil.Process(self._process.pid).memory_info()
        except psutil.Error:
            return 0.0
        return float(held.rss - getattr(held, "shared", 0)) / _MIB

    def _asked(self, order: Order[Any], source: BinaryIO, answer: BinaryIO) -> dict[str, Any]:
        """The process's answer, waited for within the limits."""
        assert self._channel is not None, "a reader is started before it is asked"
        deadline, waiting = time.monotonic() + self._limits.wall_seconds, poll()
        waiting.register(self._channel, POLLIN)
        self._channel.settimeout(self._limits.wall_seconds)
        try:
            channel.send(self._channel, {"task": order.task, "arguments": order.arguments}, [source, answer])
            while not waiting.poll(_LOOK_MILLISECONDS):
                if time.monotonic() > deadline:
                    self._stop("time", order)
                if self.private_mib() > self._limits.memory_mib:
                    self._stop("memory", order)
            return channel.receive(self._channel)
        except TimeoutError:
            self._stop("time", order)
        except (OSError, EOFError):
            self._ended(order)

    def _ended(self, order: Order[Any]) -> NoReturn:
        """Raise what the end of the process means."""
        assert self._process is not None
        status = self._process.wait()
        self.end()
        if status == -signal.SIGPROF:
            raise ReadingStopped("processor", self._limits, order.what)
        if status == -signal.SIGABRT:  # Rust's answer to memory that is not to be had
            raise ReadingStopped("memory", self._limits, order.what)
        raise ReaderDied(f"a reader ended with status {status}")

    def _stop(self, reason: Reason, order: Order[Any]) -> NoReturn:
        self.end()
        raise ReadingStopped(reason, self._limits, order.what)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return kept | {
        "PYTHONPATH": str(_CODE),
        "LC_ALL": "C.UTF-8",
        "_RJEM_MALLOC_CONF": _PURGED_AFTER,
        "POLARS_MAX_THREADS": str(min(_MOST_THREADS, os.cpu_count() or 1)),
    }


def _opened(source: Source) -> BinaryIO:
    if not isinstance(source, bytes):
        return source()
    file = _scratch()
    file.write(source)
    file.flush()
    return file


def _scratch() -> BinaryIO:
    """A file without a name: in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("pcds-reading"), "w+b")
    return tempfile.TemporaryFile()
