"""Which application it is: by its id where a person decides, and by its secret too where it asks for tokens."""

import hmac

from connector.oauth.documents import KEPT, described, is_document
from connector.oauth.forms import Credentials
from connector.oauth.refusals import invalid_client
from connector.service import Service
from warehouse.access.keys import digest
from warehouse.accounts import oauth_clients
from warehouse.accounts.oauth_clients import Client

_LONGEST_ID = 500


def known(service: Service, client_id: str) -> Client | None:
    """The application as it is held; None where none has this id."""
    if not client_id.isascii() or not client_id.isprintable() or len(client_id) > _LONGEST_ID:
        return None
    with service.writes.system() as connection:
        return oauth_clients.of(connection, client_id)


def is_fresh(service: Service, client: Client) -> bool:
    """Whether what is held of an application may be used: a document only for so long."""
    return not is_document(client.id) or service.clock.now() - client.held_since < KEPT


async def published(service: Service, client_id: str) -> Client | None:
    """The application that a document describes now, for `hold`; None where it cannot be used."""
    return await described(client_id, service.clock.now())


def hold(service: Service, client: Client) -> None:
    """Keep what a document says."""
    with service.writes.system() as connection:
        oauth_clients.hold(connection, client)


def authenticated(service: Service, shown: Credentials) -> Client:
    """The application that the credentials are of. Raises `OAuthRefused` as for one that there is not."""
    client = known(service, shown.client_id)
    if client is None:
        raise invalid_client()
    if client.secret_hash is None:
        if shown.secret:
            raise invalid_client()
    elif not hmac.compare_digest(digest(shown.secret), bytes(client.secret_hash)):
        raise invalid_client()
    return client
