"""Seals questions which an assistant passes to its user and back, with the key of the data directory."""

from mcp.server.request_state import RequestStateSecurity

from warehouse import data_key
from warehouse.settings import Settings


def security(settings: Settings) -> RequestStateSecurity:
    """Return the sealing that all processes of the data directory use, so that any of them accepts the answer."""
    return RequestStateSecurity(keys=[data_key.of(settings)])
