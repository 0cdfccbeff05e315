"""Reads stored files for answers, each compared with its recorded SHA-256: altered bytes are handed to nobody.

A difference is a fault of the service: it is logged, counted for the operator's alert, and answered as such. So is a
file that is missing, which is answered as one that is not there.
"""

import hashlib
from collections.abc import Iterator
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


def _compare(key: str, recorded: str, actual: str) -> None:
    if recorded != actual:
        metrics.note_damaged("altered")
        log.error("objects.altered", key=key, recorded=recorded, found=actual)
        raise Fault
