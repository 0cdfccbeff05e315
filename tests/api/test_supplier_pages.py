"""The supplier's form in a browser without scripts: asked, filled in, corrected, sent, thanked, and gone at the end."""

import re
from datetime import UTC, datetime
from html import unescape
from uuid import uuid4

import pytest

from schemas.actors import Actor, Origin
from services.review import decide as decide_review
from tests.api.asking import BODY, CAP, ask
from tests.api.people import Browser, hidden, signed_in
from tests.services.making import PDF, PNG
from warehouse import review as entries
from warehouse.rules import Rulesets

PERSON = Origin("user", str(uuid4()), "Ada Marsh", "c-2")
SCRIPT = "<script>alert('x')</script>"


@pytest.fixture
def asked(caller, pool):
    return ask(caller, pool)


@pytest.fixture
def browser(asked):
    return Browser(asked.http, asked.address)


def entry(pool, asked):
    with pool.company(asked.company) as conn:
        [found], _ = entries.page(conn)
    return found


def decide(pool, asked, how, **more):
    with pool.company(asked.company) as conn:
        actor = Actor(asked.company, PERSON, datetime.now(UTC))
        how(conn, actor, entry(pool, asked).id, rulesets=Rulesets(), **more)


def attach(browser, asked, data=PDF, media="application/pdf", **fields):
    return browser.http.post(
        f"/supplier-data/{asked.token}/files",
        files={"file": ("report.pdf", data, media)},
        data={"type": "test_report", **fields},
        headers={"X-Forwarded-For": asked.address},
    )


def test_a_supplier_answers_in_a_browser(asked, browser, caller, pool):
    path = f"/supplier-data/{asked.token}"
    page = browser.get(path)
    assert (page.status_code, page.headers["Content-Language"]) == (200, "en")
    assert "script-src" not in page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.text.count('name="0.weight_g"') == page.text.count('name="1.weight_g"') == 1
    assert "2.weight_g" not in page.text
    assert attach(browser, asked).status_code == 303
    assert "report.pdf" in browser.get(path).text
    form = {
        "0.weight_g": "18,5",
        "0.polymer_or_grade": " rPET ",
        "0.separable": "no",
        "1.additives": "none",
        "0.substances.pfas.status": "below_limit",
        "0.substances.pfas.value": "3",
        "0.substances.pfas.unit": "ppb",
        "consent": "yes",
        "contact": "q@preformes.example",
    }
    sent = browser.post(path, form)
    assert (sent.status_code, sent.headers["location"]) == (303, f"{path}/thanks?lang=en")
    assert browser.get(sent.headers["location"]).status_code == 200
    assert "waiting to be read" in browser.get(path).text
    payload = entry(pool, asked).payload
    assert list(payload.pop("asked")) == asked.components, "what they were when they were asked about (decisions §13)"
    assert payload == {
        "components": [
            {
                "component_id": asked.components[0],
                "polymer_or_grade": "rPET",
                "weight_g": 18.5,
                "separable": False,
                "substances": {"pfas": {"status": "below_limit", "value": 3.0, "unit": "ppb"}},
            },
            {"component_id": asked.components[1], "additives": []},
        ],
        "contact": "q@preformes.example",
    }
    assert caller.get(f"/skus/{asked.sku_id}/files").json()["data"] == [], "a document waits with its answer"
    decide(pool, asked, decide_review.accept)
    [file] = caller.get(f"/skus/{asked.sku_id}/files").json()["data"]
    assert (file["filename"], file["type"], file["size_bytes"]) == ("report.pdf", "test_report", len(PDF))
    for gone in (browser.get(path), browser.post(path, form), browser.get(f"{path}/thanks"), attach(browser, asked)):
        assert (gone.status_code, "unknown" in gone.text) == (404, True)


@pytest.mark.parametrize(("lang", "said"), [("fr", "vous interroge"), ("de", "fragt nach Ihrer"), ("en", "asks about")])
def test_the_form_speaks_the_suppliers_language(asked, browser, lang, said):
    by_header = browser.get(f"/supplier-data/{asked.token}", headers={"Accept-Language": f"{lang}-CH, it;q=0.5"})
    by_choice = browser.get(f"/supplier-data/{asked.token}?lang={lang}", headers={"Accept-Language": "en"})
    for page in (by_header, by_choice):
        assert (said in page.text, f'<html lang="{lang}">' in page.text) == (True, True)
        assert f"/supplier-data/{asked.token}?lang={lang}" in page.text, "and keeps it when the form is sent"


@pytest.mark.parametrize(
    ("lang", "colour"),
    [("fr", "De quelle couleur est l’emballage"), ("de", "Welche Farbe hat die Verpackung"), ("en", "What colour is")],
)
def test_the_form_asks_in_the_words_of_the_rules_and_first_what_the_grade_needs(caller, pool, lang, colour):
    asked = ask(caller, pool, components=[BODY, {**BODY, "component_type": "cap", "weight_g": 2}])
    page = asked.http.get(f"/supplier-data/{asked.token}?lang={lang}", headers={"X-Forwarded-For": asked.address}).text
    body, cap = page.split('id="part-2"')
    assert colour in body
    assert colour not in cap, "the pack has one colour"
    needed = {fact["field"] for fact in opened(caller, asked) if fact["component_id"] == asked.components[0]}
    assert "additives" in needed
    shown, folded = body.split("<details>")
    assert [name for name in needed if f'id="0.{name}"' not in shown] == []
    assert 'id="0.attachment"' in folded


def opened(caller, asked):
    return caller.get(f"/skus/{asked.sku_id}").json()["data"]["compliance"]["grade_trace"]["open"]


def test_what_does_not_fit_comes_back_with_what_is_wrong(asked, browser, pool):
    form = {"1.weight_g": "heavy", "0.colour": "plaid", "1.substances.svhc.value": "2", "comment": SCRIPT}
    page = browser.post(f"/supplier-data/{asked.token}?lang=fr", form)
    assert page.status_code == 400
    places = set(re.findall(r'<p><a href="#([^"]+)">', page.text))
    assert places == {"consent", "1.weight_g", "0.colour", "1.substances.svhc.status"}
    assert all(f'id="{place}"' in page.text for place in places)
    assert 'value="heavy"' in page.text
    assert "Écrivez un nombre" in unescape(page.text)
    assert SCRIPT not in page.text
    with pool.company(asked.company) as conn:
        assert entries.page(conn) == ([], 0)


def test_very_many_faults_are_shown_up_to_the_limit(caller, pool, browser):
    asked = ask(caller, pool, components=[BODY, *({**CAP, "weight_g": n} for n in range(1, 60))])
    wrong = {"status": "absent", "value": "5", "unit": "percent_w_w"}
    form = {
        f"{place}.substances.{substance}.{part}": value
        for place in range(60)
        for substance in ("pfas", "svhc")
        for part, value in wrong.items()
    }
    page = browser.post(f"/supplier-data/{asked.token}", {"consent": "yes"} | form)
    assert page.status_code == 400
    assert len(re.findall(r'<p><a href="#([^"]+)">', page.text)) == 100


def test_stored_script_is_text_on_the_form(caller, pool):
    part = {"component_type": "body", "material_family": "glass", "polymer_or_grade": SCRIPT}
    asked = ask(caller, pool, name=SCRIPT, sku_code=SCRIPT, components=[part])
    page = Browser(asked.http, asked.address).get(f"/supplier-data/{asked.token}").text
    assert (SCRIPT in page, unescape(page).count(SCRIPT)) == (False, 3)


def test_documents_are_judged_and_leave_nothing_behind_when_refused(asked, browser):
    objects = asked.http.app.state.service.objects
    wrong = attach(browser, asked, PNG)
    assert (wrong.status_code, "By its name the file is PDF, but its content is PNG." in wrong.text) == (400, True)
    assert attach(browser, asked, b"MZ, a program", "application/octet-stream").status_code == 400
    assert attach(browser, asked, type="no such type").status_code == 400
    assert list(objects.stored(asked.company, "files")) == []
    assert attach(browser, asked, PNG, "image/png").status_code == 303


def test_documents_of_a_rejected_answer_stay_with_it(asked, browser, pool):
    attach(browser, asked)
    browser.post(f"/supplier-data/{asked.token}", {"consent": "yes", "0.weight_g": "1"})
    first = entry(pool, asked)
    browser.post(f"/supplier-data/{asked.token}", {"consent": "yes", "0.weight_g": "2"})
    second = entry(pool, asked)
    with pool.company(asked.company) as conn:
        held = {each.id: len(entries.of_entry(conn, each.id)) for each in (first, second)}
    assert held == {first.id: 0, second.id: 1}, "what replaces an answer takes its documents over"
    decide(pool, asked, decide_review.reject)
    assert "report.pdf" not in browser.get(f"/supplier-data/{asked.token}").text


def test_the_form_shares_the_limits_of_the_submission_address(stopped, pool):
    asked = ask(stopped, pool)
    browser = Browser(asked.http, asked.address)
    for _ in range(10):
        assert browser.get(f"/supplier-data/{asked.token}").status_code == 200, "looking is not answering"
        assert asked.answer().status_code == 202
    over = browser.post(f"/supplier-data/{asked.token}", {"consent": "yes"})
    assert (over.status_code, over.headers["Retry-After"]) == (429, "60")
    unknown = browser.get("/supplier-data/" + "x" * 43)
    assert unknown.status_code == 404


def shown(page):
    """What the inputs of the answer hold: texts, chosen options and ticks."""
    text = unescape(page.text)
    held = dict(re.findall(r'<input id="([^"]+)" name="[^"]+"[^>]*? value="([^"]+)"', text))
    for name, options in re.findall(r'<select id="([^"]+)"[^>]*>(.*?)</select>', text, re.DOTALL):
        if chosen := re.search(r'value="([^"]+)" selected', options):
            held[name] = chosen[1]
    held |= dict.fromkeys(re.findall(r'type="checkbox" id="([^"]+)"[^>]* checked', text), "x")
    return held | dict(re.findall(r'<textarea id="([^"]+)"[^>]*>([^<]+)</textarea>', text))


ANSWER = {
    "0.weight_g": "18,5",
    "0.polymer_or_grade": "rPET",
    "0.separable": "no",
    "1.additives": "none",
    "0.colour": "light",
    "0.substances.pfas.status": "below_limit",
    "0.substances.pfas.value": "3,25",
    "0.substances.pfas.unit": "ppb",
    "0.substances.pfas.evidence": "Report 7",
    "contact": "q@p.example",
    "comment": "Line 3",
}
AS_SHOWN = {
    **{name: value for name, value in ANSWER.items() if name != "1.additives"},
    "1.additives.none": "x",
    "type": "supplier_declaration",
}


def test_changing_an_answer_begins_with_what_was_answered(asked, browser, pool):
    path = f"/supplier-data/{asked.token}?lang=de"
    assert browser.post(path, ANSWER | {"consent": "yes"}).status_code == 303
    assert shown(browser.get(path)) == AS_SHOWN
    first = entry(pool, asked).payload
    sent = {name: value for name, value in AS_SHOWN.items() if name != "1.additives.none"}
    assert browser.post(path, sent | {"1.additives": "none", "consent": "yes"}).status_code == 303
    assert entry(pool, asked).payload == first, "sent as it is shown it says the same"


def test_a_supplier_is_told_of_a_rejection_and_corrects_the_answer(caller, pool, asked, browser):
    path = f"/supplier-data/{asked.token}?lang=fr"
    browser.post(path, ANSWER | {"consent": "yes"})
    person = signed_in(caller, pool)
    [at] = re.findall(r'href="(/review/[0-9a-f-]{36})', person.get("/review").text)
    decision = {"decision": "reject", "reason": "not for them", "note": f"Which plant? {SCRIPT}"}
    assert person.post(at, hidden(person.get(at).text) | decision).status_code == 303
    page = browser.get(path)
    for said in ("n’a pas été acceptée", f"Which plant? {SCRIPT}"):
        assert said in unescape(page.text)
    assert ("not for them" in page.text, "<script" in page.text) == (False, False)
    assert shown(page) == AS_SHOWN
    assert browser.post(path, ANSWER | {"0.weight_g": "19", "consent": "yes"}).status_code == 303
    assert "acceptée" not in unescape(browser.get(path).text)


def test_attaching_keeps_what_was_typed_whatever_becomes_of_the_document(asked, browser):
    path = f"/supplier-data/{asked.token}?lang=de"
    kind, too_large = "application/pdf", b"x" * 20_000_001
    for data, media, status in (
        (PDF, kind, 200),
        (PDF, kind, 200),
        (PNG, "text/x", 400),
        (b"", kind, 400),
        (too_large, kind, 400),
    ):
        page = attach(browser, asked, data, media, **ANSWER, consent="yes", lang="de")
        assert page.status_code == status, (media, len(data))
        assert {**shown(page), "consent": "x"} == {**AS_SHOWN, "consent": "x"}
        assert page.text.count("<li>report.pdf") == 1, "and the same document is attached once"
    nothing = browser.http.post(
        path.replace("?", "/files?"),
        files={"file": ("", b"", "application/octet-stream")},
        data=ANSWER,
        headers={"X-Forwarded-For": asked.address},
    )
    assert (nothing.status_code, "Wählen Sie zuerst ein Dokument" in nothing.text) == (400, True)
    assert shown(nothing) == AS_SHOWN


def test_every_fault_names_its_part_and_its_field(asked, browser):
    form = {
        "1.weight_g": "heavy",
        "0.weight_g": "-1",
        "1.substances.svhc.value": "2",
        "consent": "yes",
        "0.additives": "glue",
        "comment": "x" * 2001,
    }
    page = browser.post(f"/supplier-data/{asked.token}", form)
    told = {name: unescape(said) for name, said in re.findall(r'<p><a href="#([^"]+)">([^<]+)</a>', page.text)}
    assert told.keys() == {"1.weight_g", "0.weight_g", "1.substances.svhc.status", "0.additives", "comment"}
    assert told["1.weight_g"].startswith("Part 2 of 2: cap, Weight")
    assert told["0.weight_g"].startswith("Part 1 of 2: body, Weight")
    assert "(SVHC), Status: Fill this in." in told["1.substances.svhc.status"]
    assert all(f'id="{name}"' in page.text for name in told)


def test_a_status_that_contradicts_its_value_is_named_in_words(asked, browser):
    part = "1.substances.svhc"
    form = {f"{part}.status": "absent", f"{part}.value": "2", f"{part}.unit": "percent_w_w", "consent": "yes"}
    told = unescape(browser.post(f"/supplier-data/{asked.token}?lang=de", form).text)
    assert "2,0 bedeutet „über Grenzwert“, die Antwort aber ist „nicht vorhanden“." in told
    assert ">über Grenzwert</option>" in told, "the same word is offered"


def test_the_form_is_there_whatever_the_record_lacks(caller, pool):
    """Components with no field but those that must be there; and none of those that were asked about any more."""
    bare = [{"component_type": kind, "material_family": "plastic", "weight_g": 1} for kind in ("body", "cap")]
    asked = ask(caller, pool, components=bare, sku_code="BARE")
    browser = Browser(asked.http, asked.address)
    path = f"/supplier-data/{asked.token}"
    assert browser.get(path).status_code == 200
    assert browser.post(path, {"consent": "yes", "0.weight_g": "2"}).status_code == 303
    person = signed_in(caller, pool)
    assert person.get("/supplier-requests?sku=BARE").status_code == 200
    caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BARE", "name": "Bare", "components": bare[:1]})
    caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BARE", "name": "Bare", "components": []})
    gone = browser.get(path)
    assert (gone.status_code, "no longer part of this packaging" in gone.text) == (200, True)
    assert browser.post(path, {"consent": "yes", "0.weight_g": "2"}).status_code == 303
    for at in set(re.findall(r'href="(/review/[0-9a-f-]{36})', person.get("/review").text)):
        assert person.get(at).status_code == 200


def test_a_number_that_may_be_two_is_asked_with_both_readings(asked, browser):
    form = {"1.weight_g": "1,234", "0.weight_g": "1,234.5", "0.colour": "plaid", "consent": "yes"}
    page = browser.post(f"/supplier-data/{asked.token}?lang=en", form)
    told = {name: unescape(said) for name, said in re.findall(r'<p><a href="#([^"]+)">([^<]+)</a>', page.text)}
    assert told.keys() == {"1.weight_g", "0.colour"}
    assert "“1,234” can be 1.234 or 1234" in told["1.weight_g"]


LABEL = {"component_type": "label", "material_family": "paper", "weight_g": 1}


def rewritten(asked, caller, lines):
    """Write the bottle with other lines while the supplier has its form open."""
    answer = caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BOTTLE-1", "name": "Bottle", "components": lines})
    assert answer.status_code == 200, answer.json()


@pytest.mark.parametrize("order", ["turned", "inserted", "removed"])
def test_an_answer_is_about_the_part_that_the_form_showed_whatever_became_of_the_graph(
    asked, browser, caller, pool, order
):
    path, (body, cap) = f"/supplier-data/{asked.token}", asked.components
    assert 'name="1.weight_g"' in browser.get(path).text
    lines = [CAP | {"id": cap}, BODY | {"id": body}]
    rewritten(asked, caller, {"turned": lines, "inserted": [LABEL, *lines[::-1]], "removed": lines[:1]}[order])
    assert browser.post(path, {"0.weight_g": "21", "1.weight_g": "3", "consent": "yes"}).status_code == 303
    assert {line["component_id"]: line["weight_g"] for line in entry(pool, asked).payload["components"]} == {
        body: 21,
        cap: 3,
    }
    again = browser.get(path).text
    assert re.search(r'name="1.weight_g"[^>]*value="3"', again)


def test_a_part_that_is_gone_is_named_and_a_fault_is_of_the_part_that_was_typed_in(asked, browser, caller):
    path, (_, cap) = f"/supplier-data/{asked.token}", asked.components
    rewritten(asked, caller, [CAP | {"id": cap}])
    page = browser.get(path).text
    assert "No longer part of this packaging" in page
    assert re.search(r"<li>body: plastic, PET</li>", page)
    faulty = browser.post(path, {"1.weight_g": "heavy", "consent": "yes"})
    assert 'href="#1.weight_g"' in faulty.text
    assert "Part 1 of 1: cap" in unescape(faulty.text)


def test_the_parts_of_an_archived_packaging_are_asked_about_still(asked, browser, caller, pool):
    path = f"/supplier-data/{asked.token}"
    assert caller.post(f"/skus/{asked.sku_id}/archive", {}).status_code == 200
    page = browser.get(path).text
    assert page.count('name="0.weight_g"') == page.count('name="1.weight_g"') == 1
    assert "no longer part" not in page.lower()
    assert browser.post(path, {"0.weight_g": "21", "consent": "yes"}).status_code == 303
    assert entry(pool, asked).payload["components"][0]["component_id"] == asked.components[0]
