"""Restores backups of releases up to 1.8: a dump of `pg_dump`, which is a program that the server executes.

It is restored only when an operator says that it can be trusted. This module can go when nobody has such a backup.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import orjson
from psycopg.conninfo import conninfo_to_dict

from warehouse.backup.folder import KEY, LIST, OBJECTS, BackupError
from warehouse.database import Database
from warehouse.embedded import places
from warehouse.embedded.account import Account
from warehouse.objects import is_key
from warehouse.sessions import Connection

FILE: Final = "database.dump"
_OLDEST_SERVER: Final = 170000
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VARIABLES: Final = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}
"""The parts of a URL by their environment variables: on a command line every account could read the password."""


def checksums(data: bytes, folder: Path) -> dict[str, str]:
    """Return each file's SHA-256 by its path.

    Raises `BackupError` where the list is invalid or names a foreign path.
    """
    found = orjson.loads(data)
    for place, digest in found.items():
        kind, _, key = place.partition("/")
        known = place in (FILE, KEY) or (kind == OBJECTS and is_key(key))
        if not (known and isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            raise BackupError(f"{folder} is no backup of ours: {LIST} names {place!r}. Nothing was changed.")
    return dict(found)


def load(owner: Connection, database: Database, folder: Path, binaries: Path | None) -> None:
    """Run the dump in one transaction. The connection is the owner's, a superuser or one with `BYPASSRLS`."""
    if owner.info.server_version < _OLDEST_SERVER:
        raise BackupError("A dump of release 1.8 or older comes back into version 17 or 18 of Postgres alone.")
    owner.execute("DROP SCHEMA dagster")  # the schema is empty here; the dump makes it with its tables
    owner.commit()
    given = conninfo_to_dict(database.owner_url)
    own = {variable: str(given[name]) for name, variable in _VARIABLES.items() if given.get(name) is not None}
    program = places.binaries(Account(os.geteuid(), os.getegid(), other=False), binaries) / "pg_restore"
    if not program.exists():
        raise BackupError(
            f"A dump of release 1.8 or older is read by pg_restore, which {program.parent} does not have."
        )
    done = subprocess.run(  # noqa: S603  (our own program, no shell)
        [program, "--single-transaction", f"--dbname={given['dbname']}", str(folder / FILE)],
        env=os.environ | own,
        check=False,
        text=True,
        umask=0o077,
        capture_output=True,
    )
    if done.returncode != 0:
        raise BackupError(f"pg_restore ended with: {' '.join(done.stderr.split())}")
