"""Test keys reach a sandbox: a company apart from the account's own, emptied at will, which mails nobody."""

import json
import re
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from schemas.actors import Actor, Origin
from services import audit as audit_services
from services import companies
from tests import stores
from tests.api.people import hidden, signed_in
from tests.api.portfolios import run, sent
from warehouse.accounts import keys
from warehouse.companies import queries, removal
from warehouse.companies import sandboxes as stored
from warehouse.operate.sessions import owner_transaction

PART = {"component_type": "body", "material_family": "glass"}
ORIGIN = Origin("operator", "op", "operator", "c")


@pytest.fixture
def tester(caller, pool, database):
    """A caller with a test key of the company of `caller`."""
    now, client, key = caller.http.app.state.service.clock.now(), uuid4(), keys.new_key(is_test=True)
    with owner_transaction(database.owner_url) as owner:
        sandbox = companies.make(owner, Actor(caller.company, ORIGIN, now))
        assert companies.make(owner, Actor(caller.company, ORIGIN, now)) == sandbox, "an account has one"
    with pool.company(sandbox) as conn:
        keys.issue(conn, sandbox, client, key=key, name="trial", scopes=["read", "write"], at=now)
    return replace(caller, company=sandbox, client_id=client, key=key)


def codes(caller):
    return sorted(sku["sku_code"] for sku in caller.get("/skus").json()["data"])


def sandbox_of(pool, company):
    with pool.system() as conn:
        return stored.find_sandbox(conn, company)


@pytest.mark.promise("SBX-01", "SBX-02")
def test_a_test_key_and_the_company_do_not_see_each_other(caller, tester):
    mine, tried = caller.made(sku_code="OWN"), tester.made(sku_code="TRIED")
    assert (codes(caller), codes(tester)) == (["OWN"], ["TRIED"])
    assert caller.get(f"/skus/{tried['id']}").status_code == tester.get(f"/skus/{mine['id']}").status_code == 404
    for entry in caller.get("/audit-log").json()["data"]:
        assert "TRIED" not in json.dumps(entry)
    assert "OWN" not in tester.get("/audit-log").text
    token = tester.http.post(
        "/api/v1/oauth/token",
        data={"grant_type": "client_credentials"},
        auth=(str(tester.client_id), tester.key),
        headers={"X-Forwarded-For": tester.address},
    )
    assert token.headers["Sandbox"] == "true"
    bearer = {"Authorization": f"Bearer {token.json()['access_token']}"}
    read = tester.http.get("/api/v1/skus", headers=bearer)
    assert [sku["sku_code"] for sku in read.json()["data"]] == ["TRIED"]
    for answer, expected in ((read, "true"), (tester.get("/skus"), "true"), (caller.get("/skus"), None)):
        assert answer.headers.get("Sandbox") == expected
    assert tester.get("/nowhere").headers.get("Sandbox") is None, "no key was looked at"


@pytest.mark.promise("SBX-03")
def test_a_reset_leaves_an_empty_sandbox_with_its_keys_and_the_company_as_it_was(caller, tester, pool, database):
    caller.made(sku_code="OWN")
    tester.made(sku_code="A")
    run(tester, sent(tester, "sku_code;name\nB;Jar\n"))
    assert tester.post("/brands", {"name": "Tried"}).status_code == 201
    company_log = caller.get("/audit-log").json()
    before = sandbox_of(pool, caller.company)
    dry = tester.post("/sandbox/reset", params={"dry_run": "true"})
    assert (dry.status_code, dry.json()["dry_run"], dry.json()["data"]["skus_removed"]) == (200, True, 2)
    assert codes(tester) == ["A", "B"]
    once = {"Idempotency-Key": "again"}
    done = tester.post("/sandbox/reset", headers=once)
    assert (done.status_code, done.json()["data"]["skus_removed"], done.headers["Sandbox"]) == (200, 2, "true")
    assert [tester.get(path).json()["data"] for path in ("/skus", "/brands", "/imports", "/docs")] == [[]] * 4
    [entry] = tester.get("/audit-log").json()["data"]
    assert (entry["action"], entry["actor"]["name"], entry["before"]) == ("sandbox.reset", "trial", {"skus": 2})
    tester.made(sku_code="AFTER")
    repeated = tester.post("/sandbox/reset", headers=once)
    assert (repeated.json(), repeated.headers["Idempotent-Replayed"]) == (done.json(), "true")
    assert codes(tester) == ["AFTER"]
    assert (codes(caller), caller.get("/audit-log").json()) == (["OWN"], company_log)
    with pool.company(sandbox_of(pool, caller.company)) as conn:
        assert audit_services.verify(conn).ok
    with owner_transaction(database.owner_url) as owner:
        gone = removal.find_removal(owner, before)
        assert gone is not None
        assert (gone.rows["skus"], gone.certificate is not None) == (2, True)


@pytest.mark.promise("SBX-03")
def test_only_a_test_key_resets(caller, join, tester):
    tester.made(sku_code="A")
    assert caller.post("/sandbox/reset").json()["error"] == "insufficient_scope"
    assert join().post("/sandbox/reset").status_code == 403
    assert caller.http.post("/api/v1/sandbox/reset").status_code == 401
    assert codes(tester) == ["A"]


def test_of_two_resets_at_once_one_finds_it_done(caller, tester, database):
    now = caller.http.app.state.service.clock.now()
    tester.made(sku_code="A")
    for skus in (1, 0):
        with owner_transaction(database.owner_url) as owner:
            done = companies.reset(owner, caller.company, Actor(tester.company, ORIGIN, now))
            assert queries.account_of(owner, done.sandbox) == caller.company
            assert owner.execute("SELECT current_setting('app.company_id')").fetchone() == (str(done.sandbox),)
        assert done.skus == skus
    assert companies.erase_left(caller.http.app.state.service.settings, database, now) >= 1
    assert codes(tester) == []


class Killed(Exception):  # noqa: N818  (an error of the kind would not end the process)
    """The process ends here."""


def killed(*_args, **_more):
    raise Killed


@pytest.mark.parametrize("point", ["_erase_files", "removal.erase_runs", "removal.end"])
def test_an_erasure_that_was_cut_off_goes_on(caller, tester, database, point):
    tester.made(sku_code="A")
    run(tester, sent(tester, "sku_code;name\nB;Jar\n"))
    service = tester.http.app.state.service
    now, objects = service.clock.now(), service.settings.data_dir / "objects" / str(tester.company)
    assert list(objects.rglob("*"))
    with owner_transaction(database.owner_url) as owner:
        companies.reset(owner, caller.company, Actor(tester.company, ORIGIN, now))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"services.companies.{point}", killed)
        with pytest.raises(Killed):
            companies.erase_left(service.settings, database, now)
    with owner_transaction(database.owner_url) as owner:
        begun = removal.find_removal(owner, tester.company)
        assert begun is not None
        assert begun.certificate is None
        assert tester.company in stored.every_of(owner, caller.company), "`pcds company remove` goes on with it, too"
    assert tester.post("/sandbox/reset").status_code == 200, "the next reset erases what was left"
    with owner_transaction(database.owner_url) as owner:
        ended = removal.find_removal(owner, tester.company)
        assert ended is not None
        assert (ended.slug, ended.certificate is not None) == (None, True)
        assert tester.company not in stored.left(owner)
    assert not objects.exists()


def test_a_repeat_of_a_reset_that_nobody_saw_end_empties_nothing(tester, database):
    tester.made(sku_code="A")
    once = {"Idempotency-Key": "lost"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("api.companies.routes.BackgroundTask", killed)
        assert tester.post("/sandbox/reset", headers=once).status_code == 500
    tester.made(sku_code="AFTER")
    repeated = tester.post("/sandbox/reset", headers=once)
    assert (repeated.json()["data"]["skus_removed"], repeated.headers["Idempotent-Replayed"]) == (1, "true")
    assert codes(tester) == ["AFTER"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warehouse.answers.RepeatableRequest.keep", killed)
        assert tester.post("/sandbox/reset", headers={"Idempotency-Key": "cut off"}).status_code == 500
    assert codes(tester) == ["AFTER"], "neither the reset nor its answer is there"
    service = tester.http.app.state.service
    companies.erase_left(service.settings, database, service.clock.now())  # as it would be for all other tests, too


def test_a_store_that_is_away_leaves_the_erasure_to_the_next_reset(caller, tester, database):
    run(tester, sent(tester, "sku_code;name\nC;Jar\n"))
    service = tester.http.app.state.service
    now, objects = service.clock.now(), service.settings.data_dir / "objects" / str(tester.company)
    with owner_transaction(database.owner_url) as owner:
        companies.reset(owner, caller.company, Actor(tester.company, ORIGIN, now))
    with stores.hanging():
        companies.erase_left(service.settings.model_copy(update={"objects_seconds": 0.2}), database, now)
    assert list(objects.rglob("*"))
    assert companies.erase_left(service.settings, database, now) >= 1
    assert not objects.exists()


@pytest.mark.promise("SBX-02")
def test_a_sandbox_mails_nobody_and_counts_for_no_plan(tester, caller, pool, database):
    sku = tester.made(components=[PART])
    body = {"supplier_name": "Caps AG", "supplier_email": "a@caps.example", "sku_codes": [sku["sku_code"]]}
    service = tester.http.app.state.service
    with_mail = service.settings.model_copy(update={"smtp_url": "smtp://127.0.0.1:1"})
    tester.http.app.state.service = replace(service, settings=with_mail)
    try:
        assert tester.post("/supplier-enquiries", body).status_code == 201
        own = caller.made(components=[PART])
        assert caller.post("/supplier-enquiries", body | {"sku_codes": [own["sku_code"]]}).status_code == 201
    finally:
        tester.http.app.state.service = service
    with psycopg.connect(database.owner_url) as owner:
        mails = owner.execute(
            "SELECT company_id FROM supplier_mails WHERE company_id = ANY(%s)", [[tester.company, caller.company]]
        )
        assert mails.fetchall() == [(caller.company,)]
        plans = owner.execute("SELECT count(*) FROM companies WHERE sandbox_of IS NULL").fetchone()
        counted = owner.execute(
            "SELECT sum(amount) FROM pcds_measures(now(), now()) WHERE measure = 'companies'"
        ).fetchone()
        assert plans == (counted[0],)


def test_an_administrator_makes_and_revokes_test_keys(caller, pool):
    browser = signed_in(caller, pool, "administrator")
    form = hidden(browser.get("/keys").text)
    assert browser.post("/keys/test", form | {"name": " "}).status_code == 400
    made = browser.post("/keys/test", form | {"name": "Sync trial"})
    key = re.search(r"<code>(svc_test_[\w-]{43})</code>", made.text)[1]
    assert key not in browser.get("/keys").text
    tester = replace(caller, key=key)
    tester.made(sku_code="TRIED")
    assert codes(caller) == []
    [action] = re.findall(r"action=\"(/keys/[0-9a-f-]+/revoke)\"", made.text.partition("Sync trial")[2])
    assert browser.post(action, form).status_code == 303
    assert tester.get("/skus").json()["error"] == "invalid_api_key"


def test_a_plan_without_keys_has_no_test_keys_either(join, pool):
    small = join(plan="starter")
    browser = signed_in(small, pool, "administrator")
    page = browser.get("/keys").text
    assert "/keys/test" not in page
    assert browser.post("/keys/test", hidden(page) | {"name": "x", "csrf": csrf(browser)}).status_code == 403
    assert sandbox_of(pool, small.company) is None


def csrf(browser):
    return hidden(browser.get("/people").text)["csrf"]
