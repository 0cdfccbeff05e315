"""The page Items: columns, order, findings and exports as the address has them, in the reader's words."""

import csv
import io
import re

import polars as pl
import pytest

from services.skus.listing import COLUMNS
from tests.api.people import Browser, signed_in
from tests.api.portfolios import BODY, counted
from tests.api.test_portfolio_pages import links, words


def test_a_list_keeps_its_columns_and_its_order_in_the_address(caller, browser):
    caller.made(sku_code="LIGHT", name="Light", weight_grams=2.5, material="paper", packaging_format="box")
    caller.made(sku_code="HEAVY", name="Heavy", weight_grams=1250, material="glass")
    page = browser.get("/items?columns=weight_grams&columns=material&columns=nothing&lang=de")
    table = page.text.partition("<table>")[2]
    assert "1.250" in table
    assert "Glas" in table
    assert "Erklärung" not in table, "only the chosen columns are shown"
    [lighter] = [found for found in links(page) if "sort=weight_grams" in found]
    assert "columns=weight_grams&columns=material&sort" in lighter
    sorted_page = browser.get(lighter)
    assert re.findall(r"<code>([^<]+)</code></th>", sorted_page.text) == ["LIGHT", "HEAVY"]
    assert 'aria-sort="ascending"' in sorted_page.text
    [heavier] = [found for found in links(sorted_page) if "sort=-weight_grams" in found]
    assert re.findall(r"<code>([^<]+)</code></th>", browser.get(heavier).text) == ["HEAVY", "LIGHT"]
    assert 'name="sort" value="-weight_grams"' in browser.get(heavier).text, "a search keeps the order"


@pytest.mark.parametrize(("lang", "said"), [("de", ("Flasche", "Ja", "2,5")), ("fr", ("bouteille", "oui", "2,5"))])
def test_every_column_is_in_the_readers_words(caller, browser, lang, said):
    caller.made(name="X", weight_grams=2.5, material="paper", packaging_format="bottle", packaging_level="sales",
                food_contact=True, ppwr_role="importer", recycled_content_percent=12.5, markets=["FR"])  # fmt: skip
    columns = "&".join(f"columns={column}" for column in COLUMNS)
    table = browser.get(f"/items?lang={lang}&{columns}").text.partition("<tbody>")[2]
    for words_of in said:
        assert words_of.lower() in table.lower()
    assert not re.search(r"\b(bottle|sales|paper|importer|true|not_assessed|missing)\b", table)


def test_the_portfolio_names_the_rules_that_lower_grades_and_leads_to_their_items(caller, browser):
    caller.made(sku_code="PVC", name="Tray", packaging_format="tray", markets=["FR"],
                components=[BODY, {"component_type": "label", "material_family": "plastic", "polymer_or_grade": "PVC",
                                   "weight_g": 1}])  # fmt: skip
    counted(caller)
    page = browser.get("/portfolio")
    rules = [found for found in links(page) if found.startswith("/items?rule=")]
    assert rules
    for address in rules:
        told = words(browser.get(address))
        assert "Items found: 1" in told
        assert address.partition("rule=")[2] in told


def test_the_form_keeps_every_filter_that_a_link_has(caller, browser):
    caller.made(sku_code="FAR", name="Far", markets=["MN"])
    page = browser.get("/items?market=mn&grade=not_assessed&rule=ANY-011b&q=%20far")
    assert page.status_code == 200
    for kept in (
        '<option value="MN" selected>',
        '<option value="not_assessed" selected>',
        'name="rule" value="ANY-011b"',
    ):
        assert kept in page.text
    assert "FAR" in browser.get("/items?market=mn&q=far").text


@pytest.mark.parametrize("name", ["grade", "gap", "sort", "rule"])  # names: decisions §13
def test_a_choice_that_there_is_not_is_said_without_codes(caller, browser, name):
    counted(caller)
    page = browser.get(f"/items?lang=de&{name}=ZZ-1")
    told = words(page)
    assert (page.status_code, "„ZZ-1“ ist keine Auswahl dieser Liste." in told) == (400, True)
    assert not re.search("not_assessed|doc_missing|created_at|UUID|ISO 3166", told)


def test_an_editor_makes_an_item_from_the_top_of_the_list(caller, pool, browser):
    assert 'href="/items/new"' in browser.get("/items").text.partition('role="search"')[0]
    reader = signed_in(caller, pool, "viewer")
    assert "/items/new" not in reader.get("/items").text


def exported(browser, form, query):
    """The rows of an export, read by another program than ours."""
    answer = browser.get(f"/items/export?format={form}&{query}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="items.{form}"'
    assert int(answer.headers["content-length"]) == len(answer.content)
    if form == "xlsx":
        frame = pl.read_excel(io.BytesIO(answer.content))
        return [frame.columns, *map(list, frame.rows())]
    text = answer.content.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text), delimiter=";" if "lang=de" in query else ","))


def test_what_is_shown_is_exported_as_workbook_and_as_csv(caller, browser):
    caller.made(sku_code="B-1", name="Flacon d’été", weight_grams=2.5, material="glass", markets=["FR", "DE"])
    caller.made(sku_code="B-2", name="=HYPERLINK(1)", weight_grams=1250, material="paper")
    caller.made(sku_code="C-1", name="Carton")
    shown = "q=b-&sort=-weight_grams&columns=weight_grams&columns=material&columns=markets&lang=de"
    page = browser.get(f"/items?{shown}")
    leads = {found for found in links(page) if found.startswith("/items/export")}
    assert len(leads) == 2
    rows = [["B-2", "'=HYPERLINK(1)", None, "Papier", 1250], ["B-1", "Flacon d’été", "FR, DE", "Glas", 2.5]]
    assert exported(browser, "xlsx", shown)[1:] == rows
    texts = [["" if cell is None else str(cell).replace(".", ",") for cell in row] for row in rows]
    assert exported(browser, "csv", shown)[1:] == texts
    for lead in leads:
        form = re.search(r"format=(\w+)", lead)[1]
        assert exported(browser, form, lead.partition("?")[2]) == exported(browser, form, shown)
    headers = exported(browser, "csv", "lang=en")[0]
    assert headers == ["Code", "Name", "Grade", "Declaration", "Markets"] or headers[2:] == [
        "Grade",
        "Declaration",
        "Markets",
    ]


def test_an_export_is_the_whole_list_and_of_one_company(caller, join, browser):
    rows = [{"sku_code": f"P-{number:03d}", "name": f"Bottle {number}"} for number in range(120)]
    caller.post("/skus/batch", {"skus": rows})
    join().made(sku_code="OTHER", name="Bottle")
    codes = [row[0] for row in exported(browser, "csv", "sort=sku_code&q=bottle")[1:]]
    assert codes == [row["sku_code"] for row in rows]


def test_an_export_that_no_page_leads_to_is_refused(caller, browser):
    for query in ("format=", "format=pdf", "format=csv&grade=Z", "format=csv&rule=none"):
        assert browser.get(f"/items/export?{query}").status_code == 400, query
    assert Browser(caller.http, caller.address).get("/items/export?format=csv").status_code == 303
