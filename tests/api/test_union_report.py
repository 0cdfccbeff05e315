"""The yearly report of Article 44 by every door: checked, kept, corrected, downloaded, and of one company alone."""

import csv
import io

import pytest

from tests.api.people import hidden, signed_in
from tests.api.portfolios import counted, weighed
from tests.api.test_company_registers import MANDATE, NUMBER
from tests.api.test_company_roles import told
from tests.api.test_declarations import BOX, JAR, kept, placed, refused, total
from tests.api.test_false_declarations import found

REPORT = {"market": "DE", "year": 2025, "format": "annex_ix"}
BOTTLE = [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}]


@pytest.fixture
def reporting(caller):
    """A company with jars (glass 200 g with their lid 8.25 g), bottles of unknown format, boxes without weight."""
    placed(caller, "JAR", JAR, ("DE", 2025, 0, 1_000_000))
    placed(caller, "PET", BOTTLE, ("DE", 2025, 0, 40_000))
    placed(caller, "BOX", BOX, ("DE", 2025, 0, 7))
    told(caller.put("/registers", {"market": "DE", "registrations": [NUMBER | {"valid_from": "2025-01-01"}]}))
    counted(caller)
    weighed(caller)
    return caller


def lines(caller, made, part="declaration"):
    answer = caller.get(f"/declarations/{made['id']}/content?part={part}")
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_a_report_is_shown_kept_and_downloaded_in_the_order_of_annex_ix(reporting):
    shown = reporting.post("/declarations?dry_run=1", REPORT).json()
    sums = {
        "rows": 1,
        "in_scope_tonnes": 208.25,
        "undecided_tonnes": 1,
        "out_of_scope_tonnes": 0,
        "total_tonnes": 209.25,
    }
    assert sums.items() <= shown["data"].items()
    assert shown["data"]["question"] == {"field": "packaging_format", "tonnes": 1, "skus": 1}
    assert shown["left_out"] == [
        {"sku_code": "PET", "units": 40_000, "reason": "format_missing", "fields": ["packaging_format"]},
        {"sku_code": "BOX", "units": 7, "reason": "weight_missing", "fields": ["components[0].weight_g"]},
    ]
    made = kept(reporting, **REPORT, sha256=shown["data"]["sha256"])
    assert (made["filename"], made["media_type"]) == ("DE-2025.annex_ix.csv", "text/csv; charset=utf-8")
    rows = lines(reporting, made)
    assert [row["point"] for row in rows] == sorted(row["point"] for row in rows)
    assert rows[0] | {"entry": "Registration number: LUCID", "value": "DE123"} == rows[0]
    assert [row["no"] for row in rows if row["no"]] == [str(no) for no in range(1, 23)]
    assert [row["tonnes"] for row in rows if row["no"] == "1"] == ["208.250000"]
    [apart] = lines(reporting, made, "scope_missing")
    assert (apart["sku_code"], apart["category_codes"], apart["tonnes"]) == ("PET", "7; 8; 9", "1.000000")
    assert apart["question"].endswith("?")
    [uncounted] = lines(reporting, made, "uncounted")
    assert (uncounted["sku_code"], uncounted["reason"]) == ("BOX", "weight_missing")


def test_it_is_a_declaration_of_its_own_that_a_correction_follows(reporting):
    first = kept(reporting, **REPORT)
    national = kept(reporting, market="DE", year=2025, format="csv")
    answer = reporting.post("/declarations", REPORT)
    assert (answer.status_code, answer.json()["details"][0]["id"]) == (409, first["id"])
    told(reporting.put("/registers", {"market": "DE", "registrations": [NUMBER], "representative": MANDATE}))
    second = kept(reporting, **REPORT, corrects=first["id"])
    assert (second["corrects"], total(reporting)) == (first["id"], 3)
    assert national["sha256"] not in (first["sha256"], second["sha256"])
    stated = {row["entry"]: (row["value"], row["note"]) for row in lines(reporting, second)}
    assert stated["Authorised representative"] == ("Vertreter GmbH, Berlin", "from 2026-08-12")
    assert stated["Registration number"] == ("", "not recorded")  # it is valid from 2026 on


def test_it_meets_no_national_duty(reporting, pool):
    browser = signed_in(reporting, pool)
    before = browser.get("/declarations/due").text
    kept(reporting, **REPORT)
    assert browser.get("/declarations/due").text.count("/declarations?market=DE") == before.count(
        "/declarations?market=DE"
    )


def test_what_has_changed_since_is_said(reporting, pool):
    made = kept(reporting, **REPORT)
    assert found(reporting, pool)["changed"] == []
    placed(reporting, "JAR2", JAR, ("DE", 2025, 0, 1_000_000))
    counted(reporting)
    [changed] = found(reporting, pool)["changed"]
    assert (changed["id"], float(changed["filed"]), float(changed["now"])) == (made["id"], 208.25, 416.5)
    assert len(changed["differs"]) == 1


def test_another_market_a_half_and_an_empty_year_are_refused(reporting):
    placed(reporting, "UK", JAR, ("GB", 2025, 1, 1_000))
    counted(reporting)
    assert refused(reporting, REPORT | {"market": "GB"}) == [("market", "not_declarable")]
    assert refused(reporting, REPORT | {"half": 1}) == [("half", "not_declarable")]
    assert refused(reporting, REPORT | {"year": 2024}) == [("market", "not_declarable")]
    assert total(reporting) == 0


def test_another_company_sees_nothing_of_it(reporting, join):
    made = kept(reporting, **REPORT)
    other = join()
    assert total(other) == 0
    for path in ("", "/content"):
        assert other.get(f"/declarations/{made['id']}{path}").status_code == 404
    placed(other, "JAR", JAR, ("DE", 2025, 0, 1_000))
    counted(other)
    theirs = kept(other, **REPORT)
    text = other.get(f"/declarations/{theirs['id']}/content").text
    assert "LUCID" not in text
    assert theirs["total_tonnes"] == 0.20825
    assert other.post("/declarations", REPORT | {"corrects": made["id"]}).status_code == 400


@pytest.mark.parametrize(("lang", "says"), [("en", "Article 44"), ("fr", "article 44"), ("de", "Artikel 44")])
def test_the_page_shows_the_rows_and_what_stands_apart(reporting, pool, lang, says):
    browser = signed_in(reporting, pool)
    form = hidden(browser.get("/declarations").text)
    sent = form | {"market": "DE", "year": "2025", "half": "0", "format": "annex_ix"}
    answer = browser.post(f"/declarations?lang={lang}", sent)
    assert answer.status_code == 200, answer.text
    for text in (says, "B.1(c)", "LUCID", "DE123", "208", "PET", "BOX"):
        assert text in answer.text
    location = browser.post("/declarations", hidden(answer.text)).headers["location"]
    shown = browser.get(f"{location}?lang={lang}").text
    assert "part=scope_missing" in shown
    assert "PET" in browser.get(f"{location}/content?part=scope_missing").text
