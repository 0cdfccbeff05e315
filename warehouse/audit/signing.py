"""Signs statements about audit chains with the deployment's key: Ed25519, the file `audit.key` of each program.

Who has the public key can tell that a statement was made here and not altered, without any secret. Keep the public key
outside: whoever owns the machine could replace the file.
"""

import base64
from collections.abc import Mapping

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from warehouse import deployment_keys
from warehouse.settings import Settings


def sign(settings: Settings, statement: Mapping[str, object]) -> dict[str, object]:
    """Return the statement with its signature and the public key, both in base64."""
    key = Ed25519PrivateKey.from_private_bytes(deployment_keys.read(settings, deployment_keys.AUDIT))
    return {
        "statement": dict(statement),
        "signature": base64.b64encode(key.sign(_bytes(statement))).decode(),
        "public_key": public_key(settings),
    }


def public_key(settings: Settings) -> str:
    """Return the key by which others check signatures of this deployment, in base64."""
    key = Ed25519PrivateKey.from_private_bytes(deployment_keys.read(settings, deployment_keys.AUDIT))
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def is_signed(signed: Mapping[str, object], public: str) -> bool:
    """Return whether the statement was signed with the private key of this public one."""
    match signed:
        case {"statement": dict(statement), "signature": str(signature)}:
            try:
                key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
                key.verify(base64.b64decode(signature, validate=True), _bytes(statement))
            except (ValueError, InvalidSignature):
                return False
            return True
    return False


def _bytes(statement: Mapping[str, object]) -> bytes:
    return orjson.dumps(statement, option=orjson.OPT_SORT_KEYS)
