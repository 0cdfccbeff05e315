"""Registers applications and reads the documents of those that publish one; identifies and authenticates them."""

import hmac
import secrets
import ssl
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Annotated, Final, Literal
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx2
import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from connector.oauth import authorization
from connector.oauth.endpoints import Credentials, OAuthRefused, invalid_client
from connector.service import Service
from pipelines.public_hosts import Address, Unreachable, is_public, place_of, resolved
from warehouse import assistants
from warehouse.accounts.keys import digest
from warehouse.assistants import Client

_PUBLIC: Final = "none"
_USUAL: Final = "client_secret_basic"
"""Method of an application that names none (RFC 7591, section 2)."""
GRANTS: Final = ("authorization_code", "refresh_token")
Text = Annotated[str, Field(max_length=200)]


class Metadata(BaseModel):
    """The metadata of an application, as far as it is used here (RFC 7591, section 2)."""

    model_config = ConfigDict(extra="ignore", strict=True)

    redirect_uris: Annotated[list[str], Field(min_length=1, max_length=20)]
    client_name: Text | None = None
    token_endpoint_auth_method: Literal["none", "client_secret_basic", "client_secret_post"] = _USUAL
    grant_types: list[Text] = ["authorization_code"]
    response_types: list[Text] = ["code"]

    @property
    def is_public(self) -> bool:
        """Return whether the application has no secret."""
        return self.token_endpoint_auth_method == _PUBLIC

    @property
    def name(self) -> str:
        """Return the displayed name: the application's own without invisible characters, else its redirect's host."""
        printable = "".join(letter for letter in self.client_name or "" if letter.isprintable()).strip()
        return printable or authorization.host(self.redirect_uris[0])


def metadata(document: object) -> Metadata:
    """Check metadata and return it. Raises `OAuthRefused` with the codes of RFC 7591, section 3.2.2."""
    try:
        read = Metadata.model_validate(document)
    except ValidationError as error:
        field = str((*error.errors(include_input=False, include_url=False)[0]["loc"], "body")[0])
        code = "invalid_redirect_uri" if field == "redirect_uris" else "invalid_client_metadata"
        raise OAuthRefused(code, f"The value of {field} is missing or cannot be used here.") from None
    if not all(authorization.is_allowed(address) for address in read.redirect_uris):
        raise OAuthRefused(
            "invalid_redirect_uri",
            "A redirect address is https, http on the same computer, or of a scheme that is the application's own: "
            "app://host/path.",
        )
    if "authorization_code" not in read.grant_types or "code" not in read.response_types:
        raise OAuthRefused("invalid_client_metadata", "Only the grant authorization_code with code is served.")
    return read


def register(service: Service, said: Metadata, network: str) -> tuple[Client, str | None]:
    """Store an application and return it, with its secret where it can keep one. Raises `OAuthRefused`."""
    secret = None if said.is_public else f"scs_{secrets.token_urlsafe(32)}"
    client = Client(
        f"app_{secrets.token_urlsafe(16)}",
        said.name,
        said.redirect_uris,
        said.token_endpoint_auth_method,
        digest(secret) if secret else None,
        service.clock.now(),
    )
    with service.writes.system() as connection:
        wait = assistants.seconds_to_wait(connection, network, client.held_since)
        if wait:
            sentence = f"At most {assistants.PER_ADDRESS} registrations a minute come from one address."
            raise OAuthRefused("rate_limited", sentence, status=429, headers={"Retry-After": str(wait)})
        assistants.hold(connection, client)
    return client, secret


MAX_BYTES: Final = 16 * 2**10
FETCH_SECONDS: Final = 5
_PORT: Final = 443


async def fetch(
    url: SplitResult,
    *,
    may_reach: Callable[[Address], bool] = is_public,
    port: int = _PORT,
    trust: ssl.SSLContext | None = None,
) -> bytes:
    """Return the bytes of a 200 answer with JSON. Raises `Unreachable` for everything else."""
    try:
        with anyio.fail_after(FETCH_SECONDS):
            address = await resolved(url.hostname or "", port, may_reach)
            return await _got(url, address, port, trust or ssl.create_default_context())
    except (TimeoutError, OSError, UnicodeError, httpx2.HTTPError, httpx2.InvalidURL):
        raise Unreachable from None


async def _got(url: SplitResult, address: Address, port: int, trust: ssl.SSLContext) -> bytes:
    target = f"https://{place_of(address)}:{port}{url.path or '/'}" + (f"?{url.query}" if url.query else "")
    headers = {"Host": url.netloc, "Accept": "application/json", "Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(verify=trust, trust_env=False, follow_redirects=False) as client,
        client.stream("GET", target, headers=headers, extensions={"sni_hostname": url.hostname}) as answer,
    ):
        if answer.status_code != 200 or "json" not in answer.headers.get("Content-Type", ""):
            raise Unreachable
        body = bytearray()
        async for chunk in answer.aiter_raw():
            body += chunk
            if len(body) > MAX_BYTES:
                raise Unreachable
        return bytes(body)


KEPT: Final = timedelta(hours=1)
_LONGEST: Final = 500

Fetch = Callable[[SplitResult], Awaitable[bytes]]


def is_document(client_id: str) -> bool:
    """Return whether a client id is the address of a document, and not an id from a registration."""
    return client_id.startswith("https://")


def address(client_id: str) -> SplitResult | None:
    """Return the address of a document; None where it is not a host name and a path without port or odd characters."""
    try:
        parts = urlsplit(client_id)
        has_port = parts.port is not None
    except ValueError:
        return None
    plain = client_id.isascii() and client_id.isprintable() and not set(client_id) & set(' \\#@"<>')
    segments = parts.path.split("/")
    if not (plain and is_document(client_id)) or len(client_id) > _LONGEST or has_port:
        return None
    if parts.path in ("", "/") or {".", ".."} & set(segments):
        return None
    return parts if "." in (parts.hostname or "") and not _is_number(parts.hostname or "") else None


async def fetch_client(client_id: str, at: datetime, fetched: Fetch = fetch) -> Client | None:
    """Return the application as its document describes it now; None where it cannot be fetched or used."""
    parts = address(client_id)
    if parts is None:
        return None
    try:
        document = orjson.loads(await fetched(parts))
        if not isinstance(document, dict) or document.get("client_id") != client_id or "client_secret" in document:
            return None
        client = metadata({"token_endpoint_auth_method": "none", **document})
    except (Unreachable, OAuthRefused, orjson.JSONDecodeError):
        return None
    if not client.is_public:
        return None
    return Client(client_id, client.name, client.redirect_uris, client.token_endpoint_auth_method, None, at)


def _is_number(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return host.rpartition(".")[2].isdecimal()  # 127.1 is an address to some resolvers
    return True


_LONGEST_ID = 500


def find_client(service: Service, client_id: str) -> Client | None:
    """Return the application as it is stored; None where none has this id."""
    if not client_id.isascii() or not client_id.isprintable() or len(client_id) > _LONGEST_ID:
        return None
    with service.writes.system() as connection:
        return assistants.find_client(connection, client_id)


def is_fresh(service: Service, client: Client) -> bool:
    """Return whether the stored application may be used: one from a document expires after `KEPT`."""
    return not is_document(client.id) or service.clock.now() - client.held_since < KEPT


async def client_of_document(service: Service, client_id: str) -> Client | None:
    """Return the application that a document describes now, for `hold`; None where it cannot be used."""
    return await fetch_client(client_id, service.clock.now())


def hold(service: Service, client: Client) -> None:
    """Store the application that a document describes."""
    with service.writes.system() as connection:
        assistants.hold(connection, client)


def authenticate(service: Service, credentials: Credentials) -> Client:
    """Return the credentials' application. Raises the same `OAuthRefused` for an unknown one and a wrong secret."""
    client = find_client(service, credentials.client_id)
    if client is None:
        raise invalid_client()
    if client.secret_hash is None:
        if credentials.secret:
            raise invalid_client()
    elif not hmac.compare_digest(digest(credentials.secret), bytes(client.secret_hash)):
        raise invalid_client()
    return client
