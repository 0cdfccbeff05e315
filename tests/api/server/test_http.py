"""HTTP as its specifications say it, by raw sockets: nothing here passes a library that would mend it on its way."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from api.app import create
from api.http import together
from api.operate.server import Config, Server
from services.audit import verify
from tests.keys import with_keys
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.operate.settings import Settings

SKU = {"sku_code": "HTTP-1", "name": "Jar"}


class Line:
    """A connection to the service."""

    def __init__(self, port: int, key: str) -> None:
        self.place, self.host, self.key = ("127.0.0.1", port), f"127.0.0.1:{port}", key

    def send(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """The status, headers and everything behind them, read until the service closes."""
        with socket.create_connection(self.place, 30) as connection:
            connection.sendall(data)
            parts = []
            while part := connection.recv(65_536):
                parts.append(part)
        head, _, body = b"".join(parts).partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        return int(status.split()[1]), {n.lower(): v for n, _, v in (x.partition(": ") for x in lines)}, body

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        sent = {"Host": self.host, "X-API-Key": self.key, "Connection": "close", "Content-Length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return self.send(f"{method} /api/v1{path} HTTP/1.1\r\n{lines}\r\n".encode() + body)

    def post(self, body: bytes, **headers: str) -> tuple[int, dict[str, str], dict]:
        status, answered, content = self.ask("POST", "/skus", body, **headers)
        return status, answered, orjson.loads(content)


@pytest.fixture(scope="module")
def port(database, catalogue, tmp_path_factory) -> Iterator[int]:
    """Of a whole API process, but for its signals: the server of `pcds serve`, and the app."""
    settings = with_keys(Settings.load(data_dir=tmp_path_factory.mktemp("http"), dagster_port=free_port()))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(Config(settings, create(settings, database), lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        wait_until(lambda: server.started)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


@pytest.fixture
def line(port, caller):
    return Line(port, caller.key)


@pytest.mark.parametrize(
    "path", ["/skus?limit=200", "/brands", "/jurisdictions", "/openapi.json", "/skus/{id}", "/audit-log"]
)
def test_head_is_get_without_the_body(line, caller, path):
    path = path.replace("{id}", caller.made()["id"])
    heads = []
    for method in ("GET", "HEAD"):
        status, headers, body = line.ask(method, path)
        heads.append((status, {n: headers.get(n) for n in ("content-length", "content-type", "etag", "cache-control")}))
        assert bool(body) is (method == "GET")
    assert heads[0] == heads[1]
    assert line.ask("HEAD", "/nothing")[0] == 404
    assert line.ask("DELETE", "/skus")[1]["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("hosts", [[], ["a", "a"], ["a", "b"]])
def test_a_request_has_one_host(line, hosts):
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    status, _, body = line.send(f"GET /healthz HTTP/1.1\r\n{lines}\r\n".encode())
    assert (status, orjson.loads(body)["error"]) == (400, "invalid_body")
    assert line.send(b"GET /healthz HTTP/1.0\r\n\r\n")[0] == 200


@pytest.mark.parametrize("coding", ["gzip", "gzip, chunked", "identity", "x"])
def test_an_unknown_transfer_coding_is_not_implemented(line, coding):
    body = f"POST /api/v1/skus HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: {coding}\r\n\r\n0\r\n\r\n"
    assert line.send(body.encode())[0] == 501
    chunked = f"POST /api/v1/skus HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-API-Key: {line.key}\r\n"
    sent = b"2\r\n{}\r\n0\r\n\r\n"
    assert line.send(chunked.encode() + b"Transfer-Encoding: Chunked\r\n\r\n" + sent)[0] == 400


def test_a_coded_body_is_refused_with_what_is_taken(line):
    status, headers, answer = line.post(orjson.dumps(SKU), Content_Encoding="gzip")
    assert (status, headers["accept-encoding"], answer["error"]) == (415, "identity", "invalid_body")
    assert line.post(orjson.dumps(SKU), Content_Encoding="identity")[0] == 201


@pytest.mark.parametrize(("kind", "is_taken"), [
    ("application/json; charset=utf-8", True), ("text/plain", True), ("application/x-www-form-urlencoded", True),
    ("application/octet-stream", True), ("text/json", True), ("application/merge-patch+json", True), ("nonsense", True),
    ("application/xml", False), ("text/csv", False), ("multipart/form-data; boundary=x", False),
    ("application/soap+xml", False), ("TEXT/XML", False), ("application/pdf", False),
])  # fmt: skip
def test_only_a_type_that_names_another_format_is_refused(line, kind, is_taken):
    status, _, answer = line.post(orjson.dumps(SKU), Content_Type=kind)
    assert (status, answer.get("error")) == ((201, None) if is_taken else (415, "invalid_body"))


def test_a_body_without_a_type_or_with_a_byte_order_mark_is_read(line):
    assert line.post(b"\xef\xbb\xbf" + orjson.dumps(SKU))[0] == 201


@pytest.mark.parametrize("body", [
    b'{"sku_code": "A", "name": "x", "name": "y"}',
    b'{"sku_code": "A", "name": "x", "components": [{"component_type": "cap", "component_type": "body"}]}',
    b'{"sku_code": "A", "name": "\\u003a", "name": ":"}',
    b'{"sku_code": "A", "name": "x", "n\\u0061me": "x"}',
])  # fmt: skip
def test_a_name_twice_in_one_object_is_refused(line, body):
    status, _, answer = line.post(body)
    assert (status, answer["details"][0]["code"]) == (400, "invalid_format")
    assert "twice" in answer["details"][0]["message"]


def test_colons_in_texts_are_no_names(line):
    assert line.post(rb'{"sku_code": "A:1", "name": "a \u003A b:c", "description": "\":\": {\"a\":1}"}')[0] == 201


def test_bytes_that_are_no_utf_8_are_named_by_their_place(line):
    status, _, answer = line.post(b'{"sku_code": "A",\n "name": "\xc3\xa9\xe9"}')
    assert status == 400
    assert "line 2, column 12 (byte 30)" in answer["details"][0]["message"]


def test_what_is_made_and_accepted_has_an_address(line, caller):
    status, headers, answer = line.post(orjson.dumps(SKU), Idempotency_Key="h-1")
    assert (status, headers["location"]) == (201, f"/api/v1/skus/{answer['data']['id']}")
    assert line.post(orjson.dumps(SKU), Idempotency_Key="h-1")[1]["location"] == headers["location"]
    accepted = caller.request("POST", "/imports?filename=a.csv", content=b"sku_code,name\nA,B\n")
    assert accepted.headers["Location"] == accepted.json()["poll_url"]
    made = caller.post("/brands", {"name": "Aqua"})
    assert made.headers["Location"] == f"/api/v1/brands/{made.json()['data']['id']}"


def test_a_lacking_scope_is_a_challenge(port, join):
    status, headers, _ = Line(port, join(scopes=("read",)).key).post(orjson.dumps(SKU))
    challenge = 'Bearer realm="api", error="insufficient_scope", scope="write"'
    assert (status, headers["www-authenticate"]) == (403, challenge)


def test_a_weak_tag_is_told_so(line):
    made = line.post(orjson.dumps(SKU))[2]["data"]
    status, _, body = line.ask("PUT", f"/skus/{made['id']}", orjson.dumps(SKU), If_Match='W/"1"')
    assert (status, "weak tag" in orjson.loads(body)["message"]) == (412, True)
    assert (
        "weak"
        not in orjson.loads(line.ask("PUT", f"/skus/{made['id']}", orjson.dumps(SKU), If_Match='"7"')[2])["message"]
    )


def test_a_coding_of_weight_0_is_not_sent(line):
    coded = line.ask("GET", "/openapi.json", Accept_Encoding="gzip")[1]
    refused = line.ask("GET", "/openapi.json", Accept_Encoding="gzip;q=0, identity")[1]
    assert (coded.get("content-encoding"), refused.get("content-encoding")) == ("gzip", None)


def test_the_jurisdictions_may_be_kept(line):
    _, headers, _ = line.ask("GET", "/jurisdictions")
    assert headers["cache-control"] == "public, max-age=300"
    assert line.ask("GET", "/jurisdictions", If_None_Match=headers["etag"])[0] == 304


def test_a_caller_that_hangs_up_takes_no_other_write_with_it(line, caller, pool, monkeypatch):
    """Its write waits in a group with others of its key, behind one that waits for a row."""
    monkeypatch.setattr(together, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    caller.made(sku_code="HELD", name="Held")
    with ThreadPoolExecutor(4) as threads:
        with pool.company(caller.company) as holder:
            holder.execute("SELECT FROM skus WHERE sku_code = 'HELD' FOR UPDATE")
            asked = [threads.submit(line.post, orjson.dumps({"sku_code": "HELD", "name": "Still held"}))]
            time.sleep(0.3)  # the others come while it waits; whether they do or not, they are answered
            asked += [threads.submit(line.post, orjson.dumps({"sku_code": f"H-{n}", "name": "Waits"})) for n in (1, 2)]
            with socket.create_connection(line.place, 30) as connection:
                body = orjson.dumps({"sku_code": "H-0", "name": "Gone"})
                head = f"POST /api/v1/skus HTTP/1.1\r\nHost: {line.host}\r\nX-API-Key: {line.key}\r\n"
                connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                time.sleep(0.3)
        assert [each.result(PATIENCE_SECONDS)[0] for each in asked] == [200, 201, 201]
    assert {item["sku_code"] for item in caller.get("/skus").json()["data"]} == {"HELD", "H-0", "H-1", "H-2"}
    with pool.company(caller.company) as conn:
        assert verify(conn).ok
