"""An upload between the request that reads it and the run that writes it: the same tables, whatever they hold."""

from datetime import date

import pytest
from polars.testing import assert_frame_equal

from pipelines.reading.upload import Upload, read_upload
from tests.pipelines.reading.writing import workbook

CSV = (
    b"sku_code;name;weight_grams;annual_volume_fr;glass_weight_g;paper_weight_g\nA;Bottle;12,5;100;10;2,5\nB;Cap;;;;\n"
)
PARTS = [["sku_code", "component_type", "material_family", "weight_g"], ["A", "cap", "metal", 2.5], ["", "body", "", 1]]
SHEETS = {"SKUs": [["sku_code", "name"], ["A", "Bottle"]], "Components": PARTS}


@pytest.mark.parametrize("data", [CSV, workbook(SHEETS)], ids=["text", "workbook"])
def test_a_packed_upload_is_the_one_that_was_read(data: bytes) -> None:
    upload = read_upload(data, "a", today=date(2026, 11, 21), taken_codes=["C"])
    packed = Upload.from_bytes(upload.to_bytes())
    assert (packed.source, packed.rows) == (upload.source, upload.rows)
    for sheet, own in ((packed.main, upload.main), (packed.parts, upload.parts)):
        assert sheet is not None
        assert own is not None
        assert_frame_equal(sheet.table, own.table)
        assert (sheet.columns, sheet.marks, sheet.faults) == (own.columns, own.marks, own.faults)
        assert (sheet.name, sheet.taken, sheet.skipped) == (own.name, own.taken, own.skipped)
