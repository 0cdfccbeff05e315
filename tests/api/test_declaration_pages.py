"""Declarations in a browser: chosen, checked, kept, downloaded, corrected; and the calendar of what is due."""

import hashlib
import re
from datetime import date
from html import unescape
from uuid import uuid4

import pytest

from compliance.catalogue import Jurisdiction
from pipelines.filings import due
from schemas.messages import LANGUAGES
from tests.api.people import hidden, signed_in
from tests.api.portfolios import counted, placed, weighed

JAR = {"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass", "weight_g": 200}
GERMANY = {"market": "DE", "year": "2025", "half": "0", "format": "csv"}
UK = {"market": "GB", "year": "2025", "half": "1", "format": "rpd"}


@pytest.fixture
def declared(caller):
    placed(caller, "JAR", [JAR], ("DE", 2025, 0, 1_000_000), ("GB", 2025, 1, 1_000))
    placed(caller, "BOX", [{**JAR, "weight_g": None}], ("DE", 2025, 0, 7))
    counted(caller)
    weighed(caller)
    return caller


def checked(browser, **fields):
    """The form of the page that shows what would be kept."""
    form = hidden(browser.get("/declarations").text)
    answer = browser.post("/declarations", form | GERMANY | fields)
    assert answer.status_code == 200, answer.text
    return hidden(answer.text), answer.text


def total(caller):
    return caller.get("/declarations").json()["pagination"]["total"]


def test_a_declaration_is_checked_kept_downloaded_and_corrected(declared, browser):
    form, page = checked(browser)
    assert form["sha256"] in page
    assert "BOX" in page
    assert total(declared) == 0
    kept = browser.post("/declarations", form)
    assert kept.status_code == 303
    again = browser.post("/declarations", form)
    assert again.headers["location"] == kept.headers["location"]
    assert total(declared) == 1
    address = kept.headers["location"]
    shown = browser.get(address).text
    [first] = declared.get("/declarations").json()["data"]
    assert first["sha256"] in shown
    content = browser.get(f"{address}/content?part=declaration")
    assert hashlib.sha256(content.content).hexdigest() == first["sha256"]
    assert "attachment" in content.headers["content-disposition"]
    assert "BOX" in browser.get(f"{address}/content?part=uncounted").text
    assert browser.get(f"{address}/content?part=all").status_code == 404
    filled = browser.get(f"/declarations?corrects={first['id']}").text
    assert hidden(filled)["corrects"] == first["id"]
    assert 'value="2025"' in filled
    form, _ = checked(browser, corrects=first["id"])
    second = browser.post("/declarations", form).headers["location"]
    assert first["id"] in browser.get(second).text
    assert second in browser.get(address).text


def test_what_changed_since_it_was_checked_is_not_kept(declared, browser):
    form, _ = checked(browser)
    placed(declared, "CUP", [JAR], ("DE", 2025, 0, 1))
    counted(declared)
    answer = browser.post("/declarations", form)
    assert (answer.status_code, total(declared)) == (400, 0)
    assert "SHA-256" in answer.text


def test_the_uk_file_takes_what_the_producer_states(declared, browser):
    form = hidden(browser.get("/declarations").text)
    refused = browser.post("/declarations", form | UK | {"organisation_id": "12345", "ratings": "JAR;body;G"})
    assert refused.status_code == 400
    assert 'id="organisation_id-error"' in refused.text
    assert 'value="12345"' in refused.text
    assert "JAR;body;G</textarea>" in refused.text
    missing = browser.post("/declarations", form | UK)
    assert 'id="organisation_id-error"' in missing.text
    sent, _ = checked(browser, **UK, organisation_id="123456", ratings="JAR;body;G\n", drinks="JAR;N")
    assert browser.post("/declarations", sent).status_code == 303
    [made] = declared.get("/declarations").json()["data"]
    found = declared.get(f"/declarations/{made['id']}").json()["data"]
    assert found["ratings"] == [{"sku_code": "JAR", "component_type": "body", "rating": "G"}]
    assert found["drinks"] == [{"sku_code": "JAR", "drinks_container": False}]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"market": ""}, "market"),
        ({"year": "soon"}, "year"),
        ({"half": "1"}, "half"),
        ({**UK, "organisation_id": "123456", "ratings": "JAR;body"}, "ratings"),
        ({**UK, "organisation_id": "123456", "drinks": "JAR;maybe"}, "drinks"),
        ({**UK, "organisation_id": "123456", "drinks": "JAR;Y;N"}, "drinks"),
    ],
)
def test_a_fault_stands_at_its_field(declared, browser, change, field):
    form = hidden(browser.get("/declarations").text)
    answer = browser.post("/declarations", form | GERMANY | change)
    assert (answer.status_code, total(declared)) == (400, 0)
    assert f'id="{field}-error"' in answer.text


def test_a_form_that_nobody_filled_in_says_what_to_choose(declared, browser):
    answer = browser.post(
        "/declarations?lang=de", hidden(browser.get("/declarations").text) | {"market": "", "year": ""}
    )
    assert (answer.status_code, total(declared)) == (400, 0)
    for sentence in ("Wählen Sie einen Markt.", "Geben Sie das Jahr an, etwa 2026."):
        assert sentence in answer.text


def test_a_fault_of_the_uk_file_names_its_field(declared, browser):
    answer = browser.post("/declarations?lang=de", hidden(browser.get("/declarations").text) | UK)
    assert (answer.status_code, total(declared)) == (400, 0)
    assert "Organisations-ID: Füllen Sie dieses Feld aus." in answer.text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_calendar_says_which_day_a_source_states(declared, browser, lang):
    page = browser.get(f"/declarations/due?lang={lang}").text
    days = {"en": "by 15 May 2026", "fr": "au plus tard le 15 mai 2026", "de": "spätestens am 15. Mai 2026"}
    sure = {"en": "official page", "fr": "page officielle", "de": "amtliche Seite"}
    assert days[lang] in page
    assert sure[lang] in page


@pytest.mark.parametrize("lang", LANGUAGES)
def test_an_open_row_of_the_calendar_leads_to_its_form(declared, browser, lang):
    page = unescape(browser.get(f"/declarations/due?lang={lang}").text)
    leads = re.search(r'href="(/declarations\?[^"#]*market=(\w+)[^"#]*)#market"', page)
    assert leads, "a period is open"
    form = browser.get(leads[1]).text
    assert f'<option value="{leads[2]}" selected>' in form
    assert re.search(r'name="year" value="(\d{4})"', form)[1] in leads[1]
    assert '<option value="csv" selected>' in browser.get(f"/declarations?lang={lang}&market=DE&year=2025").text
    of_britain = re.search(r'href="(/declarations\?[^"#]*market=GB[^"#]*)#market"', page)[1]
    assert '<option value="rpd" selected>' in browser.get(of_britain).text


def test_a_form_of_another_page_is_refused(declared, browser):
    assert browser.post("/declarations", GERMANY).status_code == 403


def entry(code, *rhythms):
    values = dict.fromkeys(Jurisdiction.__dataclass_fields__)
    return Jurisdiction(**{**values, "code": code, "reporting_period": rhythms})


def test_what_is_overdue_open_and_coming_is_listed_with_its_days():
    today = date(2026, 11, 23)
    kept = {("DE", year, 0): uuid4() for year in (2023, 2024)}
    rhythms = {"DE": ["annual"], "GB": ["half-yearly", "annual"], "IE": ["half-yearly"]}
    entries = {code: entry(code, *each) for code, each in rhythms.items()}
    placed = [("DE", 2023), ("DE", 2024), ("DE", 2025), ("GB", 2025), ("GB", 2026), ("IE", 2025), ("NO", 2024)]
    found = due(entries, placed, kept, today)
    assert [(row.state, row.market, row.year, row.half, row.kept) for row in found] == [
        ("overdue", "GB", 2025, 1, None),
        ("overdue", "GB", 2025, 2, None),
        ("overdue", "GB", 2025, 0, None),
        ("overdue", "DE", 2025, 0, None),
        ("overdue", "GB", 2026, 1, None),
        ("open", "IE", 2025, 0, None),
        ("open", "NO", 2024, 0, None),
        ("coming", "GB", 2026, 2, None),
        ("coming", "GB", 2026, 0, None),
        ("coming", "DE", 2026, 0, None),
        ("coming", "IE", 2026, 0, None),
        ("kept", "DE", 2024, 0, kept["DE", 2024, 0]),
    ], "nothing comes of a market that had nothing last year"
    days = {(row.market, row.year, row.half): [(str(day.on), day.stated.bound) for day in row.days] for row in found}
    assert days["DE", 2025, 0] == [("2026-05-15", "by"), ("2026-05-15", "by")]
    assert days["DE", 2026, 0][-1] == ("2027-06-01", "by"), "of a law of August 2026"
    assert days["GB", 2026, 1] == [("2026-10-01", "by")]
    assert days["GB", 2026, 2] == [("2027-04-01", "by")]
    assert days["IE", 2025, 0] == days["NO", 2024, 0] == [], "none is invented"


@pytest.mark.parametrize(
    ("day", "state"), [(date(2027, 5, 31), "open"), (date(2027, 6, 1), "open"), (date(2027, 6, 2), "overdue")]
)
def test_a_period_is_overdue_once_its_last_day_has_passed(day, state):
    [ended] = [row for row in due({"DE": entry("DE", "annual")}, [("DE", 2026)], {}, day) if row.year == 2026]
    assert ended.state == state


def test_nothing_of_it_is_another_companys(declared, join, pool, browser):
    form, _ = checked(browser)
    address = browser.post("/declarations", form).headers["location"]
    other = join()
    stranger = signed_in(other, pool)
    assert stranger.get(address).status_code == 404
    assert stranger.get(f"{address}/content").status_code == 404
    page = stranger.get("/declarations").text
    assert "DE-2025" not in page
    assert "/declarations/kept/" not in page


def test_what_is_filed_is_shown_before_it_is_kept_and_wherever_it_is(declared, browser):
    """decisions §13: declaration for Germany, *Total 852.98 t*, of which 584.72 t are in scope."""
    made = declared.made(sku_code="POT", packaging_level="sales", components=[JAR])
    rows = [{"market": "DE", "year": 2025, "units_placed": 500_000}]
    assert declared.put(f"/skus/{made['id']}/volumes", rows).status_code == 200
    counted(declared)
    form, page = checked(browser)
    address = browser.post("/declarations", form).headers["location"]
    for shown in (page, browser.get(address).text):
        first, second = shown.index("To be filed (in scope)"), shown.index("Placed on the market in all")
        assert first < second
        assert "<strong>0 t" in shown
        assert "Decides most: " in shown
        assert "100 t, 1 item" in shown
        assert "300 t" in shown[second:]
    assert "100 t" in browser.get("/declarations").text


def test_an_archived_item_that_is_not_counted_is_marked_before_anything_is_kept(declared, browser):
    [box] = [sku for sku in declared.get("/skus").json()["data"] if sku["sku_code"] == "BOX"]
    _, before = checked(browser)
    assert "/items/archived" not in before
    assert declared.post(f"/skus/{box['id']}/archive", {}).status_code == 200
    counted(declared)
    _, page = checked(browser)
    assert "BOX" in page
    assert "/items/archived" in page


def test_an_equal_first_declaration_leads_to_the_first_and_its_correction(declared, browser):
    form, _ = checked(browser)
    assert browser.post("/declarations", form).status_code == 303
    [first] = declared.get("/declarations").json()["data"]
    again = browser.post("/declarations", hidden(browser.get("/declarations").text) | GERMANY)
    assert again.status_code == 400
    assert "is filed already" in again.text
    assert f"/declarations/kept/{first['id']}" in again.text
    assert f"corrects={first['id']}" in again.text


def test_a_declaration_is_decided_by_category(declared, browser):
    """What is in scope, the question that decides most, and why the rest is out: JAR is transport packaging."""
    made = declared.made(sku_code="POT", packaging_level="sales", components=[JAR])
    rows = [{"market": "DE", "year": 2025, "units_placed": 500_000}]
    assert declared.put(f"/skus/{made['id']}/volumes", rows).status_code == 200
    counted(declared)
    _, page = checked(browser)
    [row] = re.findall(r"<tr><th scope=\"row\"><a href=\"(/figures/items[^\"]*)\">(.*?)</tr>", page)
    assert "JAR" in browser.get(unescape(row[0])).text
    cells = [re.sub(r"<[^>]+>", " ", cell).split() for cell in row[1].split("</td>")]
    assert "0 t" in " ".join(cells[0])
    assert "100 t" in " ".join(cells[1])
    assert "Decides most:" in " ".join(cells[1])
    assert "200 t packaging level: 200 t" in " ".join(cells[2])


RATED = {**UK, "half": "2", "organisation_id": "123456", "proposals": "yes"}


@pytest.fixture
def rated(caller):
    """Jars of two parts that the file of the second half of 2025 asks ratings for, and a can."""
    for code, body in (("POT", JAR), ("CAN", {**JAR, "material_family": "metal", "polymer_or_grade": "aluminium"})):
        lid = {"component_type": "closure", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 3}
        parts = [body, {**lid, "separable": True}]
        form = (
            {"packaging_format": "can", "use_contexts": ["beverage"]} if code == "CAN" else {"packaging_format": "jar"}
        )
        made = caller.made(sku_code=code, packaging_level="sales", components=parts, **form)
        rows = [{"market": "GB", "year": 2025, "half": 2, "units_placed": 1_000_000}]
        assert caller.put(f"/skus/{made['id']}/volumes", rows).status_code == 200
    counted(caller)
    return caller


def choices_in(page):
    """The choice of each row of the tables: what stands selected, by the name of the field."""
    found = re.findall(r'<select name="((?:rating|drink):[^"]+)".*?</select>', page, re.DOTALL)
    selects = re.split(r'<select name="(?:rating|drink):', page)[1:]
    chosen = [re.search(r'value="([^"]*)" selected', select.partition("</select>")[0]) for select in selects]
    return {name: match[1] if match else "" for name, match in zip(found, chosen, strict=True)}


def test_uk_ratings_are_taken_from_the_proposals_changed_in_a_table_and_carried_into_the_correction(rated, browser):
    form, page = checked(browser, **RATED)
    shown = choices_in(page)
    assert shown["drink:CAN"] == ""
    assert set(shown) == {"drink:CAN", "rating:body:POT", "rating:closure:POT"}, "the can waits for its answer"
    assert shown["rating:body:POT"] in ("R", "A", "G"), "the proposal stands in the table"
    form, page = checked(browser, **RATED, **{"drink:CAN": "N", "rating:closure:POT": "A", "rating:body:POT": ""})
    shown = choices_in(page)
    assert {"rating:body:CAN", "rating:closure:CAN"} <= set(shown)
    assert (shown["drink:CAN"], shown["rating:closure:POT"], shown["rating:body:POT"]) == ("N", "A", "")
    sent = form | shown | {"rating:body:CAN": "G", "rating:closure:CAN": "G", "rating:body:POT": "R"}
    form, page = checked(
        browser, **{name: value for name, value in sent.items() if name != "sha256"} | {"step": "check"}
    )
    assert browser.post("/declarations", form | choices_in(page)).status_code == 303
    [first] = rated.get("/declarations").json()["data"]
    stated = rated.get(f"/declarations/{first['id']}").json()["data"]
    ratings = {(row["sku_code"], row["component_type"]): row["rating"] for row in stated["ratings"]}
    assert ratings == {("POT", "body"): "R", ("POT", "closure"): "A", ("CAN", "body"): "G", ("CAN", "closure"): "G"}
    assert stated["drinks"] == [{"sku_code": "CAN", "drinks_container": False}]
    _, page = checked(browser, **RATED, corrects=first["id"])
    assert choices_in(page) == {
        "drink:CAN": "N", "rating:body:POT": "R", "rating:closure:POT": "A", "rating:body:CAN": "G",
        "rating:closure:CAN": "G",
    }  # fmt: skip


def test_without_the_proposals_nothing_is_rated_and_a_rating_that_is_none_is_refused(rated, browser):
    form = hidden(browser.get("/declarations").text)
    answer = browser.post("/declarations", form | RATED | {"proposals": "", "drink:CAN": "N"})
    assert answer.status_code == 400, "the file would be empty"
    assert set(choices_in(answer.text).values()) == {"", "N"}, "what it needs is asked on the page"
    assert hidden(answer.text)["step"] == "check"
    answer = browser.post("/declarations", form | RATED | {"rating:body:POT": "X"})
    assert answer.status_code == 400
    assert total(rated) == 0
