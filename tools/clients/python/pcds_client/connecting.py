"""Makes the client that the operations of this package take."""

import httpx

from .client import AuthenticatedClient
from .retrying import Retrying


def connect(
    base_url: str, key: str, *, retries: Retrying | None = None, timeout: float = 60.0, language: str = "en"
) -> AuthenticatedClient:
    """Return a client of the service at this address, with a key of the company.

    It keeps its connections, so make one and use it for all requests. `language` is that of sentences in answers.
    """
    return AuthenticatedClient(
        base_url=base_url,
        token=key,
        prefix="",
        auth_header_name="X-API-Key",
        headers={"Accept-Language": language},
        timeout=httpx.Timeout(timeout),
        raise_on_unexpected_status=True,
        httpx_args={"transport": Retrying() if retries is None else retries},
    )
