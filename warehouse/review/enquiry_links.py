"""Makes the tokens of links to enquiries: each is computed from the deployment's key and the enquiry's id.

So a reminder can name the link again although the database has only its SHA-256 (decision 0052). A restore that ends
links stores another digest, which no token has. While the key is rolled, links of the old one can be named too; they
open the page until their last day, whatever becomes of the key.
"""

import base64
import hmac
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from warehouse import deployment_keys
from warehouse.access.keys import digest
from warehouse.review import enquiries
from warehouse.sessions import Connection
from warehouse.settings import Settings

_PURPOSE: Final = b"pcds supplier enquiry"


class EnquiryLinks:
    """Makes addresses of enquiries' pages."""

    def __init__(self, settings: Settings) -> None:
        """Read the deployment's key. Raise `Refused` where this program was not given it."""
        self._keys = {
            deployment_keys.probe_of(key): HKDF(SHA256(), 32, None, _PURPOSE).derive(key)
            for key in deployment_keys.every(settings)
        }
        self._base_url = settings.base_url

    def new_token(self, conn: Connection, enquiry_id: UUID) -> str:
        """Return the token of a new enquiry: 43 URL-safe characters. Raise `Refused` without the deployment's key."""
        return _token(self._keys[deployment_keys.in_force(conn, tuple(self._keys))], enquiry_id)

    def address_of(self, conn: Connection, enquiry_id: UUID) -> str:
        """Return the address of an enquiry's page for its supplier. Raise `Refused` where no key here made its link."""
        stored = enquiries.token_hash(conn, enquiry_id)
        for key in self._keys.values():
            if hmac.compare_digest(digest(token := _token(key, enquiry_id)), stored):
                return f"{self._base_url}/supplier-enquiries/{token}"
        raise deployment_keys.unopened(conn, tuple(self._keys))

    def check(self, conn: Connection) -> None:
        """Raise `Refused` where this program was not given the deployment's key."""
        deployment_keys.in_force(conn, tuple(self._keys))


def _token(key: bytes, enquiry_id: UUID) -> str:
    return base64.urlsafe_b64encode(hmac.digest(key, enquiry_id.bytes, "sha256")).rstrip(b"=").decode()
