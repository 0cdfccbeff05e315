"""Looks at the object store by writing, reading and removing, and at the files that rows name.

What belongs here: the state of the store, and which files are missing or altered. What does not: what an operator is
told of it (`services.operate`), and the store's calls (`warehouse.operate.objects`).
"""

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple
from uuid import UUID, uuid4

from schemas.operate import State
from warehouse.operate.objects import NOBODY, NoSuchObject, Objects
from warehouse.operate.sessions import Connection, Pool

_PROBE_BYTES: Final = 4_096
_READ_BYTES: Final = 2**20
_NAMED: Final = """
SELECT company_id || '/files/' || id, sha256 FROM technical_files WHERE company_id = %(company)s
UNION SELECT company_id || '/files/' || id, sha256 FROM review_files WHERE company_id = %(company)s
UNION ALL SELECT upload_key, sha256 FROM imports WHERE company_id = %(company)s AND upload_removed_at IS NULL
UNION ALL SELECT table_key, NULL FROM imports
    WHERE company_id = %(company)s AND status NOT IN ('completed', 'failed')
UNION ALL SELECT object_key, sha256 FROM exports WHERE company_id = %(company)s AND status = 'completed'
"""
"""It names the company: a backup may be taken by a superuser, whom row-level security does not bind."""


class Findings(NamedTuple):
    """Keys of files that rows name: those that the store lacks, and those whose bytes are others than recorded."""

    missing: list[str]
    altered: list[str]


def state(objects: Objects) -> State | None:
    """Return what is wrong with the store; None where it takes, gives back and removes a file."""
    key, data = f"{NOBODY}/probe-{uuid4()}", uuid4().bytes * (_PROBE_BYTES // 16)
    if objects.folder is not None and not objects.folder.is_dir():  # writing would make it anew, elsewhere maybe
        return State.OBJECT_STORE
    try:
        if objects.is_foreign():
            return State.FOREIGN_STORE
        objects.put(key, data, durable=False)
        try:
            is_same = objects.get(key) == data
        finally:
            objects.delete(key)
    except (ConnectionError, NoSuchObject):
        return State.OBJECT_STORE
    return None if is_same else State.UNRELIABLE_STORE


def named_by(conn: Connection, company_id: UUID) -> dict[str, str | None]:
    """Return the key of each object that a row of the company names, with its SHA-256 where one is kept."""
    return dict(conn.execute(_NAMED, {"company": company_id}).fetchall())


def examine(pool: Pool, objects: Objects, companies: Iterable[UUID], *, verify: bool) -> Findings:
    """Return which files of these companies are missing, by the store's list; with `verify` also which are altered.

    A file that is removed meanwhile, with the row that named it, is not missing. Raises `ConnectionError`.
    """
    findings = Findings([], [])
    for company_id in companies:
        with pool.company(company_id) as conn:
            keys = named_by(conn, company_id)
        listed = {key for key, _ in objects.stored(company_id)}
        missing = keys.keys() - listed
        altered = {
            key
            for key, sha256 in keys.items()
            if verify and sha256 and key in listed and _differs(objects, key, sha256)
        }
        if missing or altered:
            with pool.company(company_id) as conn:
                still = named_by(conn, company_id).keys()
            findings.missing.extend(sorted(missing & still))
            findings.altered.extend(sorted(altered & still))
    return findings


def _differs(objects: Objects, key: str, sha256: str) -> bool:
    digest = hashlib.sha256()
    try:
        with objects.open(key) as file:
            while chunk := file.read(_READ_BYTES):
                digest.update(chunk)
    except NoSuchObject:
        return True
    return digest.hexdigest() != sha256
