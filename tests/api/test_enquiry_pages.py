"""Asking a supplier about many items in the browser: the form, the link, what the supplier sees, withdrawing."""

import re
from html import unescape

import pytest

from tests.api.people import Browser, hidden, signed_in

PARTS = [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}]


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "editor")


def ask(browser, lang="en", **fields):
    form = hidden(browser.get("/enquiries").text)
    return browser.post(f"/enquiries?lang={lang}", form | {"supplier_name": "Préformes", **fields})


def test_many_items_are_asked_about_and_the_link_is_shown_once(caller, browser):
    for code in ("ASK-1", "ASK-2"):
        caller.post("/skus", {"sku_code": code, "name": f"Jar {code}", "components": PARTS})
    listed = unescape(browser.get("/items").text)
    address = re.search(r'href="(/enquiries\?[^"#]+)#ask"', listed)[1]
    codes = unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", browser.get(address).text, re.DOTALL)[1])
    assert sorted(codes.split()) == ["ASK-1", "ASK-2"]
    made = ask(browser, sku_codes=codes, message="For our declaration", due_on="2099-01-01")
    assert made.status_code == 400, "the deadline lies too far away"
    assert 'id="due_on-error"' in made.text
    made = ask(browser, sku_codes=codes + "\nASK-1", message="For our declaration", language="de")
    assert made.status_code == 200
    link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    assert "mailto:" in made.text, "no mail server is set"
    assert link not in browser.get("/enquiries").text
    supplier = Browser(caller.http, caller.address)
    page = unescape(supplier.get(f"{link}?lang=fr").text)
    assert "For our declaration" in page
    assert page.count("/supplier-data/") == 2
    path = re.search(r'href="(/enquiries/[0-9a-f-]{36})"', browser.get("/enquiries").text)[1]
    for lang, words in (("en", "Open"), ("fr", "À remplir"), ("de", "Offen")):
        assert unescape(browser.get(f"{path}?lang={lang}").text).count(words) >= 2
    assert link not in browser.get(path).text
    reminded = browser.post(f"{path}/remind?lang=de", hidden(browser.get(path).text))
    assert link in reminded.text
    assert "Erinnerung" in unescape(reminded.text)
    assert browser.post(f"{path}/withdraw", hidden(browser.get(path).text)).status_code == 303
    ended = supplier.get(link)
    assert (ended.status_code, "has ended" in ended.text) == (404, True), "nobody is told that an answer came"
    assert "Withdrawn" in browser.get(path).text


def test_what_cannot_be_asked_stands_at_its_input(caller, browser):
    caller.post("/skus", {"sku_code": "BARE", "name": "Without parts"})
    answer = ask(browser, "de", sku_codes="BARE, NONE", supplier_name="")
    assert answer.status_code == 400
    assert 'id="supplier_name-error"' in answer.text
    answer = ask(browser, "de", sku_codes="BARE, NONE")
    assert answer.status_code == 400
    assert 'id="sku_codes-error"' in answer.text
    assert "BARE, NONE" in answer.text, "what was typed stays"
    for said in ("Der Artikel BARE hat keine Bauteile", "Es gibt keinen Artikel mit dem Code NONE."):
        assert said in answer.text
    assert ask(browser, sku_codes="").status_code == 400
