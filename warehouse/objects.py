"""Files as objects under keys that begin with their company: `<company_id>/...`.

A folder of the data directory by default, an S3-compatible store by setting. What belongs here: bytes in, bytes out,
durably. What does not: what is in them, and who may ask for them.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from uuid import UUID

import obstore
from obstore.store import LocalStore, ObjectStore, from_url

from warehouse.settings import Settings

_KEY: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/[A-Za-z0-9_][A-Za-z0-9_.=-]*)+")


class NoSuchObject(LookupError):  # noqa: N818  (an answer, not a fault)
    """Nothing is stored under the key."""

    code = "no_such_object"


@dataclass(frozen=True, slots=True)
class Objects:
    """A store of bytes; `folder` is where they lie when they lie on this machine."""

    _store: ObjectStore
    folder: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The store of these settings; the folder is made when it is missing, for the service's account alone."""
        if settings.objects_url is not None:
            return cls(from_url(settings.objects_url))
        folder = settings.data_dir / "objects"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(prefix=folder), folder)

    def put(self, key: str, data: bytes) -> None:
        """Store bytes under a key, replacing what is there; they survive a power cut when this returns."""
        obstore.put(self._store, _checked(key), data)
        if self.folder is not None:
            _flush(self.folder / key, self.folder)

    def get(self, key: str) -> bytes:
        """The bytes under a key. Raises `NoSuchObject`."""
        try:
            return bytes(obstore.get(self._store, _checked(key)).bytes())
        except FileNotFoundError:
            raise NoSuchObject(f"There is no object {key}.") from None

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens when there is none."""
        with contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, _checked(key))

    def keys(self, company_id: UUID, folder: str = "") -> Iterator[str]:
        """The keys of a company, or of one of its folders, in no order."""
        prefix = "/".join(part for part in (str(company_id), folder.strip("/")) if part)
        for batch in obstore.list(self._store, prefix=prefix):
            yield from (entry["path"] for entry in batch)


def _checked(key: str) -> str:
    """The key when it is a company's; a key made of anything else would be a fault of ours."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"An object's key is <company_id>/<name>, with plain names; this is not one: {key!r}")
    return key


def _flush(path: Path, root: Path) -> None:
    """Bring a file and the directories that lead to it to the disk: the local store leaves that to the system."""
    for place in (path, *path.parents):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        if place == root:
            return
