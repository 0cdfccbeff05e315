"""The language that a person chose stays, from page to page and through every form."""

import re
from datetime import UTC, datetime
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from api.pages.render import STYLE
from tests.api.asking import ask
from tests.api.people import Browser, added, hidden
from tests.api.portfolios import counted, run, sent
from tests.api.test_draft_pages import filed as drafted
from tests.api.test_issuing_pages import SIGNED
from tests.api.test_review_pages import filed

ADDRESS = re.compile(r'(?:href|action|formaction)="([^"#]+)(?:#[^"]*)?"')
FOREIGN = re.compile(r"https?://|mailto:")


def addresses(page):
    return {unescape(found) for found in ADDRESS.findall(page.text)} - {STYLE}


def speaks(address):
    return parse_qs(urlsplit(address).query).get("lang")


@pytest.fixture
def rich(caller, pool):
    """A company with something on every page; its person's browser, signed in, and the link of a supplier."""
    asked = ask(caller, pool)
    asked.answer({"component_id": asked.components[0], "weight_g": 21})
    again = ask(caller, pool, sku_code="BOTTLE-2")
    caller.put(f"/skus/{asked.sku_id}/volumes", [{"market": "FR", "year": 2026, "units_placed": 1500}])
    run(caller, sent(caller, "sku_code;name;weight_grams\nA;Box;heavy\nB;Box;2\n"))
    drafted(pool, caller.company, asked.sku_id)
    filed(pool, caller.company, "sku_update", {"changes": {"name": "Renamed"}}, asked.sku_id)
    counted(caller)
    browser = Browser(caller.http, caller.address)
    browser.sign_in(added(pool, caller.company))
    return browser, again


def test_every_link_and_form_of_every_page_keeps_the_language(rich):
    browser, asked = rich
    waiting = ["/portfolio?lang=de", f"/supplier-data/{asked.token}?lang=de", "/supplier-requests?sku=BOTTLE-1&lang=de",
               "/review?state=decided&lang=de", "/items?q=b&lang=de", "/no-such-page?lang=de"]  # fmt: skip
    seen = set(waiting)
    while waiting:
        address = waiting.pop()
        page = browser.get(address, headers={"Accept": "text/html", "Accept-Language": "en"})
        if page.status_code == 405 or not page.headers["content-type"].startswith("text/html"):
            continue
        assert '<html lang="de">' in page.text, address
        searches = re.findall(
            r'<form method="get" action="([^"]+)"[^>]*>\s*<input type="hidden" name="lang"', page.text
        )
        for found in addresses(page) - set(searches):
            if FOREIGN.match(found) or (found.startswith("?lang=") and "/supplier-data/" in address):
                continue
            assert speaks(found) == ["de"], (address, found)
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    assert len({urlsplit(address).path for address in seen}) > 15


def test_what_a_form_leads_to_keeps_the_language(rich, caller, pool):
    browser, asked = rich
    today = datetime.now(UTC).date().isoformat()
    visitor = Browser(caller.http, caller.address)
    shut = visitor.get("/items?lang=de&q=b")
    assert speaks(shut.headers["location"]) == ["de"]
    form = hidden(visitor.get(shut.headers["location"]).text)
    person = added(pool, caller.company)
    signed_in = visitor.post("/sign-in?lang=de", form | {"email": person.email, "password": person.password})
    assert signed_in.headers["location"] == "/items?lang=de&q=b"
    wrong = Browser(caller.http, caller.address)
    form = hidden(wrong.get("/sign-in?lang=de").text)
    assert '<html lang="de">' in wrong.post("/sign-in?lang=de", form | {"email": "x", "password": "y"}).text
    for path in set(re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)):
        form = hidden(browser.get(path).text) | SIGNED | {"issued_on": today, "decision": "accept"}
        assert speaks(browser.post(f"{path}?lang=de", form).headers["location"]) == ["de"]
    answered = visitor.post(f"/supplier-data/{asked.token}?lang=de", {"consent": "yes"})
    assert speaks(answered.headers["location"]) == ["de"]
    csrf = {"csrf": re.search(r'name="csrf" value="([^"]+)"', browser.get("/items").text)[1]}
    assert speaks(browser.post("/sign-out?lang=de", csrf).headers["location"]) == ["de"]
