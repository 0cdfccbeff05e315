"""The rejected rows of a file as a file: cells as they were, whole SKUs, and lines as ragged as they were sent."""

import csv
import io
from datetime import date

import polars as pl
import pytest
import xlsxwriter
from hypothesis import assume, given
from hypothesis import strategies as st

from pipelines.imports.rejections import as_csv, as_workbook, rejected_tables
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from pipelines.reading.values import unescaped
from tests.drawing import examples
from tests.pipelines.reading.writing import delimited

TODAY = date(2026, 11, 21)


def read(data: bytes, mapping=None):
    """What the service says of a file: its source, its report, and the typed rows."""
    upload = read_upload(data, "file", mapping=mapping, today=TODAY)
    rows = type_rows(upload, default_year=2026, served_markets=frozenset({"FR", "DE"}))
    return upload.source, rows.errors.to_dicts(), rows.values


def corrected_csv(data: bytes, mapping=None) -> bytes:
    source, report, _ = read(data, mapping)
    [table] = rejected_tables(data, source, report)
    return as_csv(table, source)


def workbook(**sheets) -> bytes:
    target = io.BytesIO()
    with xlsxwriter.Workbook(target) as book:
        padded = book.add_format({"num_format": "00000"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                for column, cell in enumerate(row):
                    if isinstance(cell, tuple):
                        sheet.write_number(at, column, cell[0], padded)
                    elif isinstance(cell, str):
                        sheet.write_string(at, column, cell)
                    else:
                        sheet.write(at, column, cell)
    return target.getvalue()


def test_a_text_keeps_its_lines_above_encoding_delimiter_and_ignored_columns():
    data = (
        "Liste été;;;\r\n\r\nRéférence;Désignation;Poids emballage (g);Ours\r\n"
        'A-1;Bouteille;12,5;x\r\nA-2;"Boîte; ""carrée""";vide;y\r\n'
    ).encode("cp1252")
    made = corrected_csv(data)
    lines = made.decode("cp1252").split("\r\n")
    assert lines[:2] == ["Liste été;;;", ""]
    assert lines[2] == "Référence;Désignation;Poids emballage (g);Ours;error_line;error_column;error_reason"
    assert lines[3].startswith('A-2;"Boîte; ""carrée""";vide;y;5;C;')
    assert lines[4:] == [""]
    source, _, values = read(made.replace(b"vide", b"8,25"))
    assert (source["encoding"], source["delimiter"], source["header_row"]) == ("cp1252", ";", 3)
    assert values["weight_grams"].cast(pl.String).to_list() == ["8.25"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso8859_15"])
def test_every_encoding_comes_back_readable(encoding):
    data = "sku_code,name,weight_grams\nÉ-1,Pot de crème fraîche à 5 €,x\n".encode(encoding)
    _, report, _ = read(corrected_csv(data))
    assert [(fault["sku_code"], fault["value"]) for fault in report] == [("É-1", "x")]


PLAIN = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))
CELL = st.text(PLAIN | st.sampled_from("\n\"',;=+-@'\t"), max_size=12)


@examples(60)
@given(st.lists(CELL.filter(str.strip), min_size=1, max_size=5), st.sampled_from(",;\t|"), st.booleans())
def test_any_cell_comes_back_as_it_was(names, delimiter, as_text):
    """Quotes, delimiters, line breaks, marks of formulas: read again, each cell is the one that was sent."""
    assume(not any("\n" in name and delimiter in name for name in names))  # such a cell can be several rows
    rows = [["sku_code", "name", "weight_grams"], *([f"A-{at}", name, "x"] for at, name in enumerate(names))]
    data = delimited(rows, delimiter)
    source, report, _ = read(data)
    tables = rejected_tables(data, source, report)
    if not tables:  # every line is a note or a total by its name
        return
    made = as_csv(tables[0], source) if as_text else as_workbook(tables)
    before, after = (unescaped(read_upload(sent, "f", today=TODAY).table["name"]) for sent in (data, made))
    assert after.to_list() == before.to_list()


def test_formulas_are_defused_and_read_as_they_were():
    data = b"sku_code,name,weight_grams\n-A1,=1+1,@x\n"
    made = corrected_csv(data)
    assert made.splitlines()[1].startswith(b"'-A1,'=1+1,'@x,2,C,")
    _, _, values = read(made.replace(b"'@x", b"5"))
    assert values.select("sku_code", "name").row(0) == ("-A1", "=1+1")


def test_a_line_that_is_no_record_is_no_record_in_the_new_file_either():
    data = b'sku_code,name,weight_grams\nA-1,Pot,5,6\nA-2\nA-3,Pot,5\nA-4,"Pot,5\n'
    made = corrected_csv(data)
    _, report, values = read(made)
    assert [fault["sku_code"] for fault in report if fault["code"] == "ragged_row"] == ["A-1", "A-2"]
    assert values["sku_code"].to_list() == ["A-4"]
    assert values["name"].to_list() == ['"Pot']


def test_undecodable_bytes_come_back_as_they_were():
    data = "sku_code,name\nA-1,crème\nA-2,".encode() + b"cr\xe8me\n"
    assert b"\nA-2,cr\xe8me,3,," in corrected_csv(data)


def test_a_separator_line_stays_and_a_report_of_a_report_has_its_columns_once():
    data = b"sep=~\nsku_code~name~weight_grams\nA-1~Pot~x\nA-2~Pan~y\n"
    first = corrected_csv(data)
    assert first.startswith(b"sep=~\r\nsku_code~name~weight_grams~error_line~")
    again = corrected_csv(first.replace(b"~x~", b"~5~"))
    assert again.splitlines()[1] == first.splitlines()[1]
    assert [line.split(b"~")[:4] for line in again.splitlines()[2:]] == [[b"A-2", b"Pan", b"y", b"4"]]


def test_all_lines_of_a_rejected_sku_come_along_in_the_long_layout():
    data = (
        b"sku_code,name,component_type,material_family,component_weight_g\n"
        b"A-1,Pot,body,plastic,5\nA-1,,cap,unobtainium,1\nA-2,Pan,body,metal,9\nA-3,Jar,body,glass,x\n,,cap,metal,2\n"
    )
    made = corrected_csv(data)
    assert [line.split(b",")[:3] for line in made.splitlines()[1:]] == [
        [b"A-1", b"Pot", b"body"],
        [b"A-1", b"", b"cap"],
        [b"A-3", b"Jar", b"body"],
        [b"", b"", b"cap"],
    ]
    assert b"rejected as a whole. Line 3 says" in made
    source, report, values = read(made.replace(b"unobtainium", b"metal").replace(b",x,", b",3,"))
    assert (report, values["sku_code"].to_list(), source["layout"]) == ([], ["A-1", "A-3"], "long")


def test_of_a_repeated_code_only_the_later_line_comes_back():
    data = b"sku_code,name,weight_grams\nA-1,Pot,5\nA-1,Pan,6\n"
    [line] = corrected_csv(data).splitlines()[1:]
    assert line.startswith(b"A-1,Pan,6,3,A,")


BOOK = {
    "Liste": [["Titel"], ["sku_code", "name", "gtin", "weight_grams", "Intern"],
              [(7,), "Flasche", "4006381333931", 1.234, "x"],
              ["B-1", "Dose", "4006381333930", 8, "y"],
              ["C-1", "Glas", None, 200, None]],
    "Komponenten": [["sku_code", "component_type", "material_family", "weight_g"],
                    [(7,), "body", "plastic", 1.0], [(7,), "cap", "unfug", 0.234],
                    ["B-1", "body", "metal", 8], ["C-1", "body", "glass", 200]],
}  # fmt: skip


def test_a_workbook_keeps_sheets_numbers_and_the_graphs_of_rejected_skus():
    data = workbook(**BOOK)
    source, report, _ = read(data)
    made = as_workbook(rejected_tables(data, source, report))
    again, faults, _ = read(made)
    assert (again["sheet"], again["header_row"], again["components"]["sheet"]) == ("Liste", 2, "Komponenten")
    assert {fault["sku_code"] for fault in faults} == {"00007", "B-1"}
    assert [fault["code"] for fault in faults] == [fault["code"] for fault in report]
    upload = read_upload(made, "made.xlsx", today=TODAY)
    assert upload.table["sku_code"].to_list() == ["00007", "B-1"]
    assert upload.table["weight_grams"].to_list() == ["1.234", "8"]
    assert upload.components is not None
    assert upload.components["weight_g"].to_list() == ["1", "0.234", "8"]


def test_a_workbook_as_csv_writes_numbers_that_read_in_one_way():
    data = workbook(**BOOK)
    source, report, _ = read(data)
    main, parts = (as_csv(table, source) for table in rejected_tables(data, source, report))
    assert b"\r\n00007,Flasche,4006381333931,1.2340,x,3,," in main
    assert b"\r\n00007,cap,unfug,0.2340,3,C," in parts
    _, faults, values = read(main.replace(b"4006381333930", b"4006381333931"))
    assert (faults, values["weight_grams"].cast(pl.Float64).to_list()) == ([], [1.234, 8.0])


def test_a_text_as_a_workbook_keeps_its_cells_as_texts():
    data = b"sku_code,name,weight_grams\n00012,Pot,5 stone\n"
    source, report, _ = read(data)
    _, faults, _ = read(as_workbook(rejected_tables(data, source, report)))
    assert [(fault["sku_code"], fault["value"]) for fault in faults] == [("00012", "5 stone")]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("Tare;Unité", ["A-1;Pot;5;g", "A-2;Pan;6;pce"]),
        ("Glas;Papier;Unité", ["A-1;Pot;5;1;g", "A-2;Jar;6;2;pce"]),
        ("Poids verre (g);Poids papier (g);Poids cuir (g)", ["A-1;Pot;5;1;", "A-2;Pan;6;2;3"]),
        ("Glas;Papier", ["A-1;Pot;5;1", "A-2;Jar;6;2", "A-3;Pan;x;x"]),
        ("Recycled content;Note", ["A-1;Pot;30;n", "A-2;Pan;viel;n"]),
    ],
)
def test_rejected_rows_sent_back_as_they_are_are_rejected_again(header, rows):
    """Also where the rows that are left no longer show what a column means."""
    data = "\r\n".join([f"sku_code;name;{header}", *rows]).encode()
    _, report, _ = read(data)
    _, again, values = read(corrected_csv(data))
    assert report
    assert [(fault["sku_code"], fault["code"]) for fault in again] == [(f["sku_code"], f["code"]) for f in report]
    assert values.height == 0


def test_a_short_line_is_filled_up_so_that_its_reason_stands_beside_the_columns():
    data = b"sku_code;name;weight_grams;material;gtin\nA;a;1;glass;\nA;b;2;paper\n"
    header, row, _ = corrected_csv(data).decode().split("\r\n")
    cells = next(csv.reader([row], delimiter=";"))
    assert (cells[4], cells[5:7]) == ("", ["3", "A"])
    assert len(cells) == len(header.split(";"))


@pytest.mark.parametrize("write", [delimited, lambda rows: workbook(S=rows)])
def test_rows_of_a_table_without_a_header_come_back_without_one(write):
    mapping = {"columns": {"sku_code": "A", "name": "B", "weight_grams": "C"}, "header_row": 0}
    data = write([["A-1", "Bottle", "1"], ["A-2", "Cap", "heavy"], ["A-3", "Lid", "3"]])
    source, report, _ = read(data, mapping)
    [table] = rejected_tables(data, source, report)
    made = as_csv(table, source)
    assert made.decode("utf-8-sig").startswith("A-2,Cap,heavy,2,C,")
    assert [fault["code"] for fault in read(made, mapping)[1]] == ["invalid_number"]
    assert as_workbook(rejected_tables(data, source, report))
