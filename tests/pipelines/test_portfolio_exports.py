"""Exports of whole portfolios by the sensor and its runs: what the files contain, and what a kill leaves behind."""

import csv
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
import polars as pl
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines import exports
from pipelines.defs.sensors import due_companies
from pipelines.exports import Place, export_waiting
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.upload import read_upload
from pipelines.writing import workbooks
from schemas.actors import Actor
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.texts import harmless
from services.skus.write import write_records
from tests import stores
from tests.pipelines.conftest import ORIGIN, Desk
from tests.pipelines.reading.writing import TODAY, workbook
from tests.pipelines.sensing import follow, requested_by, tick
from warehouse import exports as exports_warehouse
from warehouse import library, suppliers
from warehouse.figures import snapshots
from warehouse.figures.source import Tables
from warehouse.imports.claims import STALLED_AFTER, ClaimLost
from warehouse.operate.objects import NoSuchObject
from warehouse.rules import Rulesets

BODY = {
    "component_type": "body", "material_family": "plastic", "polymer_or_grade": "=PET", "weight_g": 20.5,
    "additives": ["filler_talc", "titanium_dioxide"],
    "substances": {"pfas": {"status": "absent", "source": "supplier_attestation"}},
}  # fmt: skip


class Shelf:
    """A company with three SKUs, and its exports."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        resources = desk.resources
        self.place = Place(
            resources.postgres,
            resources.object_store,
            desk.clock,
            resources.portfolios,
            desk.company,
        )
        self.write("E-1", name="+Bottle", components=[BODY, BODY], markets=["FR", "DE"])
        self.write("E-2", name="Box", weight_grams=30.25, food_contact=True, description='a\nb;"c"')
        self.write("E-3", name="Étui")

    def write(self, code: str, **fields: Any) -> None:
        with self.place.pool.company(self.desk.company) as conn:
            write_records(
                conn,
                Actor(self.desk.company, ORIGIN, self.desk.clock.now()),
                {0: {"sku_code": code, **fields}},
                rulesets=Rulesets(),
                dry_run=False,
            )

    @contextmanager
    def limited_to(self, size: int) -> Iterator[None]:
        """The plan's storage for the block."""
        change = "UPDATE plans SET storage_bytes = %s WHERE plan = (SELECT plan FROM companies WHERE id = %s)"
        with psycopg.connect(self.desk.database.owner_url, autocommit=True) as owner:
            owner.execute(change, [size, self.desk.company])
            try:
                yield
            finally:
                owner.execute(change, [None, self.desk.company])

    def ask(self, form: str, source: str = "records") -> UUID:
        export_id = uuid4()
        row = {
            "id": export_id, "company_id": self.desk.company, "format": form, "source": source,
            "object_key": f"{self.desk.company}/exports/{export_id}/file", "client_id": uuid4(), "client_name": "erp",
            "at": self.desk.clock.now(),
        }  # fmt: skip
        with self.place.pool.company(self.desk.company) as conn:
            exports_warehouse.add(conn, row)
        return export_id

    def run(self, later: timedelta = timedelta(seconds=5)) -> int:
        self.desk.clock.advance(later)
        runs = follow(
            due_companies,
            self.desk.instance,
            self.desk.resources,
            only=requested_by(self.desk.company, "export_portfolio"),
        )
        assert all(run.success for run in runs)
        return len(runs)

    def state(self, export_id: UUID) -> dict[str, Any]:
        with self.place.pool.company(self.desk.company) as conn:
            return dict(exports_warehouse.one(conn, export_id, self.desk.clock.now()) or {})

    def file(self, export_id: UUID) -> bytes:
        with self.place.pool.company(self.desk.company) as conn:
            found = exports_warehouse.file_of(conn, export_id, self.desk.clock.now())
        assert found is not None
        data = self.place.objects.get(found.object_key)
        assert len(data) == found.size_bytes
        return data


@pytest.fixture
def shelf(desk: Desk) -> Shelf:
    return Shelf(desk)


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_csv_has_every_table_and_no_cell_that_a_spreadsheet_computes(shelf):
    asked = shelf.ask("csv")
    assert shelf.run() == 1
    state = shelf.state(asked)
    assert (state["status"], state["rows"]) == ("completed", {"skus": 3, "components": 2, "volumes": 0})
    assert state["skus_done"] == 3
    tables = {
        name: list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
        for name, data in members(shelf.file(asked)).items()
    }
    skus = {row["sku_code"]: row for row in tables["skus.csv"]}
    assert skus["E-1"]["name"] == "'+Bottle"
    assert skus["E-1"]["markets"] == "FR;DE"
    assert skus["E-1"]["recyclability_grade"] != ""
    assert (skus["E-2"]["description"], skus["E-2"]["weight_grams"]) == ('a\nb;"c"', "30.25")
    assert skus["E-2"]["food_contact"] == "true"
    assert [row["position"] for row in tables["components.csv"]] == ["0", "1"]
    assert tables["components.csv"][0]["polymer_or_grade"] == "'=PET"
    assert tables["components.csv"][0]["additives"] == "filler_talc;titanium_dioxide"
    assert tables["components.csv"][0]["pfas_status"] == "absent"


def test_parquet_and_workbook_have_the_same_rows(shelf):
    parquet, book = shelf.ask("parquet"), shelf.ask("xlsx")
    assert shelf.run() == 1  # one run writes both
    frames = {name: pl.read_parquet(io.BytesIO(data)) for name, data in members(shelf.file(parquet)).items()}
    assert set(frames) == {"skus.parquet", "components.parquet", "volumes.parquet"}
    assert frames["components.parquet"]["polymer_or_grade"].to_list() == ["=PET", "=PET"]
    sheets = pl.read_excel(io.BytesIO(shelf.file(book)), sheet_id=0)
    assert set(sheets) == {"skus", "components", "volumes"}
    assert sorted(sheets["skus"]["name"]) == ["'+Bottle", "Box", "Étui"]
    assert sheets["skus"].columns == frames["skus.parquet"].columns
    assert sheets["components"]["weight_g"].to_list() == [20.5, 20.5]


def test_every_field_of_a_sku_and_of_a_component_is_exported(shelf):

    asked = shelf.ask("parquet")
    shelf.run()
    found = {name: set(pl.read_parquet(io.BytesIO(data)).columns) for name, data in members(shelf.file(asked)).items()}
    nested = ("substances", "components", "substances_source")
    assert {f.name for f in SKU_FIELDS if not f.deprecated and f.name not in nested} <= found["skus.parquet"]
    assert {f.name for f in COMPONENT_FIELDS if f.name not in nested} <= found["components.parquet"]
    assert {"pfas_status", "svhc_value", "recyclability_grade", "doc_status"} <= found["skus.parquet"]


def test_the_workbook_of_the_records_is_imported_again_without_a_question_and_has_what_is_beside_parts(shelf):
    desk, supplier = shelf.desk, uuid4()
    with desk.pool.company(desk.company) as conn:
        library.add(conn, "supplier", desk.company, supplier, values={"name": "Dosen AG"}, at=desk.clock.now())
    below = {"heavy_metals": {"status": "below_limit"}, "svhc": {"status": "absent"}}
    can = {"component_type": "body", "material_family": "metal", "weight_g": 12, "supplier_id": str(supplier)}
    shelf.write("C-1", name="Can", components=[can, {**can, "component_type": "cap"}], substances=below)
    shelf.write("C-2", name="Lid", heavy_metals_sum_ppm="<12.5")
    with desk.pool.company(desk.company) as conn:
        (graph,) = conn.execute("SELECT components::text FROM skus WHERE sku_code = 'C-1'").fetchone()
        part = orjson.loads(graph)[0]["id"]
        suppliers.keep_articles(conn, desk.company, [suppliers.Sold(part, "Dosen AG", "=0815")])
    before = desk.rows("SELECT sku_code, version FROM skus WHERE company_id = %s ORDER BY 1")
    asked = shelf.ask("xlsx")
    shelf.run()
    book = shelf.file(asked)
    sheets = pl.read_excel(io.BytesIO(book), sheet_id=0)
    articles = dict(
        sheets["components"].filter(pl.col("sku_code") == "C-1")["component_type", "supplier_article"].rows()
    )
    assert articles == {"body": "'=0815", "cap": None}
    assert dict(sheets["skus"]["sku_code", "heavy_metals_sum_ppm"].rows())["C-2"] == "<12.5"
    sent = desk.send(book, filename="portfolio.xlsx")
    assert desk.finish(sent)
    polled = desk.poll(sent)
    assert (polled["errors"], polled["source"]["asked"]) == ([], [])
    assert polled["counts"]["unchanged"] == polled["counts"]["total"] == len(before)
    assert desk.rows("SELECT sku_code, version FROM skus WHERE company_id = %s ORDER BY 1") == before
    assert desk.rows("SELECT article FROM supplier_articles WHERE company_id = %s") == [("=0815",)]


def test_an_export_that_lacks_fields_is_refused_as_a_file_that_would_clear_them(shelf):
    snapshots.publish(shelf.place.pool, shelf.desk.company, shelf.place.data_dir, shelf.desk.clock.now(), Rulesets())
    asked, apart, whole = shelf.ask("xlsx", "snapshot"), shelf.ask("csv", "snapshot"), shelf.ask("xlsx")
    shelf.run()
    book = pl.read_excel(io.BytesIO(shelf.file(whole)), sheet_id=0)
    cut_off = {name: [frame.columns, *frame.rows()] for name, frame in book.items()}
    cut_off["components"] = [[*book["components"].columns][:5], *book["components"].select(pl.nth(range(5))).rows()]
    for data in (shelf.file(asked), members(shelf.file(apart))["skus.csv"], workbook(cut_off)):
        with pytest.raises(ReadingRefused) as refused:
            read_upload(data, "portfolio", today=TODAY)
        assert [issue.code for issue in refused.value.issues] == ["missing_column"]
        assert "source: records" in str(refused.value.issues[0].message)


def test_a_snapshot_is_exported_as_it_was(shelf):
    no_snapshot = shelf.ask("parquet", "snapshot")
    shelf.run()
    assert (shelf.state(no_snapshot)["status"], shelf.state(no_snapshot)["failure"]["field"]) == ("failed", "source")
    found = snapshots.publish(
        shelf.place.pool, shelf.desk.company, shelf.place.data_dir, shelf.desk.clock.now(), Rulesets()
    )
    shelf.write("E-4", name="Later")
    asked, now = shelf.ask("parquet", "snapshot"), shelf.ask("parquet")
    shelf.run()
    assert (shelf.state(asked)["rows"]["skus"], shelf.state(now)["rows"]["skus"]) == (3, 4)
    skus = pl.read_parquet(io.BytesIO(members(shelf.file(asked))["skus.parquet"]))
    assert skus.sort("sku_code").equals(pl.read_parquet(found.skus).drop("archived").sort("sku_code"))


def test_a_killed_run_leaves_nothing_half_and_the_next_one_writes_it_all(shelf):
    asked = shelf.ask("csv")
    killed = uuid4()
    with shelf.place.pool.company(shelf.desk.company) as conn:
        assert exports_warehouse.take(conn, killed, shelf.desk.clock.now()) is not None
    assert shelf.run() == 0  # the claim is alive
    assert shelf.run(STALLED_AFTER) == 1
    assert shelf.state(asked)["status"] == "completed"
    with shelf.place.pool.company(shelf.desk.company) as conn, pytest.raises(ClaimLost):
        exports_warehouse.fail(conn, asked, killed, shelf.desk.clock.now(), {})


def test_a_run_that_stops_hands_its_export_back_and_the_sensor_asks_again(shelf):
    asked = shelf.ask("csv")
    steps: list[int] = []

    class Stopped(Exception):  # noqa: N818
        pass

    def proceed() -> None:
        steps.append(1)
        if len(steps) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        export_waiting(shelf.place, uuid4(), proceed)
    assert shelf.state(asked)["status"] == "processing"
    with pytest.raises(NoSuchObject):
        shelf.place.objects.get(f"{shelf.desk.company}/exports/{asked}/file")
    assert shelf.run() == 1
    assert shelf.state(asked)["status"] == "completed"


def test_an_export_that_kills_its_runs_is_given_up(shelf):
    asked = shelf.ask("csv")
    for _ in range(exports_warehouse.MAX_ATTEMPTS):
        with shelf.place.pool.company(shelf.desk.company) as conn:
            assert exports_warehouse.take(conn, uuid4(), shelf.desk.clock.now()) is not None
        shelf.desk.clock.advance(STALLED_AFTER * 2)
    shelf.run()
    assert shelf.state(asked)["status"] == "failed"
    asked_for = tick(due_companies, shelf.desk.instance, shelf.desk.resources).run_requests or ()
    assert not list(filter(requested_by(shelf.desk.company, "export_portfolio"), asked_for))


def test_an_export_waits_while_the_store_is_away_and_goes_on(shelf):
    """decisions §13, Operation: however often it was tried."""
    asked = shelf.ask("csv")
    with stores.refusing():
        for _ in range(exports_warehouse.MAX_ATTEMPTS + 2):
            with pytest.raises(ConnectionError):
                export_waiting(shelf.place, uuid4(), lambda: None)
    assert shelf.state(asked)["status"] == "processing"
    assert export_waiting(shelf.place, uuid4(), lambda: None)["completed"] == 1
    assert shelf.state(asked)["status"] == "completed"


def test_an_export_that_a_fault_of_ours_ends_is_not_tried_for_ever(shelf, monkeypatch):
    asked = shelf.ask("csv")

    def refuse(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(exports, "write", refuse)
        for _ in range(exports_warehouse.MAX_ATTEMPTS):
            with pytest.raises(ZeroDivisionError):
                export_waiting(shelf.place, uuid4(), lambda: None)
        assert export_waiting(shelf.place, uuid4(), lambda: None)["failed"] == 1
    assert shelf.state(asked)["status"] == "failed"


def test_files_make_room_and_go_after_their_week(shelf):
    first, second = shelf.ask("csv"), shelf.ask("parquet")
    shelf.run()
    size = shelf.state(second)["size_bytes"]
    with shelf.limited_to(size):
        third = shelf.ask("parquet")
        shelf.run()
        assert (shelf.state(first), shelf.state(second)) == ({}, {})
        assert shelf.state(third)["status"] == "completed"
    with shelf.limited_to(10):
        none = shelf.ask("csv")
        shelf.run()
        assert shelf.state(none)["failure"]["code"] == "plan_limit_reached"
    key = f"{shelf.desk.company}/exports/{none}/file"
    with pytest.raises(NoSuchObject):
        shelf.place.objects.get(key)
    last = shelf.ask("csv")
    shelf.run()
    shelf.desk.clock.advance(exports_warehouse.KEPT_FOR)
    assert shelf.state(last) == {}
    place = shelf.place
    assert exports.remove_expired(place.pool, place.objects, place.clock, lambda: None) >= 1
    assert list(place.objects.stored(shelf.desk.company, "exports")) == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=5))
def test_cells_are_harmless_as_in_every_export(texts):
    frame = pl.DataFrame({"text": texts})
    assert exports.cells(frame)["text"].to_list() == [harmless(text) for text in texts]


def test_a_table_longer_than_a_sheet_goes_on_in_another(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "MOST_LINES", 3)
    frame = pl.DataFrame(
        {"sku_code": [str(number) for number in range(7)], "units": [10**15 + number for number in range(7)]}
    )
    path, rows = exports.write("xlsx", tmp_path, [Tables(frame, frame.head(0), frame.head(1))], lambda _: None)
    sheets = pl.read_excel(path, sheet_id=0, infer_schema_length=0)
    assert rows == {"skus": 7, "components": 0, "volumes": 1}
    assert [sheets[name].height for name in ("skus", "skus 2", "skus 3")] == [3, 3, 1]
    assert sheets["skus 3"]["units"].to_list() == [str(10**15 + 6)]
