"""From a draft to the declaration: nothing open is issued, nothing typed is lost, and what was issued is kept."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from tests.api.people import Browser, added, hidden
from tests.api.portfolios import counted
from tests.api.test_draft_pages import filed as filed_at
from tests.api.test_portfolio_pages import words
from tests.api.test_review_pages import filed

SCRIPT = "<script>alert('x')</script>"
SIGNED = {
    "point.manufacturer": f"Quai 1\nLyon {SCRIPT}",
    "point.standards": "EN 13430:2004",
    "on_behalf_of": "Marken GmbH",
    "signatory": "Ada Marsh",
    "function": "Leiterin Qualität",
    "place": "Köln",
}


@pytest.fixture
def today(clock):
    return clock.today()


@pytest.fixture
def path(stopped, pool):
    made = stopped.made(material="glass", weight_grams=300)
    return f"/review/{filed_at(pool, stopped.company, made['id'])}"


@pytest.fixture
def person(stopped, pool):
    return added(pool, stopped.company)


@pytest.fixture
def browser(stopped, person):
    browser = Browser(stopped.http, stopped.address)
    assert browser.sign_in(person).status_code == 303
    return browser


def accept(browser, path, **fields):
    return browser.post(path, hidden(browser.get(path).text) | {"decision": "accept", **fields})


def test_a_draft_with_open_points_is_not_issued_and_what_was_typed_stays(stopped, browser, path):
    page = browser.get(f"{path}?lang=de").text
    inputs = {*SIGNED, "issued_on", "expires_on"}
    assert inputs | {"point.legislation", "point.additional"} <= set(re.findall(r'name="([^"]+)"', page))
    refused = browser.post(f"{path}?lang=de", hidden(page) | {"decision": "accept", "place": "Köln", "reason": "Gut"})
    assert refused.status_code == 400
    linked = re.findall(r'<p><a href="#([^"]+)">([^<]+)</a>', refused.text)
    assert {name for name, _ in linked} == inputs - {"place", "expires_on"}
    assert all(f'id="{name}"' in refused.text and f'id="{name}-error"' in refused.text for name, _ in linked)
    assert all(": Ohne diese Angabe" in said for _, said in linked)
    assert "Funktion der unterzeichnenden Person: Ohne" in dict(linked)["function"]
    assert 'value="Köln"' in refused.text
    assert ">Gut</textarea>" in refused.text
    assert stopped.get("/docs").json()["data"] == []
    assert "Wartet" in words(browser.get(f"{path}?lang=de"))


def test_what_is_issued_is_the_declaration_and_its_bytes_are_kept(stopped, browser, path, person, today):
    last_day = today + timedelta(days=400)
    assert accept(browser, path, **SIGNED, issued_on=str(today + timedelta(days=1))).status_code == 400
    assert accept(browser, path, **SIGNED, issued_on=str(today), expires_on="2020-01-01").status_code == 400
    added = {"point.legislation": "Regulation (EC) No 1935/2004 (OJ L 338, 13.11.2004, p. 4)"}
    done = accept(browser, path, **SIGNED, **added, issued_on=str(today), expires_on=str(last_day), reason="Complete")
    assert done.status_code == 303
    page = browser.get(done.headers["location"])
    [pdf_path] = re.findall(r'href="(/declarations/[^"]+\.pdf)"', page.text)
    [sha256] = re.findall(r"SHA-256 ([0-9a-f]{64})", page.text)
    pdf = browser.get(pdf_path)
    assert (pdf.headers["content-type"], hashlib.sha256(pdf.content).hexdigest()) == ("application/pdf", sha256)
    assert browser.get(f"{path}/draft.pdf").content == pdf.content
    declared = unescape(browser.get(f"{path}/draft").text)
    assert not [said for said in ("Entwurf", "zu ergänzen", "Zu ergänzen") if said in declared]
    for said in (
        "Lyon",
        "EN 13430:2004",
        *added.values(),
        "Marken GmbH",
        f"Köln, {today}",
        "Ada Marsh, Leiterin Qualität",
    ):
        assert said in declared, said
    assert "<script" not in browser.get(f"{path}/draft").text
    [doc] = stopped.get("/docs").json()["data"]
    assert (doc["reference"], doc["status"]) == ("DoC-1", "valid")
    assert (doc["issued_on"], doc["expires_on"]) == (str(today), str(last_day))
    assert pdf_path in browser.get(f"/items/{doc['sku_id']}").text, "and from the item's list of declarations"
    decided, created, *_ = stopped.get("/audit-log?actor=user").json()["data"]
    assert (decided["action"], created["action"]) == ("doc_draft.accepted", "doc.created")
    assert (created["actor"]["name"], created["after"]["signatory"]) == (person.email, "Ada Marsh")
    assert created["after"]["pdf_sha256"] == sha256
    assert browser.get("/declarations/none.pdf").status_code == 404


def test_a_valid_declaration_stands_above_no_gap_that_says_there_is_none(stopped, browser, path, today):
    counted(stopped)
    sku_id = stopped.get("/skus").json()["data"][0]["id"]
    gap = "No Declaration of Conformity covers the SKU today."
    assert gap in words(browser.get(f"/items/{sku_id}"))
    assert accept(browser, path, **SIGNED, issued_on=str(today)).status_code == 303
    told = words(browser.get(f"/items/{sku_id}"))
    assert ("Declaration of conformity Valid" in told, gap in told) == (True, False)


def test_a_draft_of_before_has_its_content_drawn_anew_and_is_asked_for_as_well(stopped, browser, pool, today):
    made = stopped.made()
    old = f"/review/{filed(pool, stopped.company, 'doc_draft', {'reference': 'OLD-1'}, made['id']).id}"
    assert accept(browser, old).status_code == 400
    assert stopped.get("/docs").json()["data"] == []
    about_nothing = f"/review/{filed(pool, stopped.company, 'doc_draft', {'reference': 'OLD-2'}).id}"
    assert 'value="accept"' not in browser.get(about_nothing).text
    assert accept(browser, about_nothing, **SIGNED, issued_on=str(datetime.now(UTC).date())).status_code == 409


def test_a_german_draft_speaks_german(stopped, browser, pool):
    component = {"component_type": "body", "material_family": "glass", "weight_g": 12.5, "colour": "transparent"}
    made = stopped.made(
        packaging_level="sales", components=[component], substances={"pfas": {"status": "absent"}}, weight_grams=12.5
    )
    told = words(browser.get(f"/review/{filed_at(pool, stopped.company, made['id'])}/draft"))
    for said in ("Körper, Glas, 12,5 g", "PFAS: nicht vorhanden", "Gesamtgewicht (g): 12,5"):
        assert said in told, said
    assert not [raw for raw in (" sales", " absent", " body", "not_assessed", "12.5") if raw in told]


def test_the_page_says_what_contradicts_conformity_with_its_field_and_nothing_is_issued(stopped, browser, pool, today):
    """decisions §13: the sentence and the field, before and after somebody tries; what is open stands beside it."""
    heavy = {"heavy_metals": {"status": "above_limit", "value": 150, "unit": "mg_per_kg"}}
    made = stopped.made(material="glass", weight_grams=300, food_contact=True, markets=["GB"], substances=heavy)
    path = f"/review/{filed_at(pool, stopped.company, made['id'])}"
    fact = "Schwermetallen über 100 mg/kg erfüllt Artikel 5 Absatz 4"
    page = words(browser.get(f"{path}?lang=de"))
    assert ("Widerspricht der Konformität" in page, fact in page) == (True, True)
    assert "Zu PFAS ist nichts angegeben." in page
    tried = browser.post(
        f"{path}?lang=de", hidden(browser.get(path).text) | {"decision": "accept", **SIGNED, "issued_on": str(today)}
    )
    assert tried.status_code == 409
    told = words(tried)
    assert fact in told
    assert "Schwermetallstatus: " in told.partition(fact)[0].rpartition("ausgestellt werden")[2], "the field's name"
    assert 'value="Marken GmbH"' in tried.text, "what was typed stays"
    assert stopped.get("/docs").json()["data"] == []
    assert f"Gegen die Konformität: Verpackung mit {fact}" in words(browser.get(f"{path}/draft?lang=de"))


def test_the_page_lists_what_is_open_and_issues_all_the_same(stopped, browser, path, today):
    page = words(browser.get(path))
    assert "Open by the records" in page
    assert "Nothing is declared about heavy metals." in page
    assert accept(browser, path, **SIGNED, issued_on=str(today)).status_code == 303
    issued = words(browser.get(path))
    assert "Open by the records" not in issued
    declared = words(browser.get(f"{path}/draft"))
    assert ("Article 39(1)" in declared or "Artikel 39 Absatz 1" in declared, "Nothing is declared" in declared) == (
        True,
        False,
    )


def test_the_page_says_that_the_member_state_decides_the_languages(stopped, browser):
    draft = stopped.post(f"/skus/{stopped.made()['id']}/doc-drafts", {}).json()["data"]["id"]
    assert "which languages it asks for (Article 39(2))" in words(browser.get(f"/review/{draft}"))


def test_the_page_of_a_draft_that_a_correction_outdated_asks_for_a_new_one(stopped, browser):
    heavy = {"heavy_metals": {"status": "above_limit"}}
    made = stopped.made(material="glass", weight_grams=300, substances=heavy)
    draft = stopped.post(f"/skus/{made['id']}/doc-drafts", {}).json()["data"]["id"]
    clean = {"sku_code": made["sku_code"], "name": "Bottle", "substances": {"heavy_metals": {"status": "absent"}}}
    assert stopped.post("/skus", clean).status_code == 200
    page = words(browser.get(f"/review/{draft}"))
    assert "contradicted conformity when this draft was prepared" in page
    assert stopped.post(f"/skus/{made['id']}/archive", {}).status_code == 200
    assert 'value="accept"' in browser.get(f"/review/{draft}").text, "and who tries is told that the item is archived"


def test_what_cannot_be_printed_is_refused_before_it_is_issued(stopped, browser, pool, path, today):
    """The refusal names the field, of the form or of the record, and the characters that no font has."""
    form = {**SIGNED, "issued_on": str(today)}
    tried = accept(browser, path, **form | {"place": "Köln 😀", "point.standards": "EN \U00013000"})
    assert tried.status_code == 400
    faults = dict(re.findall(r'<p><a href="#([^"]+)">([^<]+)</a>', tried.text))
    assert {*faults} == {"place", "point.standards"}
    assert "😀 (U+1F600)" in faults["place"]
    assert "\U00013000 (U+13000)" in faults["point.standards"]
    made = stopped.made(sku_code="A-9", name="Flasche 😀", material="glass", weight_grams=300)
    of_record = f"/review/{filed_at(pool, stopped.company, made['id'])}"
    tried = accept(browser, f"{of_record}?lang=de", **form)
    assert tried.status_code == 400
    told = words(tried)
    assert "Für 😀 (U+1F600) in der Zeile" in told
    assert "Bezeichnung: Flasche 😀" in told.partition("in der Zeile")[2].partition("berichtigen")[0]
    assert "Gegenstand der Erklärung" in told.partition("Für 😀")[0]
    assert '<a href="#point.object"' not in tried.text, "it has no input"
    read = browser.get(f"{of_record}/draft.pdf?lang=de")
    assert read.status_code == 409
    assert "Flasche 😀" in words(read)
    assert stopped.get("/docs").json()["data"] == []
