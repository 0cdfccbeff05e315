"""The keys of a deployment: files of 32 random bytes that every program which needs them is given.

`connector.key` seals what only the service may read again (secrets of webhooks and second factors, questions to users)
and makes the links to suppliers; `audit.key` signs heads of audit chains. `pcds migrate` and `pcds serve` make a
missing one while the database knows none, and no other program does: a second one beside the first would open nothing
that the first has sealed (decisions §13, Operation). The database holds a probe of each, which tells a wrong one and
nothing else about it.

A key is rolled with the old one beside it (`connector.key.old`): a program that has both opens what either has sealed,
and seals with the one that the database knows, so that programs which were not given the new one yet can open it.
"""

import hmac
import os
import secrets
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple
from uuid import UUID

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from psycopg import sql

from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import Refused
from warehouse.operate import whole_files
from warehouse.operate.sessions import Connection, become
from warehouse.operate.settings import Settings

CONNECTOR: Final = "connector.key"
AUDIT: Final = "audit.key"
NAMES: Final = (CONNECTOR, AUDIT)
_OLD: Final = ".old"
_BYTES: Final = 32
_PROBE: Final = "SELECT probe FROM key_probes WHERE name = %s"
_KEEP: Final = "INSERT INTO key_probes (name, probe) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"
_REPLACE: Final = (
    "INSERT INTO key_probes (name, probe) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET probe = EXCLUDED.probe"
)
_LOCK: Final = "SELECT pg_advisory_xact_lock{}(hashtextextended('pcds/keys', 0))"
"""Who seals holds it shared, who seals anew alone: nothing is sealed with the old key behind the other's back."""

State = Literal["missing", "wrong", "rolling"]

_SAID: Final[Mapping[State, str]] = {
    "missing": "key.missing",
    "wrong": "key.wrong",
    "rolling": "key.not_in_force",
}

log = structlog.get_logger(__name__)


def read(settings: Settings, name: str = CONNECTOR) -> bytes:
    """Return a key of the deployment. Raise `Refused` where this program was not given it."""
    return every(settings, name)[0]


def every(settings: Settings, name: str = CONNECTOR) -> tuple[bytes, ...]:
    """Return a key and, while it is rolled, the one before it. Raise `Refused` where this program was not given it."""
    key, old = _file(settings.data_dir / name), _file(_old(settings, name))
    if key is None:
        log.error("key.missing", key=name)
        raise Refused([_fault(name)], "internal_error")
    return (key,) if old is None else (key, old)


def prepare(owner: Connection, settings: Settings) -> None:
    """Make the keys that are missing while the database knows none, and have it know those that are there.

    For `pcds migrate` and `pcds serve`. A key that is lost or another one stays as it is: the log and `pcds doctor`
    name it.
    """
    for name in NAMES:
        path = settings.data_dir / name
        if _stored(owner, name) is None:
            if not path.exists():
                settings.data_dir.mkdir(parents=True, exist_ok=True)
                whole_files.made_once(path, os.urandom(_BYTES))
                log.warning("key.made", key=name, file=str(path))
            if (key := _file(path)) is not None:
                owner.execute(_KEEP, (name, probe_of(key)))
    note(owner, settings)


def note(conn: Connection, settings: Settings) -> None:
    """Log which keys this program lacks, or has another file of: once, at the start of each program."""
    for name in NAMES:
        if state_of_key := state(conn, settings, name):
            log.error(_SAID[state_of_key], key=name, file=str(settings.data_dir / name))


def forget(owner: Connection) -> None:
    """Forget the keys of the deployment that a backup is of: those that are there when it starts again are its own."""
    owner.execute("DELETE FROM key_probes")


def state(conn: Connection, settings: Settings, name: str) -> State | None:
    """Return `missing`, `wrong`, or `rolling` (a new key that nothing is sealed with yet); None where all is well."""
    key, old, stored = _file(settings.data_dir / name), _file(_old(settings, name)), _stored(conn, name)
    if key is None:
        return "wrong" if (settings.data_dir / name).exists() else "missing"
    if stored is None or _is_same(stored, key):
        return None
    return "rolling" if old is not None and _is_same(stored, old) else "wrong"


def is_left(conn: Connection, settings: Settings, name: str) -> bool:
    """Return whether the old key is still beside the one that the database knows."""
    stored, key = _stored(conn, name), _file(settings.data_dir / name)
    return stored is not None and key is not None and _is_same(stored, key) and _old(settings, name).exists()


def make_new(settings: Settings, name: str) -> Path:
    """Make a new key and keep the one before as `.old`; return its path. Raise `FileExistsError` where there is one.

    The caller has looked that the key is the deployment's.
    """
    path, old = settings.data_dir / name, _old(settings, name)
    key = path.read_bytes()
    if old.exists():
        raise FileExistsError(old)
    whole_files.replace(old, key, whole_files.PRIVATE)
    whole_files.replace(path, os.urandom(_BYTES), whole_files.PRIVATE)
    return old


def put_in_force(owner: Connection, settings: Settings, name: str) -> None:
    """Have the database know the key that lies here, which is made where none does; log it."""
    path = settings.data_dir / name
    if _file(path) is None:
        whole_files.replace(path, os.urandom(_BYTES), whole_files.PRIVATE)
    owner.execute(_REPLACE, (name, probe_of(path.read_bytes())))
    log.warning("key.put_in_force", key=name, file=str(path))


def in_force(conn: Connection, probes: Collection[bytes], name: str = CONNECTOR) -> bytes:
    """Return which of these keys' probes the database knows, until the transaction ends; the first while it knows none.

    Raise `Refused` where it knows another: this program was not given the deployment's key.
    """
    conn.execute(_LOCK.format("_shared"))
    stored = _stored(conn, name)
    if stored is None:
        return next(iter(probes))
    for probe in probes:
        if hmac.compare_digest(stored, probe):
            return probe
    log.error("key.wrong", key=name)
    raise Refused([_fault(name)], "internal_error")


def lock_alone(owner: Connection) -> None:
    """Wait until nobody seals, and keep all others from it until the transaction ends."""
    owner.execute(_LOCK.format(""))


def unopened(conn: Connection, probes: Collection[bytes]) -> Refused:
    """Return why what was sealed here cannot be opened: this program lacks the key, or the deployment has lost it."""
    try:
        in_force(conn, probes)
    except Refused as refused:
        return refused
    sentence = Message(
        "This was sealed with a key that the deployment has no more, so that nobody can open it; nothing was changed. "
        "It has to be made anew: a second factor after an administrator or the operator has switched it off, the "
        "secret of a webhook by rolling it, a link to a supplier by asking again."
    )
    return Refused([Issue("internal_error", sentence)], "internal_error")


def probe_of(key: bytes) -> bytes:
    """Return what tells the key from another one and reveals nothing of it."""
    return HKDF(SHA256(), _BYTES, None, b"pcds key probe").derive(key)


def _old(settings: Settings, name: str) -> Path:
    return settings.data_dir / f"{name}{_OLD}"


def _file(path: Path) -> bytes | None:
    """Return a key's bytes; None where there is no file of a key's length that this program may read."""
    try:
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _BYTES else None


def _is_same(stored: bytes, key: bytes) -> bool:
    return hmac.compare_digest(stored, probe_of(key))


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


SECOND_FACTORS: Final = b"pcds second factor"
WEBHOOKS: Final = b"pcds webhooks"
_NONCE_BYTES: Final = 12


class Seal:
    """Seals bytes for one purpose (AES-GCM), each bound to what it is for."""

    def __init__(self, keys: tuple[bytes, ...], purpose: bytes) -> None:
        """`keys` are the deployment's, the newest first."""
        self._ciphers = {probe_of(key): AESGCM(HKDF(SHA256(), 32, None, purpose).derive(key)) for key in keys}

    @property
    def probes(self) -> tuple[bytes, ...]:
        """What tells the keys from others, the newest first."""
        return tuple(self._ciphers)

    def seal(self, data: bytes, bound_to: bytes) -> bytes:
        """Return the data, sealed for minutes: a program that is given its keys a moment later opens it."""
        return self._sealed(self.probes[0], data, bound_to)

    def seal_to_keep(self, conn: Connection, data: bytes, bound_to: bytes) -> bytes:
        """Return the data, sealed to be stored in the transaction. Raise `Refused` without the deployment's key."""
        return self._sealed(in_force(conn, self.probes), data, bound_to)

    def check(self, conn: Connection) -> None:
        """Raise `Refused` where this program was not given the deployment's key."""
        in_force(conn, self.probes)

    def unseal(self, sealed: bytes, bound_to: bytes) -> bytes | None:
        """Return the data; None for what was not sealed with one of the keys for this."""
        for cipher in self._ciphers.values():
            try:
                return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound_to)
            except (InvalidTag, ValueError):
                continue
        return None

    def _sealed(self, probe: bytes, data: bytes, bound_to: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._ciphers[probe].encrypt(nonce, data, bound_to)


SEALED: Final = (
    ("users", "totp_secret", SECOND_FACTORS),
    ("webhooks", "secret", WEBHOOKS),
    ("webhooks", "old_secret", WEBHOOKS),
)
"""Each table and column with sealed bytes, and their purpose; all are bound to the row's id."""
_READ: Final = sql.SQL("SELECT id, {0} FROM {1} WHERE {0} IS NOT NULL AND {0} <> ''::bytea FOR UPDATE")
_WRITE: Final = sql.SQL("UPDATE {1} SET {0} = %s WHERE id = %s")


class Resealed(NamedTuple):
    """How many secrets were sealed anew, and how many no key that lies here opens: they were lost before."""

    sealed: int
    lost: int


def reseal(owner: Connection, settings: Settings, companies: Iterable[UUID]) -> Resealed:
    """Seal all companies' secrets with the new `connector.key` and put it in force, in the owner's transaction.

    Raise `Refused` where neither the key nor the old one is the deployment's.
    """
    lock_alone(owner)
    keys = every(settings)
    in_force(owner, tuple(map(probe_of, keys)))
    put_in_force(owner, settings, CONNECTOR)
    done, lost = 0, 0
    for company_id in companies:
        become(owner, company_id)
        for table, column, purpose in SEALED:
            identifiers, seal = (sql.Identifier(column), sql.Identifier(table)), Seal(keys, purpose)
            for row_id, sealed in owner.execute(_READ.format(*identifiers)).fetchall():
                opened = seal.unseal(bytes(sealed), row_id.bytes)
                if opened is None:
                    lost += 1
                    continue
                owner.execute(_WRITE.format(*identifiers), (seal.seal_to_keep(owner, opened, row_id.bytes), row_id))
                done += 1
    return Resealed(done, lost)
