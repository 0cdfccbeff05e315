"""A substance value without a unit is in the unit of its limit, by every door (decisions §13)."""

from datetime import date
from typing import Any
from uuid import UUID

import orjson
import polars as pl
import psycopg
import pytest

from compliance import ruleset
from compliance.substances import UnitlessValue
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from pipelines.writing import merge
from pipelines.writing.patch import Patch, TypedPatch, from_typed
from pipelines.writing.write import HeldValue, held_values, prepare
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import WriteOutcome, write_records, write_volumes
from warehouse.rules import Rulesets

ORIGIN = Origin("api_key", "k", "tests", "c-1")
RULES = ruleset.load()
BODY = {"component_type": "body", "material_family": "plastic", "weight_g": 25}
CONTRADICTED = [
    ({"pfas": {"status": "below_limit", "value": 300}}, "pfas"),
    ({"pfas": {"status": "below_limit", "value": 25}}, "pfas"),
    ({"pfas": {"status": "above_limit", "value": 49, "basis": "total"}}, "pfas"),
    ({"pfas": {"status": "below_limit", "value": 250, "basis": "sum"}}, "pfas"),
    ({"heavy_metals": {"status": "below_limit", "value": 150}}, "heavy_metals"),
    ({"svhc": {"status": "below_limit", "value": 900}}, "svhc"),
]
AGREED = [
    ({"pfas": {"status": "above_limit", "value": 300}}, "ppb"),
    ({"pfas": {"status": "below_limit", "value": 49, "basis": "total"}}, "mg_per_kg"),
    ({"pfas": {"status": "below_limit", "value": 249, "basis": "sum"}}, "ppb"),
    ({"heavy_metals": {"status": "below_limit", "value": 100}}, "mg_per_kg"),
    ({"svhc": {"status": "above_limit", "value": 0.2}}, "percent_w_w"),
    ({"bpa": {"status": "below_limit", "value": 3}}, None),
]


@pytest.fixture
def write(pool, company, clock):
    def write(body: dict[str, Any]) -> WriteOutcome:
        records = {0: parse_sku({"name": "n", **body})}
        return pool.run(
            company,
            lambda conn: write_records(
                conn, Actor(company, ORIGIN, clock.now()), records, rulesets=Rulesets(), dry_run=False
            ),
        )[0]

    return write


def shown(outcome: WriteOutcome) -> dict[str, Any]:
    assert outcome.detail is not None, outcome.errors
    return outcome.detail()


def typed(rows: list[dict[str, str]]) -> TypedPatch:
    upload = read_upload(pl.DataFrame(rows).write_csv().encode(), "p.csv", today=date(2026, 11, 26))
    read = type_rows(upload, default_year=2026, served_markets=frozenset({"FR"}))
    assert read.errors.is_empty()
    return from_typed(read.values, read.presence, RULES)


def hold(database, company: UUID, code: str, **columns: object) -> None:
    """Store values as a release before the rule did."""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(company)])
        for name, value in columns.items():
            owner.execute(
                f"UPDATE skus SET {name} = %s::json WHERE sku_code = %s", [orjson.dumps(value).decode(), code]
            )


@pytest.mark.parametrize(("substances", "named"), CONTRADICTED)
def test_a_value_without_a_unit_contradicts_its_status_in_the_unit_of_its_limit(write, substances, named):
    refused = write({"sku_code": "A", "substances": substances})
    field = f"substances.{named}.status"
    assert [(i.code, i.field) for i in refused.errors] == [("substance_status_contradicts_value", field)]
    refused = write({"sku_code": "A", "components": [{**BODY, "substances": substances}]})
    assert [i.field for i in refused.errors] == [f"components[0].{field}"]


@pytest.mark.parametrize(("substances", "unit"), AGREED)
def test_the_unit_is_stored_and_answered(write, substances, unit):
    [(name, entry)] = substances.items()
    answered = shown(
        write({"sku_code": "A", "substances": substances, "components": [{**BODY, "substances": substances}]})
    )
    for place in (answered, answered["components"][0]):
        assert (place["substances"][name]["value"], place["substances"][name]["unit"]) == (entry["value"], unit)
    if name == "heavy_metals":
        assert answered["heavy_metals_sum_ppm"] == entry["value"]


@pytest.mark.parametrize(("substances", "named"), CONTRADICTED)
def test_an_import_reads_a_value_without_a_unit_alike(substances, named):
    entry = substances[named]
    row = {f"{named}_{part}": str(value) for part, value in entry.items()}
    patch = typed([{"sku_code": "A", "name": "n", **row}])
    assert [i.issue.code for i in patch.issues] == ["substance_status_contradicts_value"]
    without_status = {name: value for name, value in row.items() if not name.endswith("_status")}
    stored = orjson.loads(typed([{"sku_code": "A", "name": "n", **without_status}]).values[named][0])
    assert stored["status"] != entry["status"]
    assert stored["unit"]


def test_a_stored_value_is_judged_at_the_next_write_and_never_changed_by_another(write, database, company, pool, clock):
    write({"sku_code": "A", "components": [BODY]})
    hold(database, company, "A", pfas={"status": "below_limit", "value": 300})
    refused = write({"sku_code": "A", "description": "x"})
    assert [(i.code, i.field) for i in refused.errors] == [
        ("substance_status_contradicts_value", "substances.pfas.status")
    ]
    units = [{"market": "FR", "year": 2026, "half": 0, "units_placed": 7}]
    with pool.company(company) as conn:  # units wait for no laboratory value
        write_volumes(conn, Actor(company, ORIGIN, clock.now()), "A", units, rulesets=Rulesets(), dry_run=False)
    healed = shown(write({"sku_code": "A", "substances": {"pfas": {"status": "above_limit", "value": 300}}}))
    assert healed["substances"]["pfas"]["unit"] == "ppb"
    hold(database, company, "A", heavy_metals={"status": "below_limit", "value": 90})
    kept = shown(write({"sku_code": "A", "description": "y"}))
    assert kept["substances"]["heavy_metals"]["unit"] is None


def test_a_stored_value_of_a_part_is_judged_too(write, database, company):
    first = shown(write({"sku_code": "A", "components": [BODY]}))
    line = {"id": first["components"][0]["id"], **BODY, "substances": {"svhc": {"status": "absent", "value": 40}}}
    hold(database, company, "A", components=[line])
    refused = write({"sku_code": "A", "description": "x"})
    assert [(i.code, i.field) for i in refused.errors] == [("substance_status_contradicts_value", "components")]
    assert "svhc (body)" in refused.errors[0].message
    assert write({"sku_code": "A", "components": [BODY]}).outcome == "updated"


def test_a_row_of_a_file_that_says_nothing_new_is_judged_all_the_same(write, database, company, pool, clock):
    for code in "ABC":
        write({"sku_code": code, "material": "glass", "components": [BODY]})
    hold(database, company, "A", heavy_metals={"status": "below_limit", "value": 150})
    hold(
        database,
        company,
        "B",
        components=[{"id": "x", **BODY, "substances": {"pfas": {"status": "absent", "value": 30}}}],
    )
    sent = typed([{"sku_code": code, "name": "n", "material": "glass"} for code in "ABC"])
    with pool.company(company) as conn:
        grades = merge.find(conn, sent, RULES)
        patch = Patch.from_frames(sent.values, sent.presence)
        prepared = prepare(conn, patch, now=clock.now(), rules=RULES, whole_rows=False, locking=False)
    assert [grade is None for grade in grades] == [True, True, False]
    assert [fault.row for fault in prepared.errors] == list(sent.values["row"][:2])


def test_values_without_a_unit_are_listed_with_what_they_mean(write, database, company, pool):
    written = {code: write({"sku_code": code, "components": [BODY]}) for code in "ABC"}
    hold(database, company, "A", pfas={"status": "below_limit", "value": 300}, bpa={"status": "absent", "value": 1})
    line = {"id": str(company), **BODY, "substances": {"heavy_metals": {"status": "below_limit", "value": 5}}}
    hold(database, company, "B", components=[line], pfas={"status": "absent", "value": 3, "unit": "ppb"})
    with pool.company(company) as conn:
        found = held_values(conn, RULES)
    of_a = UnitlessValue("pfas", 300, "ppb", "below_limit", "above_limit")
    of_b = UnitlessValue("heavy_metals", 5, "mg_per_kg", "below_limit", None, str(company), "body")
    assert found == [HeldValue(UUID(written[c].id), c, value) for c, value in (("A", of_a), ("B", of_b))]
