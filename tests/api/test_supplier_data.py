"""POST /api/supplier-data/{token}: what is taken, what is refused, how often, and that nothing is applied by itself."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from schemas.suppliers import SupplierSubmissionAccepted
from services.review import compare
from services.review import decide as decide_review
from services.review import entries as entries_review
from tests.api.asking import BODY, ask
from warehouse.review import entries
from warehouse.rules import Rulesets

PERSON = Origin("user", str(uuid4()), "Ada Marsh", "c-2")
PET = {"polymer_or_grade": "rPET, clear", "weight_g": 18.5, "colour": "transparent"}


@pytest.fixture
def asked(caller, pool):
    return ask(caller, pool)


def open_entries(pool, company):
    with pool.company(company) as conn:
        return entries.page(conn)[0]


def decide(pool, asked, clock, how, **more):
    [entry] = open_entries(pool, asked.company)
    with pool.company(asked.company) as conn:
        return how(conn, Actor(asked.company, PERSON, clock.now()), entry.id, rulesets=Rulesets(), **more)


def issues(answer):
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body"), answer.text
    return [(issue["field"], issue["code"]) for issue in answer.json()["details"]]


def test_from_the_request_to_the_record(asked, caller, pool, clock):
    before = caller.get(f"/skus/{asked.sku_id}").json()["data"]
    answer = asked.answer({"component_id": asked.components[0], **PET}, contact="q@preformes.example")
    assert answer.status_code == 202, answer.text
    SupplierSubmissionAccepted.model_validate_json(answer.content, extra="forbid")
    first = answer.json()["submission_id"]
    assert caller.get(f"/skus/{asked.sku_id}").json()["data"] == before, "nothing is applied by itself"
    second = asked.answer({"component_id": asked.components[0], **PET, "weight_g": 19}).json()["submission_id"]
    assert [str(entry.id) for entry in open_entries(pool, caller.company)] == [second]
    with pool.company(caller.company) as conn:
        assert entries_review.load_entry(conn, UUID(first)).state == "replaced"
    decide(pool, asked, clock, decide_review.reject, reason="Which plant?")
    third = asked.answer({"component_id": asked.components[0], **PET, "weight_g": None}).json()["submission_id"]
    decide(pool, asked, clock, decide_review.accept, reason="Confirmed")
    after = caller.get(f"/skus/{asked.sku_id}").json()["data"]
    body, cap = after["components"]
    assert (body["polymer_or_grade"], body["colour"], body["weight_g"]) == ("rPET, clear", "transparent", 20)
    assert cap == before["components"][1], "a component that was not answered for stays"
    assert [line["id"] for line in after["components"]] == asked.components
    for body in ({"consent": True, "response": {}}, {}):
        gone = asked.post(body)
        assert (gone.status_code, gone.json()["error"]) == (404, "not_found")
    entries = caller.get("/audit-log?actor=user").json()["data"]
    assert [(e["action"], e["reason"]) for e in reversed(entries)] == [
        ("supplier_submission.rejected", "Which plant?"),
        ("sku.updated", f"supplier_submission {third} accepted: Confirmed"),
        ("supplier_submission.accepted", "Confirmed"),
    ]
    filed = caller.get("/audit-log?action=supplier_submission.filed").json()["data"]
    assert [entry["resource_id"] for entry in filed] == [third, second, first]
    assert filed[0]["actor"] == {"type": "supplier", "id": str(asked.id), "name": "Préformes du Rhône"}


def test_a_substance_is_laid_over_the_others_and_attested_by_the_supplier(caller, pool, clock):
    held = {**BODY, "substances": {"bpa": {"status": "absent"}, "svhc": {"status": "unknown"}}}
    asked = ask(caller, pool, components=[held])
    told = {"pfas": {"status": "below_limit", "value": 3, "unit": "ppb"}, "svhc": {"status": "absent"}, "bpa": None}
    assert asked.answer({"substances": told}).status_code == 202, "one component need not be named"
    decide(pool, asked, clock, decide_review.accept)
    [line] = caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"]
    found = {name: entry and (entry["status"], entry["source"]) for name, entry in line["substances"].items()}
    assert found == {
        "pfas": ("below_limit", "supplier_attestation"),
        "svhc": ("absent", "supplier_attestation"),
        "bpa": ("absent", None),
        "heavy_metals": None,
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([], [(None, "invalid_type")]),
        ({}, [("consent", "required"), ("response", "required")]),
        ({"consent": False, "response": {}}, [("consent", "not_in_vocabulary")]),
        ({"consent": 1, "response": {}}, [("consent", "invalid_type")]),
        ({"consent": True, "response": None}, [("response", "not_null")]),
        ({"consent": True, "response": {}, "more": 1}, [("more", "unknown_field")]),
        ({"consent": True, "response": {"sku_code": "A"}}, [("response.sku_code", "unknown_field")]),
        ({"consent": True, "response": {"components": [{"component_type": "cap"}]}},
         [("response.components[0].component_type", "unknown_field")]),
        ({"consent": True, "response": {"components": [{"weight_g": -1}]}},
         [("response.components[0].weight_g", "out_of_range")]),
        ({"consent": True, "response": {"components": [{"weight_g": 1}]}},
         [("response.components[0].component_id", "required")]),
        ({"consent": True, "response": {"components": [{"component_id": str(uuid4())}]}},
         [("response.components[0].component_id", "unknown_reference")]),
    ],
)  # fmt: skip
def test_what_is_not_an_answer_is_refused_and_says_why(asked, pool, body, expected):
    assert issues(asked.post(body)) == expected
    assert open_entries(pool, asked.company) == []


def test_an_answer_is_for_the_components_asked_about_and_for_each_once(caller, pool):
    asked = ask(caller, pool, lines=[1])
    body = caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"][0]["id"]
    refused = asked.answer({"component_id": body, "weight_g": 1}, {"component_id": asked.components[0]}, {})
    assert issues(refused) == [
        ("response.components[0].component_id", "unknown_reference"),
        ("response.components[2].component_id", "duplicate_row"),
    ]
    french = asked.post(
        {"consent": True, "response": {"components": [{"component_id": body}]}}, headers={"Accept-Language": "fr"}
    )
    assert "aucun des composants" in french.json()["details"][0]["message"]


def test_a_value_against_its_status_is_told_to_the_supplier(asked):
    wrong = {"pfas": {"status": "absent", "value": 900, "unit": "ppb"}}
    answer = asked.answer({"component_id": asked.components[0], "substances": wrong})
    assert issues(answer) == [("response.components[0].substances.pfas.status", "substance_status_contradicts_value")]


def test_bodies_are_bounded_and_must_be_json(asked):
    assert asked.post(None, content=b"x" * (2 * 2**20 + 1)).status_code == 413
    assert issues(asked.post(None, content=b'{"consent": tru')) == [(None, "invalid_format")]


def test_of_answers_at_once_one_waits_and_the_others_stay_on_record(asked, pool):
    with ThreadPoolExecutor(5) as threads:
        answers = list(
            threads.map(lambda grams: asked.answer({"component_id": asked.components[0], "weight_g": grams}), range(5))
        )
    assert {answer.status_code for answer in answers} == {202}
    with pool.company(asked.company) as conn:
        states = conn.execute("SELECT state, count(*) FROM review_entries GROUP BY 1 ORDER BY 1").fetchall()
    assert states == [("open", 1), ("replaced", 4)]


def test_an_answer_sent_again_with_its_key_is_one_answer(asked, pool):
    def sent(weight, key="k-1"):
        body = {
            "consent": True,
            "response": {"components": [{"component_id": asked.components[0], "weight_g": weight}]},
        }
        return asked.post(None, json=body, headers={"Idempotency-Key": key})

    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(sent, [18.5] * 3))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["submission_id"] for answer in answers}) == 1
    assert sorted(answer.headers.get("idempotent-replayed", "") for answer in answers) == ["", "true", "true"]
    [entry] = open_entries(pool, asked.company)
    assert str(entry.id) == answers[0].json()["submission_id"]
    reused = sent(19)
    assert (reused.status_code, reused.json()["error"]) == (409, "idempotency_key_reuse")
    assert sent(19, key="k-2").json()["submission_id"] != str(entry.id)
    assert issues(sent(20, key="k" * 256)) == [("Idempotency-Key", "out_of_range")]


def test_an_unknown_token_is_told_like_a_used_one(asked, caller, pool, clock):
    asked.answer()
    decide(pool, asked, clock, decide_review.accept)
    used = asked.post({"consent": True, "response": {}}).json()
    unknown = caller.http.post("/api/supplier-data/" + "x" * 43, json={}, headers={"X-Forwarded-For": asked.address})
    assert unknown.status_code == 404
    assert {**unknown.json(), "correlationId": used["correlationId"]} == used
    wrong = caller.http.get(f"/api/supplier-data/{asked.token}")
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "POST")


def test_ten_a_minute_for_a_token_whatever_the_address(stopped, pool, clock):
    asked, other = ask(stopped, pool), ask(stopped, pool)
    for number in range(10):
        assert asked.post({"consent": True, "response": {}}, address=f"192.0.2.{number}").status_code == 202
    over = asked.post({"consent": True, "response": {}}, address="192.0.2.99")
    assert (over.status_code, over.json()["error"], over.headers["Retry-After"]) == (429, "rate_limited", "60")
    assert other.post({"consent": True, "response": {}}, address="192.0.2.99").status_code == 202
    clock.advance(timedelta(seconds=60))
    assert asked.post({"consent": True, "response": {}}, address="192.0.2.99").status_code == 202


def test_ten_a_minute_for_an_address_unknown_tokens_too(stopped, pool):
    asked = ask(stopped, pool)
    for number in range(9):
        path = f"/api/supplier-data/guess-{number}"
        assert stopped.http.post(path, json={}, headers={"X-Forwarded-For": asked.address}).status_code == 404
    assert asked.answer().status_code == 202
    assert asked.answer().status_code == 429
    assert asked.post({"consent": True, "response": {}}, address="192.0.2.77").status_code == 202


def test_an_answer_that_cannot_be_written_is_told_and_the_request_stays(asked, caller, pool, clock):
    asked.answer({"component_id": asked.components[0], "substances": {"pfas": {"status": "above_limit"}}})
    with pytest.raises(compare.Conflict, match=r"Article 5\(5\)"):
        decide(pool, asked, clock, decide_review.accept)
    asked.answer({"component_id": asked.components[1], "weight_g": 3})
    caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BOTTLE-1", "name": "Bottle", "components": [BODY]})
    with pytest.raises(compare.Conflict, match="no longer part"):
        decide(pool, asked, clock, decide_review.accept)
    [line] = caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"]
    assert line["substances"]["pfas"] is None
    decide(pool, asked, clock, decide_review.reject)
    assert asked.answer({"component_id": asked.components[0], "weight_g": 21}).status_code == 202


def test_a_parameter_that_the_operation_does_not_have_is_refused_and_nothing_is_filed(asked, caller, pool):
    address = {"X-Forwarded-For": asked.address}
    answer = caller.http.post(f"/api/supplier-data/{asked.token}?dry_run=1", json={"consent": True}, headers=address)
    assert (answer.status_code, answer.json()["details"][0]["code"]) == (400, "unknown_field")
    assert open_entries(pool, caller.company) == []
