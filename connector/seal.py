"""Seals questions which an assistant passes to its user and back, with the key of the deployment."""

import secrets

from mcp.server.request_state import RequestStateSecurity

from schemas.refusals import Refused
from warehouse import deployment_keys
from warehouse.settings import Settings


def security(settings: Settings) -> RequestStateSecurity:
    """Return the sealing that all processes of the deployment use, so that any of them accepts the answer.

    A process that was not given the key asks and answers by itself: the log and `pcds doctor` name it.
    """
    try:
        keys = deployment_keys.every(settings)
    except Refused:
        keys = (secrets.token_bytes(32),)
    return RequestStateSecurity(keys=[*keys])
