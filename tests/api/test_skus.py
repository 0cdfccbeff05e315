"""SKUs over HTTP: what is written is read back, in the published shapes, by the contract's write semantics."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from schemas.skus.answers import SkuBatchResponse, SkuDetailResponse, SkuListResponse, SkuWriteResult

FULL = {
    "name": "Water bottle 0.5 l", "description": "Still water", "material": "plastic", "material_subtype": "PET",
    "weight_grams": 26.5, "recycled_content_percent": 30, "food_contact": True, "product_category": "beverages",
    "markets": ["fr", "UK", "us_ca"], "gtin": "4006381333931", "ppwr_role": "manufacturer",
    "packaging_level": "primary", "packaging_format": "bottle", "empty_space_ratio": 4, "reusable": False,
    "use_contexts": ["beverage"], "minimisation_assessed": True, "sorting_label_scheme": "triman_fr",
    "material_marking_applied": True, "substances": {"pfas": {"status": "absent", "source": "test_report"}},
    "components": [
        {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 24,
         "colour": "transparent"},
        {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 1.9},
    ],
}  # fmt: skip


def _of(model, answer):
    """The answer's JSON, held against the published model with nothing unpublished in it."""
    model.model_validate(answer.json(), extra="forbid")
    return answer.json()


def test_a_sku_with_every_kind_of_field_is_read_back(caller):
    answer = caller.post("/skus", {"sku_code": " B-1 ", **FULL})
    assert answer.status_code == 201, answer.text
    written = _of(SkuWriteResult, answer)
    assert (written["outcome"], written["dry_run"]) == ("created", False)
    detail = _of(SkuDetailResponse, caller.get(f"/skus/{written['data']['id']}"))["data"]
    assert detail == written["data"]
    assert detail["sku_code"] == "B-1"
    assert detail["markets"] == ["FR", "GB", "US-CA"]
    assert detail["packaging_level"] == "sales"
    assert detail["pfas_intentional"] is False
    assert detail["weight_grams"] == 26.5
    assert [line["component_type"] for line in detail["components"]] == ["body", "cap"]
    assert detail["compliance"]["grade_trace"]["indicative"] is True
    assert detail["recyclability_grade"] == detail["compliance"]["recyclability_grade"]


def test_the_list_shows_what_the_detail_shows(caller):
    detail = caller.made(**{k: v for k, v in FULL.items() if k != "weight_grams"})
    [item] = _of(SkuListResponse, caller.get("/skus"))["data"]
    assert item == {name: detail[name] for name in item}
    assert item["weight_grams"] == pytest.approx(25.9)


def test_an_omitted_field_stays_null_clears_and_components_replace(caller):
    sku = caller.made(**FULL)
    address = f"/skus/{sku['id']}"
    changed = caller.put(address, {"sku_code": sku["sku_code"], "name": "Renamed", "material_subtype": None})
    data = _of(SkuWriteResult, changed)["data"]
    assert (changed.status_code, data["name"], data["material_subtype"]) == (200, "Renamed", None)
    assert data["components"] == sku["components"]
    assert data["description"] == sku["description"]
    cleared = caller.put(address, {"sku_code": sku["sku_code"], "name": "Renamed", "components": []}).json()
    assert cleared["data"]["components"] == []


def test_the_same_write_again_is_unchanged(caller):
    sku = caller.made(**FULL)
    again = caller.post("/skus", {"sku_code": sku["sku_code"], **FULL})
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")
    assert again.json()["data"]["updated_at"] == sku["updated_at"]


def test_a_dry_run_answers_as_the_write_would_and_writes_nothing(caller):
    body = {"sku_code": "D-1", **FULL}
    dry = caller.post("/skus?dry_run=1", body)
    assert (dry.status_code, dry.json()["outcome"], dry.json()["dry_run"]) == (200, "created", True)
    assert _of(SkuWriteResult, dry)["data"]["id"] is None
    assert caller.get("/skus").json()["pagination"]["total"] == 0
    sku = caller.post("/skus", body).json()["data"]
    assert caller.put(f"/skus/{sku['id']}?dry_run=true", {**body, "name": "X"}).json()["data"]["name"] == "X"
    assert caller.get(f"/skus/{sku['id']}").json()["data"]["name"] == body["name"]


@pytest.mark.parametrize("value", ["yes", "TRUE", "", "2"])
def test_a_dry_run_that_cannot_be_read_is_never_a_write(caller, value):
    answer = caller.post("/skus", {"sku_code": "D", "name": "D"}, params={"dry_run": value})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_put_keeps_to_the_addressed_sku(caller):
    sku = caller.made()
    answer = caller.put(f"/skus/{sku['id']}", {"sku_code": "OTHER", "name": "N"})
    assert (answer.status_code, answer.json()["details"][0]["code"]) == (400, "sku_code_mismatch")
    for unknown in (uuid4(), "not-a-uuid", "%00"):
        assert caller.put(f"/skus/{unknown}", {"sku_code": "OTHER", "name": "N"}).status_code == 404
        assert caller.get(f"/skus/{unknown}").status_code == 404


def test_a_batch_decides_each_row_by_itself(caller):
    held = caller.made()
    rows = [
        {"sku_code": "N-1", "name": "New"},
        {"sku_code": held["sku_code"], "name": "Changed"},
        {"sku_code": "N-2", "name": "Bad", "gtin": "123", "colour_of_sky": 1},
        {"sku_code": "N-1", "name": "Twice"},
        "no object",
    ]
    answer = _of(SkuBatchResponse, caller.post("/skus/batch", {"skus": rows}))
    assert answer["summary"] == {"total": 5, "created": 1, "updated": 1, "unchanged": 0, "rejected": 3}
    assert [row["index"] for row in answer["results"]] == [0, 1, 2, 3, 4]
    codes = [{issue["code"] for issue in row["errors"]} for row in answer["results"]]
    assert codes == [set(), set(), {"invalid_gtin", "unknown_field"}, {"duplicate_sku_code"}, {"invalid_type"}]
    assert answer["results"][3]["errors"][0]["message"].startswith("Row 0 has the same sku_code")
    moved = caller.post("/skus/batch", {"skus": ["no object", *rows[2:4], rows[3]]}).json()["results"]
    assert moved[3]["errors"][0]["message"].startswith("Row 2 has the same sku_code")
    assert caller.get("/skus").json()["pagination"]["total"] == 2


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"skus": [], "mode": "x"}, "unknown_field", "mode"),
        ({}, "required", "skus"),
        ({"skus": {}}, "invalid_type", "skus"),
        ({"skus": [], "dry_run": "true"}, "invalid_type", "dry_run"),
        ({"skus": [{"sku_code": str(i), "name": "N"} for i in range(1001)]}, "too_long", "skus"),
        ([], "invalid_type", None),
    ],
)
def test_a_fault_above_the_rows_refuses_the_batch(caller, body, code, field):
    answer = caller.post("/skus/batch", body)
    assert answer.status_code == 400
    assert [(d["code"], d["field"]) for d in answer.json()["details"]] == [(code, field)]


def test_an_empty_batch_and_a_dry_one(caller):
    assert caller.post("/skus/batch", {"skus": []}).json()["summary"]["total"] == 0
    dry = caller.post("/skus/batch", {"skus": [{"sku_code": "A", "name": "A"}], "dry_run": True}).json()
    assert (dry["dry_run"], dry["results"][0]["outcome"], dry["results"][0]["id"]) == (True, "created", None)
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_the_list_is_newest_first_clamped_and_counted(caller):
    codes = [caller.made(sku_code=f"L-{n}")["sku_code"] for n in range(3)]
    page = caller.get("/skus", params={"limit": 2}).json()
    assert [item["sku_code"] for item in page["data"]] == codes[:0:-1]
    assert page["pagination"] == {"limit": 2, "offset": 0, "total": 3}
    assert caller.get("/skus?limit=0&offset=-3").json()["pagination"] == {"limit": 1, "offset": 0, "total": 3}
    assert caller.get("/skus?limit=5000").json()["pagination"]["limit"] == 200
    assert caller.get("/skus?offset=9999999999999999999999").json()["data"] == []
    assert caller.get("/skus?limit=ten").json()["details"][0]["code"] == "invalid_type"
    assert caller.get("/skus?unknown=1").status_code == 200


def test_the_list_filters_by_code_and_by_update(caller):
    first, second = caller.made(), caller.made()
    params = {"sku_code": [first["sku_code"], second["sku_code"], "NONE"]}
    assert caller.get("/skus", params=params).json()["pagination"]["total"] == 2
    assert caller.get("/skus", params={"sku_code": ""}).json()["pagination"]["total"] == 0
    found = caller.get("/skus", params={"updated_since": second["updated_at"]}).json()
    assert [item["id"] for item in found["data"]] == [second["id"]]
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert caller.get("/skus", params={"updated_since": later}).json()["pagination"]["total"] == 0


@pytest.mark.parametrize("since", ["2026-01-01", "yesterday", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", ""])
def test_a_filter_that_cannot_be_read_is_refused_not_ignored(caller, since):
    answer = caller.get("/skus", params={"updated_since": since})
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "updated_since")


def test_the_plan_limit_refuses_the_whole_batch_and_costs_nothing_for_known_codes(join):
    caller = join(plan="starter")
    full = {"skus": [{"sku_code": f"P-{n}", "name": "N"} for n in range(100)]}
    assert caller.post("/skus/batch", full).json()["summary"]["created"] == 100
    answer = caller.post("/skus", {"sku_code": "P-100", "name": "N"})
    assert (answer.status_code, answer.json()["error"]) == (403, "plan_limit_reached")
    [issue] = answer.json()["details"]
    assert (issue["limit"], issue["held"], issue["new"]) == (100, 100, 1)
    assert caller.post("/skus/batch", full).json()["summary"]["unchanged"] == 100
    assert caller.post("/skus?dry_run=true", {"sku_code": "P-100", "name": "N"}).status_code == 403
