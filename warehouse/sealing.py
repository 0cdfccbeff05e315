"""Seals secrets that the service itself must read again, with keys derived from the deployment's key.

A copy of the database alone opens none of them. Each purpose has a key of its own, and each secret is bound to what it
belongs to, so that none can be put in the place of another.
"""

import secrets
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from warehouse import deployment_keys
from warehouse.sessions import Connection

SECOND_FACTORS: Final = b"pcds second factor"
WEBHOOKS: Final = b"pcds webhooks"
_NONCE_BYTES: Final = 12


class Seal:
    """Seals bytes for one purpose (AES-GCM), each bound to what it is for."""

    def __init__(self, keys: tuple[bytes, ...], purpose: bytes) -> None:
        """`keys` are the deployment's, the newest first (`warehouse.deployment_keys`)."""
        self._ciphers = {
            deployment_keys.probe_of(key): AESGCM(HKDF(SHA256(), 32, None, purpose).derive(key)) for key in keys
        }

    @property
    def probes(self) -> tuple[bytes, ...]:
        """What tells the keys from others, the newest first."""
        return tuple(self._ciphers)

    def seal(self, data: bytes, bound_to: bytes) -> bytes:
        """Return the data, sealed for minutes: a program that is given its keys a moment later opens it."""
        return self._sealed(self.probes[0], data, bound_to)

    def seal_to_keep(self, conn: Connection, data: bytes, bound_to: bytes) -> bytes:
        """Return the data, sealed to be stored in the transaction. Raise `Refused` without the deployment's key."""
        return self._sealed(deployment_keys.in_force(conn, self.probes), data, bound_to)

    def check(self, conn: Connection) -> None:
        """Raise `Refused` where this program was not given the deployment's key."""
        deployment_keys.in_force(conn, self.probes)

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
