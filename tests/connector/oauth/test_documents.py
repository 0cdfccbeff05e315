"""Applications known by a document: what a document may say, and where fetching it is never led."""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import anyio
import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from connector.oauth import clients
from connector.oauth.clients import Unreachable, fetch, is_public
from tests.connector.oauth.authorising import REDIRECT, answer_of
from tests.waiting import PATIENCE_SECONDS

DAY = timedelta(days=1)
ADDRESS = "https://assistant.example/oauth/client.json"
DOCUMENT = {"client_id": ADDRESS, "client_name": "Published helper", "redirect_uris": [REDIRECT]}


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.5.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "fec0::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2001:db8::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
    ],
)
def test_no_address_inside_a_network_is_reached_however_it_is_written(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_of_the_open_internet_are(address):
    assert is_public(ip_address(address))


@given(st.ip_addresses(v=4, network="10.0.0.0/8") | st.ip_addresses(v=4, network="127.0.0.0/8"))
def test_no_wrapping_makes_a_private_address_public(address):
    packed = int(address)
    for wrapped in (f"::ffff:{address}", f"64:ff9b::{address}", ip_address((0x2002 << 112) | (packed << 80))):
        assert not is_public(ip_address(str(wrapped)))


@pytest.mark.parametrize(
    "client_id",
    [
        "https://assistant.example",
        "https://assistant.example/",
        "http://assistant.example/c",
        "https://127.0.0.1/c",
        "https://[::1]/c",
        "https://127.1/c",
        "https://0x7f.1/c",
        "https://localhost/c",
        "https://a.example:8443/c",
        "https://user@a.example/c",
        "https://a.example/c#x",
        "https://a.example/../c",
        "https://a.example/./c",
        "https://a.example/c d",
        "https://ä.example/c",
        "https://a.example\\@b.example/c",
        f"https://a.example/{'x' * 500}",
    ],
)
def test_such_an_address_is_no_documents(client_id):
    assert clients.address(client_id) is None


async def described(said: Any, client_id: str = ADDRESS) -> Any:
    async def fetched(_: SplitResult) -> bytes:
        return said if isinstance(said, bytes) else orjson.dumps(said)

    return await clients.fetch_client(client_id, None, fetched)


@pytest.mark.parametrize(
    "said",
    [
        DOCUMENT | {"client_id": ADDRESS + "x"},
        {**DOCUMENT, "client_id": None},
        DOCUMENT | {"redirect_uris": []},
        DOCUMENT | {"redirect_uris": ["javascript:alert(1)"]},
        DOCUMENT | {"client_secret": "x"},
        [DOCUMENT],
        b"{",
        b"",
        DOCUMENT | {"token_endpoint_auth_method": "client_secret_basic"},
        DOCUMENT | {"token_endpoint_auth_method": "private_key_jwt"},
    ],
)
def test_such_a_document_describes_nobody(said):
    assert anyio.run(described, said) is None


def test_a_document_describes_an_application_without_a_secret():
    client = anyio.run(described, DOCUMENT)
    assert (client.id, client.name, client.secret_hash) == (ADDRESS, "Published helper", None)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The document of `ADDRESS` as the internet has it; every fetch is noted."""
    fetches: list[str] = []

    whole = clients.fetch_client

    async def described(client_id: str, at: Any) -> Any:
        async def fetched(url: SplitResult) -> bytes:
            fetches.append(url.geturl())
            return orjson.dumps(DOCUMENT)

        return await whole(client_id, at, fetched)

    monkeypatch.setattr(clients, "fetch_client", described)
    return fetches


def test_a_published_application_connects_and_its_document_is_fetched_once_an_hour(application, published, clock):
    application.registered = {"client_id": ADDRESS}
    page = application.authorize()
    assert "Published helper" in page.text
    assert "Published by" in page.text
    tokens = application.connected()
    assert application.call(tokens["access_token"]).status_code == 200
    assert published == [ADDRESS]
    clock.advance(clients.KEPT + timedelta(seconds=1))
    assert "code" in answer_of(application.decide())
    assert published == [ADDRESS] * 2


def test_nothing_is_fetched_for_who_is_not_signed_in(application, published):
    application.registered = {"client_id": ADDRESS.replace("client", "other")}
    application.browser.http.cookies.clear()
    assert application.authorize().headers["location"].startswith("/sign-in")
    assert published == []


def test_an_application_that_cannot_be_read_is_told_to_the_person(application):
    application.registered = {"client_id": "https://localhost/client.json"}
    answer = application.authorize()
    assert (answer.status_code, "location" in answer.headers) == (400, False)


class _Server(BaseHTTPRequestHandler):
    """Answers each path in its own way."""

    def do_GET(self) -> None:
        name = self.path.strip("/")
        self.server.asked.append((name, self.headers["Host"]))
        if name == "moved":
            self.send_response(302)
            self.send_header("Location", "https://10.0.0.1/")
            self.end_headers()
            return
        self.send_response(500 if name == "broken" else 200)
        self.send_header("Content-Type", "text/html" if name == "page" else "application/json")
        self.end_headers()
        if name == "endless":
            self.wfile.write(b" " * (clients.MAX_BYTES + 1))
        elif name == "slow":
            with suppress(OSError):  # until the client has left
                while True:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.1)
        else:
            self.wfile.write(b'{"said": true}')

    def log_message(self, *_: Any) -> None:
        pass


def _certify(key: Path, certificate: Path) -> None:
    made, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    signed = (
        x509.CertificateBuilder(name, name, made.public_key(), x509.random_serial_number(), now - DAY, now + DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(made, hashes.SHA256())
    )
    unlocked = serialization.NoEncryption()
    key.write_bytes(made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unlocked))
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))


@pytest.fixture(scope="module")
def outer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HTTPServer, ssl.SSLContext]]:
    """A server on loopback as localhost, with a certificate that only the test trusts."""
    folder: Path = tmp_path_factory.mktemp("certificate")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    _certify(key, certificate)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate, key)
    with HTTPServer(("127.0.0.1", 0), _Server) as held:
        held.asked = []
        held.socket = own.wrap_socket(held.socket, server_side=True)
        thread = threading.Thread(target=held.serve_forever)
        thread.start()
        yield held, ssl.create_default_context(cafile=str(certificate))
        held.shutdown()
        thread.join()


def got(outer: tuple[HTTPServer, ssl.SSLContext], name: str, **more: Any) -> bytes:
    held, trust = outer
    asked = {"may_reach": lambda _: True, "port": held.server_port, "trust": trust} | more

    async def fetched() -> bytes:
        return await fetch(urlsplit(f"https://localhost/{name}"), **asked)

    return anyio.run(fetched)


def test_a_document_is_had_by_its_name_from_the_address_that_was_looked_at(outer, monkeypatch):
    monkeypatch.setattr(clients, "FETCH_SECONDS", PATIENCE_SECONDS)
    assert got(outer, "document") == b'{"said": true}'
    assert outer[0].asked[-1] == ("document", "localhost")


@pytest.mark.parametrize("name", ["moved", "broken", "page", "endless"])
def test_nothing_but_a_small_json_document_is_taken(outer, name):
    with pytest.raises(Unreachable):
        got(outer, name)


def test_a_server_that_drips_is_left(outer, monkeypatch):
    monkeypatch.setattr(clients, "FETCH_SECONDS", 0.5)
    with pytest.raises(Unreachable):
        got(outer, "slow")


def test_a_private_address_is_not_even_asked_and_a_certificate_must_fit(outer):
    before = len(outer[0].asked)
    with pytest.raises(Unreachable):
        got(outer, "document", may_reach=is_public)
    with pytest.raises(Unreachable):
        got(outer, "document", trust=ssl.create_default_context())
    assert len(outer[0].asked) == before
