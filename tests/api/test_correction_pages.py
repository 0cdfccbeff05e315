"""Correcting rejected rows in the browser: cell by cell, as a workbook, or one text for all its rows."""

import re
from html import unescape
from uuid import uuid4

import fastexcel
import pytest

from api.imports.corrections_pages import PAGE_SIZE
from tests.api.people import hidden, signed_in
from tests.api.portfolios import run
from tests.api.test_upload_pages import EXAMPLE
from tests.pipelines.reading.writing import workbook

FILE = (
    b"Artikelnummer;Bezeichnung;Verpackungsgewicht (g);Verpackungsmaterial\r\n"
    b"A-1;Flasche;12,5;plastic\r\nA-2;Deckel;schwer;plastic\r\nA-3;Glas;120;Wodka\r\nA-4;Becher;3;wodka\r\n"
)
HEADERS = FILE.partition(b"A-1")[0]


def imported(caller, data=FILE, filename="liste.csv"):
    answer = caller.post("/imports", content=data, params={"filename": filename})
    run(caller, answer.json()["id"])
    return f"/imports/{answer.json()['id']}"


def inputs(page):
    found = re.findall(r'<input id="(cell\.[^"]*)" name="[^"]*" value="([^"]*)"', page)
    return {unescape(name): unescape(value) for name, value in found}


def led_to(caller, answer):
    """The report of the import that a form led to."""
    assert answer.status_code == 303, answer.text
    import_id = answer.headers["Location"].partition("?")[0].rpartition("/")[2]
    run(caller, import_id)
    return caller.get(f"/imports/{import_id}").json()


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_a_faulty_cell_is_corrected_where_it_stands(caller, browser, lang):
    address = imported(caller)
    assert f'href="{address}/rejected' in browser.get(f"{address}?lang={lang}").text
    page = browser.get(f"{address}/rejected?lang={lang}").text
    assert inputs(page) == {"cell.3.C": "schwer", "cell.4.D": "Wodka", "cell.5.D": "wodka"}
    fields = hidden(page) | inputs(page) | {"cell.3.C": "2,5"}
    report = led_to(caller, browser.post(f"{address}/rejected?lang={lang}", fields))
    assert (report["counts"]["created"], report["counts"]["rejected"]) == (1, 2)
    again = browser.post(f"{address}/rejected?lang={lang}", fields)
    assert again.headers["Location"].endswith(f"{report['id']}?lang={lang}")


def test_one_text_is_settled_for_all_its_rows_and_later_imports(caller, browser):
    address = imported(caller)
    page = unescape(browser.get(f"{address}/values").text)
    assert page.count("<select") == 2
    fields = hidden(page) | {"value.0": "glass", "value.1": ""}
    assert fields["text.0"].casefold() == "wodka"
    report = led_to(caller, browser.post(f"{address}/values", fields))
    assert (report["counts"]["created"], report["counts"]["rejected"]) == (2, 1)
    assert caller.get("/words").json()["data"][0]["value"] == "glass"
    assert "wodka" not in browser.get(imported(caller) + "/values").text.casefold()


def test_a_text_that_the_import_does_not_have_is_not_kept(caller, browser):
    address = imported(caller)
    fields = hidden(browser.get(f"{address}/values").text) | {"text.0": "Gin", "value.0": "glass"}
    browser.post(f"{address}/values", fields)
    assert caller.get("/words").json()["pagination"]["total"] == 0


def test_rejected_rows_are_downloaded_as_a_workbook(caller, browser):
    answer = browser.get(f"{imported(caller)}/rejected.xlsx")
    assert "liste.corrected.xlsx" in answer.headers["Content-Disposition"]
    rows = fastexcel.read_excel(answer.content).load_sheet(0).to_polars().rows()
    assert [row[0] for row in rows] == ["A-2", "A-3", "A-4"]


def test_values_of_components_are_settled_too(caller, browser):
    parts = [["sku_code", "component_type", "material_family"], ["B-1", "body", "Blech"], ["B-1", "closure", "Blech"]]
    address = imported(
        caller, workbook({"SKUs": [["sku_code", "name"], ["B-1", "Box"]], "components": parts}), "b.xlsx"
    )
    rows = inputs(browser.get(f"{address}/rejected").text)
    assert rows == {"cell.2.C.components": "Blech", "cell.3.C.components": "Blech"}
    page = unescape(browser.get(f"{address}/values").text)
    report = led_to(caller, browser.post(f"{address}/values", hidden(page) | {"value.0": "metal"}))
    assert report["counts"]["created"] == 1, report["errors"]


def test_a_file_that_is_gone_is_answered_in_a_sentence(caller, browser):
    address = imported(caller)
    objects = caller.http.app.state.service.objects
    import_id = address.rpartition("/")[2]
    objects.delete(f"{caller.company}/imports/{import_id}/upload")
    answer = browser.get(f"{address}/rejected")
    assert answer.status_code == 400
    assert "no longer stored" in answer.text


def test_another_companys_import_is_not_there(caller, browser, join, pool):
    address = imported(caller)
    other = join()
    stranger = signed_in(other, pool)
    for path in ("/rejected", "/values", "/rejected.xlsx"):
        assert stranger.get(address + path).status_code == 404
    form = hidden(stranger.get("/imports").text)
    for path in ("/rejected", "/values"):
        assert stranger.post(address + path, form | {"cell.3.C": "2", "once": str(uuid4())}).status_code == 404
    assert caller.get("/skus").json()["pagination"]["total"] == 1


def test_a_form_from_elsewhere_is_refused(caller, browser):
    address = imported(caller)
    assert browser.post(f"{address}/rejected", {"csrf": "x", "cell.3.C": "2"}).status_code == 403
    assert browser.post(f"{address}/values", {"csrf": "x"}).status_code == 403


def test_rejected_rows_say_what_a_person_can_do(caller, browser):
    address = imported(caller, EXAMPLE.read_bytes(), EXAMPLE.name)
    told = unescape(browser.get(f"{address}/rejected?lang=de").text)
    faults = re.findall(r'class="error"[^>]*>([^<]+)', told)
    assert (
        "Derselbe Code steht in Zeile 4, die zählt. Geben Sie jedem Artikel eine Zeile oder einen anderen Code."
        in faults
    )
    assert "Schreiben Sie mehr oder weniger Nachkommastellen." in told, faults
    assert "mapping=" not in told
    book = fastexcel.read_excel(browser.get(f"{address}/rejected.xlsx?lang=de").content)
    reasons = str(book.load_sheet(0, header_row=None).to_polars().rows())
    assert "Derselbe Code steht in Zeile 4, die zählt." in reasons
    assert "mapping=" not in reasons


def test_a_word_that_cannot_be_is_said_to_a_person(caller, browser):
    form = hidden(browser.get("/words?field=markets").text)
    refused = browser.post("/words", form | {"field": "markets", "text": "Inland", "value": "ZZZ"})
    assert refused.status_code == 400
    assert "“ZZZ” is no known market; the nearest are: " in refused.text
    assert caller.get("/words").json()["data"] == []


def test_words_are_seen_and_removed(caller, browser, join, pool):
    words = [
        {"field": "material", "text": "Blech: dünn", "value": "metal"},
        {"field": "name", "text": "-", "value": None},
    ]
    caller.put("/words", {"words": words})
    page = unescape(browser.get("/words?lang=de").text)
    assert "Blech: dünn" in page
    assert "Leere Zelle" in page
    other = join()
    stranger = signed_in(other, pool)
    assert "Blech" not in stranger.get("/words").text
    browser.post("/words", hidden(page) | {"word": "material: Blech: dünn"})
    assert [word["field"] for word in caller.get("/words").json()["data"]] == ["name"]


@pytest.mark.parametrize(
    ("lang", "glass", "empty"), [("en", "glass", "Empty"), ("fr", "verre", "vide"), ("de", "Glas", "Leere")]
)
def test_a_word_is_added_and_changed_on_its_page(caller, browser, lang, glass, empty):
    assert '<select id="field"' in browser.get(f"/words?lang={lang}").text
    form = hidden(browser.get(f"/words?lang={lang}&field=material").text) | {"text": "Weißglas "}
    here = f"/words?lang={lang}"
    unsaid = browser.post(here, form)
    assert (unsaid.status_code, "Weißglas" in unsaid.text, f'<html lang="{lang}">' in unsaid.text) == (400, True, True)
    assert browser.post(here, form | {"text": " ", "value": "glass"}).status_code == 400
    assert browser.post(here, form | {"value": "wodka"}).status_code == 400
    assert browser.post(here, form | {"value": "glass"}).headers["Location"] == here
    assert f"<td>{glass}</td>" in browser.get(here).text
    change = browser.get(f"{here}&field=material&text=WEISSGLAS").text
    assert 'value="glass" selected' in change
    assert browser.post(here, hidden(change) | {"text": "Klarglas", "empty": "yes"}).status_code == 303
    assert [(word["text"], word["value"]) for word in caller.get("/words").json()["data"]] == [("Klarglas", None)]
    assert empty in browser.get(here).text
    number = hidden(browser.get(f"{here}&field=weight_grams").text) | {"text": "leicht", "value": "1,5"}
    assert browser.post(here, number).status_code == 303
    assert ("1,5" if lang != "en" else "1.5") in browser.get(here).text


def test_a_viewer_reads_the_words_and_has_no_form(caller, pool):
    caller.put("/words", {"words": [{"field": "material", "text": "Blech", "value": "metal"}]})
    viewer = signed_in(caller, pool, "viewer")
    page = viewer.get("/words?field=material&text=Blech").text
    assert "Blech" in page
    assert 'name="text"' not in page
    assert 'name="word"' not in page


@pytest.mark.parametrize(("step", "written"), [({}, 0), ({"step": "import"}, 4)])
def test_corrections_of_a_dry_run_are_the_whole_file(caller, browser, step, written):
    answer = caller.post("/imports", content=FILE, params={"filename": "liste.csv", "dry_run": 1})
    run(caller, answer.json()["id"])
    address = f"/imports/{answer.json()['id']}"
    page = browser.get(f"{address}/rejected").text
    fields = hidden(page) | inputs(page) | {"cell.3.C": "2,5", "cell.4.D": "Glas", "cell.5.D": "Glas"} | step
    report = led_to(caller, browser.post(f"{address}/rejected", fields))
    assert (report["dry_run"], report["counts"]["created"]) == (not step, 4)
    assert caller.get("/skus").json()["pagination"]["total"] == written


@pytest.mark.parametrize(("step", "written"), [({}, 0), ({"step": "import"}, 3)])
def test_settled_values_of_a_dry_run_are_the_whole_file(caller, browser, step, written):
    answer = caller.post("/imports", content=FILE, params={"filename": "liste.csv", "dry_run": 1})
    run(caller, answer.json()["id"])
    address = f"/imports/{answer.json()['id']}"
    fields = hidden(browser.get(f"{address}/values").text) | {"value.0": "glass"} | step
    report = led_to(caller, browser.post(f"{address}/values", fields))
    assert (report["dry_run"], report["counts"]["created"], report["counts"]["rejected"]) == (not step, 3, 1)
    assert caller.get("/skus").json()["pagination"]["total"] == written


def test_settled_values_of_an_import_are_its_rejected_rows_alone(caller, browser):
    repeated = FILE + b"A-1;Flasche 2;13;plastic\r\n"
    address = imported(caller, repeated)
    fields = hidden(browser.get(f"{address}/values").text) | {"value.0": "glass"}
    report = led_to(caller, browser.post(f"{address}/values", fields))
    assert report["counts"] == {"total": 4, "created": 2, "updated": 0, "unchanged": 0, "rejected": 2}
    assert {sku["sku_code"]: sku["name"] for sku in caller.get("/skus").json()["data"]}["A-1"] == "Flasche"


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_many_rejected_rows_are_corrected_page_by_page_and_one_import_writes_all(caller, browser, lang):
    """From the page of the dry run to its grid, over two pages that keep what was typed, to one import."""
    lines = "".join(f"A-{at};Dose {at};{'schwer' if at else '3'};metal\r\n" for at in range(PAGE_SIZE + 6))
    answer = caller.post("/imports", content=HEADERS + lines.encode(), params={"filename": "l.csv", "dry_run": 1})
    run(caller, answer.json()["id"])
    address = f"/imports/{answer.json()['id']}"
    assert f'{address}/rejected?lang={lang}">' in browser.get(f"{address}?lang={lang}").text.partition('/columns"')[0]
    first = browser.get(f"{address}/rejected?lang={lang}").text
    assert re.search(r"\b5 (rejected rows are|lignes rejetées sont|abgelehnte Zeilen stehen)", first)
    typed = hidden(first) | dict.fromkeys(inputs(first), "2,5") | {"step": "turn"}
    second = browser.post(f"{address}/rejected?lang={lang}&offset={PAGE_SIZE}", typed).text
    assert len(inputs(second)) == 5
    typed = hidden(second) | dict.fromkeys(inputs(second), "4,5")
    back = browser.post(f"{address}/rejected?lang={lang}", typed | {"step": "turn"}).text
    assert set(inputs(back).values()) == {"2,5"}
    assert 'value="4,5"' in back
    report = led_to(caller, browser.post(f"{address}/rejected?lang={lang}", typed | {"step": "import"}))
    assert (report["dry_run"], report["counts"]["created"], report["counts"]["rejected"]) == (False, PAGE_SIZE + 6, 0)
    weights = {sku["sku_code"]: sku["weight_grams"] for sku in caller.get("/skus?limit=200").json()["data"]}
    assert (weights["A-0"], weights["A-1"], weights[f"A-{PAGE_SIZE + 5}"]) == (3, 2.5, 4.5)


@pytest.mark.parametrize(
    ("lang", "metal", "plastic"),
    [("en", "metal", "plastic"), ("fr", "métal", "plastique"), ("de", "Metall", "Kunststoff")],
)
def test_a_reading_is_changed_beside_it_and_is_the_companys_own_word(caller, browser, lang, metal, plastic):
    """From the readings of a dry run, by another one, to the next file that has the same text."""
    data = HEADERS.replace(b"(g)", b"(g);Rest") + "A-1;Dose;3;;Weißblech\r\nA-2;Glas;9;ja;Glas\r\n".encode()
    answer = caller.post("/imports", content=data, params={"filename": "l.csv", "dry_run": 1})
    run(caller, answer.json()["id"])
    address = f"/imports/{answer.json()['id']}"
    page = unescape(browser.get(f"{address}?lang={lang}").text)
    table = page.partition('id="readings"')[2].partition("</table>")[0]
    row = next(row for row in table.split("<tr>") if "Weißblech" in row)
    assert row.casefold().count(f">{metal}, tinplate<".casefold()) == 1, row
    assert f'<option value="plastic">{plastic}</option>'.casefold() in row.casefold()
    name = re.search(r'<select name="(word\.\d+)"', row)[1]
    rest = next(row for row in page.split("<tr>") if 'name="sku.D"' in row)
    assert "ja" in rest
    assert 'class="hint"' in rest
    report = led_to(caller, browser.post(f"{address}/columns?lang={lang}", hidden(page) | {name: "plastic"}))
    assert report["dry_run"]
    assert {each["text"]: each["value"] for each in report["source"]["readings"]}["Weißblech"] == "plastic"
    assert [word["value"] for word in caller.get("/words").json()["data"]] == ["plastic"]
    next_file = caller.get(imported(caller, data)).json()
    assert {each["text"]: each["value"] for each in next_file["source"]["readings"]}["Weißblech"] == "plastic"
