"""Files: what is accepted, how it is read, and what the report says. Rows are written by the worker afterwards."""

import io
import json
from uuid import uuid4

import pytest
import xlsxwriter

from tests.contract.outside import codes, good, refused, until
from tests.contract.shapes import faults

CSV = b"sku_code;name;weight_grams\nI-1;Bottle;12,5\nI-2;Tray;8\n"
HEAD = ["sku_code", "name", "weight_grams"]


def workbook(hidden: tuple[str, ...] = (), **sheets: list[list[object]]) -> bytes:
    data = io.BytesIO()
    with xlsxwriter.Workbook(data) as book:
        for title, rows in sheets.items():
            sheet = book.add_worksheet(title)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
            if title in hidden:
                sheet.hide()
            else:
                sheet.set_first_sheet()
                sheet.activate()
    return data.getvalue()


def send(caller, data: bytes, filename: str | None = "file.csv", **params: object):
    named = {"filename": filename} if filename else {}
    return caller.request("POST", "/imports", content=data, params={**named, **params})


@pytest.mark.promise("IMP-01", "IMP-02", "IMP-08", "IMP-10", "IMP-21")
def test_a_file_is_queued_and_every_row_gets_an_outcome(caller):
    held = caller.made(sku_code="HELD", name="Same")
    lines = ["sku_code;name;gtin;unknown thing", "A;New;;1", "HELD;Changed;;2", "B;Bad;123;3", "C;;;4"]
    answer = send(caller, "\n".join(lines).encode())
    assert answer.status_code == 202
    accepted = answer.json()
    assert faults("ImportAccepted", accepted) == faults("ImportSource", accepted["source"]) == []
    assert (accepted["dry_run"], accepted["filename"], accepted["rows"]) == (False, "file.csv", 4)
    assert accepted["poll_url"] == f"/api/v1/imports/{accepted['id']}"
    seen = []

    def ended():
        seen.append(good(caller.get(accepted["poll_url"])))
        return seen[-1]["status"] == "completed"

    until(ended)
    for report in seen:
        assert faults("ImportStatus", report) == []
        counts = dict(report["counts"])
        assert counts.pop("total") == sum(counts.values())
    assert report["counts"] == {"total": 4, "created": 1, "updated": 1, "unchanged": 0, "rejected": 2}
    assert report["progress"] == {"done": 4, "total": 4}
    assert [fault for error in report["errors"] for fault in faults("ImportRowError", error)] == []
    found = [(error["line"], error["sku_code"], error["field"], error["code"]) for error in report["errors"]]
    assert found == [(4, "B", "gtin", "invalid_gtin"), (5, "C", "name", "required")]
    assert report["failure"] is None
    names = {item["sku_code"]: item["name"] for item in caller.data("/skus")}
    assert names == {"A": "New", "HELD": "Changed"}
    assert caller.data(f"/skus/{held['id']}")["name"] == "Changed"


@pytest.mark.promise("IMP-08", "IMP-13")
def test_the_source_shows_where_each_field_was_found(caller):
    answer = send(caller, b"Titel\n\nArtikelnummer;Bezeichnung;Verpackungsgewicht (g);Farbe des Lagers\n1;Dose;2,5;x\n")
    source = good(answer)["source"]
    assert (source["format"], source["delimiter"], source["sheet"], source["header_row"]) == ("csv", ";", None, 3)
    assert source["layout"] == "rows"
    assert [(c["field"], c["column"], c["header"]) for c in source["columns"]] == [
        ("sku_code", "A", "Artikelnummer"),
        ("name", "B", "Bezeichnung"),
        ("weight_grams", "C", "Verpackungsgewicht (g)"),
    ]
    assert [(c["column"], c["header"]) for c in source["ignored"]] == [("D", "Farbe des Lagers")]
    french = send(caller, "Référence;Désignation;Matériau;Contact alimentaire\n1;Pot;verre;oui\n".encode())
    fields = [column["field"] for column in good(french)["source"]["columns"]]
    assert fields == ["sku_code", "name", "material", "food_contact"]
    assert codes(send(caller, b"Artikelnummer;Code article;name\n1;2;3\n")) == ["ambiguous_column"]


@pytest.mark.promise("IMP-04")
def test_a_file_is_a_part_or_raw_bytes_and_its_extension_tells_its_kind(caller):
    book = workbook(Data=[HEAD, ["X-1", "Jar", 4.5]])
    part = caller.request("POST", "/imports?filename=ignored.csv", files={"file": ("p.xlsx", book)})
    assert (good(part)["filename"], good(part)["source"]["format"]) == ("p.xlsx", "xlsx")
    raw = send(caller, book, "raw.xlsx")
    assert good(raw)["source"]["sheet"] == "Data"
    assert caller.finished(good(raw)["poll_url"])["counts"]["total"] == 1
    assert caller.data("/skus")[0]["weight_grams"] == 4.5
    assert codes(send(caller, CSV, None)) == ["required"]


@pytest.mark.promise("IMP-07", "IMP-20", "ERR-06")
def test_what_is_no_table_is_refused_before_it_is_accepted(caller):
    assert codes(send(caller, b"")) == ["no_table"]
    assert codes(send(caller, b"a;b\n1;2\n")) == ["missing_column", "missing_column"]
    assert codes(send(caller, b"sku_code;material\n1;glass\n")) == ["missing_column"]
    assert codes(send(caller, b"sku_code;name\n")) == ["no_rows"]
    assert codes(send(caller, b"PK\x03\x04 not a workbook", "a.xlsx")) == ["unreadable_file"]
    assert good(caller.get("/skus"))["pagination"]["total"] == 0


@pytest.mark.promise("IMP-05", "IMP-24", "ERR-07")
def test_the_bounds_are_ten_mebibytes_and_fifty_thousand_rows(caller):
    most = 10 * 2**20
    refused(send(caller, CSV.ljust(most + 1, b"\n")), 413, "payload_too_large")
    refused(
        caller.request("POST", "/imports", files={"file": ("a.csv", CSV.ljust(most + 1, b"\n"))}),
        413,
        "payload_too_large",
    )
    assert send(caller, CSV.ljust(most, b"\n"), dry_run=1).status_code == 202
    rows = "".join(f"{number};N\n" for number in range(50_001))
    assert codes(send(caller, f"sku_code;name\n{rows}".encode())) == ["too_many_rows"]


@pytest.mark.promise("IMP-06", "IMP-25", "IMP-15")
def test_the_components_sheet_replaces_the_graphs_that_it_names(caller):
    line = {"component_type": "body", "material_family": "glass"}
    named, unnamed, spoilt = (caller.made(sku_code=code, components=[line]) for code in ("N", "U", "S"))
    parts = ["sku_code", "component_type", "material_family", "weight_g"]
    book = workbook(
        ("Notes",),
        Notes=[["sku_code", "name"], ["HIDDEN", "Never read"]],
        Portfolio=[["Portfolio 2026"], [], HEAD, ["N", "Bottle", 5], ["U", "Bottle", 6], ["S", "Bottle", 7]],
        components=[
            parts,
            ["N", "body", "plastic", 4],
            ["N", "cap", "plastic", 1],
            ["S", "hat", "plastic", 1],
            ["GONE", "body", "plastic", 1],
        ],
    )
    report = caller.imported(book, "p.xlsx")
    assert report["source"]["header_row"] == 3
    assert report["source"]["components"]["sheet"] == "components"
    found = {(error["sheet"], error["line"], error["code"]) for error in report["errors"]}
    assert found == {("components", 4, "not_in_vocabulary"), ("components", 5, "unknown_reference")}
    assert report["counts"]["rejected"] == 2
    graph = caller.data(f"/skus/{named['id']}")["components"]
    assert [part["component_type"] for part in graph] == ["body", "cap"]
    assert caller.data(f"/skus/{unnamed['id']}")["components"] == unnamed["components"]
    assert caller.data(f"/skus/{spoilt['id']}")["weight_grams"] is None
    assert "HIDDEN" not in {item["sku_code"] for item in caller.data("/skus")}


@pytest.mark.promise("IMP-09", "PLN-01", "PLN-03", "ERR-08")
def test_a_file_past_the_plan_is_refused_and_its_dry_run_is_not(service):
    caller = service.joined("starter")
    data = ("sku_code;name\n" + "".join(f"{number};N\n" for number in range(101))).encode()
    [issue] = refused(send(caller, data), 403, "plan_limit_reached")
    assert (issue["limit"], issue["held"], issue["new"]) == (100, 0, 101)
    assert caller.imported(data, dry_run="true")["counts"]["created"] == 101
    assert good(caller.get("/skus"))["pagination"]["total"] == 0


@pytest.mark.promise("IMP-12", "PAR-03")
def test_a_dry_run_reports_and_writes_nothing(caller):
    accepted = send(caller, CSV + b"I-3;;\n", dry_run=1)
    assert (accepted.status_code, accepted.json()["dry_run"]) == (202, True)
    report = caller.finished(accepted.json()["poll_url"])
    assert (report["dry_run"], report["counts"]["created"], report["counts"]["rejected"]) == (True, 2, 1)
    assert good(caller.get("/skus"))["pagination"]["total"] == 0
    assert caller.imported(CSV)["counts"]["created"] == 2


@pytest.mark.promise("IMP-11", "ERR-05", "SVC-02")
def test_an_import_is_its_companys_alone(caller, other):
    accepted = good(send(caller, CSV))
    refused(other.get(accepted["poll_url"]), 404, "not_found")
    refused(caller.get(f"/imports/{uuid4()}"), 404, "not_found")
    refused(caller.get("/imports/none"), 404, "not_found")


@pytest.mark.promise("IMP-10", "IMP-19", "IMP-20")
def test_the_report_pages_and_names_each_fault(caller):
    value = "=2+2 " + "x" * 300
    rows = f'A;"two\nlines";{value};;\nB;B;-1;perhaps;123\nC;Fine;;;\n'
    report = caller.imported(f"sku_code;name;weight_grams;food_contact;gtin\n{rows}".encode())
    assert [(error["line"], error["field"], error["column"]) for error in report["errors"]] == [
        (2, "weight_grams", "C"),
        (4, "weight_grams", "C"),
        (4, "food_contact", "D"),
        (4, "gtin", "E"),
    ]
    assert report["counts"]["rejected"] == 2
    shown = report["errors"][0]["value"]
    assert shown.lstrip("'").startswith("=2+2")
    assert shown.endswith("…")
    assert all(error["message"] for error in report["errors"])
    page = good(caller.get(f"/imports/{report['id']}?limit=1&offset=1"))
    assert page["errors"] == report["errors"][1:2]
    assert page["pagination"] == {"limit": 1, "offset": 1, "total": 4}


@pytest.mark.promise("IMP-14", "WRT-01", "WRT-02")
def test_an_empty_cell_leaves_and_the_word_null_clears(caller):
    caller.made(sku_code="K", material="glass", description="Kept", product_category="Gone")
    report = caller.imported(b"sku_code;name;material;description;product_category\nK;Bottle;;;null\nL;Lid;#N/A;;\n")
    assert [error["code"] for error in report["errors"]] == ["cell_error"]
    [item] = caller.data("/skus")
    assert (item["material"], item["description"], item["product_category"]) == ("glass", "Kept", None)


@pytest.mark.promise("IMP-16", "IMP-15")
def test_the_file_decides_the_decimal_mark_or_the_cell_is_refused(caller):
    rows = 'a,Bottle,"1,234"\nb,Tray,"2,5"\n'
    assert caller.imported(f"sku_code,name,Weight (g)\n{rows}".encode())["counts"]["created"] == 2
    assert {item["sku_code"]: item["weight_grams"] for item in caller.data("/skus")} == {"a": 1.234, "b": 2.5}
    lone = caller.imported(b'sku_code,name,Weight (g)\nc,Bottle,"1,234"\n')
    assert [error["code"] for error in lone["errors"]] == ["ambiguous_number"]
    read = caller.imported(b"sku_code;name;weight_grams;food_contact;recycled_content_percent\nd;D;1.234,5;oui;30 %\n")
    assert read["counts"]["created"] == 1, read["errors"]
    [item] = caller.data("/skus", sku_code="d")
    assert (item["weight_grams"], item["food_contact"], item["recycled_content_percent"]) == (1234.5, True, 30)


@pytest.mark.promise("IMP-40")
def test_a_weight_that_may_be_the_product_s_is_asked_about_until_a_mapping_says_what_it_is(caller):
    feed, name = b"product_id,name,length_cm,weight_kg\nP1,Chair,40,3.5\n", "feeds"
    asked = caller.imported(feed)["source"]["asked"]
    assert [(column["column"], column["header"], column["could_be"]) for column in asked] == [
        ("D", "weight_kg", ["weight_grams"])
    ]
    assert '{"columns": {"weight_grams": "D"}}' in asked[0]["message"]
    [item] = caller.data("/skus")
    assert item["weight_grams"] is None
    mapping = '{"columns": {"weight_grams": "weight_kg"}}'
    sent = {"data": {"mapping": mapping, "mapping_name": name}, "files": {"file": ("feed.csv", feed)}}
    assert caller.request("POST", "/imports", **sent).json()["source"]["asked"] == []


@pytest.mark.promise("IMP-41")
def test_characters_that_nobody_sees_make_no_second_sku(caller):
    assert caller.imported(b"sku_code,name\nA-1,Jar\n")["counts"]["created"] == 1
    hidden = "\ufeffs\u200bku_code,na\u00adme\n\u200bA-\u200b1\u202c,Jar\n"
    counts = caller.imported(hidden.encode())["counts"]
    assert (counts["created"], counts["unchanged"]) == (0, 1)
    assert [item["sku_code"] for item in caller.data("/skus")] == ["A-1"]


@pytest.mark.promise("IMP-17")
def test_a_mapping_says_what_detection_cannot_know(caller):
    strange, mapping = b"Ours;What\nM-1;Bottle\n", '{"columns": {"sku_code": "A", "name": "What"}}'
    raw = send(caller, strange, mapping=mapping)
    part = caller.request("POST", "/imports", files={"file": ("f.csv", strange)}, data={"mapping": mapping})
    for answer in (raw, part):
        assert [column["field"] for column in good(answer)["source"]["columns"]] == ["sku_code", "name"]
    for wrong in ("no json", "[]", '{"columns": {"sku_code": "Z"}}', '{"colums": {}}'):
        assert "invalid_mapping" in codes(send(caller, strange, mapping=wrong))


@pytest.mark.promise("IMP-18")
@pytest.mark.parametrize(
    ("layout", "lines", "parts"),
    [
        ("rows", ["sku_code;name", "L;Bottle"], 0),
        ("long", ["sku_code;name;component_type;material_family;component_weight_g", "L;Bottle;body;glass;18",
                  "L;;cap;plastic;2"], 2),
    ],
)  # fmt: skip
def test_the_layouts_are_told_apart(caller, layout, lines, parts):
    report = caller.imported("\n".join(lines).encode())
    assert (report["source"]["layout"], report["errors"]) == (layout, [])
    assert len(caller.data(f"/skus/{caller.data('/skus')[0]['id']}")["components"]) == parts


@pytest.mark.promise("IMP-21", "IMP-23")
def test_rejected_rows_stop_no_other_and_a_second_code_is_rejected(caller):
    lines = ["sku_code;name;gtin", *(f"R-{n};Row;{'1' if n % 3 == 0 else ''}" for n in range(30)), "R-1;Again;"]
    report = caller.imported("\n".join(lines).encode())
    assert report["counts"] == {"total": 31, "created": 20, "updated": 0, "unchanged": 0, "rejected": 11}
    assert (report["errors"][-1]["code"], report["errors"][-1]["line"]) == ("duplicate_sku_code", 32)
    again = caller.imported("\n".join(lines).encode())["counts"]
    assert (again["created"], again["unchanged"]) == (0, 20)


@pytest.mark.processes
@pytest.mark.promise("IMP-03", "IMP-22", "IMP-01")
def test_a_worker_that_dies_loses_nothing_and_a_poll_takes_its_import_up_again(service):
    rows = 15_000
    data = ("sku_code;name\n" + "".join(f"K-{n};Row\n" for n in range(rows))).encode()
    caller = service.joined()
    poll_url = good(send(caller, data))["poll_url"]
    until(lambda: good(caller.get(poll_url))["progress"]["done"] > 0, pause=0.01)
    service.worker.replace()
    report = caller.finished(poll_url)
    assert report["counts"] == {"total": rows, "created": rows, "updated": 0, "unchanged": 0, "rejected": 0}
    assert good(caller.get("/skus"))["pagination"]["total"] == rows


@pytest.mark.promise("IMP-27")
def test_a_mapping_is_kept_under_its_name_and_recalled_by_it(caller):
    strange, mapping = b"Ours;What\nM-1;Bottle\n", '{"columns": {"sku_code": "A", "name": "What"}}'
    refused(send(caller, strange, mapping_name="ERP"), 400, "invalid_body")
    first = send(caller, strange, mapping=mapping, mapping_name="ERP")
    assert (first.status_code, first.json()["source"]["mapping_name"]) == (202, "ERP")
    until(lambda: good(caller.get(first.json()["poll_url"]))["status"] == "completed")
    again = send(caller, strange, mapping_name="ERP")
    assert [column["field"] for column in again.json()["source"]["columns"]] == ["sku_code", "name"]


@pytest.mark.promise("IMP-28")
@pytest.mark.parametrize(
    ("layout", "table"),
    [
        ("wide", ["sku_code;name;Material 1;Weight 1 (g);Material 2", "W;w;glass;200;metal"]),
        ("materials", ["sku_code;name;glass_weight_g;metal_weight_g", "W;w;200;3"]),
    ],
)
def test_groups_of_columns_and_weights_by_material_become_components(caller, layout, table):
    answer = send(caller, "\n".join(table).encode())
    assert (answer.status_code, answer.json()["source"]["layout"]) == (202, layout)
    until(lambda: good(caller.get(answer.json()["poll_url"]))["status"] == "completed")
    assert good(caller.get(answer.json()["poll_url"]))["counts"]["created"] == 1
    [listed] = good(caller.get("/skus", params={"sku_code": "W"}))["data"]
    lines = good(caller.get(f"/skus/{listed['id']}"))["data"]["components"]
    assert [(line["material_family"], line["component_type"]) for line in lines] == [
        ("glass", "body"),
        ("metal", "body"),
    ]
    assert lines[0]["weight_g"] == 200


@pytest.mark.promise("IMP-42")
def test_a_dry_run_is_imported_with_another_mapping_and_without_its_file(caller):
    wrong = {"columns": {"sku_code": "What", "name": "Ours"}}
    first = caller.imported(b"Ours;What\nR-1;Bottle\n", dry_run="true", mapping=json.dumps(wrong))
    right = {"mapping": {"columns": {"sku_code": "Ours", "name": "What"}}}
    again = caller.post(f"/imports/{first['id']}/repeat", right)
    assert again.status_code == 202, again.text
    report = caller.finished(again.json()["poll_url"])
    assert (report["status"], report["counts"]["created"]) == ("completed", 1)
    assert caller.data("/skus", sku_codes="R-1")[0]["name"] == "Bottle"


@pytest.mark.promise("IMP-70")
def test_a_text_keeps_what_it_names_and_the_report_says_what_it_became(caller):
    header = "sku_code,name,material,weight_grams,packaging_format"
    file = f"{header}\nTIN,Soup,Weißblech,52,can\nPET,Oil,PET schwarz,25,bottle\n"
    told = caller.imported(file.encode())["source"]["readings"]
    became = {(each["column"], each["field"], each["text"]): (each["value"], each["rows"]) for each in told}
    assert became["C", "material", "Weißblech"] == ("metal, tinplate", 1)
    assert became["D", "weight_grams", "52"] == ("52 g", 2)
    held = {item["sku_code"]: item for item in caller.data("/skus")}
    assert {code: item["material_subtype"] for code, item in held.items()} == {"TIN": "tinplate", "PET": "PET schwarz"}
    assert held["TIN"]["recyclability_grade"] not in (None, "not_assessed")
    part = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
    sent = {"sku_code": "J", "name": "J", "packaging_format": "bottle"}
    bare = {"material": "plastic", "weight_grams": 25}
    records = {
        "given": {**sent, "sku_code": "J1", "components": [{**part, "colour": "dark"}]},
        "part": {**sent, "sku_code": "J2", "components": [{**part, "polymer_or_grade": "PET schwarz"}]},
        "bare": {**sent, **bare, "sku_code": "J3", "material_subtype": "PET black"},
    }
    answers = {name: caller.request("POST", "/skus", json=record).json()["data"] for name, record in records.items()}
    grades = {(each["recyclability_grade"], each["recyclability_score"]) for each in answers.values()}
    assert grades == {(held["PET"]["recyclability_grade"], held["PET"]["recyclability_score"])}
    assert answers["part"]["components"][0]["polymer_or_grade"] == "PET schwarz"


@pytest.mark.promise("IMP-71")
def test_a_film_among_the_parts_is_asked_and_the_answer_stores_the_graph(caller):
    header = b"sku_code,name,component_type,material_family,component_weight_g\n"
    file = header + b"TEA,Tea,box,paper,22\nTEA,Tea,film,plastic,3\n"
    done = caller.imported(file)
    [asked] = done["source"]["asked"]
    assert (asked["kind"], asked["text"], asked["column"]) == ("value", "film", "C")
    assert asked["answer"] == {"values": {"component_type": {"film": "sleeve"}}}
    assert (done["counts"]["created"], done["counts"]["rejected"]) == (1, 0)
    [item] = caller.data("/skus", sku_code="TEA", include="components")
    assert (item["name"], item["components"]) == ("Tea", [])
    done = caller.imported(file, mapping=json.dumps(asked["answer"]))
    assert (done["source"]["asked"], done["counts"]["updated"]) == ([], 1)
    [item] = caller.data("/skus", sku_code="TEA", include="components")
    assert [part["component_type"] for part in item["components"]] == ["body", "sleeve"]
