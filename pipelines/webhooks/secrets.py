"""Makes, seals and shows the secrets of webhooks (Standard Webhooks: `whsec_` and Base64)."""

import secrets
from base64 import b64encode
from datetime import datetime
from typing import Final
from uuid import UUID

from warehouse import deployment_keys
from warehouse.sealing import WEBHOOKS, Seal
from warehouse.settings import Settings
from warehouse.webhooks.hooks import Hook

_BYTES: Final = 32
_PREFIX: Final = "whsec_"


def seal_of(settings: Settings) -> Seal:
    """Return the seal of the deployment's webhooks. Raise `Refused` where this program was not given the key."""
    return Seal(deployment_keys.every(settings), WEBHOOKS)


def new() -> bytes:
    """Return a new secret."""
    return secrets.token_bytes(_BYTES)


def shown(secret: bytes) -> str:
    """Return a secret as receivers' libraries take it."""
    return _PREFIX + b64encode(secret).decode()


def bound_to(webhook_id: UUID) -> bytes:
    """Return what a webhook's secrets are sealed for."""
    return webhook_id.bytes


def of(seal: Seal, hook: Hook, now: datetime) -> tuple[bytes, ...]:
    """Return the secrets that sign now, the newest first: none where they were sealed with a key that is lost."""
    sealed = [hook.secret]
    if hook.old_secret is not None and hook.old_secret_until is not None and now < hook.old_secret_until:
        sealed.append(hook.old_secret)
    opened = [seal.unseal(each, bound_to(hook.id)) for each in sealed]
    return tuple(each for each in opened if each is not None)
