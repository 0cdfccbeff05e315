"""An import of several sheets says sheet and line in its report, is corrected there, and takes an answer (§13)."""

import json
from datetime import date

import pytest

from api.imports.commands import _write
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from tests.api.people import hidden, signed_in
from tests.api.portfolios import run
from tests.api.test_correction_pages import inputs, led_to
from tests.api.test_corrections import rejected
from tests.api.test_import_answers import answered, imported, stored
from tests.pipelines.reading.writing import workbook

HEAD = ["sku_code", "name", "weight_grams", "packaging_format"]
JAN = [["Packaging of January"], HEAD, ["A-1", "Jar", 180, "jar"], ["A-2", "Box", "heavy", "box"]]
FEB = [HEAD, ["B-1", "Can", 15, "can"], ["A-1", "Jar", 181, "jar"], ["B-2", "Tray", "light", "tray"]]
FILE = workbook({"Jan": JAN, "Feb": FEB})
ALL = json.dumps({"sheets": "all"})


def test_the_report_says_sheet_and_line(caller):
    report = caller.get(f"/imports/{imported(caller, FILE, mapping=ALL)}").json()
    assert report["counts"] == {"total": 5, "created": 2, "updated": 0, "unchanged": 0, "rejected": 3}
    assert report["progress"] == {"done": 5, "total": 5}
    found = [(error["sheet"], error["line"], error["code"]) for error in report["errors"]]
    assert found == [("Jan", 4, "invalid_number"), ("Feb", 3, "duplicate_sku_code"), ("Feb", 4, "invalid_number")]


def test_what_the_write_finds_says_sheet_and_line(caller):
    """What the write path finds has its place too: a SKU that nobody holds needs a name."""
    data = workbook({"Jan": [HEAD, JAN[2]], "Feb": [[], HEAD, ["B-1", None, 15, "can"]]})
    report = caller.get(f"/imports/{imported(caller, data, mapping=ALL)}").json()
    assert [(each["sheet"], each["line"], each["column"]) for each in report["errors"]] == [("Feb", 3, "B")]


def test_an_answer_reads_the_other_sheets_of_the_file_first_sent(caller):
    first = imported(caller, FILE, mapping=json.dumps({"sheets": ["Jan"]}))
    assert stored(caller).keys() == {"A-1"}
    report = answered(caller, first, {"sheets": "all"})
    assert (report["counts"]["created"], report["counts"]["updated"]) == (1, 0)
    assert {code: sku["weight_grams"] for code, sku in stored(caller).items()} == {"A-1": 180, "B-1": 15}


def test_cells_are_corrected_on_their_sheet(caller):
    first = imported(caller, FILE, mapping=ALL)
    assert [(row["sheet"], row["line"]) for row in rejected(caller, first)["data"]] == [
        ("Jan", 4),
        ("Feb", 3),
        ("Feb", 4),
    ]
    cells = [
        {"sheet": "Jan", "line": 4, "column": "C", "value": "14"},
        {"sheet": "Feb", "line": 4, "column": "C", "value": "9"},
    ]
    answer = caller.post(f"/imports/{first}/corrections", {"cells": cells})
    report = led(caller, answer)
    assert [(error["sheet"], error["code"]) for error in report["errors"]] == [("Feb", "duplicate_sku_code")]
    assert {code: sku["weight_grams"] for code, sku in stored(caller).items()} == {
        "A-1": 180,
        "A-2": 14,
        "B-1": 15,
        "B-2": 9,
    }


def test_a_whole_dry_run_is_corrected_on_its_sheets(caller):
    first = imported(caller, FILE, mapping=ALL, dry_run=True)
    cells = [{"sheet": "Feb", "line": 4, "column": "C", "value": "9"}]
    report = led(caller, caller.post(f"/imports/{first}/corrections", {"cells": cells, "dry_run": False}))
    assert report["counts"]["created"] == 3
    assert [(error["sheet"], error["line"]) for error in report["errors"]] == [("Jan", 4), ("Feb", 3)]


def led(caller, answer):
    """The report of the import that a correction led to."""
    assert answer.status_code == 202, answer.text
    run(caller, answer.json()["id"])
    return caller.get(f"/imports/{answer.json()['id']}").json()


@pytest.mark.parametrize("lang", ["en", "de"])
def test_the_page_says_sheet_and_line_and_corrects_there(caller, pool, lang):
    browser = signed_in(caller, pool)
    address = f"/imports/{imported(caller, FILE, mapping=ALL)}"
    page = browser.get(f"{address}?lang={lang}").text
    assert "Jan, Feb" in page
    for line, sheet in ((4, "Jan"), (3, "Feb"), (4, "Feb")):
        assert f'{line}<br><span class="quiet">{sheet}</span>' in page
    rows = browser.get(f"{address}/rejected").text
    assert {"cell.4.C.Jan", "cell.4.C.Feb"} <= inputs(rows).keys()
    form = hidden(rows) | {"cell.4.C.Jan": "14", "cell.4.C.Feb": "9"}
    led_to(caller, browser.post(f"{address}/rejected", form))
    assert {code: sku["weight_grams"] for code, sku in stored(caller).items()}["A-2"] == 14


def test_the_command_writes_a_csv_for_each_sheet(tmp_path):
    """A CSV has one sheet: that of the second would overwrite that of the first."""
    upload = read_upload(FILE, "list.xlsx", mapping={"sheets": "all"}, today=date(2026, 11, 1))
    faults = type_rows(upload, default_year=2026, served_markets={"FR"}).errors.drop("template").to_dicts()
    written = _write(tmp_path / "errors.csv", FILE, upload.source, faults, "en")
    assert [path.name for path in written] == ["errors.csv", "errors.2.csv"]
    assert ["A-2" in written[0].read_text(), "B-2" in written[1].read_text()] == [True, True]
