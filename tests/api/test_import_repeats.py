"""POST /imports/{id}/repeat: the file of an earlier import again, with another mapping or as another kind of run."""

from uuid import uuid4

import pytest

from schemas.imports.types import ImportAccepted
from tests.api.portfolios import run
from tests.api.published import published

CSV = b"Ours;What\nI-1;Bottle\nI-2;Tray\n"
MAPPING = {"columns": {"sku_code": "A", "name": "What"}}


@pytest.fixture
def first(caller):
    """A dry run with the columns the wrong way round."""
    wrong = '{"columns": {"sku_code": "What", "name": "Ours"}}'
    query = {"filename": "list.csv", "dry_run": "true", "mapping": wrong}
    answer = caller.request("POST", "/imports", content=CSV, params=query)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def repeat(caller, import_id, body, **headers):
    return caller.post(f"/imports/{import_id}/repeat", body, headers=headers)


def test_a_dry_run_is_imported_with_the_right_columns(caller, first):
    answer = repeat(caller, first, {"mapping": MAPPING})
    assert answer.status_code == 202, answer.text
    published(ImportAccepted, answer.json())
    accepted = answer.json()
    assert (accepted["dry_run"], accepted["filename"], accepted["rows"]) == (False, "list.csv", 2)
    assert accepted["id"] != first
    assert accepted["source"]["samples"] == {"A": ["I-1", "I-2"], "B": ["Bottle", "Tray"]}
    run(caller, accepted["id"])
    assert {sku["sku_code"]: sku["name"] for sku in caller.get("/skus").json()["data"]} == {
        "I-1": "Bottle",
        "I-2": "Tray",
    }


def test_a_repeat_may_be_a_dry_run_again(caller, first):
    answer = repeat(caller, first, {"mapping": MAPPING, "dry_run": True})
    assert answer.json()["dry_run"] is True
    run(caller, answer.json()["id"])
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_one_idempotency_key_imports_once(caller, first):
    key = str(uuid4())
    one, two = (repeat(caller, first, {"mapping": MAPPING}, **{"Idempotency-Key": key}) for _ in range(2))
    assert one.json()["id"] == two.json()["id"]
    assert two.headers["Idempotent-Replayed"] == "true"
    other = repeat(caller, first, {"mapping": {"columns": {"sku_code": "A", "name": "A"}}}, **{"Idempotency-Key": key})
    assert (other.status_code, other.json()["error"]) == (409, "idempotency_key_reuse")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"mapping": {"columns": {"sku_code": "Z"}}}, "invalid_mapping"),
        ({"mapping": {"colums": {}}}, "invalid_mapping"),
        ({}, "missing_column"),
        ({"dry_run": "yes"}, "invalid_type"),
        ({"mappings": {}}, "unknown_field"),
        ([], "invalid_type"),
    ],
)
def test_what_cannot_be_is_refused(caller, first, body, code):
    answer = repeat(caller, first, body)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body"), answer.text
    assert {issue["code"] for issue in answer.json()["details"]} == {code}


def test_only_the_companys_own_imports_are_there(caller, first, join):
    assert repeat(join(), first, {"mapping": MAPPING}).status_code == 404
    assert repeat(caller, uuid4(), {"mapping": MAPPING}).status_code == 404
    assert repeat(caller, "x", {"mapping": MAPPING}).status_code == 404


def test_a_file_that_made_room_for_another_is_asked_for_again(caller, first):
    objects = caller.http.app.state.service.objects
    objects.delete(f"{caller.company}/imports/{first}/upload")
    answer = repeat(caller, first, {"mapping": MAPPING})
    assert answer.status_code == 400
    assert "Send it again" in answer.json()["details"][0]["message"]
    german = repeat(caller, first, {"mapping": MAPPING}, **{"Accept-Language": "de"})
    assert german.headers["Content-Language"] == "de"


def test_a_key_that_may_only_read_is_refused(caller, first, join):
    reader = join(scopes=["read"])
    assert repeat(reader, first, {"mapping": MAPPING}).status_code == 403
