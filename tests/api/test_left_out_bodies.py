"""A POST whose body has only members that may be left out takes no body as it takes one without members."""

from uuid import uuid4

import pytest

from tests.api.portfolios import run
from tests.openapi import document

PUBLISHED = document()


def is_optional(operation):
    """Whether no member of the operation's JSON body is required."""
    schema = operation["requestBody"]["content"].get("application/json", {}).get("schema", {})
    model = PUBLISHED["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2])
    return model is not None and not model.get("required")


WITH_BODY = {
    (method, path): operation
    for path, operations in PUBLISHED["paths"].items()
    for method, operation in operations.items()
    if "requestBody" in operation
}
POSTS = sorted(path for (method, path), operation in WITH_BODY.items() if method == "post" and is_optional(operation))
SENT = {
    "nothing": {},
    "no type": {"content": b"{}"},
    "an empty form": {"content": b"", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    "an empty text of JSON": {"content": b" \r\n", "headers": {"Content-Type": "application/json"}},
    "no member": {"json": {}},
}


def test_the_document_says_which_bodies_may_be_left_out():
    assert len(POSTS) >= 9
    for (method, path), operation in WITH_BODY.items():
        assert operation["requestBody"]["required"] is not (method == "post" and path in POSTS), (method, path)


@pytest.mark.parametrize("path", POSTS)
def test_no_body_is_one_without_members_wherever_none_is_required(caller, path):
    place = path.removeprefix("/api/v1").replace("{id}", str(uuid4()))
    assert {name: caller.request("POST", place, **sent).status_code for name, sent in SENT.items()} == dict.fromkeys(
        SENT, 404
    ), "the record is not there; the body is as it may be"
    assert caller.request("POST", place, content=b"null").status_code == 400
    assert caller.request("POST", place, content=b"{").status_code == 400


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_an_item_is_archived_and_brought_back_without_a_reason(caller, sent):
    made = caller.made()
    for action in ("archive", "return"):
        answer = caller.request("POST", f"/skus/{made['id']}/{action}", **sent)
        assert answer.status_code == 200, answer.text
    assert caller.get("/skus").json()["pagination"]["total"] == 1


def test_an_import_is_undone_without_a_reason_and_repeated_without_a_mapping(caller):
    made = caller.request("POST", "/imports?filename=jars.csv", content=b"sku_code,name\nA-1,Jar\n").json()
    run(caller, made["id"])
    path = f"/imports/{made['id']}"
    assert caller.request("POST", f"{path}/undo").status_code == 200
    assert caller.get("/skus/archived").json()["pagination"]["total"] == 1
    assert caller.request("POST", f"{path}/repeat").status_code == 202


def test_a_body_sent_with_a_key_and_one_left_out_are_the_same_request(caller):
    made, once = caller.made(), {"Idempotency-Key": str(uuid4())}
    first = caller.request("POST", f"/skus/{made['id']}/archive", headers=once)
    again = caller.request("POST", f"/skus/{made['id']}/archive", headers=once, json={})
    assert (first.status_code, again.headers.get("Idempotent-Replayed")) == (200, "true")


def test_a_put_or_patch_without_a_body_is_refused_as_lost(caller):
    made = caller.made()
    for method, path in (("PATCH", f"/skus/{made['id']}"), ("PUT", "/roles"), ("PUT", "/words")):
        answer = caller.request(method, path)
        assert (answer.status_code, answer.json()["details"][0]["message"]) == (400, "The body is empty; send JSON.")
