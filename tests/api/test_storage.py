"""The plan's storage: what counts, who is refused in bytes, and whose uploads make room."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from tests.api.test_files import PDF, upload

CSV = b"sku_code,name\nS-1,Jar\n"


@pytest.fixture
def quota(database) -> Iterator[Callable[[int | None], None]]:
    """Sets what the growth plan stores; put back afterwards."""

    def give(size: int | None) -> None:
        with psycopg.connect(database.owner_url) as owner:
            owner.execute("UPDATE plans SET storage_bytes = %s WHERE plan = 'growth'", [size])

    yield give
    give(10**10)


@pytest.fixture
def caller(join):
    return join(plan="growth")


@pytest.fixture
def sku(caller):
    return caller.made()["id"]


def imported(caller, data=CSV, query=""):
    return caller.request("POST", f"/imports?filename=a.csv{query}", content=data)


def ended(caller, pool):
    with pool.company(caller.company) as connection:
        connection.execute("UPDATE imports SET status = 'completed'")


def refusal(answer):
    assert (answer.status_code, answer.json()["error"]) == (403, "plan_limit_reached"), answer.text
    [issue] = answer.json()["details"]
    assert str(issue["limit"]) in issue["message"]
    assert "bytes" in issue["message"]
    return issue["limit"], issue["held"], issue["new"]


def test_a_file_past_the_quota_is_refused_in_bytes_and_leaves_nothing(caller, sku, quota):
    quota(2 * len(PDF))
    assert upload(caller, sku).status_code == 201
    assert upload(caller, sku).status_code == 201
    assert refusal(upload(caller, sku)) == (2 * len(PDF), 2 * len(PDF), len(PDF))
    assert len(list(caller.http.app.state.service.objects.stored(caller.company, "files"))) == 2
    assert upload(caller, sku, query="?dry_run=true").status_code == 200, "a dry run is never refused"
    quota(None)
    assert upload(caller, sku).status_code == 201


def test_uploads_count_with_the_files(caller, sku, quota):
    quota(len(PDF) + len(CSV))
    assert upload(caller, sku).status_code == 201
    assert imported(caller).status_code == 202
    assert refusal(imported(caller)) == (len(PDF) + len(CSV), len(PDF) + len(CSV), len(CSV))
    kept = list(caller.http.app.state.service.objects.stored(caller.company, "imports"))
    assert len(kept) == 2, "the file and the table of the first, and nothing of the refused one"


def test_an_import_that_is_sent_again_is_kept_once(caller):
    sent = {"content": CSV, "headers": {"Idempotency-Key": "once"}}
    first, again = (caller.request("POST", "/imports?filename=a.csv", **sent) for _ in range(2))
    assert (first.json()["id"], again.headers["Idempotent-Replayed"]) == (again.json()["id"], "true")
    assert len(list(caller.http.app.state.service.objects.stored(caller.company, "imports"))) == 2


def test_a_dry_run_is_never_refused_and_the_oldest_ended_ones_make_room(caller, quota, pool):
    quota(2 * len(CSV))
    first, second = (imported(caller, query="&dry_run=true").json()["id"] for _ in range(2))
    ended(caller, pool)
    assert imported(caller).status_code == 202
    objects = caller.http.app.state.service.objects
    kept = {UUID(key.split("/")[2]) for key, _ in objects.stored(caller.company, "imports") if key.endswith("upload")}
    assert UUID(first) not in kept
    assert UUID(second) in kept
    assert imported(caller).status_code == 202
    assert imported(caller, query="&dry_run=true").status_code == 202, "over the quota, and a dry run"
    assert refusal(imported(caller)) == (2 * len(CSV), 3 * len(CSV), len(CSV)), "one that is under way stays"


def test_two_at_once_cannot_both_take_the_last_bytes(caller, sku, quota):
    quota(len(PDF))
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: upload(caller, sku).status_code, range(4)))
    assert sorted(answers) == [201, 403, 403, 403]


def test_another_company_pays_for_itself(caller, sku, join, quota):
    quota(len(PDF))
    assert upload(caller, sku).status_code == 201
    other = join(plan="growth")
    assert upload(other, other.made()["id"]).status_code == 201
