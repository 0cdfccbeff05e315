"""Webhooks in the browser: added with the secret once, tried, paused, taken up, given another secret, removed."""

import re

import pytest

from schemas.messages import LANGUAGES
from tests.api.people import hidden, signed_in

ADDRESS = "https://erp.example/hooks"


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "administrator")


def pressed(browser, path, step):
    return browser.post(path, hidden(browser.get(path).text) | {"step": step})


def test_a_webhook_from_its_first_day_to_its_last(caller, browser):
    form = hidden(browser.get("/webhooks").text) | {"url": ADDRESS, "description": "<b>ERP"}
    made = browser.post("/webhooks", form)
    secret = re.search(r"whsec_[\w+/=]+", made.text)[0]
    again = browser.post("/webhooks", form)
    assert secret not in again.text, "the same form adds nothing twice, and the secret is shown once"
    [hook] = caller.get("/webhooks").json()["data"]
    path = f"/webhooks/{hook['id']}"
    page = browser.get("/webhooks").text
    assert path in page
    assert "&lt;b&gt;ERP" in page

    assert "whsec_" not in browser.get(path).text
    rolled = re.search(r"whsec_[\w+/=]+", pressed(browser, path, "roll").text)[0]
    assert rolled != secret
    for step, state in (("pause", "paused"), ("activate", "active")):
        assert pressed(browser, path, step).headers["location"] == path
        assert caller.get(path).json()["data"]["state"] == state
    assert pressed(browser, path, "remove").headers["location"] == "/webhooks"
    assert caller.get("/webhooks").json()["data"] == []
    assert browser.get(path).status_code == 404


def test_a_filter_is_ticked_when_a_webhook_is_added_and_changed_later(caller, browser):
    form = hidden(browser.get("/webhooks").text) | {"url": ADDRESS, "types": ["sku.created", "sku.archived"]}
    assert "Item: created" in browser.post("/webhooks", form).text
    [hook] = caller.get("/webhooks").json()["data"]
    assert hook["types"] == ["sku.archived", "sku.created"]
    path = f"/webhooks/{hook['id']}"
    assert re.findall(r'value="([a-z_.]+)" checked', browser.get(path).text) == hook["types"]
    browser.post(path, hidden(browser.get(path).text) | {"step": "types", "types": ["import.completed"]})
    assert caller.get(path).json()["data"]["types"] == ["import.completed"]
    pressed(browser, path, "types")
    assert caller.get(path).json()["data"]["types"] is None
    assert "<dd>All</dd>" in browser.get(path).text


def test_a_type_that_no_change_has_is_refused_beside_the_ticks(browser):
    form = hidden(browser.get("/webhooks").text) | {"url": ADDRESS, "types": "sku.burnt"}
    answer = browser.post("/webhooks", form)
    assert answer.status_code == 400
    assert 'id="types-error"' in answer.text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_refused_address_stays_typed_and_is_explained(browser, lang):
    form = hidden(browser.get("/webhooks").text) | {"url": "http://10.0.0.1/x"}
    answer = browser.post(f"/webhooks?lang={lang}", form)
    assert answer.status_code == 400
    assert 'value="http://10.0.0.1/x"' in answer.text
    assert {"en": "Send an address with https", "fr": "Envoyez une adresse", "de": "Senden Sie"}[lang] in answer.text


def test_a_test_message_says_what_came_of_it(caller, browser):
    made = caller.post("/webhooks", {"url": "https://erp.invalid/x"}).json()["data"]
    page = pressed(browser, f"/webhooks/{made['id']}", "try").text
    assert "A test message was not taken." in page


def test_the_list_says_why_a_webhook_was_disabled(caller, browser, pool):
    caller.post("/webhooks", {"url": ADDRESS})
    with pool.company(caller.company) as conn:
        conn.execute("UPDATE webhooks SET state = 'disabled', disabled_reason = 'gone'")
    assert "The receiver said that it is gone (410)." in browser.get("/webhooks").text
