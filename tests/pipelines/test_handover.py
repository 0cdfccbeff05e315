"""What an import's assets hand on is read back as it was, outputs of an earlier release too."""

from datetime import date
from uuid import uuid4

from pipelines.defs.imports.handover import Typed
from pipelines.reading import read_upload, type_rows

FILE = b"sku_code,name,weight_grams\nA-1,Bottle,heavy\nA-2,Jar,12\n"


def typed() -> Typed:
    upload = read_upload(FILE, "a.csv", mapping=None, mapping_name=None, today=date(2026, 11, 23))
    return Typed(uuid4(), type_rows(upload, default_year=2026, served_markets=frozenset({"FR"})))


def test_typed_rows_come_back_as_they_were() -> None:
    made = typed()
    back = Typed.unpacked(*made.packed())
    assert back.import_id == made.import_id
    assert back.rows.errors.equals(made.rows.errors)
    assert back.rows.errors["template"].to_list() != [None]


def test_faults_that_an_earlier_release_stored_have_no_template() -> None:
    about, tables = typed().packed()
    before = {**tables, "errors": tables["errors"].drop("template")}
    back = Typed.unpacked(about, before).rows.errors
    assert back.select(sorted(back.columns)).schema == tables["errors"].select(sorted(back.columns)).schema
    assert back["template"].to_list() == [None]
