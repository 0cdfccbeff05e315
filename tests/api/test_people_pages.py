"""Running the company's place: people, their accounts and sessions, API keys, and the audit log, in the browser."""

import re
from datetime import UTC, datetime
from html import unescape
from uuid import uuid4

import pytest

from api.audit.words import action_in_words
from schemas.actors import Actor, Origin
from schemas.messages import LANGUAGES
from schemas.vocabularies import ACTIONS
from tests.api.forms import filled
from tests.api.people import Browser, Person, added, hidden
from tests.api.portfolios import run, sent
from tests.connector.oauth.authorising import at_home
from warehouse.audit import ledger


@pytest.fixture
def administrator(pool, caller):
    return added(pool, caller.company, "administrator")


@pytest.fixture
def browser(caller, administrator):
    return signed_in(caller, administrator)


def signed_in(caller, person):
    browser = Browser(caller.http, caller.address)
    assert browser.sign_in(person).status_code == 303
    return browser


def press(browser, path, step, **fields):
    form = {"csrf": hidden(browser.get("/people").text)["csrf"], "step": step, **fields}
    return browser.post(path, form)


def invite(browser, email, role):
    form = hidden(browser.get("/people").text)
    return browser.post("/people", {"csrf": form["csrf"], "email": email, "role": role})


def link_in(answer):
    return re.search(r"<code>[^<]*(/password/[\w-]+)</code>", answer.text)[1]


def choose_password(caller, path, email, password):
    visitor = Browser(caller.http, caller.address)
    form = hidden(visitor.get(path).text)
    assert visitor.post(path, form | {"new": password, "again": password}).status_code == 303
    return Person(None, None, email, password)


def person_path(browser, email):
    page = browser.get("/people").text
    return re.search(rf"<h2>{re.escape(email)}</h2>.*?action=\"(/people/[^\"?]+)", page, re.DOTALL)[1]


def actions(caller):
    return [entry["action"] for entry in caller.get("/audit-log").json()["data"]]


def test_a_person_is_invited_signs_in_and_is_given_another_role(caller, browser):
    answer = invite(browser, "  New.Person@Brand.Example ", "viewer")
    assert answer.status_code == 200
    path = link_in(answer)
    assert path not in browser.get("/people").text, "the link is shown once"
    person = choose_password(caller, path, "new.person@brand.example", "correct horse battery")
    theirs = signed_in(caller, person)
    assert theirs.get("/people").status_code == 403
    assert "/people" not in theirs.get("/portfolio").text
    of_person = person_path(browser, person.email)
    assert press(browser, of_person, "role", role="editor").status_code == 303
    assert theirs.get("/items/new").status_code == 200
    assert Browser(caller.http, caller.address).get(path).status_code == 404, "the link counts once"
    assert actions(caller)[:4] == ["user.role_changed", "user.signed_in", "user.password_set", "user.invited"]


def test_an_invitation_says_what_is_wrong(browser, pool, new_company):
    taken = added(pool, new_company("enterprise")).email
    for email, role in (("nobody", "viewer"), (taken, "viewer"), ("a@b.example", "owner")):
        answer = invite(browser, email, role)
        assert (answer.status_code, 'class="fault"' in answer.text) == (400, True)
    assert "a@b.example" not in browser.get("/people").text


def test_a_disabled_person_is_out_at_once_and_may_be_let_back(caller, browser, pool):
    person = added(pool, caller.company, "approver")
    theirs = signed_in(caller, person)
    assistant = at_home(caller.http, caller.address, person)
    token = assistant.connected()["access_token"]
    assert assistant.call(token).status_code == 200
    of_person = person_path(browser, person.email)
    assert press(browser, of_person, "disable").status_code == 303
    assert theirs.get("/portfolio").status_code == 303, "the session has ended"
    assert Browser(caller.http, caller.address).sign_in(person).status_code == 403
    assert press(browser, of_person, "return").status_code == 303
    signed_in(caller, person)
    assert assistant.call(token).status_code == 401, "an application is connected anew"
    assert press(browser, of_person, "link").status_code == 200


def test_a_company_keeps_one_administrator(caller, browser, administrator, pool):
    own = person_path(browser, administrator.email)
    for step, fields in (("role", {"role": "viewer"}), ("disable", {})):
        answer = press(browser, own, step, **fields)
        assert (answer.status_code, "needs one administrator" in answer.text) == (400, True)
    form = hidden(browser.get("/account").text)
    assert browser.post("/account/leave", {"csrf": form["csrf"], "sure": "yes"}).status_code == 400
    added(pool, caller.company, "administrator")
    assert browser.post("/account/leave", {"csrf": form["csrf"]}).status_code == 400, "the box is not ticked"
    assert browser.post("/account/leave", {"csrf": form["csrf"], "sure": "yes"}).status_code == 303
    assert browser.get("/account").status_code == 303


def test_sessions_are_seen_and_ended(caller, pool):
    person = added(pool, caller.company, "viewer")
    first, second = signed_in(caller, person), signed_in(caller, person)
    page = first.get("/account").text
    ids = re.findall(r'name="session" value="([^"]+)"', page)
    assert len(ids) == 3
    assert caller.address.rpartition(".")[0] in page
    for lang, words in (("en", "This session"), ("fr", "Cette session"), ("de", "Diese Sitzung")):
        marked = [own_session(each.get(f"/account?lang={lang}").text, words) for each in (first, second)]
        assert sorted(marked) == sorted(set(marked) & set(ids)), "each browser marks its own, and no other"
    csrf = hidden(page)["csrf"]
    other = signed_in(caller, added(pool, caller.company, "viewer"))
    theirs = re.findall(r'name="session" value="([^"]+)"', other.get("/account").text)
    assert first.post("/account/sessions", {"csrf": csrf, "session": theirs[0]}).status_code == 404
    assert first.post("/account/sessions", {"csrf": csrf, "session": "x"}).status_code == 404
    assert first.post("/account/sessions", {"csrf": csrf, "session": "all"}).status_code == 303
    assert [each.get("/account").status_code for each in (first, second, other)] == [303, 303, 200]


def own_session(page, words):
    """Return the id of the one session that the page marks as the reader's."""
    [row] = [row for row in re.findall(r"<tr>.*?</tr>", page) if words in row]
    return re.search(r'name="session" value="([^"]+)"', row)[1]


def test_keys_are_seen_with_their_last_use_and_revoked(caller, browser, pool, new_company):
    assert caller.get("/skus").status_code == 200
    page = browser.get("/keys").text
    action = re.search(r'action="(/keys/[^"]+/revoke)"', page)[1]
    assert page.count("<time") == 2, "made, and used"
    stranger = signed_in(caller, added(pool, new_company("enterprise"), "administrator"))
    assert stranger.post(action, hidden(stranger.get("/keys").text) or own_form(stranger)).status_code == 404
    assert browser.post(action, hidden(page)).status_code == 303
    assert caller.get("/skus").status_code == 401
    assert browser.post(action, hidden(page)).status_code == 404


def own_form(browser):
    return {"csrf": hidden(browser.get("/people").text)["csrf"]}


def test_the_audit_log_shows_fields_before_and_after(caller, browser, administrator):
    caller.post("/skus", {"sku_code": "AUD-1", "name": "Jar", "weight_grams": 10})
    caller.post("/skus", {"sku_code": "AUD-1", "name": "Jar", "weight_grams": 20})
    wrong = Browser(caller.http, caller.address)
    for _ in range(2):
        assert wrong.sign_in(administrator, password="not this one").status_code == 403
    for lang, words in (("en", "Item: changed"), ("fr", "Article: modifié"), ("de", "Artikel: geändert")):
        page = unescape(browser.get(f"/audit?lang={lang}").text)
        assert words in page
        assert "10 → 20" in page
    found = unescape(browser.get("/audit?kind=user").text)
    assert found.count("Person: wrong password") == 1, "at most one a minute"
    assert found.count("Person: signed in") == 1
    assert "not this one" not in found
    assert "Item: " not in found
    assert "AUD-1" not in browser.get(f"/audit?actor={administrator.email}").text
    assert browser.get("/audit?since=x&kind=y&offset=z").status_code == 200
    assert filled(browser.get("/audit?since=2026-01-01").text, "x") == []


def test_the_audit_log_names_item_and_person_and_shows_what_changed_of_parts_units_and_substances(caller, browser):
    part = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
    made = caller.made(sku_code="AUD-2", name="Jar of the cellar", components=[part])
    line = made["components"][0] | {"weight_g": 21.5}
    changed = {
        "sku_code": "AUD-2",
        "name": made["name"],
        "components": [line],
        "substances": {"pfas": {"status": "absent"}},
    }
    assert caller.post("/skus", changed).status_code == 200
    rows = [{"market": "FR", "year": 2026, "units_placed": 10}]
    assert caller.put(f"/skus/{made['id']}/volumes", rows).status_code == 200
    page = unescape(browser.get("/audit").text)
    assert page.count(f'<a href="/items/{made["id"]}">Jar of the cellar</a> (<code>AUD-2</code>)') == 3
    for sentence in (
        "1. body, PET: Weight (g): 20 → 21.5",
        "PFAS: status: – → absent",
        "France, 2026: – → 10",
    ):
        assert sentence in page, sentence


def test_an_import_is_one_entry_that_leads_to_what_it_wrote(caller, browser, join, pool):
    sent_id = sent(caller, "sku_code,name\nIMP-1,Jar\nIMP-2,Lid\n")
    run(caller, sent_id)
    page = unescape(browser.get("/audit?lang=de").text)
    assert "IMP-1" not in page
    [address] = re.findall(rf'href="(/audit\?[^"]*actor={sent_id}[^"]*)"', page)
    assert f'<a href="/imports/{sent_id}?lang=de">portfolio.csv</a>' in page
    inside = unescape(browser.get(address).text)
    assert inside.count("(<code>IMP-") == 2
    assert "mit der Datei portfolio.csv" in inside
    other = join()
    stranger = signed_in(other, added(pool, other.company, "administrator"))
    assert "IMP-1" not in stranger.get(address).text
    assert "portfolio.csv" not in stranger.get(address).text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_audit_log_shows_every_action_that_an_entry_can_have(caller, pool, browser, lang):
    actor = Actor(caller.company, Origin("operator", None, "op", "c"), datetime.now(UTC))
    with pool.company(caller.company) as conn:
        for action in ACTIONS:
            ledger.enter(conn, actor, action, uuid4(), before=None, after={})
    shown = [browser.get(f"/audit?actor=op&lang={lang}&offset={offset}") for offset in range(0, len(ACTIONS), 50)]
    assert {page.status_code for page in shown} == {200}
    text = unescape("".join(page.text for page in shown))
    assert all(action_in_words(action, lang) in text for action in ACTIONS)
