"""Identifies applications by their id, and authenticates them by their secret where they request tokens."""

import hmac

from connector.oauth.documents import KEPT, fetch_client, is_document
from connector.oauth.forms import Credentials
from connector.oauth.refusals import invalid_client
from connector.service import Service
from warehouse.access.keys import digest
from warehouse.accounts import oauth_clients
from warehouse.accounts.oauth_clients import Client

_LONGEST_ID = 500


def find_client(service: Service, client_id: str) -> Client | None:
    """Return the application as it is stored; None where none has this id."""
    if not client_id.isascii() or not client_id.isprintable() or len(client_id) > _LONGEST_ID:
        return None
    with service.writes.system() as connection:
        return oauth_clients.of(connection, client_id)


def is_fresh(service: Service, client: Client) -> bool:
    """Return whether the stored application may be used: one from a document expires after `KEPT`."""
    return not is_document(client.id) or service.clock.now() - client.held_since < KEPT


async def client_of_document(service: Service, client_id: str) -> Client | None:
    """Return the application that a document describes now, for `hold`; None where it cannot be used."""
    return await fetch_client(client_id, service.clock.now())


def hold(service: Service, client: Client) -> None:
    """Store the application that a document describes."""
    with service.writes.system() as connection:
        oauth_clients.hold(connection, client)


def authenticate(service: Service, shown: Credentials) -> Client:
    """Return the credentials' application. Raises the same `OAuthRefused` for an unknown one and a wrong secret."""
    client = find_client(service, shown.client_id)
    if client is None:
        raise invalid_client()
    if client.secret_hash is None:
        if shown.secret:
            raise invalid_client()
    elif not hmac.compare_digest(digest(shown.secret), bytes(client.secret_hash)):
        raise invalid_client()
    return client
