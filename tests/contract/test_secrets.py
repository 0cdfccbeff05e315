"""Secrets used rightly and wrongly: none stands in a log, an answer, an audit entry or a table afterwards."""

import base64
import time
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from tests.contract.counting import counted
from tests.contract.outside import good, until
from tests.contract.samples import PDF
from tests.contract.test_keys import told

TABLES = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    """


@pytest.fixture
def talkative(apart):
    """A deployment that logs all it has to say, with what runs imports."""
    with apart.shifted(PCDS_LOG_LEVEL="debug").serving(imports=True) as server:
        yield server


def basic(client_id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def misuse(caller, secret: str) -> list:
    """The answers to a secret put where it does not belong."""
    client, plain = quote(secret), caller.with_headers()
    return [
        plain.get(f"/skus?api_key={client}"),
        plain.get(f"/skus?access_token={client}"),
        caller.get(f"/skus/{client}"),
        caller.get(f"/{client}"),
        caller.get(f"/imports/{client}"),
        caller.get(f"/skus?limit={client}"),
        caller.get(f"/audit-log?since={client}"),
        caller.post(f"/skus?dry_run={client}", {"sku_code": "X", "name": "X"}),
        caller.post("/skus", {"sku_code": "X", "name": "X", "brand_id": 7, "gtin": 5}),
        plain.with_headers(Authorization=secret).get("/skus"),
        plain.with_headers(Authorization=f"Bearer {secret} {secret}").get("/skus"),
        plain.with_headers(Authorization=f"Basic {secret}").get("/skus"),
        plain.with_headers(**{"X-API-Key": f" {secret}".strip() + "x"}).get("/skus"),
        caller.token(grant_type=secret),
        caller.token(scope=secret),
        caller.token(client_id=secret),
        caller.token(client_secret=secret + "x"),
        caller.token(client_secret=None, password=secret),
        caller.server.send(
            "POST",
            "/api/v1/oauth/token",
            content=secret.encode(),
            headers={"Content-Type": "application/json", "X-Forwarded-For": caller.address},
        ),
        caller.server.send(
            "POST",
            "/api/v1/oauth/token",
            json={"client_secret": {"is": secret}},
            headers={"X-Forwarded-For": caller.address},
        ),
        caller.request(
            "POST",
            "/imports?filename=a.csv",
            content=b"a;b\n1;2\n",
            headers={"Cookie": f"session={secret}", "Proxy-Authorization": f"Bearer {secret}"},
        ),
    ]


@pytest.mark.processes
@pytest.mark.promise("KEY-05", "ERR-10")
def test_no_secret_is_kept_or_told(talkative, apart_database, apart):
    caller, revoked = talkative.joined(per_minute=6000), talkative.joined()
    form, by_basic = (
        good(caller.token())["access_token"],
        caller.with_headers(Authorization=basic(caller.client_id, caller.key)),
    )
    answer = talkative.send(
        "POST",
        "/api/v1/oauth/token",
        data={"grant_type": "client_credentials"},
        headers={**by_basic.headers, "X-Forwarded-For": caller.address},
    )
    bearing, ended = caller.with_headers(Authorization=f"Bearer {form}"), good(revoked.token())["access_token"]
    apart.pcds("key", "revoke", revoked.client_id)
    unknown = f"svc_{uuid4().hex}{uuid4().hex}"
    secrets = {
        caller.key,
        revoked.key,
        unknown,
        form,
        ended,
        good(answer)["access_token"],
        basic(caller.client_id, caller.key).removeprefix("Basic "),
    }

    for user in (caller, bearing):
        sku = user.made(sku_code="SECRET", name="Used", markets=["FR"])
        good(user.put(f"/skus/{sku['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 1}]))
        good(
            user.request(
                "POST",
                f"/skus/{sku['id']}/files",
                data={"type": "packaging_photo"},
                files={"file": ("a.pdf", PDF, "application/pdf")},
            )
        )
        assert user.imported(b"sku_code;name\nSECRET;Imported\n")["status"] == "completed"
    told_to_others = [
        revoked.get("/skus"),
        revoked.with_headers(Authorization=f"Bearer {ended}").get("/skus"),
        revoked.token(),
        revoked.with_headers(**{"X-API-Key": unknown}).get("/skus"),
    ]
    assert {answer.status_code for answer in told_to_others} == {401}
    for secret in secrets - {basic(caller.client_id, caller.key)}:
        wrong = misuse(caller, secret)
        assert all(answer.is_error for answer in wrong), [answer.url for answer in wrong if answer.is_success]
        told_to_others += wrong

    log = talkative.log.read_text(encoding="utf-8")
    assert '"level": "debug"' in log
    ledger = "".join(answer.text for answer in (caller.get("/audit-log?limit=200"),))
    answers = "".join(answer.text + str(dict(answer.headers)) for answer in told_to_others)
    for secret in secrets:
        for place_of, text in (("log", log), ("audit log", ledger), ("answers", answers)):
            assert secret not in text, f"a secret stands in the {place_of}"
    assert rows_with(apart_database, secrets) == []


def rows_with(database, secrets: set[str]) -> list[tuple[str, str]]:
    """Tables of which some row, as text, holds a secret, plainly or as the hexadecimal digits of its bytes."""
    found = []
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("SET row_security = off")
        tables = connection.execute(TABLES).fetchall()
        assert len(tables) > 12
        for schema, name in tables:
            held = sql.SQL("SELECT EXISTS (SELECT FROM {} AS t WHERE t::text LIKE ANY (%s))").format(
                sql.Identifier(schema, name)
            )
            shapes = [f"%{shape}%" for secret in secrets for shape in (secret, secret.encode().hex())]
            if connection.execute(held, [shapes]).fetchone() == (True,):
                found.append((schema, name))
    return found


@pytest.mark.processes
@pytest.mark.promise("KEY-03", "TOK-08", "TOK-14")
def test_unknown_and_revoked_cost_the_same_statements_and_get_the_same_answer(place, database, service):
    """ "In the same time" is the same road: as many statements, of a deployment that sends them over a counted one."""
    caller, revoked = service.joined(), service.joined()
    ended = good(revoked.token())["access_token"]
    place.pcds("key", "revoke", revoked.client_id)
    unknown = f"svc_{'u' * 43}"
    with counted(database.app_url) as road, place.shifted(PCDS_APP_DATABASE_URL=road.url).serving() as server:
        near, plain = caller.at(server), caller.at(server).with_headers()

        def by_key(key):
            return [
                lambda path=path: plain.with_headers(**{"X-API-Key": key}).get(path)
                for path in ("/skus", f"/skus/{uuid4()}", "/brands", "/audit-log")
            ] + [lambda: plain.with_headers(**{"X-API-Key": key}).post("/skus", {})]

        def by_token(token):
            return [lambda: plain.with_headers(Authorization=f"Bearer {token}").get("/skus")]

        def by_secret(client_id, secret):
            return [lambda: near.token(client_id=client_id, client_secret=secret)]

        until(lambda: road.counting(lambda: time.sleep(1)) == 0)  # its first look at the place and its records is over
        for pair in (
            (by_key(unknown), by_key(revoked.key)),
            (by_token("t" * len(ended)), by_token(ended)),
            (by_secret(str(uuid4()), unknown), by_secret(revoked.client_id, revoked.key)),
            (by_secret(str(uuid4()), unknown), by_secret(caller.client_id, unknown)),
        ):
            for one, other in zip(*pair, strict=True):
                assert told(one()) == told(other())
                assert one().status_code == 401
                # The fewest of a few: the service's own looks at its state may fall between two requests.
                assert min(map(road.counting, [one] * 3)) == min(map(road.counting, [other] * 3)) >= 1
        assert road.counting(lambda: good(near.get("/skus"))) >= 1
