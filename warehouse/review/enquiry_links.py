"""Makes the tokens of links to enquiries: each is computed from the deployment's key and the enquiry's id.

So a reminder can name the link again although the database has only its SHA-256 (decision 0052). A restore that ends
links stores another digest, which no token has.
"""

import base64
import hmac
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from warehouse import deployment_keys
from warehouse.settings import Settings

_PURPOSE: Final = b"pcds supplier enquiry"


class EnquiryLinks:
    """Makes addresses of enquiries' pages."""

    def __init__(self, settings: Settings) -> None:
        """Read the deployment's key. Raise `Refused` where this program was not given it."""
        key = deployment_keys.read(settings)
        self.probe = deployment_keys.probe_of(key)
        self._key = HKDF(SHA256(), 32, None, _PURPOSE).derive(key)
        self._base_url = settings.base_url

    def token_of(self, enquiry_id: UUID) -> str:
        """Return the token of an enquiry: 43 URL-safe characters."""
        made = hmac.digest(self._key, enquiry_id.bytes, "sha256")
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()

    def address_of(self, enquiry_id: UUID) -> str:
        """Return the address of an enquiry's page for its supplier."""
        return f"{self._base_url}/supplier-enquiries/{self.token_of(enquiry_id)}"
