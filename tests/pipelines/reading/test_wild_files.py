"""Forms of files that users of comparable software reported: containers, tags and tables of other programs."""

import contextlib
import io
import json
import time
import zipfile

import pytest

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.text import read_delimited
from tests.pace import is_within
from tests.pipelines.reading.writing import read, workbook


def test_a_container_with_backslashes_in_its_names_is_read() -> None:
    buffer = io.BytesIO()
    plain = workbook({"S": [["sku_code", "name"], ["Z-1", "Jar"]]})
    with zipfile.ZipFile(io.BytesIO(plain)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            renamed = zipfile.ZipInfo("x")
            renamed.filename = info.filename.replace("/", "\\")
            new.writestr(renamed, old.read(info))
    assert b"xl\\workbook.xml" in buffer.getvalue()
    assert read(buffer.getvalue())[1].values["sku_code"].to_list() == ["Z-1"]


@pytest.mark.parametrize(
    ("tag", "family", "polymer"),
    [
        ("en:pet-1-polyethylene-terephthalate", "plastic", "PET"),
        ("en:hdpe-2-high-density-polyethylene", "plastic", "HDPE"),
        ("xx:pp-5-polypropylene", "plastic", "PP"),
        ("fr:ps-6-polystyrene", "plastic", "PS"),
    ],
)
def test_a_tag_with_a_recycling_code_is_its_material(tag: str, family: str, polymer: str) -> None:
    head = "code,product_name,packagings_1_shape,packagings_1_material,packagings_1_weight_measured"
    _, typed = read(f"{head}\n4006381333931,Water,en:bottle,{tag},12.5\n".encode())
    assert typed.errors.rows() == []
    [part] = json.loads(typed.values["components"][0])
    assert (part["material_family"], part["polymer_or_grade"]) == (family, polymer)


@pytest.mark.parametrize("marks", ["|:---|:---:|---:|", "| --- | --- | --- |", "|---|---|---|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_in_markdown_is_read(marks: str, end: str) -> None:
    lines = ["| sku_code | name | description |", marks, "| P-8 | Jar | blue |", "| P-9 | Lid, red | a - b |", ""]
    _, typed = read(end.join(lines).encode())
    assert typed.values.select("line", "sku_code", "name", "description").rows() == [
        (3, "P-8", "Jar", "blue"),
        (4, "P-9", "Lid, red", "a - b"),
    ]


@pytest.mark.parametrize("filler", [" ", "-", "|", "| ", "--|", "-- ", ": "])
def test_a_long_line_that_looks_like_marks_costs_no_time(filler: str) -> None:
    begun = time.process_time()
    text = f"a|b\n--|--\n{filler * 50_000}\nA|1\n"
    with contextlib.suppress(ReadingRefused):
        read_delimited(text, "|")
    assert is_within(time.process_time() - begun, 5)
