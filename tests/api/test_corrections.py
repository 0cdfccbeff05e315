"""The rejected rows of an import: seen with their faults, downloaded, and imported again with corrected cells."""

import fastexcel
import pytest

from schemas.imports.types import ImportAccepted, RejectedRowListResponse
from tests.api.portfolios import run
from tests.api.published import published
from tests.pipelines.reading.writing import workbook

FILE = (
    "Artikelnummer;Bezeichnung;Verpackungsgewicht (g);Verpackungsmaterial;Notiz\r\n"
    "A-1;Flasche;12,5;plastic;x\r\nA-2;Deckel;schwer;plastic;y\r\nA-3;Glas;120;Wodka;=z\r\n"
).encode("cp1252")


def imported(caller, data=FILE, filename="liste.csv", **query):
    answer = caller.post("/imports", content=data, params={"filename": filename, **query})
    assert answer.status_code == 202, answer.text
    run(caller, answer.json()["id"])
    return answer.json()["id"]


def rejected(caller, import_id, **query):
    answer = caller.get(f"/imports/{import_id}/rejected", params=query)
    assert answer.status_code == 200, answer.text
    published(RejectedRowListResponse, answer.json())
    return answer.json()


def corrected(caller, import_id, *cells, **more):
    body = {"cells": [dict(zip(("line", "column", "value"), cell, strict=True)) for cell in cells], **more}
    return caller.post(f"/imports/{import_id}/corrections", body)


def test_the_rejected_rows_are_listed_with_their_cells_and_faults(caller):
    found = rejected(caller, imported(caller))
    assert found["headers"][0]["cells"]["C"] == "Verpackungsgewicht (g)"
    assert [(row["line"], row["cells"]["A"]) for row in found["data"]] == [(3, "A-2"), (4, "A-3")]
    assert [[fault["column"] for fault in row["errors"]] for row in found["data"]] == [["C"], ["D"]]
    assert rejected(caller, imported(caller), limit=1, offset=1)["data"] == found["data"][1:]


def test_corrected_cells_are_imported_like_the_first_file(caller):
    first = imported(caller)
    answer = corrected(caller, first, (3, "C", "2,5"), (4, "D", "Glas"))
    assert answer.status_code == 202, answer.text
    published(ImportAccepted, answer.json())
    assert answer.json()["filename"] == "liste.corrected.csv"
    run(caller, answer.json()["id"])
    report = caller.get(f"/imports/{answer.json()['id']}").json()
    assert (report["counts"]["created"], report["counts"]["rejected"]) == (2, 0), report["errors"]
    found = {sku["sku_code"]: sku for sku in caller.get("/skus").json()["data"]}
    assert set(found) == {"A-1", "A-2", "A-3"}
    assert caller.get(f"/skus/{found['A-2']['id']}").json()["data"]["weight_grams"] == 2.5


def test_what_is_still_wrong_is_in_the_next_report(caller):
    answer = corrected(caller, imported(caller), (3, "C", "2,5"))
    run(caller, answer.json()["id"])
    report = caller.get(f"/imports/{answer.json()['id']}").json()
    assert report["counts"]["created"] == 1
    assert [row["cells"]["A"] for row in rejected(caller, answer.json()["id"])["data"]] == ["A-3"]


def test_a_dry_run_stores_nothing(caller):
    answer = corrected(caller, imported(caller), (3, "C", "2,5"), dry_run=True)
    run(caller, answer.json()["id"])
    assert caller.get("/skus").json()["pagination"]["total"] == 1


def test_the_file_of_rejected_rows_names_line_column_and_reason(caller):
    first = imported(caller)
    csv = caller.get(f"/imports/{first}/rejected/file", params={"format": "csv"})
    assert csv.headers["Content-Type"].startswith("text/csv")
    assert "liste.corrected.csv" in csv.headers["Content-Disposition"]
    lines = csv.content.decode("utf-8-sig").splitlines()
    assert lines[0].endswith("Notiz;error_line;error_column;error_reason")
    assert lines[2].startswith("A-3;Glas;120;Wodka;'=z;4;D;")
    book = caller.get(f"/imports/{first}/rejected/file").content
    sheet = fastexcel.read_excel(book).load_sheet(0).to_polars()
    assert sheet.rows()[0][:2] == ("A-2", "Deckel")


def test_a_sheet_of_components_is_corrected_where_it_is(caller):
    parts = [
        ["sku_code", "component_type", "material_family", "weight_g"],
        ["B-1", "body", "plasic", 12],
        ["B-1", "closure", "plastic", 2],
        ["B-2", "body", "glass", 5],
    ]
    data = workbook({"Sheet": [["sku_code", "name"], ["B-1", "Bottle"], ["B-2", "Tray"]], "components": parts})
    first = imported(caller, data, "b.xlsx")
    rows = rejected(caller, first)["data"]
    assert [(row["sheet"], row["line"]) for row in rows] == [("Sheet", 2), ("components", 2), ("components", 3)]
    body = {
        "cells": [
            {"sheet": "components", "line": 2, "column": "C", "value": "plastic"},
            {"sheet": "components", "line": 2, "column": "D", "value": "12.5"},
        ]
    }
    answer = caller.post(f"/imports/{first}/corrections", body)
    run(caller, answer.json()["id"])
    report = caller.get(f"/imports/{answer.json()['id']}").json()
    assert report["counts"]["created"] == 1, report
    sku = next(sku for sku in caller.get("/skus").json()["data"] if sku["sku_code"] == "B-1")
    assert [part["weight_g"] for part in caller.get(f"/skus/{sku['id']}").json()["data"]["components"]] == [12.5, 2]


@pytest.mark.parametrize(
    ("cell", "field"),
    [
        ((2, "C", "1"), "cells[0].line"),
        ((3, "Z", "1"), "cells[0].column"),
        ((0, "C", "1"), "cells[0].line"),
        ((3, "c1", "1"), "cells[0].column"),
    ],
)
def test_a_cell_of_no_rejected_row_is_refused_at_its_place(caller, cell, field):
    answer = corrected(caller, imported(caller), cell)
    assert answer.status_code == 400, answer.text
    assert [each["field"] for each in answer.json()["details"]] == [field]


def test_an_import_without_rejected_rows_has_none(caller):
    first = imported(caller, b"sku_code,name\nA-1,Bottle\n")
    assert rejected(caller, first)["data"] == []
    assert corrected(caller, first).status_code == 400
    assert caller.get(f"/imports/{first}/rejected/file").status_code == 400


def test_another_company_reads_and_corrects_nothing(caller, join):
    first, other = imported(caller), join()
    assert other.get(f"/imports/{first}/rejected").status_code == 404
    assert other.get(f"/imports/{first}/rejected/file").status_code == 404
    assert corrected(other, first, (3, "C", "2,5")).status_code == 404


def test_one_idempotency_key_corrects_once(caller):
    first = imported(caller)
    body = {"cells": [{"line": 3, "column": "C", "value": "2,5"}]}
    one, two = (
        caller.post(f"/imports/{first}/corrections", body, headers={"Idempotency-Key": "k-1"}) for _ in range(2)
    )
    assert one.json()["id"] == two.json()["id"]


HONEY = b"sku_code,name,weight_grams\nH-1,Honig 500 g,500\nH-1,Honig 250 g,250\nH-2,Glas,x\n"


def ended(caller, answer):
    assert answer.status_code == 202, answer.text
    run(caller, answer.json()["id"])
    return caller.get(f"/imports/{answer.json()['id']}").json()


def names(caller):
    return {sku["sku_code"]: sku["name"] for sku in caller.get("/skus").json()["data"]}


def test_a_repeated_row_that_is_left_as_it_is_stays_rejected(caller):
    """The row that counts is not in the file of rejected rows (decisions §13, Corrections)."""
    first = imported(caller, HONEY, "honey.csv")
    report = ended(caller, corrected(caller, first, (4, "C", "120")))
    assert names(caller) == {"H-1": "Honig 500 g", "H-2": "Glas"}
    assert [(e["line"], e["field"], e["column"], e["code"]) for e in report["errors"]] == [
        (2, "sku_code", "A", "duplicate_sku_code")
    ]
    # And so again: by another correction, where the same file is repeated, and with a code that only looks different.
    for answer in (
        corrected(caller, report["id"]),
        corrected(caller, report["id"], (2, "A", " H-1 ")),
        caller.post(f"/imports/{report['id']}/repeat", {}),
    ):
        assert ended(caller, answer)["counts"]["rejected"] == 1
    assert names(caller) == {"H-1": "Honig 500 g", "H-2": "Glas"}
    assert ended(caller, corrected(caller, report["id"], (2, "A", "H-3")))["counts"]["created"] == 1
    assert names(caller) == {"H-1": "Honig 500 g", "H-2": "Glas", "H-3": "Honig 250 g"}


def test_a_row_does_not_take_the_code_of_one_that_was_imported(caller):
    first = imported(caller, HONEY, "honey.csv")
    report = ended(caller, corrected(caller, first, (4, "A", "H-1"), (4, "C", "120")))
    assert {fault["code"] for fault in report["errors"]} == {"duplicate_sku_code"}
    assert names(caller) == {"H-1": "Honig 500 g"}


def test_corrections_of_a_dry_run_are_the_whole_file_and_a_dry_run_again(caller):
    first = imported(caller, dry_run=True)
    report = ended(caller, corrected(caller, first, (3, "C", "2,5"), (4, "D", "Glas")))
    assert (report["dry_run"], report["counts"]["created"], report["counts"]["rejected"]) == (True, 3, 0)
    assert caller.get("/skus").json()["pagination"]["total"] == 0
    report = ended(caller, corrected(caller, first, (3, "C", "2,5"), (4, "D", "Glas"), dry_run=False))
    assert (report["dry_run"], report["counts"]["created"], report["counts"]["rejected"]) == (False, 3, 0)
    assert set(names(caller)) == {"A-1", "A-2", "A-3"}


def test_corrections_of_a_corrected_dry_run_keep_the_lines_of_the_file(caller):
    first = imported(caller, b"\n" + HONEY, "honey.csv", dry_run=True)
    report = ended(caller, corrected(caller, first, (5, "C", "120")))
    assert [(e["line"], e["code"]) for e in report["errors"]] == [(4, "duplicate_sku_code")]
    report = ended(caller, corrected(caller, report["id"], (4, "A", "H-3"), dry_run=False))
    assert names(caller) == {"H-1": "Honig 500 g", "H-2": "Glas", "H-3": "Honig 250 g"}


def test_corrections_of_a_dry_run_of_a_workbook_are_the_whole_workbook(caller):
    parts = [["sku_code", "component_type", "material_family"], ["B-1", "body", "plasic"], ["B-2", "body", "glass"]]
    items = [["sku_code", "name", "weight_grams"], ["B-1", "Bottle", 12.5], ["B-2", "Tray", 3]]
    first = imported(caller, workbook({"Sheet": items, "components": parts}), "b.xlsx", dry_run=True)
    cell = {"sheet": "components", "line": 2, "column": "C", "value": "plastic"}
    report = ended(caller, caller.post(f"/imports/{first}/corrections", {"cells": [cell], "dry_run": False}))
    assert (report["counts"]["created"], report["errors"]) == (2, [])


def test_components_alone_are_corrected_too(caller):
    """Their SKUs are in no row of the first sheet, which a workbook needs all the same."""
    assert ended(caller, caller.post("/imports?filename=a.csv", content=b"sku_code,name\nB-1,Bottle\n"))
    parts = [["sku_code", "component_type", "material_family"], ["B-1", "body", "plasic"]]
    first = imported(
        caller, workbook({"Sheet": [["sku_code", "name"], ["B-2", "Tray"]], "components": parts}), "b.xlsx"
    )
    cell = {"sheet": "components", "line": 2, "column": "C", "value": "plastic"}
    report = ended(caller, caller.post(f"/imports/{first}/corrections", {"cells": [cell]}))
    assert (report["counts"]["updated"], report["errors"]) == (1, [])
