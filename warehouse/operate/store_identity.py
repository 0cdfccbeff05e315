"""Says whose files an object store has: it carries the identity of one deployment (decisions §13, Operation).

A deployment has an identity in its database, beside the probes of its keys, which a restore forgets alike: so a
restored database is another deployment. A store of another identity is read, never written or tidied, until it is taken
over. What belongs here: the two identities, and comparing them. What does not: the store's calls
(`warehouse.operate.objects`).
"""

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol
from uuid import uuid4

import psycopg
import structlog

from warehouse.operate.sessions import Connection

_NAME: Final = "objects"
_MINE: Final = "SELECT probe FROM key_probes WHERE name = %s"
_MAKE: Final = "INSERT INTO key_probes (name, probe) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"
_HOLDS_SECONDS: Final = 30.0
"""How long a comparison holds: after that a process notices that another deployment has taken the store over."""
_CONNECT_SECONDS: Final = 3

log = structlog.get_logger(__name__)


def prepare(owner: Connection) -> None:
    """Give the deployment an identity where it has none, for `pcds migrate` and `pcds serve`."""
    owner.execute(_MAKE, (_NAME, uuid4().bytes))


def mine(database_url: str) -> bytes | None:
    """Return the deployment's identity; None where it has none yet, so that it writes to any store."""
    with psycopg.connect(database_url, autocommit=True, connect_timeout=_CONNECT_SECONDS) as connection:
        row = connection.execute(_MINE, (_NAME,)).fetchone()
    return None if row is None else bytes(row[0])


class Takeable(Protocol):
    """A store that can be taken over."""

    def take_over(self, identity: bytes) -> None:
        """Have the store carry an identity."""


def take_over(objects: Takeable, database_url: str) -> None:
    """Have the store carry the identity of a deployment that has one."""
    identity = mine(database_url)
    assert identity is not None, "`prepare` has given it one"
    objects.take_over(identity)
    log.warning("objects.taken_over")


class Ownership:
    """Whether a store is this deployment's, compared anew every half minute. Thread-safe."""

    def __init__(self, identity: Callable[[], bytes | None], *, claims: bool = True) -> None:
        """`identity` returns the deployment's own; with `claims` a store that carries none gets it."""
        self._identity, self._claims, self._turn = identity, claims, threading.Lock()
        self._until, self._is_ours = 0.0, False

    def holds(self, read: Callable[[], bytes | None], mark: Callable[[bytes], None]) -> bool:
        """Return whether the store is ours: `read` returns its identity; `mark` gives ours to one that has none."""
        with self._turn:
            if time.monotonic() < self._until:
                return self._is_ours
        ours = self._identity()
        found = read() if ours else None
        if ours and found is None:
            if self._claims:
                mark(ours)
            found = read() if self._claims else ours
        with self._turn:
            self._is_ours, self._until = ours == found, time.monotonic() + _HOLDS_SECONDS
            if not self._is_ours:
                log.error("objects.foreign", then="nothing is written there: pcds doctor says more")
            return self._is_ours
