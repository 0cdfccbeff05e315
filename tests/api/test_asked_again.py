"""What answers could settle, answers that last, and the supplier's own article numbers: through pages and workbook."""

import re
from html import unescape

import pytest

from pipelines import suppliers
from services import suppliers as suppliers_service
from services.review import decide
from tests.api.forms import filled
from tests.api.people import hidden
from tests.api.test_enquiry_table import CAN, decided, parts_of
from tests.api.test_enquiry_table import asked as asked  # noqa: PLC0414  (a fixture)
from warehouse import enquiries
from warehouse.operate.clock import Clock

BOTTLE = {"component_type": "body", "material_family": "plastic", "weight_g": 20, "separable": False}


def preview_of(page: str) -> dict[str, list[str]]:
    section = unescape(page).partition('id="preview"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr><th[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td><td[^>]*>([^<]*)</td>", section)
    return {name: list(counted) for name, *counted in rows}


def test_what_answers_could_settle_is_said_before_anybody_is_asked(asked):
    for at, part in enumerate(({**BOTTLE, "packaging_format": "bottle"}, {**BOTTLE, "polymer_or_grade": "LDPE"})):
        form = part.pop("packaging_format", "carrier bag")
        part["supplier_id"] = asked.own
        sku = {"sku_code": f"SET-{at}", "name": "Settled", "packaging_format": form, "components": [part]}
        made = asked.caller.post("/skus", sku).json()["data"]
        placed = [{"market": "DE", "year": 2025, "half": 0, "units_placed": 1_000_000 * (at + 1)}]
        assert asked.caller.put(f"/skus/{made['id']}/volumes", placed).status_code == 200
    address = "/enquiries?supplier_name=Dosen+AG&sku=SET-0&sku=SET-1"
    said = preview_of(asked.browser.get(address).text)
    assert said["Asked about"] == ["2", "60"]
    assert said["Format ban open"] == ["1", "40"], "a carrier bag may be below 15 µm: only its thickness decides that"
    assert said["Decided by: Thickness"] == ["1", "40"]
    assert said["Declaration of conformity with open points"] == ["2", "60"]
    assert said["Decided by: Polymer"][0] == "1"
    form = dict(filled(asked.browser.get(address).text, None))
    seen = asked.browser.post("/enquiries", form | {"do": "preview"})
    assert preview_of(seen.text) == said
    assert "/supplier-enquiries/" not in seen.text, "looking asks nobody"
    for code, fact in (("SET-0", {"polymer_or_grade": "PET"}), ("SET-1", {"thickness_um": 40})):
        _, [part] = parts_of(asked, code)
        sent = {"sku_code": code, "name": "Settled", "components": [part | fact]}
        assert asked.caller.post("/skus", sent).status_code == 200
    now = preview_of(asked.browser.get(address).text)
    assert now["Format ban open"] == ["0", "0"]
    assert "Decided by: Thickness" not in now


def test_the_preview_is_of_the_items_that_the_proposal_would_ask_about(asked):
    said = preview_of(asked.browser.get("/enquiries?supplier_name=Dosen+AG").text)
    with asked.pool.company(asked.caller.company) as conn:
        proposed = enquiries.codes_worth_asking(conn, "Dosen AG")
    assert said["Asked about"][0] == str(len(proposed)) == "3"
    form = hidden(asked.browser.get("/enquiries").text) | {"supplier_name": "Dosen AG"}
    assert unescape(asked.browser.post("/enquiries", form).text).count("<code>CAN-") == 3


def test_of_very_many_the_preview_judges_those_with_the_most_tonnes_and_says_so(asked, monkeypatch):
    sku_id, _ = parts_of(asked, "CAN-2")
    placed = [{"market": "DE", "year": 2025, "half": 0, "units_placed": 1_000_000}]
    assert asked.caller.put(f"/skus/{sku_id}/volumes", placed).status_code == 200
    whole = asked.browser.get("/enquiries?supplier_name=Dosen+AG").text
    assert "items with the most tonnes" not in whole
    monkeypatch.setattr(suppliers_service, "_JUDGED", 1)
    page = asked.browser.get("/enquiries?supplier_name=Dosen+AG").text
    assert "counted among the 1 items with the most tonnes" in page
    said, before = preview_of(page), preview_of(whole)
    assert said["Asked about"] == before["Asked about"]
    assert said["Declaration of conformity with open points"] == [
        "1",
        before["Declaration of conformity with open points"][1],
    ]


@pytest.fixture
def accepted(asked):
    """An enquiry whose answers were all accepted."""
    asked.send(do="confirm")
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]
    for entry in asked.entries():
        decided(asked, entry, decide.accept)
    listed = asked.browser.get("/suppliers?name=Dosen+AG").text
    asked.path = re.search(r'href="(/enquiries/[0-9a-f-]{36})"', listed)[1]
    return asked


def change(asked, code, **facts):
    _, parts = parts_of(asked, code)
    sent = {"sku_code": code, "name": f"Can {code}", "components": [parts[0] | facts, *parts[1:]]}
    assert asked.caller.post("/skus", sent).status_code == 200


def run_here(asked):
    """The daily step, for all companies that this process has; how many enquiries it made in this one."""
    before = asked.caller.get("/supplier-enquiries").json()["pagination"]["total"]
    suppliers.ask_again(asked.pool, asked.caller.http.app.state.service.settings, Clock(), lambda: None)
    return asked.caller.get("/supplier-enquiries").json()["pagination"]["total"] - before


def lapsed(asked):
    with asked.pool.company(asked.caller.company) as conn:
        now = Clock().now()
        found = enquiries.lapsed_enquiries(conn, now)
        items = [enquiries.lapsed(conn, now, each.id) for each in found]
    for each, of_enquiry in zip(found, items, strict=True):
        counted = (sum(bool(item.changed) for item in of_enquiry), sum(item.is_old for item in of_enquiry))
        assert (each.changed, each.old) == counted
    return [item for of_enquiry in items for item in of_enquiry]


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ({"weight_g": 15.5}, ["weight_g"]),
        ({"colour": "dark"}, ["colour"]),
        ({"polymer_or_grade": "steel"}, ["polymer_or_grade"]),
        ({"coverage_percent": 30, "metallised": True}, ["coverage_percent", "metallised"]),
    ],
)
def test_a_part_that_has_changed_since_its_answer_is_proposed_again_with_what_changed(accepted, facts, names):
    assert lapsed(accepted) == [], "what was accepted holds"
    change(accepted, "CAN-3", **facts)
    [item] = lapsed(accepted)
    assert (item.sku_code, item.is_old, [sorted(of) for of in item.changed.values()]) == ("CAN-3", False, [names])
    assert "Parts have changed: ask again." in unescape(accepted.browser.get("/suppliers?name=Dosen+AG").text)
    page = unescape(accepted.browser.get(accepted.path).text)
    assert "<code>CAN-3</code>:" in page.partition("Changed since the answer")[2]
    assert accepted.path in accepted.browser.get("/suppliers/worth").text.partition('id="lapsed"')[2]


def test_what_does_not_specify_a_part_asks_nobody_again(accepted):
    sku_id, parts = parts_of(accepted, "CAN-1")
    sent = {
        "sku_code": "CAN-1",
        "name": "New name",
        "components": [*parts, {"component_type": "label", "material_family": "paper"}],
    }
    assert accepted.caller.post("/skus", sent).status_code == 200
    placed = [{"market": "DE", "year": 2025, "half": 0, "units_placed": 1}]
    assert accepted.caller.put(f"/skus/{sku_id}/volumes", placed).status_code == 200
    assert lapsed(accepted) == []


def choose(asked, is_chosen=True):
    form = hidden(asked.browser.get("/enquiries").text) | {
        "supplier_name": "Dosen AG",
        "sku_codes": "CAN-1;CAN-2;CAN-3",
    }
    made = asked.browser.post("/enquiries", form | ({"asks_again": "yes"} if is_chosen else {}) | {"message": "Bitte!"})
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]


@pytest.mark.parametrize("is_chosen", [True, False])
def test_it_is_asked_again_by_itself_only_where_the_company_chose_it_and_once(asked, is_chosen):
    choose(asked, is_chosen)
    asked.send(do="confirm")
    asked.send(do="send", consent="yes")
    for entry in asked.entries():
        decided(asked, entry, decide.accept)
    change(asked, "CAN-3", weight_g=15.5)
    before = asked.caller.get("/supplier-enquiries").json()["data"]
    made = [run_here(asked) for _ in range(2)]
    after = asked.caller.get("/supplier-enquiries").json()["data"]
    assert (made, len(after) - len(before)) == (([1, 0], 1) if is_chosen else ([0, 0], 0))
    if not is_chosen:
        return
    assert after[0]["counts"]["total"] == 1, "the others hold"
    assert after[0]["message"].startswith("Parts have changed since your last answer")
    assert after[0]["message"].endswith("Bitte!")
    with asked.pool.company(asked.caller.company) as conn:
        notes = [row.note for row in enquiries.rows_of(conn, after[0]["id"]) if row.note]
    assert notes == ["Changed since your last answer: Weight."]
    log = asked.caller.get("/audit-log?limit=100").json()["data"]
    [entry] = [
        entry for entry in log if entry["action"] == "supplier_enquiry.created" and entry["actor"]["type"] == "system"
    ]
    assert entry["resource_id"] == after[0]["id"]


def test_old_answers_are_asked_again_in_the_suppliers_language_and_confirmed_by_one_click(asked):
    choose(asked)
    asked.send(do="confirm")
    asked.send(do="send", consent="yes")
    for entry in asked.entries():
        decided(asked, entry, decide.accept)
    assert run_here(asked) == 0
    with asked.pool.company(asked.caller.company) as conn:
        conn.execute("UPDATE supplier_requests SET updated_at = updated_at - interval '13 months'")
    assert [item.is_old for item in lapsed(asked)] == [True, True, True]
    assert run_here(asked) == 1
    newest = asked.caller.get("/supplier-enquiries").json()["data"][0]
    assert newest["message"].startswith("Your last answer is more than 12 months old.")
    assert newest["counts"]["total"] == 3
    assert run_here(asked) == 0, "who is asked is not asked again"


def test_the_suppliers_article_number_is_filled_in_and_tells_parts_apart(asked):
    asked.send(do="save", **{"1__article": "=4711", "3__article": "LID-1"})
    assert asked.form()["1.article"] == "=4711"
    lines = asked.workbook("de")
    at = lines[0].index("Ihre Artikelnummer")
    assert [line[at] for line in lines[1:]] == ["'=4711", None, "LID-1"]
    lines[2][at] = 4712
    assert asked.upload(lines, "de").status_code == 303
    form = asked.form()
    assert [form.get(f"{n}.article") for n in (1, 2, 3)] == ["=4711", "4712", "LID-1"]
    too_long = asked.send(do="save", **{"1__article": "x" * 101})
    assert (too_long.status_code, 'id="1.article-error"' in too_long.text) == (400, True)
    asked.send(do="confirm")
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]
    filed = {entry.sku_code: set(entry.payload["articles"].values()) for entry in asked.entries()}
    assert filed["CAN-3"] == {"4712", "LID-1"}
    for entry in asked.entries():
        decided(asked, entry, decide.accept)
    made = asked.ask("dosen ag", "CAN-1;CAN-2;CAN-3")
    assert "- CAN-3: Can CAN-3 (4712, LID-1)" in unescape(made.text), "the mail names them"
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    assert [asked.form()[f"{n}.article"] for n in (1, 2, 3)] == ["=4711", "4712", "LID-1"]
    part = {**CAN, "supplier_id": asked.own, "weight_g": 12.5}
    asked.caller.post("/skus", {"sku_code": "CAN-4", "name": "Can CAN-4", "components": [part]})
    made = asked.ask("Dosen AG", "CAN-1;CAN-4")
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    assert len([name for name in asked.form() if name.endswith(".article")]) == 3, "a can of no number is another row"
    made = asked.ask("Other Corp", "CAN-1")
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    assert "4711" not in asked.page(), "whose numbers they are"
