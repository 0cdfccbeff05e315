"""Stores files as objects under keys that begin with their company: `<company_id>/...`.

The store is a folder of the data directory by default, or an S3-compatible store by setting. What belongs here: writing
and reading bytes durably. What does not: their content, and who may read them.
"""

import asyncio
import contextlib
import io
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final, Self
from uuid import UUID

import obstore
from obstore.store import LocalStore, ObjectStore, from_url

from warehouse.settings import Settings

_NOBODY: Final = UUID(int=0)
_STAGED: Final = "*/files/*#*"
_PART_BYTES: Final = 5 * 2**20  # the least that S3 takes as a part of an upload
_READ_BYTES: Final = 64 * 2**10
_KEY: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/[A-Za-z0-9_][A-Za-z0-9_.=-]*)+")


class NoSuchObject(LookupError):  # noqa: N818  (an answer, not a fault)
    """No object is stored under the key."""

    code = "no_such_object"


@dataclass(frozen=True, slots=True)
class Objects:
    """A store of bytes; `folder` is its directory where it is on this machine."""

    _store: ObjectStore
    folder: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the store of these settings; makes a missing folder, for the service's account alone."""
        if settings.objects_url is not None:
            return cls.at(settings.objects_url)
        folder = settings.data_dir / "objects"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(prefix=folder), folder)

    @classmethod
    def at(cls, url: str) -> Self:
        """Return the store at a URL, for callers that know no other setting."""
        return cls(from_url(url))

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        """Store bytes under a key in one step, replacing the object that is there.

        They survive a power cut when this returns, unless `durable` is false, for bytes that can be made again.
        """
        obstore.put(self._store, _checked(key), data)
        if durable and self.folder is not None:
            _flush(self.folder / key, self.folder)

    def put_file(self, key: str, path: Path) -> None:
        """Store a file of this machine under a key, with a few MiB of it in memory at a time; durable like `put`."""
        obstore.put(self._store, _checked(key), path, use_multipart=True, chunk_size=_PART_BYTES, max_concurrency=1)
        if self.folder is not None:
            _flush(self.folder / key, self.folder)

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        """Store bytes as they arrive, with a few MiB of them in memory at a time; durable like `put` when this returns.

        The object is stored whole or, where `chunks` raises, not at all; errors of `chunks` are raised here.
        """
        await obstore.put_async(
            self._store, _checked(key), chunks, use_multipart=True, chunk_size=_PART_BYTES, max_concurrency=1
        )
        if self.folder is not None:
            await asyncio.to_thread(_flush, self.folder / key, self.folder)

    def get(self, key: str) -> bytes:
        """Return the bytes under a key. Raises `NoSuchObject`."""
        try:
            return bytes(obstore.get(self._store, _checked(key)).bytes())
        except FileNotFoundError:
            raise NoSuchObject(f"There is no object {key}.") from None

    def open(self, key: str) -> io.BufferedReader:
        """Open the object as a file to seek and read in, without loading all of it. Raises `NoSuchObject`."""
        try:
            return io.BufferedReader(_Reader(obstore.open_reader(self._store, _checked(key), buffer_size=_READ_BYTES)))
        except FileNotFoundError:
            raise NoSuchObject(f"There is no object {key}.") from None

    def file(self, key: str) -> BinaryIO:
        """Open the object as a file of the system, for another process: the stored file on this machine, else a copy.

        Raises `NoSuchObject`.
        """
        if self.folder is not None:
            try:
                return (self.folder / _checked(key)).open("rb")
            except FileNotFoundError:
                raise NoSuchObject(f"There is no object {key}.") from None
        copy = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
        with self.open(key) as stored:
            shutil.copyfileobj(stored, copy)
        copy.seek(0)
        return copy

    def delete(self, key: str) -> None:
        """Remove an object; does nothing where there is none."""
        with contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, _checked(key))

    def stored(self, company_id: UUID, folder: str = "") -> Iterator[tuple[str, datetime]]:
        """Yield the keys of a company, or of one of its folders, in no order, each with the store's time of writing."""
        prefix = "/".join(part for part in (str(company_id), folder.strip("/")) if part)
        for batch in obstore.list(self._store, prefix=prefix):
            yield from ((entry["path"], entry["last_modified"]) for entry in batch)

    def now(self) -> datetime:
        """Return the store's own time, by which its objects' times are compared; not the service's clock."""
        self.put(f"{_NOBODY}/now", b"")
        return next(at for _, at in self.stored(_NOBODY))

    def drop_unfinished(self, age: timedelta) -> int:
        """Remove the unfinished uploads in the folder that were cut off at least `age` ago; return how many.

        An S3-compatible store does that by its own lifecycle rule for incomplete uploads (docs/files.md).
        """
        if self.folder is None:
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

    def __init__(self, reader: "obstore.ReadableFile") -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._reader.seek(offset, whence)

    def tell(self) -> int:
        return self._reader.tell()

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        data = bytes(self._reader.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def is_key(text: str) -> bool:
    """Return whether the text is an object's key: a company's id and plain names."""
    return _KEY.fullmatch(text) is not None


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
