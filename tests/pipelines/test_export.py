"""An exported portfolio says of every SKU all that is held: sent back as it is, it changes nothing."""

import io
import json
import random
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import polars as pl
import pytest

from schemas.actors import Actor
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS, Field
from schemas.skus.inputs import parse_sku, parse_volumes
from schemas.vocabularies import SUBSTANCES, VOCABULARIES
from services.imports.workbook import Exported, export
from services.skus.write import write_records, write_volumes
from tests.pipelines.conftest import ORIGIN, Desk
from warehouse import library

TEXTS = (
    "Flasche, 50 cl; klar",
    "null",
    "NULL",
    "=1+1",
    "+3",
    "-7",
    "@home",
    "'quoted",
    "''",
    "'=x",
    '="00123"',
    "#N/A",
    " outer space ",
    "two\nlines",
    "tab\there",
    "carriage\rreturn",
    "_x000D_",
    "_x0041_x0042_",
    "'80er",
    "None",
    "back\\slash \\n",
    "00123",
    "1E5",
    "3-4",
    "TRUE",
    "1.234",
    "46246",
    "&amp; <b>",
    "“curled”",
    "ﬁne 🧴 Ω",
    "[]",
    "x" * 1900,
    "\ufffe",
    "a\tb",
    "'null",
    "",
)
NUMBERS = (0, 1, 0.1, 0.1 + 0.2, 1.234, 1234.5, 1e-7, 12345678.123456789, 99.99999999999999, 33.333333333333336, 100)
MARKETS = ("FR", "DE", "GB", "ES-CT", "US-CA")


class Portfolio:
    """Random valid records of every field, from one seed, that refer to a library of the desk's company."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.random = desk, random.Random(seed)
        self.ids = {
            "brands": self._added("brand", name="Brand"),
            "sites": self._added("site", name="Site", roles=["packing"]),
            "suppliers": self._added("supplier", name="Supplier"),
            "library_components": self._added(
                "library_component", code="L", name="Cap", component_type="cap", material_family="plastic", weight_g=2.5
            ),
        }

    def _added(self, resource: str, **values: object) -> str:
        identity = uuid4()
        with self.desk.pool.company(self.desk.company) as conn:
            library.add(conn, resource, self.desk.company, identity, values=values, at=self.desk.clock.now())
        return str(identity)

    def write(self, count: int) -> None:
        """Write so many SKUs, one after the other, some of them with volumes."""
        pool, now, rulesets = self.desk.pool, self.desk.clock.now(), self.desk.rulesets
        for number in range(count):
            body = parse_sku({"sku_code": f"{number:03}", **self.record()})
            with pool.company(self.desk.company) as conn:
                [row] = write_records(
                    conn, Actor(self.desk.company, ORIGIN, now), {0: body}, rulesets=rulesets, dry_run=False
                ).values()
                assert row.errors == []
                if rows := self.volumes():
                    write_volumes(
                        conn,
                        Actor(self.desk.company, ORIGIN, now),
                        f"{number:03}",
                        parse_volumes(rows),
                        rulesets=rulesets,
                        dry_run=False,
                    )

    def record(self) -> dict[str, Any]:
        given = [field for field in SKU_FIELDS[2:] if self.random.random() < 0.5 and not field.deprecated]
        record = {field.name: self.value(field) for field in given if field.name != "substances_source"}
        if "heavy_metals" not in record.get("substances", {}):
            record["heavy_metals_sum_ppm"] = self.random.choice(["<50", "<12.5", "<100", 7, None])
        return {**record, "name": f"Pack {self.random.choice(TEXTS[:20])}", "food_contact": False}

    def line(self) -> dict[str, Any]:
        given = [field for field in COMPONENT_FIELDS[1:] if self.random.random() < 0.5]
        line = {field.name: self.value(field) for field in given}
        return {
            "component_type": self.random.choice(VOCABULARIES["component_type"]),
            "material_family": "plastic",
            **line,
        }

    def volumes(self) -> list[dict[str, Any]]:
        chosen = self.random.sample(MARKETS, self.random.randrange(3))
        return [
            {"market": market, "year": self.random.choice((2024, 2026)), "half": half, "units_placed": units}
            for market in chosen
            for half, units in (((1, 10), (2, 10**12)) if market == "GB" else ((0, self.random.randrange(10**6)),))
        ]

    def value(self, field: Field) -> Any:
        choose = self.random.choice
        match field.kind:
            case "text":
                return choose(TEXTS)
            case "number":
                return choose([each for each in NUMBERS if each <= (field.maximum or 1e9)])
            case "integer":
                return self.random.randrange(1000)
            case "truth":
                return choose((True, False))
            case "code":
                return choose(VOCABULARIES[field.vocabulary or field.name])
            case "codes":
                vocabulary = VOCABULARIES[field.vocabulary or field.name]
                return self.random.sample(vocabulary, self.random.randrange(3))
            case "markets":
                return self.random.sample(MARKETS, self.random.randrange(4))
            case "gtin":
                return choose(("4006381333931", "96385074", "00012345678905"))
            case "uuid":
                return self.ids[str(field.references)]
            case "substances":
                return {name: self.entry(name) for name in SUBSTANCES if self.random.random() < 0.4}
            case "components":
                return [self.line() for _ in range(self.random.randrange(4))]
        raise AssertionError(field.kind)

    def entry(self, substance: str) -> dict[str, Any]:
        more = {"source": "test_report", "evidence": self.random.choice(TEXTS)}
        measured = {
            "bpa": ({"status": "unknown", "value": 3, "unit": "ppb"}, {"status": "absent", "value": 1.5}),
            "pfas": ({"status": "below_limit", "value": 0.5, "unit": "ppb", "basis": "sum"},),
            "svhc": (
                {"status": "below_limit", "value": 0.05, "unit": "percent_w_w"},
                {"status": "below_limit", "value": 12, "unit": "mg_per_kg"},
            ),
            "heavy_metals": ({"status": "below_limit", "value": 7, "unit": "mg_per_kg"},),
        }
        said = self.random.choice((*measured[substance], {"status": "below_limit"}, {"status": "unknown"}))
        return {**said, **{key: held for key, held in more.items() if self.random.random() < 0.5}}


def exported(desk: Desk, path: Path) -> tuple[Exported, bytes]:
    with desk.pool.company(desk.company) as conn:
        written = export(conn, str(path))
    return written, path.read_bytes()


def held(desk: Desk) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row for row in desk.rows("SELECT sku_code, version, updated_at FROM skus WHERE company_id = %s")}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_exported_and_sent_back_changes_nothing(desk, tmp_path, seed):
    Portfolio(desk, seed).write(40)
    before = held(desk)
    written, data = exported(desk, tmp_path / "out.xlsx")
    assert written.skus == 40
    sent = desk.send(data, filename="out.xlsx")
    assert desk.finish(sent)
    polled = desk.poll(sent)
    assert polled["errors"] == []
    assert polled["counts"] == {"total": 40, "created": 0, "updated": 0, "unchanged": 40, "rejected": 0}
    assert polled["source"]["ignored"] == polled["source"]["skipped"] == []
    assert held(desk) == before


COLUMNS = (
    "sku_code;name;printed_marks;marks_of_epr;artwork_state;artwork_reference;artwork_changes_on;role_packed_by;"
    "role_modifies;role_supplier_country"
)
BESIDE = f"""{COLUMNS}
M-1;Can;Grüner Punkt, Triman, Own leaf;nein;in Gestaltung;=AW-1;31.12.2026;Lohnabfüller;ja;AT
M-2;Jar;keine;;;;;;;
M-3;Tin;RESY;;;;;wir;nein;
M-4;Box;;;;;;;;
"""
NUMBERED = """sku_code;name;component_type;material_family;component_weight_g;supplier_id;supplier_article
M-1;Can;body;metal;12;{0};00815
M-1;Can;cap;metal;2;{0};=4711
M-2;Jar;body;glass;200;{0};
M-4;Box;body;paper;20;;
"""


def beside_of(desk: Desk) -> list[list[tuple[object, ...]]]:
    """What is held beside the records, with its versions."""
    return [
        desk.rows("SELECT printed::text, version FROM marks WHERE company_id = %s ORDER BY record_id"),
        desk.rows("SELECT answers::text, version FROM role_answers WHERE company_id = %s ORDER BY record_id"),
        desk.rows("SELECT article FROM supplier_articles WHERE company_id = %s ORDER BY article"),
    ]


def test_what_is_stored_beside_the_records_is_exported_and_sent_back_unchanged(desk, tmp_path):
    with desk.pool.company(desk.company) as conn:
        supplier = uuid4()
        library.add(conn, "supplier", desk.company, supplier, values={"name": "Dosen AG"}, at=desk.clock.now())
    assert desk.finish(desk.send(BESIDE))
    assert desk.finish(desk.send(NUMBERED.format(supplier)))
    with desk.pool.company(desk.company) as conn:  # a program has said what no column says, in an order of its own
        conn.execute("""UPDATE marks SET version = version + 1, printed = jsonb_set(printed::jsonb, '{marks}',
            '[{"mark": "QR", "carrier": "digital", "of_epr": false}]'::jsonb || (printed::jsonb -> 'marks'))::json
            WHERE record_id = (SELECT id FROM skus WHERE sku_code = 'M-1')""")
    before = beside_of(desk)
    assert before[2] == [("00815",), ("=4711",)]
    assert [json.loads(str(text))["marks"][0]["mark"] for text, _ in before[0][:1]] == ["QR"]
    _, data = exported(desk, tmp_path / "out.xlsx")
    skus = pl.read_excel(io.BytesIO(data), sheet_name="SKU").to_dicts()
    assert [row["printed_marks"] for row in skus] == ["Grüner Punkt; Triman; Own leaf", "[]", "RESY", None]
    assert (skus[0]["role_packed_by"], skus[0]["artwork_reference"]) == ("other", "'=AW-1")
    sent = desk.send(data, filename="out.xlsx")
    assert desk.finish(sent)
    polled = desk.poll(sent)
    assert (polled["errors"], polled["warnings"], polled["source"]["ignored"]) == ([], [], [])
    assert polled["counts"] == {"total": 4, "created": 0, "updated": 0, "unchanged": 4, "rejected": 0}
    assert beside_of(desk) == before
    desk.rows("DELETE FROM marks WHERE company_id = %s RETURNING 1")
    desk.rows("DELETE FROM supplier_articles WHERE company_id = %s RETURNING 1")
    sent = desk.send(data, filename="out.xlsx")
    assert desk.finish(sent)
    assert desk.poll(sent)["counts"]["updated"] == 3
    assert beside_of(desk)[1:] == before[1:]


def test_a_company_without_skus_gives_a_sheet_with_a_header(desk, tmp_path):
    written, data = exported(desk, tmp_path / "out.xlsx")
    assert written == Exported(0, 0, 0)
    assert pl.read_excel(io.BytesIO(data)).columns == ["sku_code", "name"]


def test_another_companys_skus_are_not_in_it(desk, new_company, tmp_path):
    Portfolio(desk, 9).write(3)
    stranger: UUID = new_company("enterprise")
    with desk.pool.company(stranger) as conn:
        assert export(conn, str(tmp_path / "out.xlsx")).skus == 0
