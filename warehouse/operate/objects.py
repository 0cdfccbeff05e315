"""Stores files as objects under keys that begin with their company: `<company_id>/...`.

The store is a folder of the data directory by default, or an S3-compatible store by setting. Each call has a deadline
and is made outside of transactions, so that a store that hangs keeps nobody else waiting; every call raises
`ConnectionError` where the store is away, or is another deployment's and would be written. What belongs here: writing
and reading bytes durably, and whose files a store has: it carries the identity of one deployment (decisions §13,
Operation), which is in the deployment's database beside the probes of its keys. A restore forgets both alike: so a
restored database is another deployment. A store of another identity is read, never written or tidied, until it is taken
over. What does not: the content of files, and who may read them.
"""

import asyncio
import contextlib
import io
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Self, TypeVar
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import obstore
import psycopg
import structlog
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from schemas.messages import Message
from warehouse.operate.database import Database
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import Settings

T = TypeVar("T")

AGAIN_SECONDS: Final = 5
"""How long a store that let a deadline pass is left alone; callers are told to come again after it."""
_MOST_AT_ONCE: Final = 16
"""Calls of a process at a time: fewer than the threads in which it serves requests, so that those remain for others."""
_TURN_SECONDS: Final = 1.0
"""How long a call waits for its turn among them while none of them ends."""
_SLOW_SECONDS: Final = 1.0
"""A call that fails sooner has kept nobody waiting: the next one may try at once."""
_BYTES_PER_SECOND: Final = 2**20
"""A call may take one second longer for each so many bytes that it carries."""

log = structlog.get_logger(__name__)
_loops: Final[dict[int, asyncio.AbstractEventLoop]] = {}
"""The event loop of this process; that of the process before a fork has no thread here."""
_making: Final = threading.Lock()


_NAME: Final = "objects"
_MINE: Final = "SELECT probe FROM key_probes WHERE name = %s"
_MAKE: Final = "INSERT INTO key_probes (name, probe) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"
_HOLDS_SECONDS: Final = 30.0
"""How long a comparison holds: after that a process notices that another deployment has taken the store over."""
_IDENTITY_SECONDS: Final = 3


def prepare_identity(owner: Connection) -> None:
    """Give the deployment an identity where it has none, for `pcds migrate` and `pcds serve`."""
    owner.execute(_MAKE, (_NAME, uuid4().bytes))


def own_identity(database_url: str) -> bytes | None:
    """Return the deployment's identity; None where it has none yet, so that it writes to any store."""
    with psycopg.connect(database_url, autocommit=True, connect_timeout=_IDENTITY_SECONDS) as connection:
        row = connection.execute(_MINE, (_NAME,)).fetchone()
    return None if row is None else bytes(row[0])


def take_over(objects: "Objects", database_url: str) -> None:
    """Have the store carry the identity of a deployment that has one."""
    identity = own_identity(database_url)
    assert identity is not None, "`prepare_identity` has given it one"
    objects.take_over(identity)
    log.warning("objects.taken_over")


class Ownership:
    """Whether a store is this deployment's, compared anew every half minute. Thread-safe."""

    def __init__(self, identity: Callable[[], bytes | None], *, claims: bool = True) -> None:
        """`identity` returns the deployment's own; with `claims` a store that carries none gets it."""
        self._identity, self._claims, self._turn = identity, claims, threading.Lock()
        self._until, self._is_ours = 0.0, False

    def holds(self, read: Callable[[], bytes | None], mark: Callable[[bytes], None]) -> bool:
        """Return whether the store is ours: `read` returns its identity; `mark` gives ours to one that has none."""
        with self._turn:
            if time.monotonic() < self._until:
                return self._is_ours
        ours = self._identity()
        identity = read() if ours else None
        if ours and identity is None:
            if self._claims:
                mark(ours)
            identity = read() if self._claims else ours
        with self._turn:
            self._is_ours, self._until = ours == identity, time.monotonic() + _HOLDS_SECONDS
            if not self._is_ours:
                log.error("objects.foreign", then="nothing is written there: pcds doctor says more")
            return self._is_ours


class Deadlines:
    """The calls of one process to one store; each raises `ConnectionError` where the store is away. Thread-safe."""

    def __init__(self, seconds: float) -> None:
        """`seconds` is the longest time of a call that carries nothing."""
        self._seconds = seconds
        self._turns = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._turn = threading.Lock()
        self._alone_until = self._last_ended = 0.0

    def call(self, work: Callable[[], Awaitable[T]], *, carries_bytes: int = 0) -> T:
        """Return the result of a call, from any thread but an event loop's. Raises `ConnectionError` and its errors."""
        with self._watched():
            self._wait_for_turn()
            try:
                seconds = self._seconds + carries_bytes / _BYTES_PER_SECOND
                return asyncio.run_coroutine_threadsafe(_in_time(work, seconds), _loop()).result()
            finally:
                self._last_ended = time.monotonic()
                self._turns.release()

    def _wait_for_turn(self) -> None:
        """Wait while calls of others end; where none does the store may hang, and who waits would keep a thread."""
        waiting_since = time.monotonic()
        while not self._turns.acquire(timeout=_TURN_SECONDS):
            if self._last_ended < waiting_since:
                raise ConnectionError("The object store has answered none of the calls under way.")
            waiting_since = time.monotonic()

    async def send(self, work: Callable[[AsyncIterator[bytes]], Awaitable[T]], chunks: AsyncIterator[bytes]) -> T:
        """Return the result of a call that takes chunks as they arrive: only the store's own time is counted.

        Raises `ConnectionError`, and the errors of `chunks`.
        """
        holding_since: float | None = time.monotonic()

        async def handed() -> AsyncIterator[bytes]:
            nonlocal holding_since
            holding_since = None
            async for chunk in chunks:
                holding_since = time.monotonic()
                yield chunk
                holding_since = None
            holding_since = time.monotonic()

        async def taken() -> T:
            return await work(handed())

        with self._watched():
            task = asyncio.ensure_future(taken())
            try:
                while not task.done():
                    await asyncio.wait({task}, timeout=min(1.0, self._seconds / 4))
                    if holding_since is not None and time.monotonic() - holding_since > self._seconds:
                        break
                if not task.done():
                    raise TimeoutError
                return task.result()
            finally:
                task.cancel()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Refuse while the store is left alone; leave it alone where the block finds it away after a long time."""
        with self._turn:
            begun = time.monotonic()
            if begun < self._alone_until:
                raise ConnectionError("The object store has not answered; it is tried again in a few seconds.")
            if self._alone_until:  # one caller tries, the others come again
                self._alone_until = begun + AGAIN_SECONDS
        try:
            yield
        except TimeoutError:
            self._leave_alone(begun, "deadline")
            raise ConnectionError("The object store has not answered in time.") from None
        except BaseError as error:
            self._leave_alone(begun, type(error).__name__)
            raise ConnectionError(f"The object store did not do it ({type(error).__name__}).") from error
        except FileNotFoundError:  # an answer
            self._alone_until = 0.0
            raise
        else:
            self._alone_until = 0.0

    def _leave_alone(self, begun: float, fault: str) -> None:
        now = time.monotonic()
        log.warning("objects.away", fault=fault, seconds=round(now - begun, 1))
        if now - begun >= min(_SLOW_SECONDS, self._seconds):
            self._alone_until = now + AGAIN_SECONDS


async def _in_time(work: Callable[[], Awaitable[T]], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await work()


def _loop() -> asyncio.AbstractEventLoop:
    """Return this process's event loop for calls, made at the first one."""
    with _making:
        if (loop := _loops.get(os.getpid())) is None:
            _loops.clear()
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="object-store", daemon=True).start()
        return loop


NOBODY: Final = UUID(int=0)
IDENTITY: Final = f"{NOBODY}/deployment"
"""The object that says whose store it is."""
_STAGED: Final = "*/files/*#*"
_PART_BYTES: Final = 5 * 2**20  # the least that S3 takes as a part of an upload
_READ_BYTES: Final = 64 * 2**10
_LONGEST_PART: Final = timedelta(minutes=5)
"""How long the transfer of one part may take that goes on; a store that falls silent has its deadline."""
_KEY: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/[A-Za-z0-9_][A-Za-z0-9_.=-]*)+")


AWAY: Final = Message("The store of files does not answer now; send the request again in a few seconds.")


class NoSuchObject(LookupError):  # noqa: N818  (an answer, not a fault)
    """No object is stored under the key."""

    code = "no_such_object"


@dataclass(frozen=True, slots=True)
class Objects:
    """A store of bytes; `folder` is its directory where it is on this machine."""

    _store: ObjectStore
    _calls: Deadlines
    folder: Path | None = None
    _ownership: Ownership | None = None

    @classmethod
    def from_settings(cls, settings: Settings, database: Database | None = None, *, claims: bool = True) -> Self:
        """Return the store of these settings; makes a missing folder, for the service's account alone.

        With a database it is written while it is that deployment's alone; with `claims` one that is nobody's becomes
        that deployment's.
        """
        calls = Deadlines(settings.objects_seconds)
        mine = None if database is None else partial(own_identity, database.app_url)
        owned = None if mine is None else Ownership(mine, claims=claims)
        if settings.objects_url is not None:
            return cls(remote(settings.objects_url, settings), calls, None, owned)
        folder = settings.data_dir / "objects"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(prefix=folder), calls, folder, owned)

    def is_foreign(self) -> bool:
        """Return whether the store carries another deployment's identity; one that carries none gets this one's."""
        return self._ownership is not None and not self._ownership.holds(self._identity, self.take_over)

    def take_over(self, identity: bytes) -> None:
        """Have the store carry this deployment's identity, whoever's it was."""
        with _in_place():
            self._calls.call(lambda: obstore.put_async(self._store, IDENTITY, identity))

    def _identity(self) -> bytes | None:
        try:
            return self.get(IDENTITY)
        except NoSuchObject:
            return None

    def _to_write(self, key: str) -> str:
        """Return the key, checked, where the store may be written."""
        place = _checked(key)
        if self.is_foreign():
            raise ConnectionError("The object store is another deployment's; nothing is written there.")
        return place

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        """Store bytes under a key in one step, replacing the object that is there.

        They survive a power cut when this returns, unless `durable` is false, for bytes that can be made again.
        """
        place = self._to_write(key)
        with _in_place():
            self._calls.call(lambda: obstore.put_async(self._store, place, data), carries_bytes=len(data))
        if durable:
            self._flush(key)

    def put_file(self, key: str, path: Path) -> None:
        """Store a file of this machine under a key, with a few MiB of it in memory at a time; durable like `put`."""
        put = partial(obstore.put_async, use_multipart=True, chunk_size=_PART_BYTES, max_concurrency=1)
        place = self._to_write(key)
        with _in_place():
            self._calls.call(lambda: put(self._store, place, path), carries_bytes=path.stat().st_size)
        self._flush(key)

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        """Store bytes as they arrive, with a few MiB of them in memory at a time; durable like `put` when this returns.

        The object is stored whole or, where `chunks` raises, not at all; errors of `chunks` are raised here.
        """
        put = partial(obstore.put_async, use_multipart=True, chunk_size=_PART_BYTES, max_concurrency=1)
        place = await asyncio.to_thread(self._to_write, key)
        with _in_place():
            await self._calls.send(lambda handed: put(self._store, place, handed), chunks)
        await asyncio.to_thread(self._flush, key)

    def _flush(self, key: str) -> None:
        """Flush what was stored to the disk of this machine, in the time of a call: such a disk may be a network's."""
        if self.folder is not None:
            flush = partial(_flush, self.folder / key, self.folder)
            self._calls.call(lambda: asyncio.to_thread(flush))

    def get(self, key: str) -> bytes:
        """Return the bytes under a key. Raises `NoSuchObject`."""
        with _finding(key) as place:
            answer = self._calls.call(lambda: obstore.get_async(self._store, place))
            return bytes(self._calls.call(answer.bytes_async, carries_bytes=answer.meta["size"]))

    def open(self, key: str) -> io.BufferedReader:
        """Open the object as a file to seek and read in, without loading all of it. Raises `NoSuchObject`."""
        with _finding(key) as place:
            reader = self._calls.call(lambda: obstore.open_reader_async(self._store, place, buffer_size=_READ_BYTES))
        return io.BufferedReader(_Reader(reader, self._calls), _READ_BYTES)

    def file(self, key: str) -> BinaryIO:
        """Open the object as a file of the system, for another process: the stored file on this machine, else a copy.

        Raises `NoSuchObject`.
        """
        if self.folder is not None:
            with _finding(key) as place:
                path = self.folder / place
                return self._calls.call(lambda: asyncio.to_thread(path.open, "rb"))
        with self.open(key) as stored, contextlib.ExitStack() as on_fault:
            copy = on_fault.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(stored, copy)
            copy.seek(0)
            on_fault.pop_all()  # the caller closes it
        return copy

    def delete(self, key: str) -> None:
        """Remove an object; does nothing where there is none."""
        place = self._to_write(key)
        with contextlib.suppress(FileNotFoundError):
            self._calls.call(lambda: obstore.delete_async(self._store, place))

    def remove(self, *keys: str) -> None:
        """Remove objects that no row names any more; where the store is away, housekeeping removes them later."""
        for key in keys:
            try:
                self.delete(key)
            except ConnectionError:
                log.warning("objects.not_removed", key=key)

    def stored(self, company_id: UUID, folder: str = "") -> Iterator[tuple[str, datetime]]:
        """Yield the keys of a company, or of one of its folders, in no order, each with the store's time of writing."""
        prefix = "/".join(part for part in (str(company_id), folder.strip("/")) if part)
        batches = obstore.list(self._store, prefix=prefix)

        async def following() -> Sequence["obstore.ObjectMeta"]:
            async for batch in batches:
                return batch
            return ()

        def next_batch() -> Sequence["obstore.ObjectMeta"]:
            with _in_place():
                return self._calls.call(following)

        while batch := next_batch():
            yield from ((entry["path"], entry["last_modified"]) for entry in batch)

    def now(self) -> datetime:
        """Return the store's own time, by which its objects' times are compared; not the service's clock."""
        self.put(f"{NOBODY}/now", b"")
        return next(at for _, at in self.stored(NOBODY))

    def drop_unfinished(self, age: timedelta) -> int:
        """Remove the unfinished uploads in the folder that were cut off at least `age` ago; return how many.

        An S3-compatible store does that by its own lifecycle rule for incomplete uploads (docs/files.md).
        """
        if self.folder is None or self.is_foreign():
            return 0
        oldest, removed = (self.now() - age).timestamp(), 0
        for path in self.folder.glob(_STAGED):
            with contextlib.suppress(FileNotFoundError):  # an upload that ended just now
                if path.stat().st_mtime < oldest:
                    path.unlink()
                    removed += 1
        return removed


class _Reader(io.RawIOBase):
    """Wraps the store's reader in the form that Python's buffered reader takes."""

    def __init__(self, reader: "obstore.AsyncReadableFile", calls: Deadlines) -> None:
        self._reader, self._calls = reader, calls

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._calls.call(lambda: self._reader.seek(offset, whence))

    def tell(self) -> int:
        return self._calls.call(self._reader.tell)

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        data = bytes(self._calls.call(lambda: self._reader.read(len(buffer))))
        buffer[: len(data)] = data
        return len(data)


def remote(url: str, settings: Settings) -> ObjectStore:
    """Return the store behind a URL; its own tries end about when a call's deadline does."""
    if urlsplit(url).scheme in ("memory", "file"):
        return from_url(url)
    once, deadline = timedelta(seconds=settings.objects_seconds / 2), timedelta(seconds=settings.objects_seconds)
    return from_url(
        url,
        client_options={
            "allow_http": settings.objects_by_http,
            "connect_timeout": once,
            "read_timeout": deadline,
            "timeout": deadline + _LONGEST_PART,
        },
        retry_config={"max_retries": 3, "retry_timeout": deadline},
    )


def is_key(text: str) -> bool:
    """Return whether the text is an object's key: a company's id and plain names."""
    return _KEY.fullmatch(text) is not None


@contextmanager
def _in_place() -> Iterator[None]:
    """Have a store whose bucket is missing count as away, where no object is asked for."""
    try:
        yield
    except FileNotFoundError as error:
        raise ConnectionError("The object store has no place for files: its bucket is missing.") from error


@contextmanager
def _finding(key: str) -> Iterator[str]:
    """Yield a key, checked; an object that the block does not find raises `NoSuchObject`."""
    place = _checked(key)
    try:
        yield place
    except FileNotFoundError:
        raise NoSuchObject(f"There is no object {key}.") from None


def _checked(key: str) -> str:
    """Return the key where it begins with a company's id; any other key is a bug and raises ValueError."""
    if not is_key(key):
        raise ValueError(f"An object's key is <company_id>/<name>, with plain names; this is not one: {key!r}")
    return key


def _flush(path: Path, root: Path) -> None:
    """Flush a file and the directories above it to the disk, which the local store leaves to the system."""
    for place in (path, *path.parents):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        if place == root:
            return
