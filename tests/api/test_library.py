"""Components, sites and brands over HTTP: every field, sorted, paged, and the caller's own only."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from schemas.library import BrandListResponse, LibraryComponentListResponse, SiteListResponse
from warehouse import library

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
KINDS = {
    "library_component": (
        "/components",
        "code",
        LibraryComponentListResponse,
        {"name": "Cap", "component_type": "cap", "material_family": "plastic"},
    ),
    "site": ("/sites", "name", SiteListResponse, {"roles": ["manufacturing", "packing"]}),
    "brand": ("/brands", "name", BrandListResponse, {}),
}
KIND = pytest.mark.parametrize("resource", KINDS)


@pytest.fixture
def add(pool):
    def added(caller, resource, **values):
        with pool.company(caller.company) as conn:
            return library.add(conn, resource, caller.company, uuid4(), values=values, at=AT)

    return added


def _of(model, answer):
    assert answer.status_code == 200, answer.text
    model.model_validate(answer.json(), extra="forbid")
    return answer.json()


@KIND
def test_a_list_is_sorted_by_code_point_clamped_and_counted(caller, add, resource):
    path, key, model, required = KINDS[resource]
    texts = ["b", "B", "É", "a-2", "A", "a 1", "z" * 40]
    for text in texts:
        add(caller, resource, **required, **{key: text})
    whole = _of(model, caller.get(path))
    assert [item[key] for item in whole["data"]] == sorted(texts)
    assert whole["pagination"] == {"limit": 50, "offset": 0, "total": len(texts)}
    page = _of(model, caller.get(path, params={"limit": 2, "offset": 3}))
    assert [item[key] for item in page["data"]] == sorted(texts)[3:5]
    clamped = _of(model, caller.get(path, params={"limit": 1000, "offset": -3}))["pagination"]
    assert clamped == {"limit": 200, "offset": 0, "total": len(texts)}
    assert _of(model, caller.get(path, params={"limit": 0, "offset": 99}))["data"] == []
    assert caller.get(path, params={"limit": "ten"}).json()["error"] == "invalid_body"


@KIND
def test_a_list_is_the_callers_own(caller, join, add, resource):
    path, key, model, required = KINDS[resource]
    add(caller, resource, **required, **{key: "Mine"})
    assert _of(model, join().get(path)) == {"data": [], "pagination": {"limit": 50, "offset": 0, "total": 0}}
    assert caller.http.get(f"/api/v1{path}").status_code == 401
    assert join(scopes=("write",)).get(path).json()["error"] == "insufficient_scope"


def test_every_field_is_there_with_its_json_type(caller, add):
    supplier = add(caller, "supplier", name="Cap works")["id"]
    part = {
        "code": "CAP-28",
        "name": "28 mm cap",
        "component_type": "cap",
        "material_family": "plastic",
        "polymer_or_grade": "HDPE",
        "weight_g": 1.9,
        "supplier_id": supplier,
        "colour": "natural",
        "recycled_content_percent": 30.0,
    }
    add(caller, "library_component", **part)
    add(caller, "library_component", **part | {"code": "X", "weight_g": None, "colour": None, "supplier_id": None})
    add(caller, "site", name="Lyon", roles=["packing"], country="FR", city="Lyon")
    brand = add(caller, "brand", name="Alpine", owner_name="Demo SAS")
    instants = {"created_at": "2026-11-21T09:30:00Z", "updated_at": "2026-11-21T09:30:00Z"}
    full, bare = _of(LibraryComponentListResponse, caller.get("/components"))["data"]
    assert full == {"id": full["id"], **part, "supplier_id": str(supplier), **instants}
    assert (bare["weight_g"], bare["colour"], bare["supplier_id"]) == (None, None, None)
    [site] = _of(SiteListResponse, caller.get("/sites"))["data"]
    assert site == {"id": site["id"], "name": "Lyon", "roles": ["packing"], "country": "FR", "city": "Lyon", **instants}
    [listed] = _of(BrandListResponse, caller.get("/brands"))["data"]
    assert listed == {"id": str(brand["id"]), "name": "Alpine", "owner_name": "Demo SAS", **instants}


def test_lists_resolve_what_skus_refer_to(caller, add):
    brand, site = add(caller, "brand", name="B")["id"], add(caller, "site", name="S", roles=["packing"])["id"]
    cap = add(caller, "library_component", code="C", name="C", component_type="cap", material_family="plastic")["id"]
    sku = caller.made(
        brand_id=str(brand), packing_site_id=str(site), components=[{"component_type": "cap", "component_id": str(cap)}]
    )
    assert sku["brand_id"] in {item["id"] for item in caller.get("/brands").json()["data"]}
    assert sku["packing_site_id"] in {item["id"] for item in caller.get("/sites").json()["data"]}
    assert sku["components"][0]["component_id"] in {item["id"] for item in caller.get("/components").json()["data"]}


def test_instants_keep_their_microseconds(caller, add, pool):
    with pool.company(caller.company) as conn:
        library.add(conn, "brand", caller.company, uuid4(), values={"name": "B"}, at=AT + timedelta(microseconds=120))
    assert caller.get("/brands").json()["data"][0]["created_at"] == "2026-11-21T09:30:00.000120Z"
