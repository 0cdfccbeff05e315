"""The keys of a deployment: files of 32 random bytes that every program which needs them is given.

`connector.key` seals what only the service may read again (secrets of webhooks and second factors, questions to users)
and makes the links to suppliers; `audit.key` signs heads of audit chains. `pcds migrate` and `pcds serve` make a
missing one while the database knows none, and no other program does: a second one beside the first would open nothing
that the first has sealed (decisions §13, Operation). The database holds a probe of each, which tells a wrong one and
nothing else about it. What does not belong here: what is sealed or signed (`warehouse.sealing`,
`warehouse.audit.signing`).
"""

import hmac
import os
from typing import Final

import structlog
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused
from warehouse import whole_files
from warehouse.sessions import Connection
from warehouse.settings import Settings

CONNECTOR: Final = "connector.key"
AUDIT: Final = "audit.key"
NAMES: Final = (CONNECTOR, AUDIT)
_BYTES: Final = 32
_PROBE: Final = "SELECT probe FROM key_probes WHERE name = %s"
_KEEP: Final = "INSERT INTO key_probes (name, probe) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"

log = structlog.get_logger(__name__)


def read(settings: Settings, name: str = CONNECTOR) -> bytes:
    """Return a key of the deployment. Raise `Refused` where this program was not given it."""
    try:
        return (settings.data_dir / name).read_bytes()
    except FileNotFoundError:
        log.error("key.missing", key=name)
        raise Refused([_fault(name)], "internal_error") from None


def prepare(owner: Connection, settings: Settings) -> None:
    """Make the keys that are missing while the database knows none, and have it know those that are there.

    For `pcds migrate` and `pcds serve`. A key that is lost or another one stays as it is: the log and `pcds doctor`
    name it.
    """
    for name in NAMES:
        path, probe = settings.data_dir / name, _stored(owner, name)
        if probe is None:
            if not path.exists():
                settings.data_dir.mkdir(parents=True, exist_ok=True)
                whole_files.made_once(path, os.urandom(_BYTES))
                log.warning("key.made", key=name, file=str(path))
            owner.execute(_KEEP, (name, probe_of(path.read_bytes())))
        elif not path.exists():
            log.error("key.missing", key=name, file=str(path))
        elif _differs(owner, name, probe_of(path.read_bytes())):
            log.error("key.wrong", key=name, file=str(path))


def forget(owner: Connection) -> None:
    """Forget the keys of the deployment that a backup is of: those that are there when it starts again are its own."""
    owner.execute("DELETE FROM key_probes")


def state(conn: Connection, settings: Settings, name: str) -> str | None:
    """Return `missing` or `wrong`; None where this data directory's key is the deployment's."""
    path = settings.data_dir / name
    if not path.exists():
        return "missing"
    return "wrong" if _differs(conn, name, probe_of(path.read_bytes())) else None


def check(conn: Connection, probe: bytes, name: str = CONNECTOR) -> None:
    """Raise `Refused` where the key of the probe is not the one that the deployment's data were sealed with."""
    if _differs(conn, name, probe):
        log.error("key.wrong", key=name)
        raise Refused([_fault(name)], "internal_error")


def probe_of(key: bytes) -> bytes:
    """Return what tells the key from another one and reveals nothing of it."""
    return HKDF(SHA256(), _BYTES, None, b"pcds key probe").derive(key)


def _differs(conn: Connection, name: str, probe: bytes) -> bool:
    stored = _stored(conn, name)
    return stored is not None and not hmac.compare_digest(stored, probe)


def _stored(conn: Connection, name: str) -> bytes | None:
    row = conn.execute(_PROBE, (name,)).fetchone()
    return None if row is None else bytes(row[0])


def _fault(name: str) -> Issue:
    sentence = Message(
        "This program of the service lacks the deployment's {name}, or was given another one; nothing was changed. The "
        "operator gives each program the same file; `pcds doctor` names those without it.",
        name=name,
    )
    return Issue("internal_error", sentence)
