"""Makes a cluster, and says which major version of Postgres made one.

What belongs here: the files of a cluster. What does not: starting a server on it (`warehouse.embedded.server`).
"""

import tempfile
from importlib.metadata import version
from pathlib import Path

from warehouse.database import OWNER
from warehouse.embedded import places
from warehouse.embedded.account import Account


class ServerError(Exception):
    """The embedded server could not be made, started or stopped; `str()` says what failed and names its log."""

    code = "embedded_postgres_failed"


def own_major() -> int:
    """Return the major version of the Postgres that this release brings."""
    return int(version("embedded-postgres").partition(".")[0])


def major_of(cluster: Path) -> int:
    """Return the major version that made the cluster."""
    return int((cluster / "PG_VERSION").read_text(encoding="ascii").strip())


def make(account: Account, data_dir: Path, secret: str, *, durable: bool) -> Path:
    """Make a cluster beside its later place, whose owner signs in with the secret; return its directory."""
    cluster = places.new_cluster(account, data_dir)
    with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=cluster.parent) as password:
        password.write(secret)
        password.flush()
        account.own(Path(password.name))
        made = account.run(
            [
                places.binaries(account) / "initdb",
                "-D",
                cluster,
                "-U",
                OWNER,
                f"--pwfile={password.name}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                *([] if durable else ["--no-sync"]),
            ]
        )
    if made.returncode != 0:
        raise ServerError(f"The embedded Postgres could not be made in {cluster}: {made.stderr.strip()}")
    return cluster


def sync(account: Account, cluster: Path) -> None:
    """Have all files of a stopped cluster written to the disk."""
    done = account.run([places.binaries(account) / "initdb", "--sync-only", "-D", cluster])
    if done.returncode != 0:
        raise ServerError(f"The files of {cluster} could not be written: {done.stderr.strip()}")
