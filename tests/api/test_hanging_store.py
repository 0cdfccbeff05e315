"""A store that hangs refuses what needs it with 503, and keeps nobody else waiting (decisions §13, Operation)."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from api.app import create
from tests import stores
from tests.api.conftest import PROXY, Caller, Checked
from tests.api.people import signed_in
from tests.api.portfolios import exported
from tests.api.test_files import upload
from tests.keys import with_keys
from tests.waiting import wait_until
from tools.ports import free_port
from warehouse.operate import objects as objects_operate
from warehouse.operate.settings import Settings

DEADLINE_SECONDS = 1.5
_IDLE = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
CSV = b"sku_code,name\nH-1,Jar\n"


@pytest.fixture(scope="module")
def impatient(database, catalogue, tmp_path_factory) -> Iterator[TestClient]:
    """A service whose store has a short deadline."""
    settings = with_keys(
        Settings.load(
            data_dir=tmp_path_factory.mktemp("hanging"),
            trusted_proxies=PROXY,
            dagster_port=free_port(),
            objects_seconds=DEADLINE_SECONDS,
        )
    )
    with Checked(create(settings, database), client=(PROXY, 50_000)) as client:
        yield client


@pytest.fixture
def http(impatient: TestClient, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setattr(objects_operate, "AGAIN_SECONDS", 1)
    yield impatient
    objects = impatient.app.state.service.objects

    def answers() -> bool:
        try:
            objects.now()
        except ConnectionError:
            return False
        return True

    wait_until(answers)


def imported(caller: Caller):
    return caller.request("POST", f"/imports?filename={uuid4()}.csv", content=CSV)


def timed(call):
    begun = time.monotonic()
    answer = call()
    return answer, time.monotonic() - begun


def is_away(answer) -> bool:
    return (
        (answer.status_code, answer.json()["error"]) == (503, "internal_error")
        and int(answer.headers["Retry-After"]) > 0
        and "store of files" in answer.json()["message"]
    )


def test_what_needs_the_store_is_told_to_come_again_and_leaves_nothing(caller, pool) -> None:
    sku = caller.made()["id"]
    first = imported(caller).json()["id"]
    with stores.hanging() as store:
        answer, seconds = timed(lambda: upload(caller, sku))
        assert is_away(answer)
        assert DEADLINE_SECONDS <= seconds < 3 * DEADLINE_SECONDS
        asked = store.asked
        for call in (
            lambda: upload(caller, sku),
            lambda: imported(caller),
            lambda: caller.post(f"/imports/{first}/repeat", {}),
            lambda: caller.get(f"/imports/{first}/rejected"),
        ):
            answer, seconds = timed(call)
            assert is_away(answer), answer.text
            assert seconds < DEADLINE_SECONDS, "nobody waits for a store that is known to hang"
        assert store.asked - asked <= 2, "one caller tries it again after a while"
        assert "Dateispeicher" in upload(caller, sku, headers={"Accept-Language": "de"}).json()["message"]
        store.hangs = False
        wait_until(lambda: upload(caller, sku).status_code == 201)
    assert imported(caller).status_code == 202
    with pool.company(caller.company) as conn:
        (files,) = conn.execute("SELECT count(*) FROM technical_files").fetchone()
    assert files == 1


def test_every_request_of_another_kind_is_answered_while_uploads_hang(caller, join, pool) -> None:
    sku, other = caller.made(), join()
    with ThreadPoolExecutor(60) as threads, stores.hanging() as store:
        sent = [threads.submit(upload if number % 2 else lambda c, _: imported(c), caller, sku["id"])
                for number in range(60)]  # fmt: skip
        wait_until(lambda: store.asked >= 10)
        for who, (method, path, body) in [
            (who, asked)
            for who in (other, caller)
            for asked in (
                ("GET", "/skus", None),
                ("POST", "/skus", {"sku_code": f"S-{uuid4()}", "name": "Jar"}),
                ("POST", "/skus/batch", [{"sku_code": f"S-{uuid4()}", "name": "Jar"}]),
                ("GET", "/imports", None),
                ("GET", "/exports", None),
                ("POST", "/exports", {}),
                ("GET", "/changes", None),
                ("GET", f"/skus/{sku['id']}/files", None),
                ("POST", "/suppliers", {"name": f"Supplier {uuid4()}"}),
            )
        ]:
            answer, seconds = timed(lambda who=who, m=method, p=path, b=body: who.request(m, p, json=b))
            assert answer.status_code < 500, (path, answer.text)
            assert seconds < DEADLINE_SECONDS + 1, (
                f"{method} {path} waited {seconds:.1f} s for a store it does not need"
            )
        assert store.hangs
        assert {each.result().status_code for each in sent} == {503}

    def nobody_waits_in_a_transaction() -> bool:
        with pool.system() as conn:
            return conn.execute(_IDLE).fetchone() == (0,)

    wait_until(nobody_waits_in_a_transaction)


def test_every_door_that_gives_a_file_out_says_that_the_store_is_away(caller, pool) -> None:
    """Each whole or not at all: none begins an answer that it cannot end."""
    sku = caller.made()["id"]
    file = upload(caller, sku).json()["data"]["id"]
    export = caller.post("/exports", {"format": "csv"}).json()["data"]["id"]
    assert exported(caller)["completed"] == 1
    browser = signed_in(caller, pool)
    path = f"/items/{sku}/files/{file}"
    assert [browser.get(path).status_code, caller.get(f"/exports/{export}/file").status_code] == [200, 200]
    for ask in (lambda: browser.get(path), lambda: caller.get(f"/exports/{export}/file")):
        with stores.hanging() as store:
            answer, seconds = timed(ask)
            assert answer.status_code == 503
            assert int(answer.headers["Retry-After"]) > 0
            assert seconds < 3 * DEADLINE_SECONDS
            store.hangs = False
            wait_until(lambda ask=ask: ask().status_code == 200)
