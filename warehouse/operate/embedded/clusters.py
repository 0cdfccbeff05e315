"""Makes a cluster, and says which major version of Postgres made one.

What belongs here: the files of a cluster. What does not: starting a server on it (`warehouse.operate.embedded.server`).
"""

import tempfile
from pathlib import Path

from warehouse.operate.database import OWNER
from warehouse.operate.embedded import account as account_embedded
from warehouse.operate.embedded.account import Account


class ServerError(Exception):
    """The embedded server could not be made, started or stopped; `str()` says what failed and names its log."""

    code = "embedded_postgres_failed"


def major_of(cluster: Path) -> int:
    """Return the major version that made the cluster."""
    return int((cluster / "PG_VERSION").read_text(encoding="ascii").strip())


def make(account: Account, data_dir: Path, secret: str, binaries: Path, *, durable: bool) -> Path:
    """Make a cluster beside its later place, whose owner signs in with the secret; return its directory."""
    cluster = account_embedded.new_cluster(account, data_dir)
    with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=cluster.parent) as password:
        password.write(secret)
        password.flush()
        account.own(Path(password.name))
        made = account.run(
            [
                binaries / "initdb",
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


def refuse_other_major(cluster: Path) -> None:
    """Raise `ServerError` where another major version made the cluster, which this release's programs cannot read."""
    if (made_by := major_of(cluster)) != account_embedded.MAJOR:
        raise ServerError(
            f"The database in {cluster} was made by Postgres {made_by}; this release brings Postgres "
            f"{account_embedded.MAJOR}, "
            "which cannot read it. Start the release that last ran here, take `pcds backup`, and restore that into a "
            "new data directory. Nothing was changed."
        )
