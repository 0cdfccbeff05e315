"""Reads stored files for answers, each compared with its recorded SHA-256: altered bytes are handed to nobody.

A difference is a fault of the service: it is logged, counted for the operator's alert, and answered as such. So is a
file that is missing, which is answered as one that is not there.
"""

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import IO, Final

import structlog

from api.http import metrics
from api.http.errors import Fault
from warehouse.operate.objects import NoSuchObject, Objects

_CHUNK_BYTES: Final = 2**16

log = structlog.get_logger(__name__)


def read(objects: Objects, key: str, sha256: str, *, may_be_gone: bool = False) -> bytes:
    """Return the bytes of a file. Raise `NoSuchObject`, and `Fault` where they are not those that were stored.

    `may_be_gone` of a file that makes room for others: that it is missing is no damage.
    """
    try:
        data = objects.get(key)
    except NoSuchObject:
        if not may_be_gone:
            metrics.note_damaged("missing")
            log.error("objects.missing", key=key)
        raise
    _compare(key, sha256, hashlib.sha256(data).hexdigest())
    return data


def chunks(file: IO[bytes], key: str, sha256: str) -> Iterator[bytes]:
    """Yield the bytes of an open file; raise `Fault` before the last of them where they are not those of then.

    The answer then ends before its Content-Length, so that no caller takes it for the file.
    """
    digest, last = hashlib.sha256(), b""
    while chunk := file.read(_CHUNK_BYTES):
        if last:
            yield last
        digest.update(chunk)
        last = chunk
    _compare(key, sha256, digest.hexdigest())
    yield last


class _Pipe:
    """Takes the bytes of an archive as they are made, to be handed on."""

    def __init__(self) -> None:
        self._made: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._made.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Hold nothing back."""

    close = flush

    def drain(self) -> bytes:
        """Return what was written since the last time."""
        made, self._made = b"".join(self._made), []
        return made


def archive(
    objects: Objects,
    documents: Sequence[tuple[str, bytes]],
    files: Sequence[tuple[str, str, str]],
    index: Callable[[list[str]], bytes],
    at: datetime,
) -> Iterator[bytes]:
    """Yield a ZIP of documents by path, of files (path, key, SHA-256) as `chunks` reads them, and last of `index.csv`.

    `index` makes it of the paths of files that are gone. A file with altered bytes ends the archive without its table
    of contents, so that no caller takes it for one. No file is held in memory or on disk.
    """
    pipe, missing = _Pipe(), list[str]()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as made:

        def entry(path: str) -> zipfile.ZipInfo:
            named = zipfile.ZipInfo(path, at.timetuple()[:6])
            named.compress_type = zipfile.ZIP_DEFLATED
            return named

        for path, data in documents:
            made.writestr(entry(path), data)
            yield pipe.drain()
        for path, key, sha256 in files:
            try:
                file = objects.open(key)
            except NoSuchObject:
                metrics.note_damaged("missing")
                log.error("objects.missing", key=key)
                missing.append(path)
                continue
            with file, made.open(entry(path), "w") as part:
                for chunk in chunks(file, key, sha256):
                    part.write(chunk)
                    yield pipe.drain()
        made.writestr(entry("index.csv"), index(missing))
    yield pipe.drain()


def _compare(key: str, recorded: str, actual: str) -> None:
    if recorded != actual:
        metrics.note_damaged("altered")
        log.error("objects.altered", key=key, recorded=recorded, found=actual)
        raise Fault
