"""Two companies, every id of one tried by the other, at every operation that the running service publishes.

The operations, their path parameters, the references in their bodies and their examples, which are sent, are read from
the OpenAPI document. Only where an example names a record is another request known here.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.contract.outside import Caller, good, refused, until
from tests.contract.samples import PDF

LINE = {"component_type": "body", "material_family": "glass"}
WEIGHED = {**LINE, "polymer_or_grade": "glass", "weight_g": 1}
PARTS = [WEIGHED, {**WEIGHED, "component_type": "cap", "weight_g": None}]
ROW = {"sku_code": "ISO", "name": "Isolated"}
UPLOAD = {"data": {"type": "packaging_photo"}, "files": {"file": ("a.pdf", PDF, "application/pdf")}}
VALID: dict[str, dict[str, Any]] = {
    "POST /skus": {"json": ROW}, "PUT /skus/{id}": {"json": ROW}, "PATCH /skus/{id}": {"json": ROW},
    "PATCH /components/{id}": {"json": {"code": "OWN-2", "name": "Own", **LINE}},
    "POST /supplier-requests": {"json": {"sku_code": ROW["sku_code"]}}, "POST /skus/batch": {"json": {"skus": [ROW]}},
    "POST /skus/what-if": {"json": ROW}, "POST /skus/{id}/what-if": {"json": ROW}, "POST /skus/{id}/files": UPLOAD,
    "POST /doc-drafts/{id}/issue": {"json": {}}, "POST /webhooks/{id}/replay": {"json": {"after": ""}},
    "PATCH /webhooks/{id}": {"json": {"description": "Own"}},
    "POST /supplier-enquiries": {"json": {"supplier_name": "Own", "sku_codes": [ROW["sku_code"]]}},
    "POST /imports": {"content": b"sku_code;name\nISO;Isolated\n", "params": {"filename": "iso.csv"}},
    "POST /declarations": {"json": {"market": "DE", "year": 2025, "format": "json"}},
}  # fmt: skip
"""Requests that their own company may make, where the example of the document is of another company's records."""

RESET = "POST /sandbox/reset"
"""Names no record, and empties its own company: tests/api/test_sandbox.py has both."""

KINDS = {
    "brand_id": "brands",
    "manufacturing_site_id": "sites",
    "packing_site_id": "sites",
    "supplier_id": "suppliers",
    "component_id": "components",
    "component_ids": "part",
    "proof_id": "files",
    "corrects": "declarations",
    "id": "part",
    "ids": "skus",
}
"""What the ids in bodies refer to, as paths name the kind of record."""

WITHOUT_COMPANY = {
    "alembic_version",
    "key_probes",
    "plans",
    "jurisdictions",
    "catalogue_loads",
    "rulesets",
    "ruleset_activations",
    "oauth_clients",
    "launches",
}
"""Tables that belong to no company, and hold nothing of one."""


@pytest.fixture(scope="module")
def owner(service) -> Caller:
    return service.joined(per_minute=10_000)


@pytest.fixture(scope="module")
def stranger(service) -> Caller:
    return service.joined(per_minute=10_000)


@dataclass(frozen=True)
class Operation:
    """An operation as the document publishes it."""

    request: dict[str, Any]
    """One that its own company may make."""
    references: list[tuple[str, ...]]
    """The places of its body that hold an id."""
    answers: set[str]
    """The media types of its successes."""


@pytest.fixture(scope="module")
def operations(service) -> dict[str, Operation]:
    """Every operation of v1 on records by its name, but for the one that empties its own company."""
    document = good(service.send("GET", "/api/v1/openapi.json"))
    named = {
        f"{method.upper()} {path.removeprefix('/api/v1')}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/api/v1") and "x-scope" in operation
    }
    return {name: read(name, named[name], document["components"]) for name in named if name != RESET}


def read(name: str, operation: dict[str, Any], components: dict[str, Any]) -> Operation:
    """The operation with the body that the document shows; what would remove a record says only that it would."""
    body = operation.get("requestBody", {}).get("content", {})
    request = {"params": {"dry_run": "true"}} if name.startswith("DELETE ") else {}
    if name in VALID:
        request = deepcopy(VALID[name])
    elif body:
        assert set(body) == {"application/json"}, f"teach this test a valid request of {name}"
        request["json"] = body["application/json"]["examples"]["example"]["value"]
    found = references(body.get("application/json", {"schema": {}})["schema"], components)
    answers = (answer for status, answer in operation["responses"].items() if status < "300")
    return Operation(request, [*found], {kind for answer in answers for kind in answer.get("content", {})})


@pytest.fixture(scope="module")
def records(owner, operations) -> dict[str, str]:
    """The id of one record of each kind that the owner holds; of drafts, one more that stays open."""
    asked = {name: operation.request.get("json") for name, operation in operations.items()}
    made = {
        "brands": owner.added("brand", name="Own"),
        "sites": owner.added("site", name="Own", roles="packing"),
        "suppliers": owner.added("supplier", name="Own"),
        "components": owner.added("component", code="OWN", name="Own", component_type="cap", material_family="glass"),
        "skus": owner.made(**ROW, components=PARTS),
        "imports": owner.imported(b"sku_code;name\nISO;Isolated\n;Nameless\n"),
    }
    proven = good(owner.post("/skus", ROW | {"sku_code": "PROVEN"}))["data"]["id"]
    made["files"] = good(owner.request("POST", f"/skus/{proven}/files", **UPLOAD))["data"]
    good(owner.put("/registers", asked["PUT /registers"]))
    made["marks"] = made["skus"]
    good(owner.put(f"/marks/{made['marks']['id']}", asked["PUT /marks/{id}"]))
    rested = good(owner.post("/skus", ROW | {"sku_code": "RESTED"}))["data"]["id"]
    good(owner.post(f"/skus/{rested}/archive", {}))
    good(owner.put("/words", asked["PUT /words"]))
    owner.imported(b"sku_code;name\nISO;Isolated\n", mapping='{"columns": {"name": "name"}}', mapping_name="Own")
    made["part"] = made["skus"]["components"][0]
    made["mappings"] = good(owner.get("/mappings"))["data"][0]
    owner.added("doc", sku="ISO", reference="Own", status="valid")
    figures(owner)
    made["declarations"] = good(owner.post("/declarations", asked["POST /declarations"]))["data"]
    enquiry = owner.post("/supplier-enquiries", asked["POST /supplier-enquiries"])
    made["supplier-enquiries"] = good(enquiry)["data"]
    made["supplier-requests"] = good(owner.post("/supplier-requests", asked["POST /supplier-requests"]))
    made["exports"] = good(owner.post("/exports", asked["POST /exports"]))["data"]
    until(lambda: good(owner.get(f"/exports/{made['exports']['id']}"))["data"]["status"] == "completed")
    made["webhooks"] = good(owner.post("/webhooks", asked["POST /webhooks"]))["data"]
    asked["POST /webhooks/{id}/replay"]["after"] = good(owner.get("/changes"))["data"][0]["cursor"]
    sku = made["skus"]["id"]
    _, first, second = (good(owner.post(f"/skus/{sku}/doc-drafts", {}))["data"] for _ in range(3))
    issue = {
        "points": {point["key"]: "Own" for point in first["points"] if point["open"]},
        **dict.fromkeys(("on_behalf_of", "signatory", "function", "place"), "Own"),
        "issued_on": first["drafted_at"][:10],
    }
    asked["POST /doc-drafts/{id}/issue"].update(issue)
    made |= {"docs": good(owner.post(f"/doc-drafts/{first['id']}/issue", issue))["data"], "doc-drafts": second}
    return {kind: record["id"] for kind, record in made.items()}


def figures(owner: Caller) -> None:
    """Figures with a row in each of their lists: a part is weighed, another is not, and nobody says who uses it.

    They are of a SKU that no test writes to: the deployment computes figures anew whenever it has seen later writes.
    """
    sku = owner.made(sku_code="PLACED", components=PARTS)
    good(owner.put(f"/skus/{sku['id']}/volumes", [{"market": "DE", "year": 2025, "units_placed": 1}]))
    owner.server.place.pcds("rollup", "--company", owner.company)


@pytest.fixture(scope="module")
def call(operations, records) -> Callable[..., Any]:
    """Sends the request of an operation as some caller, with the owner's ids in its path."""

    def sent(caller: Caller, name: str, **change: Any):
        method, _, path = name.partition(" ")
        path = path.replace("{id}", records.get(path.split("/")[1], ""))
        return caller.request(method, path, **{**operations[name].request, **change})

    return sent


def references(schema: dict[str, Any], schemas: dict[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of a body's schema that hold an id, as the names that lead there; `[]` is an element."""
    if "$ref" in schema:
        yield from references(schemas["schemas"][schema["$ref"].rpartition("/")[2]], schemas, at)
    for part in (*schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])):
        yield from references(part, schemas, at)
    if schema.get("format") == "uuid":
        yield at
    for name, part in schema.get("properties", {}).items():
        yield from references(part, schemas, (*at, name))
    if isinstance(schema.get("items"), dict):
        yield from references(schema["items"], schemas, (*at, "[]"))


def holding(body: Any, at: tuple[str, ...], value: str) -> Any:
    """The body with a value at a place, made where it is not there yet."""
    if not at:
        return value
    step, *rest = at
    if step == "[]":
        first = body[0] if body else dict(LINE)
        return [holding(first, tuple(rest), value)]
    inner = body.get(step, [] if rest[:1] == ["[]"] else {})
    return {**body, step: holding(inner, tuple(rest), value)}


@pytest.mark.promise("SVC-02", "SVC-03", "ERR-05")
def test_every_published_operation_is_tried(operations):
    assert len(operations) >= 70
    assert set(VALID) <= set(operations)


@pytest.mark.promise("SVC-02", "ERR-05")
def test_every_id_in_a_path_is_unknown_to_the_other_company(operations, call, owner, stranger, records):
    stranger.made(**ROW)
    addressed = [name for name in operations if "{id}" in name]
    assert len(addressed) >= 6
    bearing = stranger.bearing()
    for name in addressed:
        for headers in ({}, {"Idempotency-Key": name}):
            refused(call(stranger, name, headers=headers), 404, "not_found")
        own = call(owner, name)
        assert own.is_success, name
        if own.status_code in (201, 202):  # what was made is where the answer says
            assert owner.get(own.headers["Location"].removeprefix("/api/v1")).is_success, name
        assert call(bearing, name).status_code == 404
    assert stranger.data("/skus")[0]["name"] == ROW["name"]
    assert len(owner.data(f"/skus/{records['skus']}/files")) == 1


@pytest.mark.promise("SVC-02", "INP-16", "ERR-05")
def test_every_id_in_a_body_is_unknown_to_the_other_company(operations, call, owner, stranger, records):
    tried = []
    for name, operation in operations.items():
        for at in operation.references:
            field = [step for step in at if step != "[]"][-1]
            assert field in KINDS, f"teach this test what {at} of {name} refers to"
            filled = holding(deepcopy(operation.request["json"]), at, records[KINDS[field]])
            if at[0] == "ids":  # beside them the SKUs of a change are not all
                del filled["all"]
            own, anywhere = call(owner, name, json=filled), f"POST /{name.split('/')[1]}"
            if name == "PUT /marks/{id}":
                foreign = stranger.put(f"/marks/{stranger.made(**ROW)['id']}", filled)
            else:
                foreign = call(stranger, anywhere if "{id}" in name else name, json=filled)
            assert own.is_success, (name, at, own.text)
            issues = foreign.json().get("details") or foreign.json()["results"][0]["errors"]
            assert [issue["code"] for issue in issues] == ["unknown_reference"], (name, at)
            tried.append(field)
            if own.status_code == 202:  # an import, whose report says what became of each row
                continue
            row = good(own).get("results", [good(own)])[0]
            if name in ("PUT /registers", "PUT /marks/{id}"):  # they answer what follows
                assert records["files"] in str(row["data"])
                continue
            assert row["outcome"] in ("created", "updated", "unchanged"), (name, at, row)
    assert len(tried) >= 15
    assert set(tried) == set(KINDS)


@pytest.mark.promise("SVC-02", "WRT-04")
def test_every_id_in_a_file_is_unknown_to_the_other_company(owner, stranger, records):
    # A declaration is corrected by one of its own; a part, the SKUs of a change and a proof are named in JSON alone.
    fields = [field for field in KINDS if field not in ("corrects", "id", "ids", "component_ids", "proof_id")]
    header = ["sku_code", "name", "component_type", "material_family", *fields]
    lines = [header]
    for field in fields:
        part = ["body", "glass"] if field in ("supplier_id", "component_id") else ["", ""]
        ids = [records[KINDS[field]] if each == field else "" for each in fields]
        lines.append([f"FILE-{field}", "File", *part, *ids])
    file = "".join(";".join(line) + "\n" for line in lines).encode()
    assert owner.imported(file)["counts"]["rejected"] == 0
    found = stranger.imported(file)["errors"]
    assert [(error["field"], error["code"]) for error in found] == [(field, "unknown_reference") for field in fields]


@pytest.mark.promise("SVC-02", "SVC-03")
def test_no_list_shows_a_record_of_the_other_company(operations, call, owner, service, records):
    empty = service.joined()
    lists = [name for name in operations if name.startswith("GET ") and "{" not in name]
    files = {name for name in lists if "application/json" not in operations[name].answers}
    assert (len(lists) >= 20, len(files)) == (True, 4)
    widened = {
        "company_id": owner.company,
        "company": owner.company,
        "all": "true",
        "sku_code": ROW["sku_code"],
        "actor": owner.client_id,
        "updated_since": "2020-01-01T00:00:00Z",
    }
    theirs = [*records.values(), owner.company, owner.client_id]
    for name in files:  # a line of headers, then a line for each record
        assert len(call(owner, name).text.splitlines()) > 1, name
        for params in ({}, widened):
            [headers] = call(empty, name, params=params).text.splitlines()
            assert not [found for found in theirs if found in headers], name
    for name in set(lists) - files:
        assert good(call(owner, name))["data"], name
        for params in ({}, widened):
            page = good(call(empty, name, params=params))
            assert not [found for found in theirs if found in str(page)], name
            assert page["data"] == [] or name in ("GET /audit-log", "GET /me", "GET /roles")


@pytest.mark.promise("SVC-02")
def test_no_table_shows_a_row_to_a_session_of_no_or_another_company(database, records, owner, stranger):
    tables = """
        SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
               EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid),
               (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND NOT attisdropped
                 AND attname = CASE c.relname WHEN 'companies' THEN 'id' ELSE 'company_id' END),
               has_table_privilege('pcds_app', c.oid, 'SELECT')
        FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        """
    with psycopg.connect(database.owner_url) as connection:
        found = connection.execute(tables).fetchall()
    held = {name: (secured, policy, readable) for name, secured, policy, column, readable in found if column}
    assert len(held) >= 12
    assert {name for name, (secured, policy, _) in held.items() if not (secured and policy)} == set()
    shared = {name for name, *_, column, readable in found if column is None and readable}
    assert shared <= WITHOUT_COMPANY, "a table that the application reads belongs to a company or to nobody"
    columns = {name: column for name, _, _, column, _ in found if column}
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        for name, (_, _, readable) in held.items():
            if not readable:
                continue
            assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,), name
            with connection.transaction():
                connection.execute("SELECT set_config('app.company_id', %s, true)", [stranger.company])
                foreign = f"SELECT count(*) FROM {name} WHERE {columns[name]} <> %s"
                assert connection.execute(foreign, [stranger.company]).fetchone() == (0,), name
