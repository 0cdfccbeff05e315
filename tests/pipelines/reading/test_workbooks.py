"""Workbooks: which sheet is read, what cells show, and files that lie about what they hold."""

import io
import json
import zipfile
from collections.abc import Iterator

import pytest

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.workbook import cells
from pipelines.reading.workbook.book import Package
from pipelines.reading.workbook.cells import Hidden
from tests.pipelines.reading.writing import faults, package, raw_workbook, read, sheet_xml, values, workbook

TABLE = [["sku_code", "name"], ["A", "a"]]


def refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(ReadingRefused) as refused:
        read(data)
    return refused.value.issues[0].code, refused.value.issues[0].message


def text_row(line: int, *texts: str) -> str:
    inline = "".join(
        f'<c r="{letters}{line}" t="inlineStr"><is><t>{text}</t></is></c>'
        for letters, text in zip("ABCDEF", texts, strict=False)
    )
    return f'<row r="{line}">{inline}</row>'


def test_the_sheet_with_the_columns_is_read_and_named() -> None:
    data = workbook({"Cover": [["Our portfolio"]], "Codes": TABLE, "Empty": [], "Liste": TABLE}, hidden=["Codes"])
    upload, rows = read(data)
    assert upload.source["sheet"] == "Liste"
    assert rows.values["sheet"].to_list() == ["Liste"]


def test_a_table_below_titles_and_away_from_the_corner() -> None:
    table = [
        ["", "Portfolio"],
        [],
        ["", "", "", "Poids emballage (g)", "Libellé", "Référence"],
        ["", "", "", 5, "a", "A"],
    ]
    upload, rows = read(workbook({"SKUs": table}))
    assert upload.source["header_row"] == 3
    assert [column["column"] for column in upload.source["columns"]] == ["D", "E", "F"]
    assert rows.values.drop("row", "sheet").to_dicts() == [
        {"line": 4, "weight_grams": 5.0, "name": "a", "sku_code": "A"}
    ]


def test_lines_are_the_rows_that_the_spreadsheet_shows() -> None:
    data = workbook({"SKUs": [["sku_code", "name", "gtin"], [], ["A", "a", "1"], [], [], ["B", "b", "2"]]})
    assert faults(data) == [(3, "gtin", "invalid_gtin"), (6, "gtin", "invalid_gtin")]


def test_formulas_errors_and_rich_text_by_both_roads() -> None:
    body = (
        '<c r="A2" t="s"><v>0</v></c><c r="B2" t="str"><f>UPPER("a")</f><v>A &amp; B</v></c><c r="C2"><f>1/0</f></c>'
        '</row><row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="inlineStr"><is><t>b</t></is></c>'
        '<c r="C3" t="e"><f>1/0</f><v>#DIV/0!</v></c></row><row r="4"><c r="A4" t="s"><v>2</v></c>'
        '<c r="B4" t="b"><v>1</v></c><c r="C4" s="1"/></row>'
    )
    head = text_row(1, "sku_code", "name", "weight_grams")
    strings = (
        b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>X</t></si>'
        b"<si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>no</t></rPh></si><si><t/></si></sst>"
    )
    for xml in (sheet_xml(f'{head}<row r="2">{body}'), sheet_xml(f'{head}<!-- odd --><row r="2">{body}')):
        _, rows = read(raw_workbook(xml, sharedStrings=strings))
        assert rows.errors.select("line", "sku_code", "code", "value").rows() == [
            (2, "X", "no_value", "=1/0"),
            (3, "rich", "cell_error", "#DIV/0!"),
            (4, None, "required", None),
        ]


WITHOUT_REFERENCES = (
    '<row><c t="inlineStr"><is><t>sku_code</t></is></c><c t="inlineStr"><is><t>name</t></is></c></row>'
    '<row><c t="inlineStr"><is><t>A</t></is></c><c t="inlineStr"><is><t>a</t></is></c></row>'
)
OTHER_QUOTES_AND_CDATA = (
    "<row r='1'><c t='str' r='A1'><v>sku_code</v></c><c t='str' r='B1'><v>name</v></c></row>"
    "<row r='2'><c t='str' r='A2'><v>A</v></c><c t='str' r='B2'><v><![CDATA[a]]></v></c></row>"
)


ATTRIBUTES_ON_LINES = WITHOUT_REFERENCES.replace("<c ", "<c\n ")


@pytest.mark.parametrize("odd", [WITHOUT_REFERENCES, OTHER_QUOTES_AND_CDATA, ATTRIBUTES_ON_LINES])
def test_unusual_forms_of_xml_are_read_by_the_parser(odd: str) -> None:
    assert values(raw_workbook(sheet_xml(odd))) == [{"sku_code": "A", "name": "a"}]


def test_the_patterns_and_the_parser_give_the_same_cells() -> None:
    table = [["sku_code", "name", "x"], ["A&B", " <é> ", 1.5], ["'", '"', True], ["1", "=1+1", None]]
    data = workbook({"SKUs": table}, formats={2: "0.00"})
    path = "xl/worksheets/sheet1.xml"
    regular = cells.read_cells(Package(data), path)
    parsed = cells.parsed_cells(Package(data).pieces(path), None, cells.CELLS, 100, Hidden())
    assert regular.rows() == parsed.rows()


class InPieces(Package):
    """A workbook of one sheet, which comes in pieces of one size."""

    def __init__(self, xml: bytes, size: int) -> None:
        self._xml, self._size = xml, size

    def pieces(self, path: str) -> Iterator[bytes]:  # noqa: ARG002  (there is one part)
        return (self._xml[at : at + self._size] for at in range(0, len(self._xml), self._size))


def test_what_is_hidden_or_merged_is_found_wherever_the_pieces_of_the_xml_end() -> None:
    mark = " hidden='1'"
    rows = "".join(f'<row r="{n}"{mark if n % 7 == 0 else ""}><c r="A{n}"/></row>' for n in range(1, 16))
    cols = '<cols><col min="2" max="3" hidden="true"/></cols>'
    merged = '<mergeCells count="1"><mergeCell ref="B2:B4"/></mergeCells>'
    for size in (*range(1, 40), 4_095, 4_096, 4_097, 10_000):
        xml = f"<x>{cols}{'<pad/>' * (900 if size > 40 else 0)}{rows}{merged}</x>".encode()
        seen = Hidden()
        cells.read_cells(InPieces(xml, size), "sheet", hidden=seen)
        assert (seen.rows, seen.columns) == ({7, 14}, {1, 2}), size
        assert list(seen.merges) == [(2, 4, 1, 1)], size


def test_a_prefixed_namespace_is_read() -> None:
    xml = sheet_xml(text_row(1, "sku_code", "name") + text_row(2, "A", "a")).decode()
    for tag in ("worksheet", "sheetData", "row", "c", "is", "t"):
        xml = (
            xml.replace(f"<{tag}>", f"<x:{tag}>").replace(f"<{tag} ", f"<x:{tag} ").replace(f"</{tag}>", f"</x:{tag}>")
        )
    data = raw_workbook(xml.replace("xmlns=", "xmlns:x=").encode())
    assert values(data) == [{"sku_code": "A", "name": "a"}]


def test_dates_count_from_1904_where_the_workbook_says_so() -> None:
    buffer = io.BytesIO(
        workbook({"SKUs": [["sku_code", "name", "description"], ["A", "a", 46246 - 1462]]}, formats={2: "d/m/yy"})
    )
    with zipfile.ZipFile(buffer) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace(b"<workbookPr ", b'<workbookPr date1904="1" ')
    assert values(package(parts))[0]["description"] == "2026-08-12"


def test_what_a_sheet_declares_costs_nothing() -> None:
    wide = (
        text_row(1, "sku_code", "name")
        + text_row(2, "A", "a")
        + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    )
    upload, _ = read(
        raw_workbook(sheet_xml(wide).replace(b"<sheetData>", b'<dimension ref="A1:XFD1048576"/><sheetData>'))
    )
    assert (upload.rows, upload.source["skipped"][0]["line"]) == (1, 1_048_576)
    empty = "".join(f'<row r="{at}"><c r="A{at}" s="1"/></row>' for at in range(3, 100_000))
    assert read(raw_workbook(sheet_xml(text_row(1, "sku_code", "name") + text_row(2, "A", "a") + empty)))[0].rows == 1


def test_files_that_are_no_readable_workbook() -> None:
    good = workbook({"SKUs": TABLE})
    doctype = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + sheet_xml(text_row(1, "&a;"))
    assert refusal(good[: len(good) // 2])[0] == "unreadable_file"
    assert refusal(package({"word/document.xml": b"<x/>"}))[0] == "unreadable_file"
    assert refusal(package({"xl/workbook.bin": b"\x00"}))[0] == "unreadable_file"
    odd = b'<?xml version="1.0" encoding="nowhere"?>'
    assert refusal(package({"xl/workbook.xml": odd + b"<workbook/>"}))[0] == "unreadable_file"
    unread = odd + b"<worksheet><sheetData><row><c/></row></sheetData></worksheet>"
    assert refusal(raw_workbook(unread))[0] == "unreadable_file"
    shared = sheet_xml('<row r="1"><c r="A1" t="s"><v>0</v></c></row>')
    assert refusal(raw_workbook(shared, styles=odd + b"<styleSheet/>"))[0] == "unreadable_file"
    assert refusal(raw_workbook(doctype))[0] == "unreadable_file"
    assert refusal(raw_workbook(b"<worksheet><sheetData><row>"))[0] == "unreadable_file"
    assert refusal(raw_workbook(sheet_xml('<row r="1"><c r="A1" t="s"><v>9</v></c></row>')))[0] == "unreadable_file"
    for number in (-1, 10**7, 2**31, 2**40, 2**63, 10**44, "9" * 5_000):
        assert refusal(raw_workbook(sheet_xml(f'<row r="{number}"><c><v>1</v></c></row>')))[0] == "unreadable_file"
        assert refusal(raw_workbook(sheet_xml(f'<row><c s="{number}"><v>1</v></c></row>')))[0] == "unreadable_file"
    for letters in ("AAAA", "A" * 50, "?"):
        assert refusal(raw_workbook(sheet_xml(f'<row><c r="{letters}1"><v>1</v></c></row>')))[0] == "unreadable_file"
    assert refusal(bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"))[0] == "encrypted_file"
    assert refusal(bytes.fromhex("d0cf11e0a1b11ae1") + b"Workbook")[0] == "unreadable_file"
    assert refusal(workbook({"Sheet1": []}))[0] == "no_table"
    assert refusal(workbook({"Sheet1": [["sku_code", "name"]]}))[0] == "no_rows"


TEXT_CELL = sheet_xml('<row r="1"><c r="A1" t="s"><v>0</v></c></row>')


@pytest.mark.long
@pytest.mark.parametrize("form", ["spaces", "one row", "cells", "texts"])
def test_a_zip_bomb_is_refused(form: str) -> None:
    inside = {
        "spaces": b" " * (310 * 1024 * 1024),
        "one row": sheet_xml('<row r="1">' + '<c r="A1"><v>1</v></c>' * 4_500_000 + "</row>"),
        "cells": sheet_xml(
            "".join(f'<row r="{at}">' + '<c r="A1"><v>1</v></c>' * 100 + "</row>" for at in range(41_000))
        ),
    }.get(form, b"")
    if form == "texts":
        code, _ = refusal(
            raw_workbook(TEXT_CELL, sharedStrings=b"<sst>" + b"<si><t>a</t></si>" * 4_000_000 + b"</sst>")
        )
    else:
        code, _ = refusal(raw_workbook(inside))
    assert code in ("unreadable_file", "too_many_rows")


def test_too_many_rows_are_refused() -> None:
    rows = "".join(text_row(at, f"S{at}", "a") for at in range(2, 50_003))
    assert refusal(raw_workbook(sheet_xml(text_row(1, "sku_code", "name") + rows)))[0] == "too_many_rows"


def test_components_replace_graphs_of_the_skus_they_name() -> None:
    parts = [
        ["SKU", "Composant", "Matériau", "Nuance", "Poids (g)", "additives", "pfas_status", "pfas_value"],
        ["A", "Corps", "Plastique", "PET", 21.5, "uv_stabiliser; filler_talc", "below_limit", 3],
        ["A", "bouchon", "plastique", 'HDPE "x"', "2,1", "", "", ""],
        ["H", "label", "paper", "", "null", "", "", ""],
        ["B", "wing", "plastic", "", "", "", "", ""],
        ["", "cap", "plastic", "", "", "", "", ""],
        ["K", "cap", "", "", "", "", "", ""],
    ]
    upload, rows = read(workbook({"SKUs": [*TABLE, ["B", "b"], ["C", "c"]], "Composants ": parts}))
    assert upload.source["components"]["sheet"] == "Composants "
    assert rows.values.select("sku_code", "line", "sheet").rows() == [
        ("A", 2, "SKUs"),
        ("C", 4, "SKUs"),
        ("H", 4, "Composants "),
    ]
    graphs = [None if text is None else json.loads(text) for text in rows.values["components"]]
    body = {
        "component_type": "body",
        "material_family": "plastic",
        "polymer_or_grade": "PET",
        "weight_g": 21.5,
        "additives": ["uv_stabiliser", "filler_talc"],
        "substances": {"pfas": {"status": "below_limit", "value": 3.0}},  # the write adds the unit of its limit
    }
    cap = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": 'HDPE "x"', "weight_g": 2.1}
    assert graphs == [[body, cap], None, [{"component_type": "label", "material_family": "paper"}]]
    assert rows.errors.select("sheet", "line", "sku_code", "field", "code").rows() == [
        ("Composants ", 5, "B", "component_type", "not_in_vocabulary"),
        ("Composants ", 7, "K", "material_family", "required"),
    ]
    assert rows.rejected == 2


def test_the_long_layout_gives_each_sku_its_components() -> None:
    table = [
        ["sku_code", "name", "component_type", "material_family", "component_weight_g", "weight_g"],
        ["A", "a", "body", "glass", 200, 203],
        ["A", "", "cap", "metal", 3, ""],
        ["B", "b", "", "", "", 7],
        ["C", "c", "body", "glass", 1, ""],
        ["C", "other", "cap", "metal", 1, ""],
    ]
    upload, rows = read(workbook({"SKUs": table}))
    assert (upload.source["layout"], upload.rows) == ("long", 5)
    assert rows.values.select("sku_code", "name", "weight_grams").rows() == [("A", "a", 203.0), ("B", "b", 7.0)]
    assert rows.values["components"][0].count("component_type") == 2
    assert rows.errors.select("line", "code").rows() == [(6, "duplicate_sku_code")]
    assert rows.rejected == 1


def test_lines_of_one_sku_that_differ_in_material_are_its_components() -> None:
    table = [
        ["Référence", "Désignation", "Type d'emballage", "Matériau", "Poids (g)"],
        ["A", "jar", "Bocal", "Verre", 200],
        ["A", "jar", "Couvercle", "Métal", "5,5"],
        ["B", "box", "Étui", "Carton", 12],
        ["C", "bag", "sac", "papier", 3],
        ["C", "other bag", "sac", "plastique", 4],
    ]
    upload, rows = read(workbook({"SKUs": table}))
    assert upload.source["layout"] == "long"
    found = rows.values.select("sku_code", "packaging_format", "material", "weight_grams").rows()
    assert found == [("A", None, None, None), ("B", "Étui", "paper", 12.0), ("C", "sac", "paper", 3.0)]
    graphs = [None if text is None else json.loads(text) for text in rows.values["components"]]
    body = {"component_type": "body", "material_family": "glass", "weight_g": 200.0}
    cap = {"component_type": "cap", "material_family": "metal", "weight_g": 5.5}
    assert graphs == [[body, cap], None, None]
    assert rows.errors.select("line", "code").rows() == [(6, "duplicate_sku_code")]
