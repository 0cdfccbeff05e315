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

from warehouse.deployment_keys import probe_of

_NONCE_BYTES: Final = 12


class Seal:
    """Seals bytes for one purpose (AES-GCM), each bound to what it is for."""

    def __init__(self, key: bytes, purpose: bytes) -> None:
        """`key` is the deployment's (`warehouse.deployment_keys`)."""
        self.probe = probe_of(key)
        self._cipher = AESGCM(HKDF(SHA256(), 32, None, purpose).derive(key))

    def seal(self, data: bytes, bound_to: bytes) -> bytes:
        """Return the sealed data."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, bound_to)

    def unseal(self, sealed: bytes, bound_to: bytes) -> bytes | None:
        """Return the data; None for what was not sealed with this key for this."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound_to)
        except (InvalidTag, ValueError):
            return None
