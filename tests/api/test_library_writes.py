"""Brands, sites and shared components are added over REST, and the list of imports."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tests.api.portfolios import run, sent
from tests.api.test_import_answers import imported
from warehouse import library

PART = {"code": "CAP-1", "name": "Cap", "component_type": "cap", "material_family": "plastic", "weight_g": 1.5}
PART_LINE = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 24}
VALID = {
    "brands": {"name": "Aqua", "owner_name": "Aqua Holding"},
    "sites": {"name": "Lyon", "roles": ["packing"], "country": "fr", "city": "Lyon"},
    "components": PART,
}


@pytest.mark.promise("LIB-01")
@pytest.mark.parametrize("path", VALID)
def test_a_record_is_added_listed_and_the_same_again_is_the_same(caller, join, path):
    body = VALID[path]
    dry = caller.post(f"/{path}", body, params={"dry_run": "true"})
    assert (dry.status_code, dry.json()["outcome"], dry.json()["data"]["id"]) == (200, "created", None)
    assert caller.get(f"/{path}").json()["data"] == []
    made = caller.post(f"/{path}", body)
    assert (made.status_code, made.json()["outcome"]) == (201, "created")
    again = caller.post(f"/{path}", body)
    assert (again.status_code, again.json()) == (200, made.json() | {"outcome": "unchanged"})
    assert caller.get(f"/{path}").json()["data"] == [made.json()["data"]]
    assert join().get(f"/{path}").json()["data"] == []
    [entry] = [
        entry for entry in caller.get("/audit-log").json()["data"] if entry["resource_id"] == made.json()["data"]["id"]
    ]
    assert entry["action"].endswith(".created")
    assert caller.http.post(f"/api/v1/{path}", json=body).status_code == 401
    assert join(scopes=("read",)).post(f"/{path}", body).json()["error"] == "insufficient_scope"


@pytest.mark.promise("LIB-01")
@pytest.mark.parametrize(
    ("path", "change", "field", "code"),
    [
        ("brands", {"name": " "}, "name", "too_short"),
        ("brands", {"name": "x" * 256}, "name", "too_long"),
        ("brands", {"what": 1}, "what", "unknown_field"),
        ("sites", {"roles": []}, "roles", "too_short"),
        ("sites", {"roles": ["selling"]}, "roles[0]", "not_in_vocabulary"),
        ("sites", {"country": "XX"}, "country", "unknown_market"),
        ("sites", {"country": "US-CA"}, "country", "unknown_market"),
        ("components", {"material_family": "air"}, "material_family", "not_in_vocabulary"),
        ("components", {"weight_g": -1}, "weight_g", "out_of_range"),
        ("components", {"supplier_id": str(uuid4())}, "supplier_id", "unknown_reference"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_added(caller, path, change, field, code):
    answer = caller.post(f"/{path}", VALID[path] | change)
    assert answer.status_code == 400, answer.text
    [issue] = answer.json()["details"]
    assert (issue["field"], issue["code"]) == (field, code)
    assert caller.get(f"/{path}").json()["data"] == []


@pytest.mark.parametrize("name", ["AQUA", "Aquà", "Aqua.", "aqua"])
def test_a_name_that_files_could_not_tell_from_another_ones_is_refused_by_every_door(caller, name):
    caller.post("/brands", VALID["brands"])
    for dry_run in ("true", "false"):
        refused = caller.post("/brands", {"name": name}, params={"dry_run": dry_run})
        assert (refused.status_code, refused.json()["error"]) == (409, "name_taken")
    assert [each["name"] for each in caller.get("/brands").json()["data"]] == ["Aqua"]


@pytest.mark.parametrize("create", [True, False])
def test_a_name_that_several_records_have_is_said_to_be_of_several(caller, pool, create):
    """They are from before names were compared; nothing is made beside them."""
    with pool.company(caller.company) as conn:
        for name in ("Aqua", "AQUA"):
            library.add(conn, "brand", caller.company, uuid4(), values={"name": name}, at=datetime.now(UTC))
    text = "sku_code,name,brand_name\nB-1,Bottle,aqua\nB-2,Bottle,\n"
    options = {"mapping": '{"create": true}'} if create else {}
    report = caller.get(f"/imports/{imported(caller, text, **options)}").json()
    assert (report["counts"]["created"], report["source"]["asked"]) == (1, [])
    [fault] = report["errors"]
    assert (fault["line"], fault["field"], fault["code"]) == (2, "brand_id", "unknown_reference")
    assert "Several records have the name “aqua”: AQUA, Aqua." in fault["message"]
    assert len(caller.get("/brands").json()["data"]) == 2
    found = caller.get("/skus?brand_id=aqua")
    assert found.status_code == 400


def test_a_write_of_what_is_there_changes_what_it_gives_and_no_sku(caller):
    made = caller.post("/components", PART | {"colour": "dark"}).json()["data"]
    line = {"component_type": "cap", "component_id": made["id"]}
    skus = [caller.made(components=[line]), caller.made(components=[line | {"weight_g": 2}]), caller.made()]
    changed = caller.post("/components", PART | {"weight_g": 2}).json()
    assert (changed["outcome"], changed["data"]["weight_g"], changed["data"]["colour"]) == ("updated", 2, "dark")
    assert changed["skus_differing"] == 1
    path = f"/components/{made['id']}"
    dry = caller.request("PATCH", path, json={"colour": "light"}, params={"dry_run": "true"}).json()
    assert (dry["skus_differing"], caller.get(path).json()["data"]) == (2, changed["data"])
    cleared = caller.request("PATCH", path, json={"colour": None, "weight_g": None}).json()
    assert (cleared["skus_differing"], cleared["data"]["name"]) == (0, PART["name"])
    assert [caller.get(f"/skus/{sku['id']}").json()["data"] for sku in skus] == skus
    caller.post("/components", PART | {"code": "CAP-2"})
    taken = caller.request("PATCH", path, json={"code": "CAP-2"})
    assert (taken.status_code, taken.json()["error"]) == (409, "code_taken")
    nobody = caller.request("PATCH", path, json={"supplier_id": str(uuid4())})
    assert nobody.json()["details"][0]["code"] == "unknown_reference"


@pytest.mark.parametrize(("path", "body"), [*VALID.items(), ("suppliers", {"name": "S", "country": "FR"})])
def test_each_kind_is_read_and_changed_by_its_id(caller, join, path, body):
    made = caller.post(f"/{path}", body)
    address = f"/{path}/{made.json()['data']['id']}"
    assert made.headers["Location"] == f"/api/v1{address}"
    assert caller.get(address).json()["data"] == made.json()["data"]
    assert [item["id"] for item in caller.get(f"/{path}").json()["data"]] == [made.json()["data"]["id"]]
    changed = caller.request("PATCH", address, json={"name": "Other"}).json()
    assert (changed["outcome"], changed["data"]["name"]) == ("updated", "Other")
    read = caller.get(address).json()["data"]
    assert caller.request("PATCH", address, json=read).json() == {**changed, "outcome": "unchanged", "data": read}
    [fault] = caller.request("PATCH", address, json=read | {"created_at": "2020-01-01T00:00:00Z"}).json()["details"]
    assert (fault["field"], fault["code"]) == ("created_at", "unknown_field")
    assert {caller.request("PATCH", address, json=no_object).status_code for no_object in (None, "id", ["id"])} == {400}
    kept = made.json()["data"].keys() - {"name", "updated_at"}
    assert all(changed["data"][name] == made.json()["data"][name] for name in kept)
    assert caller.request("PATCH", address, json={"name": None}).json()["details"][0]["code"] == "not_null"
    for stranger in (join(), join(plan="starter")):
        assert stranger.get(address).status_code == 404
        assert stranger.request("PATCH", address, json={}).status_code == 404
    types = [change["type"] for change in caller.get("/changes").json()["data"]]
    assert sum(kind.endswith(".updated") for kind in types) == 1


def test_a_program_alone_asks_and_answers_for_a_supplier(caller):
    sku = caller.made(components=[PART_LINE, PART_LINE | {"component_type": "cap"}])
    body = {"sku_code": sku["sku_code"], "component_ids": [sku["components"][1]["id"]], "supplier_name": "Glas"}
    dry = caller.post("/supplier-requests", body, params={"dry_run": "true"}).json()
    assert (dry["id"], dry["token"], caller.get("/supplier-requests").json()["data"]) == (None, None, [])
    made = caller.post("/supplier-requests", body, headers={"Idempotency-Key": "q"})
    assert made.status_code == 201
    again = caller.post("/supplier-requests", body, headers={"Idempotency-Key": "q"}).json()
    assert again == made.json() | {"token": None, "url": None}
    asked = made.json()
    assert (asked["component_ids"], asked["url"].rpartition("/")[2]) == (body["component_ids"], asked["token"])
    answer = {"consent": True, "response": {"components": [{"component_id": asked["component_ids"][0], "weight_g": 3}]}}
    sent = caller.http.post(
        f"/api/supplier-data/{asked['token']}", json=answer, headers={"X-Forwarded-For": caller.address}
    )
    assert (sent.status_code, sent.json()["status"]) == (202, "awaiting_review")
    [request] = caller.get("/supplier-requests").json()["data"]
    assert (request["id"], request["state"]) == (asked["id"], "answered")
    unknown = caller.post("/supplier-requests", {"sku_code": "nothing"})
    assert unknown.status_code == 400


@pytest.mark.promise("LST-27")
def test_imports_are_listed_by_their_state(caller, join):
    first, second = sent(caller, "sku_code,name\nA,Jar\n,x\n"), sent(caller, "sku_code,name\nB,Jar\n", "b.csv")
    run(caller, first)
    page = caller.get("/imports").json()
    assert [(each["id"], each["status"]) for each in page["data"]] == [(second, "queued"), (first, "completed")]
    assert page["pagination"] == {"limit": 50, "offset": 0, "total": 2}
    done = page["data"][1]
    report = caller.get(f"/imports/{first}").json()
    assert {name: report[name] for name in done if name != "undone_at"} == {
        name: done[name] for name in done if name != "undone_at"
    }
    assert [each["id"] for each in caller.get("/imports", params={"status": "queued"}).json()["data"]] == [second]
    assert caller.get("/imports", params={"limit": 1, "offset": 1}).json()["data"] == [done]
    [issue] = caller.get("/imports", params={"status": "lost"}).json()["details"]
    assert (issue["field"], issue["code"]) == ("status", "not_in_vocabulary")
    assert join().get("/imports").json()["data"] == []


@pytest.mark.promise("LST-28")
def test_imports_are_narrowed_by_day_and_dry_run(caller):
    tried = {"files": {"file": ("a.csv", b"sku_code,name\nA,Jar\n")}, "params": {"dry_run": "true"}}
    assert caller.request("POST", "/imports", **tried).status_code == 202
    real = sent(caller, "sku_code,name\nA,Jar\n")

    def listed(**params):
        page = caller.get("/imports", params=params).json()
        assert page["pagination"]["total"] == len(page["data"])
        return [each["id"] for each in page["data"]]

    day = caller.get("/imports").json()["data"][0]["created_at"][:10]
    assert listed(dry_run="false") == [real]
    assert len(listed(since=day, until=day)) == 2
    assert listed(until="2020-01-01") == listed(since="2120-01-01T00:00:00Z") == []
    for params, code in (({"since": "yesterday"}, "invalid_format"), ({"dry_run": "perhaps"}, "not_in_vocabulary")):
        [issue] = caller.get("/imports", params=params).json()["details"]
        assert (issue["field"], issue["code"]) == (*params, code)


@pytest.mark.promise("LST-29")
def test_the_library_is_searched_by_name_or_code(caller, join):
    for name in ("Aqua", "Aqua Plus", "100 %"):
        caller.post("/brands", {"name": name})
    caller.post("/components", PART)
    join().post("/brands", {"name": "Aqua of others"})

    def names(path, q):
        page = caller.get(path, params={"q": q}).json()
        assert page["pagination"]["total"] == len(page["data"])
        return [each["name"] for each in page["data"]]

    assert names("/brands", "aqua") == ["Aqua", "Aqua Plus"]
    assert names("/brands", "%") == ["100 %"]
    assert names("/components", "cap-1") == names("/components", "CAP") == ["Cap"]
    assert names("/sites", "x") == []
    assert len(names("/brands", "")) == 3


def test_a_sku_that_is_archived_or_renamed_is_not_said_to_be_unknown_where_a_supplier_is_asked(caller):
    part = {"component_type": "body", "material_family": "plastic", "weight_g": 1}
    gone, renamed = (
        caller.post("/skus", {"sku_code": code, "name": "x", "components": [part]}).json()["data"]
        for code in ("GONE", "OLD")
    )
    assert caller.post(f"/skus/{gone['id']}/archive", {}).status_code == 200
    assert caller.request("PATCH", f"/skus/{renamed['id']}", json={"sku_code": "NEW"}).status_code == 200
    codes = ["GONE", "OLD", "NOTHING"]
    refused = caller.post("/supplier-enquiries", {"supplier_name": "Plasto", "sku_codes": codes}).json()["details"]
    assert {fault["field"]: (fault["code"], fault["message"].split(";")[0]) for fault in refused} == {
        "sku_codes[0]": ("sku_archived", "The SKU GONE is archived"),
        "sku_codes[1]": ("sku_code_former", "“OLD” was renamed to “NEW”"),
        "sku_codes[2]": ("unknown_reference", "The company has no SKU NOTHING."),
    }
    for code, fault in zip(codes, ("sku_archived", "sku_code_former", "unknown_reference"), strict=True):
        [said] = caller.post("/supplier-requests", {"sku_code": code}).json()["details"]
        assert (said["field"], said["code"]) == ("sku_code", fault)
