"""The collection at /reference/collection.json: every operation once, and requests that a client can send."""

import json
import re
from base64 import b64encode
from typing import Any

from api.reference.collection import collection
from tests.openapi import document

DOCUMENT = document()


def requests() -> dict[str, dict[str, Any]]:
    """The requests by folder and name."""
    folders = collection(DOCUMENT)["item"]
    return {f"{folder['name']}/{each['name']}": each["request"] for folder in folders for each in folder["item"]}


def operation_of(request: dict[str, Any]) -> str:
    path = "/" + "/".join(request["url"]["path"])
    for published, methods in DOCUMENT["paths"].items():
        pattern = re.sub(r"\\{(\w+)\\}", lambda name: re.escape(f"{{{{{name[1].upper()}}}}}"), re.escape(published))
        if re.fullmatch(pattern, path) and request["method"].lower() in methods:
            return methods[request["method"].lower()]["operationId"]
    raise AssertionError(path)


def sent(caller: Any, request: dict[str, Any], **names: str) -> Any:
    """Send a request as a client that has put the variables in does, without what is switched off."""
    variables = {"BASE": "", "KEY": caller.key, "CLIENT_ID": str(caller.client_id), **names}
    text = re.sub(r"\{\{([A-Z_]+)\}\}", lambda name: variables[name[1]], json.dumps(request))
    given = json.loads(text)
    headers = {each["key"]: each["value"] for each in given["header"] if not each.get("disabled")}
    auth = given.get("auth", collection(DOCUMENT)["auth"])
    match auth["type"], {each["key"]: each["value"] for each in auth.get(auth["type"], ())}:
        case "basic", pair:
            headers["Authorization"] = "Basic " + b64encode(f"{pair['username']}:{pair['password']}".encode()).decode()
        case "apikey", pair:
            headers[pair["key"]] = caller.key
    body = given.get("body", {}).get("raw")
    return caller.http.request(given["method"], given["url"]["raw"], content=body, headers=headers)


def test_it_has_every_operation_of_the_document_once():
    operations = [op["operationId"] for methods in DOCUMENT["paths"].values() for op in methods.values()]
    assert sorted(map(operation_of, requests().values())) == sorted(operations)


def test_every_variable_that_a_request_asks_for_is_declared():
    declared = {each["key"] for each in collection(DOCUMENT)["variable"]}
    assert set(re.findall(r"\{\{([A-Z_]+)\}\}", json.dumps(requests()))) == declared


def test_requests_of_it_can_be_sent(caller):
    by_operation = {operation_of(request): request for request in requests().values()}
    sku = caller.made()["id"]
    statuses = {"post_brand": 201, "get_sku": 200, "put_volumes": 200, "list_skus": 200, "post_archive": 200}
    for name, status in (statuses | {"list_jurisdictions": 200, "post_token": 200}).items():
        answer = sent(caller, by_operation[name], ID=sku)
        assert answer.status_code == status, (name, answer.text)


def test_it_is_served_and_may_be_kept(http):
    first = http.get("/reference/collection.json")
    assert first.json()["info"]["schema"].endswith("/v2.1.0/collection.json")
    assert first.json() == json.loads(json.dumps(collection(DOCUMENT)))
    again = http.get("/reference/collection.json", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
