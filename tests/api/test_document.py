"""The OpenAPI document: every operation is described, its bodies are the validating models, its errors are coded."""

import time
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from fastapi import FastAPI

from api.app import build_app
from api.openapi import document as module
from api.openapi.document import table
from schemas.fields import COMPONENT, SKU
from schemas.issues import ISSUE_CODES
from schemas.refusals import ERROR_CODES
from tests.api.published import Published
from tests.openapi import CONTRACT, OURS, document

DOCUMENT = document()
PUBLISHED = Published(DOCUMENT)
OPERATIONS = {(m.upper(), p): o for p, ms in DOCUMENT["paths"].items() for m, o in ms.items()}


def test_it_is_openapi_3_1_and_has_the_operations():
    assert DOCUMENT["openapi"].startswith("3.1")
    assert DOCUMENT["info"]["version"] == "1.8.0"
    stable = {key for key, operation in OPERATIONS.items() if operation["x-stability"] == "stable"}
    ours = {(m, p.removeprefix("/api/v1")) for m, p in stable if p.startswith("/api/v1")}
    assert ours == CONTRACT | OURS


@pytest.mark.parametrize("key", OPERATIONS, ids=" ".join)
def test_every_operation_is_described(key):
    operation = OPERATIONS[key]
    assert operation["summary"]
    assert operation["description"]
    assert operation["x-stability"] in ("preview", "stable")
    assert "422" not in operation["responses"]
    for status, response in operation["responses"].items():
        assert response["description"], status
        for code in response.get("x-error-codes", ()):
            assert code in response["content"]["application/json"]["examples"], status
            # A file of a kind that is not taken has a status of its own (interface v1, Errors), as has a fault that
            # passes (decisions §13, Operation).
            own = {("415", "invalid_body"), ("503", "internal_error")}
            assert str(ERROR_CODES[code].status) == status or (status, code) in own


def null_defaults(node, place=""):
    """Every place of a schema or document where a default of null is published."""
    if isinstance(node, dict):
        if node.get("default", ...) is None:
            yield place
        node = {name: part for name, part in node.items() if name not in ("example", "examples")}
    for name, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from null_defaults(part, f"{place}/{name}")


def test_nothing_that_may_be_left_out_has_a_default_of_null():
    """Left out means untouched, null means cleared: a generated client would send the null."""
    assert not list(null_defaults(DOCUMENT))


def test_every_error_code_of_the_contract_is_enumerated():
    assert set(DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]) >= {
        "missing_api_key",
        "invalid_api_key",
        "rate_limited",
        "invalid_token",
        "insufficient_scope",
        "invalid_request",
        "invalid_client",
        "unsupported_grant_type",
        "invalid_scope",
        "invalid_grant",
        "not_found",
        "invalid_body",
        "payload_too_large",
        "idempotency_key_reuse",
        "plan_limit_reached",
        "not_implemented",
        "internal_error",
    }


def test_operation_ids_are_unique():
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(ids) == len(set(ids))


def test_only_public_operations_need_no_key():
    public = {path for (_, path), operation in OPERATIONS.items() if "x-scope" not in operation}
    assert public == {
        "/api/v1/oauth/token",
        "/api/v1/jurisdictions",
        "/api/v1/openapi.json",
        "/api/v1/schemas/supplier-data-response",
        "/api/supplier-data/{token}",
        "/healthz",
        "/readyz",
    }


def test_bodies_are_the_models_of_the_field_tables():
    schemas = DOCUMENT["components"]["schemas"]
    assert list(schemas["SkuInput"]["properties"]) == list(SKU)
    assert list(schemas["SkuComponentInput"]["properties"]) == ["id", *COMPONENT]  # decisions §13
    assert schemas["SkuInput"]["additionalProperties"] is False
    assert schemas["SkuInput"]["required"] == ["sku_code", "name"]
    assert schemas["SkuInput"]["properties"]["bpa_present"]["deprecated"] is True


def test_every_reference_leads_somewhere():
    def references(node):
        if isinstance(node, dict):
            yield from (v for k, v in node.items() if k == "$ref")
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    components = DOCUMENT["components"]
    held = {f"#/components/{kind}/{name}" for kind, parts in components.items() for name in parts}
    assert set(references(DOCUMENT)) <= held


@pytest.mark.parametrize("key", OPERATIONS, ids=" ".join)
def test_every_operation_has_examples_that_are_true(key):
    operation = OPERATIONS[key]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        assert content["schema"].get("format") == "binary" or content["examples"]
    for status, answer in operation["responses"].items():
        for content in answer.get("content", {}).values():
            for example in content.get("examples", {}).values():
                body = example["value"]
                headers = dict.fromkeys(answer["headers"], "given")
                assert not list(PUBLISHED.faults(*key, int(status), headers, body))
    best = min(status for status in operation["responses"] if status.startswith("2"))
    contents = operation["responses"][best]["content"]
    assert all(content["examples"] for content in contents.values() if content["schema"].get("format") != "binary")


def test_an_example_shows_what_a_dry_run_would_do_to_grades():
    answer = OPERATIONS["GET", "/api/v1/imports/{id}"]["responses"]["200"]["content"]["application/json"]
    shown = answer["examples"]["dry_run"]["value"]
    assert (shown["dry_run"], bool(shown["preview"]["grades"]), bool(shown["preview"]["changed"])) == (True,) * 3
    assert "preview" not in answer["examples"]["example"]["value"]


def test_every_error_code_and_issue_code_is_published_with_what_to_do():
    for code in (*ERROR_CODES.values(), *ISSUE_CODES.values()):
        assert code.meaning.endswith(".")
        assert code.remedy.endswith(".")


def test_every_field_says_what_it_means_and_no_meaning_is_left_over():
    schemas = DOCUMENT["components"]["schemas"]
    fields = {
        (name, field): about
        for name, schema in schemas.items()
        for field, about in schema.get("properties", {}).items()
    }
    assert [key for key, about in fields.items() if not about.get("description")] == []
    names = {field for _, field in fields}
    assert {(name, field) for name, field in table() if (name, field) not in fields and name != "*"} == set()
    assert {field for name, field in table() if name == "*"} <= names


def test_the_document_is_the_same_bytes_each_time():
    assert orjson.dumps(build_app().openapi()) == orjson.dumps(DOCUMENT)


def test_the_served_document_is_this_one(http):
    assert http.get("/api/v1/openapi.json").json() == DOCUMENT


def test_several_that_ask_while_it_is_built_get_the_one_that_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[FastAPI] = []

    def build(app: FastAPI) -> dict[str, object]:
        built.append(app)
        time.sleep(0.05)  # the others ask meanwhile
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(module, "_build", build)
    app = FastAPI()
    module.install(app)
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: app.openapi(), range(4)))
    assert len(built) == 1
    assert all(answer is answers[0] for answer in answers)
