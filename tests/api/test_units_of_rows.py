"""A file with a row for each SKU and market: its units are stored, its faults corrected, on the page and by REST."""

from html import unescape

import pytest

from tests.api.people import hidden
from tests.api.portfolios import run
from tests.api.test_import_answers import answered, imported, stored
from tests.api.test_library_pages import browser

__all__ = ["browser"]


def units(caller):
    return {
        code: {(row["market"], row["year"], row["half"]): row["units_placed"] for row in sku["volumes"]}
        for code, sku in stored(caller).items()
    }


def test_codes_markets_and_units_alone_are_imported(caller):
    for code in ("A-1", "A-2"):
        caller.made(sku_code=code, weight_grams=10)
    first = imported(
        caller,
        "Artikelnummer;Land;Jahr;Menge\nA-1;Deutschland;2026;1.000\nA-1;Frankreich;2026;500\nA-1;FR;2025;600\n"
        "A-2;FR;2025;7\nA-9;FR;2026;1\n",
    )
    report = caller.get(f"/imports/{first}").json()
    assert (report["counts"]["updated"], report["counts"]["rejected"]) == (2, 1), report["errors"]
    assert [(error["line"], error["sku_code"], error["code"]) for error in report["errors"]] == [(6, "A-9", "required")]
    assert units(caller) == {
        "A-1": {("DE", 2026, 0): 1000, ("FR", 2025, 0): 600, ("FR", 2026, 0): 500},
        "A-2": {("FR", 2025, 0): 7},
    }
    assert {sku["sku_code"] for sku in caller.get("/skus?market=DE").json()["data"]} == {"A-1"}
    again = caller.get(f"/imports/{imported(caller, 'SKU;Market;Units' + chr(10) + 'A-1;DE;1000' + chr(10))}").json()
    assert again["counts"]["unchanged"] == 1


def test_a_faulty_row_is_corrected_with_all_rows_of_its_sku(caller):
    first = imported(
        caller, "SKU;Name;Market;Units\nB-1;Jar;DE;1\nB-1;Jar;FR;many\nB-2;Lid;DE;3\nB-2;Lid;DE;4\nB-3;Cap;DE;5\n"
    )
    rows = caller.get(f"/imports/{first}/rejected").json()["data"]
    assert [row["line"] for row in rows] == [2, 3, 4, 5]
    assert units(caller) == {"B-3": {("DE", 2026, 0): 5}}
    cells = {"cells": [{"line": 3, "column": "D", "value": "2"}, {"line": 5, "column": "C", "value": "FR"}]}
    answer = caller.post(f"/imports/{first}/corrections", cells)
    assert answer.status_code == 202, answer.text
    run(caller, answer.json()["id"])
    assert units(caller) == {
        "B-1": {("DE", 2026, 0): 1, ("FR", 2026, 0): 2},
        "B-2": {("DE", 2026, 0): 3, ("FR", 2026, 0): 4},
        "B-3": {("DE", 2026, 0): 5},
    }


def test_which_list_the_markets_are_of_is_asked_and_then_the_units_are_written(caller):
    caller.made(sku_code="C-1")
    first = imported(caller, "SKU;Market;Units\nC-1;CO;1\nC-1;ME;2\n")
    [asked] = caller.get(f"/imports/{first}").json()["source"]["asked"]
    assert units(caller) == {"C-1": {}}
    report = answered(caller, first, {"lists": {"B": "iso"}})
    assert report["source"]["asked"] == []
    assert [error["code"] for error in report["errors"]] == ["unknown_market"] * 2
    assert asked["kind"] == "list"


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_a_column_is_chosen_as_units_of_the_market_of_its_row_on_the_page(caller, browser, lang):
    caller.made(sku_code="D-1")
    first = imported(caller, "SKU;Name;Country;Shipped;Material\nD-1;Jar;DE;100;glass\n", dry_run="true")
    page = browser.get(f"/imports/{first}?lang={lang}").text
    word = {
        "en": "Units placed on the market of the row",
        "fr": "Unités mises sur le marché de la ligne",
        "de": "Stückzahl auf dem Markt der Zeile",
    }[lang]
    assert word in unescape(page)
    answer = browser.post(f"/imports/{first}/columns", hidden(page) | {"sku.D": "annual_volume", "step": "import"})
    assert answer.status_code == 303, answer.text
    import_id = answer.headers["Location"].partition("?")[0].rpartition("/")[2]
    run(caller, import_id)
    assert units(caller)["D-1"] == {("DE", 2026, 0): 100}


WRONG = {
    "no market": (
        {"sku.C": "", "sku.D": "annual_volume"},
        ("need a column of markets", "ont besoin d’une colonne", "brauchen eine Spalte"),
    ),
    "no such line": ({"sku.header_row": "99"}, ("is empty", "est vide", "ist leer")),
    "no line": (
        {"sku.header_row": "x"},
        ("in which the headers stand", "se trouvent les en-têtes", "die Überschriften stehen"),
    ),
    "a part": (
        {"sku.D": "component_weight_g"},
        ("part of the packaging", "composant de l’emballage", "Bauteil der Verpackung"),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_choice_that_does_not_fit_is_said_in_words(caller, browser, wrong):
    fields, says = WRONG[wrong]
    first = imported(caller, "SKU;Name;Country;Shipped;Material\nD-1;Jar;DE;100;glass\n", dry_run="true")
    for lang, sentence in zip(("en", "fr", "de"), says, strict=True):
        page = browser.get(f"/imports/{first}?lang={lang}").text
        answer = browser.post(f"/imports/{first}/columns?lang={lang}", hidden(page) | fields | {"step": "import"})
        told = unescape(answer.text).partition('role="alert"')[2].partition("</div>")[0]
        assert answer.status_code == 400
        assert sentence in told
        for raw in ("mapping", "Mapping", "header_row", "component_type", "{"):
            assert raw not in told, told
