"""Delimited files as programs and people leave them: encodings, delimiters, line ends, broken lines."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading import text as text_files
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.text import decode
from pipelines.reading.upload import read_upload
from tests.drawing import examples
from tests.pipelines.reading.writing import TODAY, faults, read, values
from tests.pipelines.reading.writing import delimited as write

TABLE = [["sku_code", "name", "material"], ["A", "Crème brûlée à l’œuf, 5 €", "Verre"], ["B", "Größe", "Glas"]]
RECORDS = [
    {"sku_code": "A", "name": "Crème brûlée à l’œuf, 5 €", "material": "glass"},
    {"sku_code": "B", "name": "Größe", "material": "glass"},
]


@pytest.mark.parametrize(
    ("encoding", "mark", "name"),
    [
        ("utf-8", b"", "utf-8"),
        ("utf-8", codecs.BOM_UTF8, "utf-8-sig"),
        ("cp1252", b"", "cp1252"),
        ("mac_roman", b"", "mac_roman"),
        ("utf-16-le", codecs.BOM_UTF16_LE, "utf-16"),
        ("utf-16-be", codecs.BOM_UTF16_BE, "utf-16"),
        ("utf-16-le", b"", "utf-16-le"),
        ("utf-16-be", b"", "utf-16-be"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encodings_and_delimiters(encoding: str, mark: bytes, name: str, delimiter: str) -> None:
    data = mark + write(TABLE, delimiter, encoding)
    upload, _ = read(data)
    assert (upload.source["encoding"], upload.source["delimiter"]) == (name, delimiter)
    assert values(data) == RECORDS


@pytest.mark.parametrize("encoding", ["cp850", "mac_roman", "cp1252"])
@pytest.mark.parametrize(
    "text",
    [
        "Référence;Désignation;Matière\n1;Bouteille métal;Papier\n",
        "Artikelnummer;Bezeichnung\n1;Stück Käse, süß\n2;Öl für Möbel\n",
        "Réf;Désignation\n1;PÂTÉ EN CROÛTE\n2;CAFÉ MOULU\n",
        "Codice;Qualità\n1;Caffè più buono\n",
    ],
)
def test_encodings_of_old_machines_are_told_by_capitals_inside_words(encoding: str, text: str) -> None:
    read_as = decode(text.encode(encoding))
    assert (read_as.text, read_as.encoding) == (text, encoding)


def test_latin_9_is_told_from_cp1252_by_its_euro() -> None:
    table = [["sku_code", "name"], ["A", "Thé à 5 €"]]
    data = write(table, encoding="iso8859-15")
    assert read(data)[0].source["encoding"] == "iso8859_15"
    assert values(data)[0]["name"] == "Thé à 5 €"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end"])
def test_line_ends(end: str, last: str) -> None:
    data = write(TABLE, end=end)
    assert values(data + end.encode() if last else data.rstrip(b"\r\n")) == RECORDS


def test_a_separator_line_decides_and_counts_as_a_line() -> None:
    data = b"sep=;\r\nsku_code;name;material\r\nA;a,b,c;paper\r\nB;b;stone\r\n"
    assert read(data)[0].source["header_row"] == 2
    assert values(data) == [{"sku_code": "A", "name": "a,b,c", "material": "paper"}]
    assert faults(data) == [(4, "material", "not_in_vocabulary")]


def test_a_hash_header_is_no_comment() -> None:
    assert values(b"#|Reference|Name\n1|A|a\n2|B|b\n") == [
        {"sku_code": "A", "name": "a"},
        {"sku_code": "B", "name": "b"},
    ]


def test_line_numbers_count_titles_blank_lines_and_quoted_breaks() -> None:
    data = (
        b'Portfolio 2026,,\r\n\r\nsku_code,name,material\r\nA,"two\r\nlines",glass\r\n'
        b",,\r\nB,b,stone\r\n\r\nC,c,stone\r\n"
    )
    upload, rows = read(data)
    assert upload.source["header_row"] == 3
    assert rows.values.select("line", "name").rows() == [(4, "two\r\nlines")]
    assert faults(data) == [(7, "material", "not_in_vocabulary"), (9, "material", "not_in_vocabulary")]
    assert upload.rows == 3


def test_broken_lines_are_rejected_with_their_number_and_the_rest_goes_on() -> None:
    lines = [
        b"sku_code,name,material",
        b"A,a,glass",
        b'B,"never closed,glass',
        b"C,\x00,glass",
        b"D,d",
        b"E,e,glass,surplus",
        b"F,f,glass,,",
        b"G,g\xff\xfe,glass",
        "H,hé,glass".encode(),
        b'I,"i"x,glass',
        b"J,j,glass\x1a",
    ]
    _, rows = read(b"\n".join(lines))
    assert rows.values["sku_code"].to_list() == ["A", "D", "F", "H", "J"]
    assert rows.errors.select("line", "code").rows() == [
        (3, "ragged_row"),
        (4, "undecodable"),
        (6, "ragged_row"),
        (8, "undecodable"),
        (10, "ragged_row"),
    ]
    assert rows.rejected == 5


def test_skipped_lines_are_listed_and_not_counted() -> None:
    upload, rows = read(b"sku_code,name,note\nA,a,\n,,signed: the director\nB,b,\n")
    assert upload.source["skipped"] == [{"line": 3, "reason": "no recognised column has a value"}]
    assert (upload.rows, rows.values.height, rows.rejected) == (2, 2, 0)


def test_a_repeated_code_is_rejected_with_the_line_that_counts() -> None:
    data = b"sku_code,name\nA,first\nB,b\n A ,second\n"
    _, rows = read(data)
    assert rows.values["name"].to_list() == ["first", "b"]
    assert rows.errors.select("line", "sku_code", "code").rows() == [(4, "A", "duplicate_sku_code")]
    assert "line 2" in rows.errors["message"][0]


def test_a_row_with_three_faults_counts_once_and_names_its_cells() -> None:
    _, rows = read(b"sku_code,name,material,gtin,markets\nA,a,stone,1," + b"Z" * 300 + b"\n")
    assert rows.errors.select("field", "column", "code").rows() == [
        ("material", "C", "not_in_vocabulary"),
        ("gtin", "D", "invalid_gtin"),
        ("markets", "E", "unknown_market"),
    ]
    assert rows.errors["value"].to_list() == ["stone", "1", "Z" * 200 + "…"]
    assert rows.rejected == 1


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "no_table"), (codecs.BOM_UTF8, "no_table"), (b" \r\n\r\n", "no_table"),
        (b"sku_code,name\n", "no_rows"),
        (b"A,first\nB,second\n", "missing_column"), (b"sku_code\nA\n", "missing_column"),
        (b"a," * 3_000_000, "unreadable_file"), (b"sku_code,name\n" + b"a," * 3_000_000, "unreadable_file"),
        (b"<html><table><tr><td>sku_code</td></tr></table>", "unreadable_file"), (b"%PDF-1.7 ...", "unreadable_file"),
        (bytes(range(256)) * 20, "unreadable_file"), (b"sku_code,name\n" + b"A,a\n" * 50_001, "too_many_rows"),
        (b"sku_code,name,Weight,Poids\nA,a,1,2\n", "ambiguous_column"),
        (b"sku_code,name,name\nA,a,b\n", "ambiguous_column"),
    ],
)  # fmt: skip
def test_whole_files_that_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(ReadingRefused) as refused:
        read(data)
    assert code in {issue.code for issue in refused.value.issues}


def test_fifty_thousand_lines_are_taken() -> None:
    data = b"sku_code,name\n" + b"".join(b"S%d,a\n" % at for at in range(50_000))
    assert read(data)[1].values.height == 50_000


@examples(300)
@given(st.lists(st.text(st.sampled_from('ab",\n\ré'), max_size=30), max_size=6), st.sampled_from([",", ";"]))
def test_both_roads_give_the_same_grid(lines: list[str], delimiter: str) -> None:
    text = "\n".join(lines)
    regular, careful = text_files._read_with_polars(text, delimiter), text_files._read_with_csv(text, delimiter)
    if regular is not None:
        assert not careful.faults
        assert careful.cells.rows() == regular.cells.rows()
        assert careful.lines.to_list() == regular.lines.to_list()


def test_a_line_without_its_last_empty_cells_is_whole_and_no_cell_moves() -> None:
    head = "sku_code;name;material;weight_grams;gtin\n"
    whole = "A;Bottle;glass;2;4006381333931\n"
    for short, last in (("B;Cap;paper;3", "3"), ("B;Cap;paper", None), ("B;Cap", None)):
        _, rows = read(f"{head}{whole}{short}\n".encode())
        assert rows.errors.is_empty()
        found = rows.values.to_dicts()[1]
        assert (found["name"], found["weight_grams"]) == ("Cap", None if last is None else 3.0)
    for lost in ("B", "B;paper;3;4006381333931", "B;12;glass", "B;Cap;3", "B;Cap;3;4006381333931"):
        _, rows = read(f"{head}{whole}{lost}\n".encode())
        assert rows.errors["code"].to_list() == ["ragged_row"], lost


def test_a_sentence_that_lists_materials_does_not_decide_the_delimiter() -> None:
    rows = ["Artikelnummer;Bezeichnung;Material;error_reason"]
    rows += [f"A-{n};Glas;Wodka;“Wodka” is not one of: plastic, paper, glass, metal, wood, textile" for n in range(2)]
    upload = read_upload("\r\n".join(rows).encode(), "a.csv", today=TODAY)
    assert upload.source["delimiter"] == ";"
