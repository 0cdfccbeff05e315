"""The published documents: OpenAPI, its reference pages, and the schema of a supplier's answer."""

import re
from datetime import date

import pytest

from tests.contract.outside import good
from tests.contract.samples import VALUES
from tests.contract.shapes import FIELDS
from tests.openapi import CONTRACT

PUBLIC = {
    "/api/v1/jurisdictions",
    "/api/v1/openapi.json",
    "/api/v1/schemas/supplier-data-response",
    "/api/v1/oauth/token",
}
SUPPLIER_SCHEMA = "/schemas/supplier-data-response"


@pytest.fixture(scope="module")
def document(service):
    return good(service.send("GET", "/api/v1/openapi.json"))


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


@pytest.mark.promise("SVC-04", "END-02", "VER-01", "VER-04")
def test_the_document_is_public_openapi_3_1_of_this_version(document):
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == "1.8.0"
    assert {path for path in document["paths"] if path.startswith("/api/")} == {
        *(path for path in document["paths"] if path.startswith("/api/v1/")),
        "/api/supplier-data/{token}",
    }


@pytest.mark.promise("END-01", "SVC-11")
@pytest.mark.parametrize(("method", "path"), sorted(CONTRACT))
def test_every_endpoint_of_the_table_is_stable_and_served(document, shop, method, path):
    operation = document["paths"][f"/api/v1{path}"][method.lower()]
    assert operation["x-stability"] == "stable"
    answer = shop.request(method, path.replace("{id}", "00000000-0000-4000-8000-000000000000"))
    assert (answer.status_code, answer.json().get("error")) != (405, "not_found")
    assert answer.status_code != 404 or "{id}" in path
    assert str(answer.status_code) in operation["responses"]


@pytest.mark.promise("SVC-11")
def test_nothing_that_is_published_is_beta(document):
    assert {operation["x-stability"] for _, _, operation in operations(document)} == {"stable", "preview"}


@pytest.mark.promise("SVC-11")
def test_what_may_still_change_says_so_in_its_description(document):
    said = "Preview: it may still change."
    for method, path, operation in operations(document):
        assert operation["description"].endswith(said) == (operation["x-stability"] == "preview"), (method, path)
        for parameter in operation["parameters"]:
            if "schema" in parameter:
                is_preview = parameter["schema"].get("x-stability") == "preview"
                assert parameter["description"].endswith(said) == is_preview, (method, path, parameter["name"])


@pytest.mark.promise("SVC-07", "KEY-02")
def test_every_other_operation_asks_for_a_credential(document, service):
    for method, path, operation in operations(document):
        answer = service.send(method, path.replace("{id}", "00000000-0000-4000-8000-000000000000"))
        if path in PUBLIC or not path.startswith("/api/v1"):
            assert answer.status_code != 401 or path == "/api/v1/oauth/token"
        else:
            assert (answer.status_code, operation.get("security", [{}]) != [{}]) == (401, True), (method, path)


@pytest.mark.promise("SVC-06", "INP-03")
def test_the_bodies_of_the_document_are_what_the_handlers_take(document, shop):
    schemas = document["components"]["schemas"]
    published = schemas["SkuInput"]
    assert published["additionalProperties"] is False
    assert published["required"] == ["sku_code", "name"]
    fields = {
        "sku_code",
        "name",
        "brand_id",
        "manufacturing_site_id",
        "packing_site_id",
        "substances",
        "substances_source",
        *VALUES,
    }
    assert set(published["properties"]) == fields
    for name in fields:
        answer = shop.post("/skus?dry_run=1", {"sku_code": "DOC", "name": "N", name: {"no": "such"}})
        codes = {issue["code"] for issue in answer.json()["details"] if str(issue["field"]).startswith(name)}
        assert answer.status_code == 400
        assert name == "substances" or "unknown_field" not in codes, name


@pytest.mark.promise("SVC-06", "INP-06")
def test_the_legacy_fields_are_marked_deprecated(document):
    properties = document["components"]["schemas"]["SkuInput"]["properties"]
    deprecated = {name for name, schema in properties.items() if schema.get("deprecated")}
    assert deprecated == {"pfas_intentional", "svhc_declared", "bpa_present", "heavy_metals_sum_ppm"}


@pytest.mark.promise("SVC-05")
def test_the_reference_is_a_public_page_of_every_operation_and_field(service):
    page = service.send("GET", "/reference")
    pages, seen = page.text, set()
    waiting = list(re.findall(r'href="(/reference[^"#?]*)', page.text))
    assert (page.status_code, page.headers["Content-Type"].partition(";")[0]) == (200, "text/html")
    while waiting:
        link = waiting.pop()
        if link in seen:
            continue
        seen.add(link)
        answer = service.send("GET", link)
        assert answer.status_code == 200, link
        if "html" in answer.headers["Content-Type"]:
            pages += answer.text
            waiting += re.findall(r'href="(/reference[^"#?]*)', answer.text)
    for _, path in CONTRACT:
        assert path.replace("{", "").split("}")[0].rpartition("/")[0] in pages
    names = {row["field"] for row in FIELDS if row["record"] in ("SkuListItem", "SkuComponent", "TechnicalFile")}
    assert [name for name in (*VALUES, *names) if name not in pages] == []
    assert not re.search(r'(?:src|href)="(?:https?:)?//(?!127\.0\.0\.1)', pages), "everything is served by us"


@pytest.mark.promise("SCH-01", "SCH-02", "END-02")
def test_the_supplier_schema_is_public_versioned_and_dated(service):
    schema = good(service.send("GET", f"/api/v1{SUPPLIER_SCHEMA}"))
    assert "2020-12" in schema["$schema"]
    assert schema["version"]
    assert date.fromisoformat(schema["date"])
    assert schema["type"] == "object"
    assert set(schema["properties"]) == {"components", "contact", "comment"}
    assert (schema.get("required", []), schema["additionalProperties"]) == ([], False)
    item = schema["properties"]["components"]
    found = re.findall(r"'\$ref': '#/\$defs/(\w+)'", str(item))
    line = schema["$defs"][found[0]] if found else item["items"]
    assert {"component_id", "material_family", "weight_g", "substances", "colour"} <= set(line["properties"])
    assert "component_type" not in line["properties"]
    assert (line.get("required", []), line["additionalProperties"]) == ([], False)
