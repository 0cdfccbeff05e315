"""Cases 1 to 14: what the bytes are."""

import codecs

from tests.pipelines.reading.cases.casebook import HEAD, READ, A, B, Case, book, rows_of, text
from tests.pipelines.reading.writing import package, raw_workbook, workbook

PLAIN = [HEAD, A, B]
CASES = [
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
    Case(12, lambda: raw_workbook(b" " * (310 * 1024 * 1024)), refused=("unreadable_file",)),
    *(Case(13, rows_of(PLAIN, end=end), READ) for end in ("\n", "\r\n", "\r")),
    Case(13, b"sku_code,name,weight_grams\r\nA,a,1.5\nB,b,2", READ),
    Case(
        14,
        b'sku_code,name,weight_grams\nA,a,1.5\nX,\x00,1\nY,"y,1\nB,b,2\n\x1a',
        READ,
        ((3, None, "undecodable"), (4, None, "ragged_row")),
    ),
    Case(1, codecs.BOM_UTF8 + text("sep=;", "sku_code;name", "A;a"), {"A": "a"}, source={"header_row": 2}, of="name"),
    *(
        Case(
            2,
            text("sku_code;name", f"A;{word}", encoding="cp1252"),
            {"A": word},
            of="name",
            source={"encoding": "cp1252"},
        )
        for word in ("d’eau", "œuf", "Maß", "5 €")
    ),
    Case(3, rows_of(PLAIN, delimiter="\t", encoding="utf-16-le"), READ, source={"encoding": "utf-16-le"}),
    Case(
        5,
        rows_of([[*HEAD, *[f"Colonne {at}" for at in range(36)]], ["A", "a, b", "1,5", *["1,0"] * 36]], delimiter=";"),
        {"A": 1.5},
        source={"delimiter": ";"},
    ),
    *(
        Case(7, text(f"{first}sku_code|name", "A|a"), {"A": "a"}, of="name", source={"header_row": 1})
        for first in ("#", "# ", "#|")[:2]
    ),
    *(
        Case(
            8,
            f"sep={mark}\r\nsku_code{mark}name{mark}weight_grams\r\nA{mark}a{mark}x\r\n".encode(),
            {},
            ((3, "weight_grams", "invalid_number"),),
            {"delimiter": mark},
        )
        for mark in ",;\t|"
    ),
    *(
        Case(9, data, refused=("unreadable_file",))
        for data in (
            b"%PDF-1.7",
            b"\x1f\x8b\x08",
            b"<?xml version='1.0'?><Workbook/>",
            package({"content.xml": b"<x/>"}),
            package({"xl/workbook.bin": b"\x00"}),
        )
    ),
    *(
        Case(10, data, refused=("no_table",))
        for data in (codecs.BOM_UTF8, b" \n\n", b";;;\n;;;\n", workbook({"Sheet1": [["", "  "]], "Sheet2": []}))
    ),
    Case(10, book(), refused=("no_rows",)),
    Case(
        11,
        workbook({"SKUs": [["A-1", "Bottle", 1.5], ["B-2", "Jar", 2]]}),
        refused=("missing_column", "missing_column"),
    ),
    Case(
        13, b"sku_code,name,weight_grams\r\nA,a,1.5\nX,x,y\rB,b,2\r\n", READ, ((3, "weight_grams", "invalid_number"),)
    ),
    Case(13, b'sku_code,name\rA,"a\rb"\rB,b', {"A": "a\rb", "B": "b"}, of="name"),
    *(
        Case(14, b"sku_code,name,weight_grams\r\nA,a,1.5\r\nB,b,2" + end, READ)
        for end in (b"\x1a", b"\r\n\x1a\x1a", b"\r\n\x1a\r\n")
    ),
    *(
        Case(14, b"sku_code,name,weight_grams\nA,a,1.5\n" + line + b"\nB,b,2\n", READ, ((3, None, "ragged_row"),))
        for line in (b'X,""q",2', b'X","""', b'"X""Y,x,1', b'X,"x" y,1', b'X,"x"",1')
    ),
    Case(14, b'sku_code,name,weight_grams\nA,Tray 3" wide,1.5\nB,"""b""",2\n', READ),
    # Closed lines later: each line could be a row, so that none of them is one silently.
    Case(
        14,
        b'sku_code,name,weight_grams\nA,a,1.5\nX,"x,1\nY,y,2\nZ,z",3\nB,b,2\n',
        READ,
        tuple((line, None, "ragged_row") for line in (3, 4, 5)),
    ),
]
