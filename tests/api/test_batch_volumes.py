"""Volumes inside a batch: upserted with the fields of their SKU in one write, refused with their row alone."""

import pytest

from tests.api.portfolios import BODY

FR = {"market": "FR", "year": 2026, "units_placed": 10}


def batch(caller, *rows, **more):
    answer = caller.post("/skus/batch", {"skus": list(rows), **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def units(caller, sku_id):
    rows = caller.get(f"/skus/{sku_id}").json()["data"]["volumes"]
    return {(row["market"], row["year"], row["half"]): row["units_placed"] for row in rows}


@pytest.mark.promise("BAT-06")
def test_volumes_are_written_with_their_sku_in_one_entry_of_the_ledger(caller):
    [made] = batch(caller, {"sku_code": "V-1", "name": "Jar", "components": [BODY], "volumes": [FR]})
    assert (made["outcome"], units(caller, made["id"])) == ("created", {("FR", 2026, 0): 10})
    half = {"market": "GB", "year": 2026, "half": 1, "units_placed": 5}
    [updated] = batch(caller, {"sku_code": "V-1", "name": "Jar 2", "volumes": [{**FR, "units_placed": 11}, half]})
    assert updated["outcome"] == "updated"
    assert units(caller, made["id"]) == {("FR", 2026, 0): 11, ("GB", 2026, 1): 5}
    entries = caller.get("/audit-log", params={"limit": 10}).json()["data"]
    assert [entry["action"] for entry in entries if entry["resource_id"] == made["id"]] == [
        "sku.updated",
        "sku.created",
    ]
    [cleared] = batch(caller, {"sku_code": "V-1", "name": "Jar 2", "volumes": [{**half, "units_placed": None}]})
    assert (cleared["outcome"], units(caller, made["id"])) == ("updated", {("FR", 2026, 0): 11})


@pytest.mark.promise("BAT-06")
def test_rows_that_name_no_volumes_leave_them_and_the_same_again_changes_nothing(caller):
    [made] = batch(caller, {"sku_code": "V-2", "name": "Jar", "volumes": [FR]})
    for row in ({"sku_code": "V-2", "name": "Jar", "volumes": [FR]}, {"sku_code": "V-2", "name": "Jar", "volumes": []}):
        assert batch(caller, row)[0]["outcome"] == "unchanged"
    plain, other = batch(
        caller, {"sku_code": "V-2", "name": "New name"}, {"sku_code": "V-3", "name": "Jar", "volumes": [FR]}
    )
    assert (plain["outcome"], other["outcome"]) == ("updated", "created")
    assert units(caller, made["id"]) == {("FR", 2026, 0): 10}
    assert batch(caller, {"sku_code": "V-4", "name": "Jar", "volumes": [FR]}, dry_run=True)[0]["outcome"] == "created"
    assert caller.get("/skus", params={"sku_code": "V-4"}).json()["data"] == []


@pytest.mark.promise("BAT-06")
@pytest.mark.parametrize(
    ("volumes", "field", "code"),
    [
        ([{**FR, "market": "QZ"}], "volumes[0].market", "unknown_market"),
        ([FR, {**FR, "half": 1}], "volumes[1].half", "out_of_range"),
        ([FR, FR], "volumes[0]", "duplicate_row"),
        ([{**FR, "units_placed": -1}], "volumes[0].units_placed", "out_of_range"),
        ([{**FR, "what": 1}], "volumes[0].what", "unknown_field"),
        (None, "volumes", "invalid_type"),
        ({"FR": 1}, "volumes", "invalid_type"),
    ],
)
def test_a_row_with_wrong_volumes_is_refused_by_itself(caller, volumes, field, code):
    wrong, right = batch(
        caller,
        {"sku_code": "V-5", "name": "Jar", "volumes": volumes},
        {"sku_code": "V-6", "name": "Jar", "volumes": [FR]},
    )
    assert (wrong["outcome"], right["outcome"]) == ("rejected", "created")
    assert (wrong["errors"][0]["field"], wrong["errors"][0]["code"]) == (field, code)
    assert "row" not in wrong["errors"][0]
    assert caller.get("/skus", params={"sku_code": "V-5"}).json()["data"] == []


@pytest.mark.promise("BAT-06")
def test_faults_of_the_fields_and_of_the_volumes_are_told_together(caller):
    [row] = batch(caller, {"sku_code": "V-7", "name": "", "volumes": [{**FR, "year": 1}]})
    assert [issue["field"] for issue in row["errors"]] == ["name", "volumes[0].year"]
    [single] = caller.post("/skus", {"sku_code": "V-8", "name": "Jar", "volumes": [FR]}).json()["details"]
    assert single["code"] == "unknown_field"
