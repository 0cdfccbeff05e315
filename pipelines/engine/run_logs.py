"""Stores what a run writes to standard output and standard error, by run: Dagster's compute logs.

Dagster's processes make `RunLogs` from dagster.yaml (`compute_logs`), and their pages read from it. A capture copies
the text to a file, in this process: Dagster's own capture has each run start four helper processes, which takes longer
than an import of 100 rows (docs/decisions/0046). What belongs here: capturing, and where the files are stored and
removed. What does not: the lines and their form (`warehouse.logs`).

The names that are private to Dagster are those that its own packages of compute logs import (dagster-aws and others).
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final, Self, TypeVar, cast  # Any: Dagster's own signatures

import dagster as dg
import structlog
from dagster._core.storage.cloud_storage_compute_log_manager import CloudStorageComputeLogManager
from dagster._core.storage.compute_log_manager import CapturedLogContext, CapturedLogSubscription, ComputeIOType
from dagster._core.storage.local_compute_log_manager import IO_TYPE_EXTENSION, LocalComputeLogManager
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from pipelines.engine.capture import Sink, capture_output
from warehouse.clock import Clock
from warehouse.database import Database
from warehouse.launches import run_logs
from warehouse.objects import NoSuchObject, Objects
from warehouse.settings import Settings

T_Instance = TypeVar("T_Instance", bound=dg.DagsterInstance)

_POLL_SECONDS: Final = 2.0
"""How often a log that a page follows is read."""
_EMPTY_FOLDER_GRACE: Final = timedelta(hours=1)
"""An empty folder touched within this time may be about to be written to."""

log = structlog.get_logger(__name__)


class _Folder(LocalComputeLogManager):
    """Dagster's own manager of files in a folder, with another capture."""

    @contextmanager
    def capture_logs(self, log_key: Sequence[str]) -> Generator[CapturedLogContext, None, None]:
        """Capture within this process."""
        out, err = (Path(self.get_captured_local_path(log_key, end)) for end in ("out", "err"))
        with capture_output(out, err):
            log.info("run.begun", run_id=log_key[0], host=socket.gethostname(), process=os.getpid())
            yield CapturedLogContext(log_key)

    @contextmanager
    def open_log_stream(self, log_key: Sequence[str], io_type: ComputeIOType) -> Iterator[IO[Any] | None]:
        """Open a log of a sensor, schedule or backfill: only text creates its file, since most write none."""
        sink = Sink(Path(self.get_captured_local_path(log_key, IO_TYPE_EXTENSION[io_type])))
        try:
            yield cast("IO[Any]", sink)
        finally:
            sink.close()


class _Followers:
    """The logs that pages follow; a thread reads them as long as there are any."""

    def __init__(self, is_complete: Callable[[Sequence[str]], bool]) -> None:
        self._is_complete, self._lock = is_complete, threading.Lock()
        self._followed: list[CapturedLogSubscription] = []
        self._thread: threading.Thread | None = None

    def add(self, subscription: CapturedLogSubscription) -> None:
        with self._lock:
            self._followed.append(subscription)
            if self._thread is None:
                self._thread = threading.Thread(target=self._poll, name="run-logs", daemon=True)
                self._thread.start()

    def remove(self, subscription: CapturedLogSubscription) -> None:
        with self._lock, suppress(ValueError):
            self._followed.remove(subscription)

    def _poll(self) -> None:
        while True:
            time.sleep(_POLL_SECONDS)
            with self._lock:
                followed = [*self._followed]
                if not followed:
                    self._thread = None
                    return
            for subscription in followed:
                try:
                    self._poll_log(subscription)
                except Exception as error:  # the database is away; the page waits
                    log.warning("run_log.not_followed", error=type(error).__name__)

    def _poll_log(self, subscription: CapturedLogSubscription) -> None:
        if self._is_complete(subscription.log_key):
            subscription.complete()
            self.remove(subscription)
        subscription.fetch()


class RunLogs(CloudStorageComputeLogManager[T_Instance], ConfigurableClass):
    """Logs in the folder `folder`; with a `store`, they are copied there when the run has ended."""

    def __init__(self, folder: str, store: str = "", inst_data: ConfigurableClassData | None = None) -> None:
        """Take the values of `from_config_value`; files and store are opened when first needed."""
        self._folder, self._store, self._inst_data = Path(folder), store, inst_data
        self._local = _Folder(folder)
        self._followers = _Followers(self.is_capture_complete)

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """Return this manager's settings in dagster.yaml."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the settings of dagster.yaml: the folder, and the object store of several machines, empty for none."""
        return {"folder": dg.StringSource, "store": dg.Field(dg.StringSource, is_required=False, default_value="")}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        """Return the manager of a checked configuration."""
        return cls(inst_data=inst_data, **config_value)

    @property
    def local_manager(self) -> LocalComputeLogManager:
        """Return the manager of the files on this machine."""
        return self._local

    @contextmanager
    def capture_logs(self, log_key: Sequence[str]) -> Iterator[CapturedLogContext]:
        """Capture on this machine; however the block ends, the log is then copied to the store."""
        try:
            with self._local.capture_logs(log_key) as context:
                yield context
        finally:
            self._on_capture_complete(log_key)

    @property
    def upload_interval(self) -> int | None:
        """None: a run's log is copied to the store once, at its end."""
        return None

    @cached_property
    def _objects(self) -> Objects | None:
        if not self._store:
            return None
        settings = Settings.load(objects_url=self._store)
        return Objects.of(settings, Database.of(settings))

    def is_capture_complete(self, log_key: Sequence[str]) -> bool:
        """Return whether the log is complete: the run has ended, or the log is not a run's."""
        run = self._instance.get_run_by_id(log_key[0])
        return run is None or run.is_finished

    def cloud_storage_has_logs(self, log_key: Sequence[str], io_type: ComputeIOType, partial: bool = False) -> bool:
        """Return whether the store has the log; it never has parts of one."""
        return not partial and self._stored(log_key, io_type) is not None

    def upload_to_cloud_storage(
        self,
        log_key: Sequence[str],
        io_type: ComputeIOType,
        partial: bool = False,  # noqa: ARG002
    ) -> None:
        """Copy a log to the store; one without text has no file."""
        path, key = self._path(log_key, io_type), _key(log_key, io_type)
        if self._objects is not None and key is not None and path.exists():
            try:
                self._objects.put(key, path.read_bytes(), durable=False)
            except ConnectionError as error:  # the run goes on without
                log.warning("run_log.not_kept", key=key, reason=str(error))

    def download_from_cloud_storage(
        self,
        log_key: Sequence[str],
        io_type: ComputeIOType,
        partial: bool = False,  # noqa: ARG002
    ) -> None:
        """Copy a log from the store to this machine, for a download as a file."""
        data = self._stored(log_key, io_type)
        if data is not None:
            path = self._path(log_key, io_type)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(data)

    def get_log_data_for_type(
        self, log_key: Sequence[str], io_type: ComputeIOType, offset: int, max_bytes: int | None
    ) -> tuple[bytes | None, int]:
        """Return a part of a log from `offset` on, and its end; None where the log has no text."""
        if self.has_local_file(log_key, io_type):
            return self._local.read_path(str(self._path(log_key, io_type)), offset, max_bytes)  # type: ignore[no-any-return]
        data = self._stored(log_key, io_type)
        if data is None:
            return None, offset
        part = data[offset:] if max_bytes is None else data[offset : offset + max_bytes]
        return part, offset + len(part)

    def get_log_keys_for_log_key_prefix(
        self, log_key_prefix: Sequence[str], io_type: ComputeIOType
    ) -> Sequence[list[str]]:
        """Return the keys of the logs below a prefix, such as a backfill's."""
        found = list[list[str]]()
        if self._folder.joinpath(*log_key_prefix).is_dir():
            found.extend(self._local.get_log_keys_for_log_key_prefix(log_key_prefix, io_type))
        if self._objects is not None:
            ending = f".{IO_TYPE_EXTENSION[io_type]}"
            found.extend(
                run_logs.parts(key.removesuffix(ending))
                for key, _ in self._objects.stored(run_logs.OWNER, run_logs.folder(log_key_prefix))
                if key.endswith(ending)
            )
        return found

    def display_path_for_type(self, log_key: Sequence[str], io_type: ComputeIOType) -> str:
        """Return the log's place for the page: below the folder, without a path of the machine."""
        return f"{'/'.join(log_key)}.{IO_TYPE_EXTENSION[io_type]}"

    def download_url_for_type(self, log_key: Sequence[str], io_type: ComputeIOType) -> str | None:
        """Return the path of the log at Dagster's web server."""
        return "/".join(("/logs", *log_key, IO_TYPE_EXTENSION[io_type]))

    def delete_logs(self, log_key: Sequence[str] | None = None, prefix: Sequence[str] | None = None) -> None:
        """Delete a log, or all below a prefix: a run's logs have its id as prefix."""
        self._local.delete_logs(log_key=log_key, prefix=prefix)
        if self._objects is None:
            return
        if log_key is not None:
            for key in filter(None, (_key(log_key, io_type) for io_type in ComputeIOType)):
                self._objects.delete(key)
        elif prefix:
            for key, _ in self._objects.stored(run_logs.OWNER, run_logs.folder(prefix)):
                self._objects.delete(key)

    def delete_older(self, kept_for: timedelta) -> int:
        """Delete older logs, of runs and of ticks, and return their number; a deleted run's log is already gone."""
        now, removed = Clock().now(), 0
        oldest, untouched = (now - kept_for).timestamp(), (now - _EMPTY_FOLDER_GRACE).timestamp()
        for path in sorted(self._folder.rglob("*"), key=lambda path: -len(path.parts)):
            with suppress(OSError):  # it was just deleted, or something was written into it
                touched = path.stat().st_mtime
                if path.is_dir() and touched < untouched:
                    path.rmdir()
                elif path.is_file() and touched < oldest:
                    path.unlink()
                    removed += 1
        if self._objects is not None:
            stored_before = self._objects.now() - kept_for
            for key, at in self._objects.stored(run_logs.OWNER, run_logs.FOLDER):
                if at < stored_before:
                    self._objects.delete(key)
                    removed += 1
        return removed

    def on_subscribe(self, subscription: CapturedLogSubscription) -> None:
        """Follow a log for a page: it is read every few seconds."""
        self._followers.add(subscription)

    def on_unsubscribe(self, subscription: CapturedLogSubscription) -> None:
        """Stop following a log."""
        self._followers.remove(subscription)

    def _on_capture_complete(self, log_key: Sequence[str]) -> None:
        if self._objects is not None:
            super()._on_capture_complete(log_key)

    def _path(self, log_key: Sequence[str], io_type: ComputeIOType) -> Path:
        return Path(self._local.get_captured_local_path(log_key, IO_TYPE_EXTENSION[io_type]))

    def _stored(self, log_key: Sequence[str], io_type: ComputeIOType) -> bytes | None:
        key = _key(log_key, io_type)
        if self._objects is None or key is None:
            return None
        try:
            return self._objects.get(key)
        except NoSuchObject:
            return None


def _key(log_key: Sequence[str], io_type: ComputeIOType) -> str | None:
    return run_logs.key(log_key, IO_TYPE_EXTENSION[io_type])
