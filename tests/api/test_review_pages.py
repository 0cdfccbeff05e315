"""The review pages: for the company's people alone, compared and decided there, and safe against what others stored."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from html import unescape
from uuid import uuid4

import psycopg
import pytest

from api.pages import render
from compliance.annex_v import in_words
from schemas.actors import Actor, Origin
from schemas.messages import word
from services.review import entries as entries_review
from tests.api.asking import ask
from tests.api.people import Browser, added, hidden, signed_in
from tests.api.portfolios import counted
from tests.services.making import PDF

SCRIPT = "<script>alert('x')</script>"
ASSISTANT = Origin("connection", str(uuid4()), f"Assistant {SCRIPT}", "c-3")


@pytest.fixture
def person(caller, pool):
    return added(pool, caller.company)


@pytest.fixture
def browser(caller, person):
    browser = Browser(caller.http, caller.address)
    assert browser.sign_in(person).status_code == 303
    return browser


def filed(pool, company, kind, payload, sku_id=None):
    with pool.company(company) as conn:
        return entries_review.file(conn, Actor(company, ASSISTANT, datetime.now(UTC)), kind, payload, sku_id=sku_id)


def decide(browser, path, decision, **fields):
    return browser.post(path, hidden(browser.get(path).text) | {"decision": decision, **fields})


def cells(page):
    """The rows of the comparison, tags taken out; those of the parts that were asked about stand before it."""
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", page.rpartition("<h2>Changes</h2>")[2], re.DOTALL)
    return [[unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in re.split("</t[hd]>", row)[:3]] for row in rows]


def test_from_the_link_to_the_grade(caller, browser, person, pool):
    caller.post(
        "/skus",
        {
            "sku_code": "BOTTLE-1",
            "name": "Bottle",
            "packaging_format": "bottle",
            "components": [
                {
                    "component_type": "body",
                    "material_family": "plastic",
                    "polymer_or_grade": "PET",
                    "weight_g": 20,
                    "colour": "transparent",
                }
            ],
        },
    )
    page = browser.get("/supplier-requests?sku=BOTTLE-1").text
    component = re.search(r'name="component" value="([^"]+)"', page)[1]
    asking = hidden(page) | {"sku": "BOTTLE-1", "component": component, "supplier_name": "Préformes du Rhône"}
    made = browser.post("/supplier-requests", asking)
    assert made.status_code == 200, made.text
    link = re.search(r"<code>http://[^/]+(/supplier-data/[^<]+)</code>", made.text)[1]
    assert link not in browser.get("/supplier-requests").text, "a link is shown once"
    supplier = Browser(caller.http, "192.0.2.44")
    answer = {"0.colour": "carbon_black", "0.weight_g": "20", "consent": "yes"}
    assert supplier.post(link, answer).status_code == 303

    queue = browser.get("/review")
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', queue.text)
    shown = browser.get(path).text
    assert "Préformes du Rhône" in shown
    assert cells(shown) == [
        ["1. body, PET: Weight (g)", "20", "20 (already so)"],
        ["1. body, PET: Color", "clear", "carbon black"],
    ]
    assert "Not recyclable" in shown, "the grade as it would be"
    assert decide(browser, path, "reject", reason="Which black?").status_code == 303
    assert caller.get("/skus").json()["data"][0]["recyclability_grade"] != "not_recyclable"
    assert "Which black?" in browser.get(path).text

    assert supplier.post(link, answer).status_code == 303
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)
    decided = decide(browser, path, "accept", reason="Seen at the plant")
    assert decided.status_code == 303
    assert "Accepted" in browser.get(decided.headers["location"]).text
    [sku] = caller.get("/skus").json()["data"]
    assert sku["recyclability_grade"] == "not_recyclable"
    assert supplier.get(link).status_code == supplier.post(link, answer).status_code == 404
    audit = caller.get("/audit-log?actor=user").json()["data"]
    assert [entry["action"] for entry in audit] == [
        "supplier_submission.accepted",
        "sku.updated",
        "supplier_submission.rejected",
        "supplier_request.created",
        "user.signed_in",
    ]
    assert {entry["actor"]["name"] for entry in audit} == {person.email}
    assert path.rpartition("/")[2] in audit[1]["reason"]


def test_the_pages_are_for_who_is_signed_in(caller, pool):
    entry = filed(pool, caller.company, "doc_draft", {"reference": "D"})
    stranger = Browser(caller.http, caller.address)
    for path in ("/review", f"/review/{entry.id}", "/supplier-requests", f"/review/{entry.id}/files/{uuid4()}"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.headers["location"][:9]) == (303, "/sign-in?")
    assert stranger.post(f"/review/{entry.id}", {"decision": "accept"}).status_code == 303


def test_another_companys_entries_are_not_there(caller, join, pool, browser):
    other = join()
    asked = ask(other, pool)
    other_browser = signed_in(other, pool)
    supplier = {"files": {"file": ("a.pdf", PDF, "application/pdf")}, "data": {"type": "test_report"}}
    asked.http.post(f"/supplier-data/{asked.token}/files", headers={"X-Forwarded-For": asked.address}, **supplier)
    asked.answer()
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', other_browser.get("/review").text)
    [file] = re.findall(rf'href="({path}/files/[0-9a-f-]+)"', other_browser.get(path).text)
    form = hidden(other_browser.get(path).text)
    assert path not in browser.get("/review").text
    own = filed(pool, caller.company, "doc_draft", {"reference": "D"})
    csrf = hidden(browser.get(f"/review/{own.id}").text)["csrf"]
    accepting = form | {"csrf": csrf, "decision": "accept"}
    for answer in (browser.get(path), browser.get(file), browser.post(path, accepting)):
        assert answer.status_code == 404
    assert browser.get("/review/no-uuid").status_code == 404
    assert browser.get("/supplier-requests?sku=BOTTLE-1").status_code == 400
    sent = other_browser.get(file)
    assert (sent.content, sent.headers["Content-Type"]) == (PDF, "application/pdf")
    assert sent.headers["Content-Disposition"].startswith("attachment;")
    assert "sandbox" in sent.headers["Content-Security-Policy"]


def test_a_decision_comes_from_a_page_of_ours(caller, browser, pool):
    entry = filed(pool, caller.company, "doc_draft", {"reference": "D"})
    path = f"/review/{entry.id}"
    csrf = hidden(browser.get(path).text)["csrf"]
    assert browser.post(path, {"decision": "accept"}).status_code == 403
    assert browser.post(path, {"decision": "accept", "csrf": "x" * 43}).status_code == 403
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert browser.post(path, {"decision": "accept", "csrf": csrf}, headers=elsewhere).status_code == 403
    assert browser.post("/supplier-requests", {"sku": "A"}).status_code == 403
    assert browser.post(path, {"decision": "perhaps", "csrf": csrf}).status_code == 400
    with pool.company(caller.company) as conn:
        assert entries_review.load_entry(conn, entry.id).state == "open"


def test_stored_script_is_text_wherever_it_is_shown(caller, browser, pool):
    part = {"component_type": "body", "material_family": "glass", "polymer_or_grade": SCRIPT}
    asked = ask(caller, pool, name=SCRIPT, sku_code=SCRIPT, components=[part])
    asked.answer({"polymer_or_grade": SCRIPT + "2"}, contact=SCRIPT, comment=SCRIPT)
    entries = [
        filed(pool, caller.company, "sku_update", {"changes": {"description": SCRIPT}}, asked.sku_id),
        filed(pool, caller.company, "doc_draft", {"reference": SCRIPT, "more": [{"text": SCRIPT}]}, asked.sku_id),
    ]
    pages = ["/review", "/supplier-requests", "/supplier-requests?sku=%3Cscript%3E"]
    pages += [f"/review/{entry.id}" for entry in entries]
    pages += re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)
    for path in pages:
        page = browser.get(path)
        assert (page.status_code in (200, 400), "<script" in page.text) == (True, False), path
        assert "script-src" not in page.headers["Content-Security-Policy"]
    decide(browser, f"/review/{entries[1].id}", "reject", reason=SCRIPT)
    assert "<script" not in browser.get(f"/review/{entries[1].id}").text


def test_a_conflict_is_told_on_the_page_and_nothing_is_written(caller, browser, pool):
    asked = ask(caller, pool)
    asked.answer({"component_id": asked.components[0], "weight_g": 33})
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)
    seen = hidden(browser.get(path).text)
    caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BOTTLE-1", "name": "Bottle, changed"})
    late = browser.post(f"{path}?lang=de", seen | {"decision": "accept"})
    assert (late.status_code, "Die SKU wurde geändert" in late.text) == (409, True)
    forbidden = {"changes": {"substances": {"pfas": {"status": "above_limit"}}}}
    refused = browser.get(f"/review/{filed(pool, caller.company, 'sku_update', forbidden, asked.sku_id).id}?lang=fr")
    assert "ne peut pas être accepté" in refused.text
    assert 'value="accept"' not in refused.text
    assert caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"][0]["weight_g"] == 20
    assert decide(browser, path, "accept").status_code == 303, "with the new comparison it goes"


def test_two_people_at_once_cannot_both_win(caller, pool):
    sku = caller.made()
    entry = filed(pool, caller.company, "sku_update", {"changes": {"name": "Renamed"}}, sku["id"])
    browsers = [Browser(caller.http, caller.address) for _ in range(4)]
    for browser in browsers:
        browser.sign_in(added(pool, caller.company))
    forms = [hidden(browser.get(f"/review/{entry.id}").text) for browser in browsers]

    def send(number):
        """Through the one client whose event loop the app's connections belong to."""
        decision = {"decision": "accept" if number % 2 else "reject", "reason": "Seen"}
        headers = {"Cookie": f"pcds_session={browsers[number].http.cookies['pcds_session']}"}
        path, sent = f"/review/{entry.id}", forms[number] | decision
        return caller.http.post(path, data=sent, headers=headers, follow_redirects=False).status_code

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(send, range(4))) == [303, 409, 409, 409]


def test_a_long_queue_costs_what_a_page_costs(caller, browser, pool, database):
    sku = caller.made()
    for number in range(60):
        filed(pool, caller.company, "sku_update", {"changes": {"description": str(number)}}, sku["id"])
    first, second = browser.get("/review").text, browser.get("/review?offset=50").text
    shown = [re.findall(r'href="(/review/[0-9a-f-]{36})', page) for page in (first, second)]
    assert ([len(page) for page in shown], len({*shown[0], *shown[1]})) == ([50, 10], 60)
    assert browser.get("/review?offset=none").status_code == 200
    with psycopg.connect(database.app_url) as conn:
        conn.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        # So few rows may be cheaper to read and sort than to find; whether they can be found is the question.
        conn.execute("SET LOCAL enable_seqscan = off")
        conn.execute("SET LOCAL enable_sort = off")
        plan = conn.execute(
            "EXPLAIN SELECT id FROM review_entries WHERE state = 'open' ORDER BY filed_at, id LIMIT 50"
        ).fetchall()
    assert "ix_review_entries_open" in str(plan)


def test_what_was_decided_is_shown_with_who_when_and_why(caller, browser, person, pool):
    sku = caller.made(sku_code="S-1", name="Bottle", weight_grams=20, markets=["FR"])
    changes = {"changes": {"weight_grams": 21.5, "markets": ["DE", "FR"]}}
    for decision, other in (("reject", "If accepted"), ("accept", "After")):
        path = f"/review/{filed(pool, caller.company, 'sku_update', changes, sku['id']).id}"
        assert decide(browser, path, decision, reason="Seen at the plant").status_code == 303
        caller.put(f"/skus/{sku['id']}", {"sku_code": "S-1", "name": f"Later {decision}"})
        page = browser.get(path).text
        assert cells(page) == [["Packaging weight (g)", "20", "21.5"], ["Market", "FR", "DE, FR"]]
        for said in (person.email, "Seen at the plant", "Before", other):
            assert said in page, said


def test_a_decision_of_before_still_says_what_was_filed(caller, browser, pool):
    """What was decided was not kept then."""
    asked = ask(caller, pool)
    asked.answer({"component_id": asked.components[0], "weight_g": 33, "substances": {"pfas": {"status": "absent"}}})
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)
    assert decide(browser, path, "reject", reason="Not ours").status_code == 303
    with pool.company(caller.company) as conn:
        conn.execute("UPDATE review_entries SET decided = NULL")
    facts = dict(re.findall(r"<div><dt>([^<]*)</dt><dd>([^<]*)</dd></div>", browser.get(path).text))
    assert (facts["1. body: Weight (g)"], facts["1. body: PFAS: status"]) == ("33", "absent")


def test_a_provisional_grade_is_said_to_be_one_wherever_it_is_shown(caller, browser, pool):
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
    sku = caller.made(sku_code="S-1", name="Bottle", packaging_format="bottle", components=[body])
    assert sku["compliance"]["grade_trace"]["provisional"] is True
    counted(caller)
    entry = filed(pool, caller.company, "sku_update", {"changes": {"name": "New"}}, sku["id"])
    for path, times in ((f"/items/{sku['id']}", 1), ("/items", 1), ("/items?q=S-1", 1), (f"/review/{entry.id}", 2)):
        grade = r'<span class="tag[^>]*>[A-C]</span> [\d.]+ <span class="quiet">provisional</span>'
        assert len(re.findall(grade, browser.get(path).text)) == times, path


def test_of_an_item_that_is_not_assessed_no_part_is_said_to_have_no_effect(caller, browser):
    sku = caller.made(components=[{"component_type": "body", "material_family": "other", "weight_g": 3}])
    assert sku["recyclability_grade"] == "not_assessed"
    page = browser.get(f"/items/{sku['id']}").text
    [row] = re.findall(r'<tr><th scope="row">1\. .*?</tr>', page)
    assert ("Not assessed" in row, "None" in row) == (True, False)
    assert "1.5 kg" in in_words("produce_below_1_5_kg")


@pytest.mark.promise("SUP-30")
@pytest.mark.parametrize(
    ("lang", "heading"),
    [("en", "What was asked about"), ("fr", "Ce qui a été demandé"), ("de", "Wonach gefragt wurde")],
)
def test_a_part_that_is_another_one_now_is_accepted_only_when_compared(caller, browser, pool, lang, heading):
    pe = {"component_type": "label", "material_family": "plastic", "polymer_or_grade": "PE", "weight_g": 1.2}
    asked = ask(caller, pool, components=[{**pe, "position_in_sku": 2}])
    assert asked.answer({"weight_g": 1.23}).status_code == 202
    pet = {**pe, "id": asked.components[0], "polymer_or_grade": "PET", "position_in_sku": 3}
    caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BOTTLE-1", "name": "Bottle", "components": [pet]})
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)
    shown = browser.get(f"{path}?lang={lang}").text
    table = shown.partition(f"<h2>{heading}</h2>")[2].partition("</table>")[0]
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    weight = "1.2" if lang == "en" else "1,2"
    assert rows[0][2:] == ["PE", "2", weight]
    assert rows[1][2:] == ["<strong>PET</strong>", "<strong>3</strong>", weight]
    assert '<th scope="col">Position</th>' in table
    form = hidden(shown) | {"decision": "accept"}
    refused = browser.post(f"{path}?lang={lang}", form)
    assert refused.status_code == 409
    assert 'name="parts_compared"' in refused.text
    assert caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"][0]["weight_g"] == 1.2
    assert browser.post(path, form | {"parts_compared": "yes"}).status_code == 303
    assert caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"][0]["weight_g"] == 1.23
    assert heading in browser.get(f"{path}?lang={lang}").text, "the decision keeps what it was made on"


def test_parts_to_ask_about_are_told_apart(caller, browser):
    line = {"component_type": "label", "material_family": "paper"}
    caller.post(
        "/skus",
        {
            "sku_code": "TWO",
            "name": "Jar",
            "components": [{**line, "weight_g": 1.5, "position_in_sku": 7}, {**line, "weight_g": 0.9}],
        },
    )
    page = browser.get("/supplier-requests?sku=TWO").text
    assert "label, paper, Position 7, 1.5 g" in page
    assert "label, paper, 0.9 g" in page


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_a_rejection_says_why(caller, browser, pool, lang):
    sku = caller.made()
    path = f"/review/{filed(pool, caller.company, 'sku_update', {'changes': {'name': 'Xn'}}, sku['id']).id}?lang={lang}"
    refused = decide(browser, path, "reject", reason="  ")
    assert refused.status_code == 400
    assert render.text("review.reason.needed", lang) in unescape(refused.text)
    assert render.text("review.state.open", lang) in unescape(browser.get(path).text)
    assert decide(browser, path, "reject", reason="Not ours").status_code == 303


def test_a_part_is_named_with_its_material_before_and_after_the_decision(caller, browser, pool):
    asked = ask(caller, pool)
    asked.answer({"component_id": asked.components[0], "weight_g": 33})
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)
    line = caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"][0]
    name = f"1. {word('component_type', line['component_type'], 'en')}, {line['polymer_or_grade']}: Weight (g)"
    assert name in [row[0] for row in cells(browser.get(path).text)]
    assert decide(browser, path, "accept").status_code == 303
    assert name in [row[0] for row in cells(browser.get(path).text)]
