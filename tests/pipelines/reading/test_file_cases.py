"""Cases 1 to 25: bytes, sheets, and finding the table in them."""

import codecs

import pytest

from pipelines.steps.reading import skipped
from tests.pipelines.reading.casebook import HEAD, READ, A, B, Case, book, hold, rows_of, text
from tests.pipelines.reading.writing import package, raw_workbook, workbook

PLAIN = [HEAD, A, B]
FILES = [
    Case(1, codecs.BOM_UTF8 + rows_of(PLAIN), READ, source={"encoding": "utf-8-sig"}),
    Case(2, rows_of(PLAIN, encoding="cp1252"), READ, source={"encoding": "cp1252"}),
    Case(
        3,
        codecs.BOM_UTF16_LE + rows_of(PLAIN, delimiter="\t", encoding="utf-16-le"),
        READ,
        source={"encoding": "utf-16", "delimiter": "\t"},
    ),
    Case(3, codecs.BOM_UTF16_BE + rows_of(PLAIN, delimiter="\t", encoding="utf-16-be"), READ),
    Case(
        4,
        rows_of([HEAD, ["A", "Crème brûlée à l’œuf", "1.5"], B], encoding="mac_roman"),
        READ,
        source={"encoding": "mac_roman"},
    ),
    Case(
        4, rows_of([HEAD, ["A", "Thé à 5 €", "1.5"], B], encoding="iso8859-15"), READ, source={"encoding": "iso8859_15"}
    ),
    Case(
        5,
        text("sku_code;name;weight_grams", "A;a;1,5", "B;b;1.234,5"),
        {"A": 1.5, "B": 1234.5},
        source={"delimiter": ";"},
    ),
    Case(6, rows_of(PLAIN, delimiter="\t"), READ, source={"delimiter": "\t"}),
    Case(
        7,
        text("#|sku_code|name|weight_grams", "1|A|a|1.5", "2|B|b|2"),
        READ,
        source={"delimiter": "|", "header_row": 1},
    ),
    Case(
        8,
        text("sep=;", "sku_code;name;weight_grams", "A;a;1,5", "B;b;x"),
        {"A": 1.5},
        ((4, "weight_grams", "invalid_number"),),
        {"header_row": 2},
    ),
    Case(9, book(A, B), READ, source={"format": "xlsx"}),
    Case(9, b"<html><table><tr><td>sku_code</td></tr></table>", refused=("unreadable_file",)),
    Case(9, bytes.fromhex("d0cf11e0a1b11ae1") + b"Workbook", refused=("unreadable_file",)),
    Case(10, b"", refused=("no_table",)),
    Case(10, text("sku_code,name"), refused=("no_rows",)),
    Case(10, workbook({"Sheet1": []}), refused=("no_table",)),
    Case(11, text("A,a,1.5", "B,b,2"), refused=("missing_column", "missing_column")),
    Case(12, bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"), refused=("encrypted_file",)),
    Case(12, book(A)[:900], refused=("unreadable_file",)),
    Case(
        12,
        package({"xl/workbook.xml": b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///x">]><workbook/>'}),
        refused=("unreadable_file",),
    ),
    Case(12, raw_workbook(b" " * (310 * 1024 * 1024)), refused=("unreadable_file",)),
    *(Case(13, rows_of(PLAIN, end=end), READ) for end in ("\n", "\r\n", "\r")),
    Case(13, b"sku_code,name,weight_grams\r\nA,a,1.5\nB,b,2", READ),
    Case(
        14,
        b'sku_code,name,weight_grams\nA,a,1.5\nX,\x00,1\nY,"y,1\nB,b,2\n\x1a',
        READ,
        ((3, None, "undecodable"), (4, None, "ragged_row")),
    ),
    Case(
        15,
        rows_of([["Portfolio 2026", "", ""], ["as of November", "", ""], [], *PLAIN]),
        READ,
        source={"header_row": 4},
    ),
    Case(16, workbook({"SKUs": [[], ["", *HEAD], ["", *A], ["", *B]]}), READ, source={"header_row": 2}),
    Case(
        17,
        book(["M", "M", "K"], ["Text (255)", "Text", "Zahl"], ["code", "name", "weight_grams"], A, B),
        READ,
        source={"skipped": [{"line": line, "reason": skipped.HELP} for line in (2, 3, 4)]},
    ),
    Case(
        18,
        book(["Exemple :", "Bouteille", "12,5"], A, B),
        READ,
        source={"skipped": [{"line": 2, "reason": skipped.EXAMPLE}]},
    ),
    Case(19, workbook({"Cover": [["Our portfolio"]], "Liste": [HEAD, A, B]}), READ, source={"sheet": "Liste"}),
    Case(
        20,
        workbook({"Cover": [["Ours"]], "Codes": [HEAD, ["X", "x", 1]], "Liste": [HEAD, A, B]}, hidden=["Codes"]),
        READ,
        source={"sheet": "Liste"},
    ),
    *(
        Case(
            21,
            workbook(
                {"SKUs": [HEAD, A], name: [["sku_code", "component_type", "material_family"], ["A", "cap", "metal"]]}
            ),
            {"A": '[{"component_type":"cap","material_family":"metal"}]'},
            of="components",
        )
        for name in (" COMPONENTS", "Composants", "Komponenten", "componentes")
    ),
    Case(
        22,
        workbook({"SKUs": [["sku_code", "name", "Weight", ""], ["", "", "Primary", "Secondary"], ["A", "a", 1, 2]]}),
        {"A": "a"},
        source={
            "ignored": [{"column": "C", "header": "Weight Primary"}, {"column": "D", "header": "Weight Secondary"}]
        },
        of="name",
    ),
    Case(
        23,
        workbook(
            {
                "SKUs": [
                    ["sku_code", "name", "component_type", "component_material_family"],
                    ["A", "a", "body", "glass"],
                    ["", "", "cap", "metal"],
                ]
            }
        ),
        {
            "A": '[{"component_type":"body","material_family":"glass"},'
            '{"component_type":"cap","material_family":"metal"}]'
        },
        source={"layout": "long"},
        of="components",
    ),
    Case(
        24,
        book(A, B, ["", "Summe", "3.5"], ["Date: 21.11.2026"], ["Signature"]),
        READ,
        source={
            "skipped": [
                {"line": 4, "reason": skipped.TOTAL},
                {"line": 5, "reason": skipped.NOTE},
                {"line": 6, "reason": skipped.NOTE},
            ]
        },
    ),
    Case(25, book([], A, [], [], ["X", "x", "y"], B), READ, ((6, "weight_grams", "invalid_number"),)),
]


@pytest.mark.parametrize("case", FILES, ids=lambda case: str(case.number))
def test_case(case: Case) -> None:
    hold(case)


def test_every_case_is_here() -> None:
    assert sorted({case.number for case in FILES}) == list(range(1, 26))
