"""Every door that takes a file has it read in a process of its own: stopped at a limit, and nobody else waits.

The files are in order and the limits tiny, so that each test finds whichever door reads a file by itself again.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from api.app import create
from tests.api.asking import ask
from tests.api.conftest import PROXY, Caller, Checked
from tests.pipelines.sandbox.files import SMALL, large_document, large_table
from tests.services.making import PDF
from warehouse.operate.settings import Settings

Limited = Callable[..., Caller]
_SECONDS = 0.4
"""A reader's first small file costs 0.05 to 0.17 s of a processor, three large tables 0.5 to 1.5 s."""


@pytest.fixture
def limited(database, catalogue, join, tmp_path) -> Iterator[Limited]:
    """Makes callers of one app whose readers may take so much."""
    made: list[Checked] = []

    def make(**limits: float) -> Caller:
        if not made:
            settings = Settings.load(data_dir=tmp_path, trusted_proxies=PROXY, **limits)
            made.append(Checked(create(settings, database), client=(PROXY, 50_000)))
            made[0].__enter__()
        return replace(join(), http=made[0])

    yield make
    for client in made:
        client.__exit__(None, None, None)


def by_form(caller: Caller, data: bytes):
    return caller.request("POST", "/imports", files={"file": ("file.csv", data, "text/csv")})


def raw(caller: Caller, data: bytes):
    return caller.request("POST", "/imports?filename=file.csv", content=data)


def document(caller: Caller, data: bytes):
    sku = caller.made()["id"]
    sent = {"files": {"file": ("report", data, "application/octet-stream")}, "data": {"type": "test_report"}}
    return caller.request("POST", f"/skus/{sku}/files", **sent)


def stopped(answer) -> str:
    """The one sentence of a refusal because of a limit."""
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body"), answer.text
    [issue] = answer.json()["details"]
    assert issue["code"] == "unreadable_file"
    return str(issue["message"])


@pytest.mark.parametrize("door", [by_form, raw])
def test_an_import_is_stopped_while_everybody_else_is_answered(limited: Limited, door):
    hostile, good = limited(reader_cpu_seconds=_SECONDS), limited()
    assert hostile.http.get("/healthz").status_code == 200  # the first answer waits for the client's document
    with ThreadPoolExecutor(1) as threads:
        sent = threads.submit(door, hostile, large_table() * 3)
        answered = 0
        while not sent.done():
            assert hostile.http.get("/healthz").status_code == 200
            answered += not sent.done()
            time.sleep(0.01)
        refusal = stopped(sent.result())
    assert answered
    assert refusal.startswith("Reading the file took more than 0.4 seconds of computing and was stopped. Save")
    assert door(good, SMALL).status_code == 202
    assert door(hostile, SMALL).status_code == 202


@pytest.mark.parametrize(
    ("limits", "said"), [({"reader_memory_mib": 128}, "128 MiB"), ({"reader_wall_seconds": 0.1}, "0.1 seconds")]
)
def test_the_other_limits_are_said_too(limited: Limited, limits, said):
    assert said in stopped(raw(limited(**limits), large_table() * 3))


def test_a_technical_file_is_judged_apart(limited: Limited):
    hostile = limited(reader_cpu_seconds=0.02)
    answer = document(hostile, large_document())
    assert "as PDF" in stopped(answer)
    assert answer.json()["details"][0]["field"] == "file"
    assert not list(hostile.http.app.state.service.objects.stored(hostile.company, "files"))
    assert document(limited(), PDF).status_code == 201


def test_a_suppliers_document_is_judged_apart(limited: Limited, pool):
    asked = ask(limited(reader_cpu_seconds=0.02), pool)

    def attach(data: bytes):
        sent = {"file": ("report.pdf", data, "application/octet-stream")}
        return asked.http.post(
            f"/supplier-data/{asked.token}/files?lang=de",
            files=sent,
            data={"type": "test_report"},
            headers={"X-Forwarded-For": asked.address},
            follow_redirects=False,
        )

    refused = attach(large_document())
    assert refused.status_code == 400
    assert "0.02 Sekunden Rechenzeit" in refused.text
    assert attach(PDF).status_code == 303


def test_one_companys_files_do_not_hold_up_anothers(limited: Limited):
    """Six files of one company are under way; another's, sent last, is answered before the third of them."""
    hostile, good, ended = limited(reader_cpu_seconds=_SECONDS), limited(), []
    busy = hostile.http.app.state.service.readers.waiting

    def send(caller: Caller, data: bytes) -> int:
        status = raw(caller, data).status_code
        ended.append(caller)
        return status

    assert (send(good, SMALL), send(hostile, large_table() * 3)) == (202, 400)  # the first answers take longer
    ended.clear()
    with ThreadPoolExecutor(7) as threads:
        refused = [threads.submit(send, hostile, large_table() * 3) for _ in range(6)]
        while busy() < 5 and not ended:
            time.sleep(0.01)
        assert threads.submit(send, good, SMALL).result() == 202
    assert [each.result() for each in refused] == [400] * 6
    assert ended.index(good) <= 2


def test_more_than_a_company_may_have_waiting_come_again_later(limited: Limited, monkeypatch):
    monkeypatch.setattr("pipelines.readers.pool.MOST_WAITING", 1)
    hostile = limited()
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: raw(hostile, large_table()), range(6)))
    assert {answer.status_code for answer in answers} == {202, 429}
    assert next(answer for answer in answers if answer.status_code == 429).headers["Retry-After"] == "10"
    assert raw(limited(), SMALL).status_code == 202
