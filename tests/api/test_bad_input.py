"""Bodies that no one should send: each is a 4xx with a reason, none a fault of the service, nothing is written."""

import orjson
import pytest

from schemas.answers import Error

GOOD = b'"sku_code": "A", "name": "A"'
BODIES = {
    "empty": b"",
    "no JSON": b"sku_code=A",
    "truncated": b'{"sku_code": "A", "na',
    "NaN": b"{" + GOOD + b', "weight_grams": NaN}',
    "infinity": b"{" + GOOD + b', "weight_grams": 1e999}',
    "invalid UTF-8": b'{"sku_code": "\xff", "name": "A"}',
    "lone surrogate": b'{"sku_code": "\\ud800", "name": "A"}',
    "NUL": b'{"sku_code": "A\\u0000", "name": "A"}',
    "NUL in a nested text": b"{" + GOOD + b', "substances": {"pfas": {"status": "absent", "evidence": "\\u0000"}}}',
    "NUL in a component": b"{" + GOOD + b', "components": [{"component_type": "body", "polymer_or_grade": "\\u0000"}]}',
    "deep array": b"[" * 200_000,
    "deep array, closed": b"[" * 10_000 + b"]" * 10_000,
    "deep object, closed": b'{"skus":' * 10_000 + b"1" + b"}" * 10_000,
    "deep object in a field": b"{" + GOOD + b', "material": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
    "deep array in a field": b"{" + GOOD + b', "material": ' + b"[" * 1000 + b"]" * 1000 + b"}",
    "a number beyond 64 bits": b"{" + GOOD + b', "reuse_cycles_target": 18446744073709551616}',
    "a number beyond 32 bits": b"{" + GOOD + b', "reuse_cycles_target": 2147483648}',
    "a number too long": b"{" + GOOD + b', "reuse_cycles_target": ' + b"9" * 400 + b"}",
    "an array": b"[]",
    "null": b"null",
    "a number": b"1",
    "false as a number": b"{" + GOOD + b', "weight_grams": false}',
    "a text as a number": b"{" + GOOD + b', "weight_grams": "12"}',
    "a negative weight": b"{" + GOOD + b', "weight_grams": -1}',
    "an unknown field": b"{" + GOOD + b', "colour": "red"}',
    "a name of null": b'{"sku_code": "A", "name": null}',
    "an empty name": b'{"sku_code": "A", "name": "  "}',
    "a code too long": orjson.dumps({"sku_code": "A" * 256, "name": "A"}),
    "a market of nowhere": b"{" + GOOD + b', "markets": ["XX"]}',
    "a wrong check digit": b"{" + GOOD + b', "gtin": "4006381333932"}',
    "a brand of nobody": b"{" + GOOD + b', "brand_id": "0198b8a0-0000-7000-8000-000000000000"}',
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", ["/skus", "/skus/batch"])
def test_a_bad_body_is_refused_with_a_reason(caller, name, path):
    answer = caller.request("POST", path, content=BODIES[name])
    assert answer.status_code == 400, answer.text
    body = answer.json()
    Error.model_validate(body, extra="forbid")
    assert body["error"] == "invalid_body"
    assert body["details"]
    assert caller.get("/skus").json()["pagination"]["total"] == 0


NO_JSON = {"truncated", "NaN", "infinity", "invalid UTF-8", "lone surrogate", "a number too long"}
ROWS = [name for name, body in BODIES.items() if body.startswith(b"{") and "deep" not in name and name not in NO_JSON]


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_row_rejects_itself_only(caller, name):
    body = b'{"skus": [' + BODIES[name] + b', {"sku_code": "GOOD", "name": "Good"}]}'
    answer = caller.request("POST", "/skus/batch", content=body)
    assert answer.status_code == 200, answer.text
    assert [row["outcome"] for row in answer.json()["results"]] == ["rejected", "created"]
    assert answer.json()["results"][0]["errors"]


@pytest.mark.parametrize("chunked", [False, True])
def test_more_than_two_mebibytes_are_too_many(caller, chunked):
    def stream():
        yield b" " * 2**21
        yield b" "

    content = stream() if chunked else b" " * (2**21 + 1)
    answer = caller.request("POST", "/skus", content=content)
    assert (answer.status_code, answer.json()["error"]) == (413, "payload_too_large")


def test_two_mebibytes_exactly_are_read(caller):
    body = b'{"sku_code": "A", "name": "A"' + b" " * (2**21 - 30) + b"}"
    assert len(body) == 2**21
    assert caller.request("POST", "/skus", content=body).status_code == 201


def test_a_body_needs_no_content_type(caller):
    answer = caller.request(
        "POST", "/skus", content=b'{"sku_code": "A", "name": "A"}', headers={"content-type": "text/plain"}
    )
    assert answer.status_code == 201


@pytest.mark.parametrize(("lang", "said"), [("de", "bei Zeile 1, Spalte"), ("fr", "à la ligne 1, colonne")])
@pytest.mark.parametrize("name", ["invalid UTF-8", "truncated"])
def test_where_a_body_cannot_be_read_is_said_in_the_callers_language(caller, name, lang, said):
    answer = caller.request("POST", "/skus", content=BODIES[name], headers={"accept-language": lang})
    [fault] = answer.json()["details"]
    assert said in fault["message"]


@pytest.mark.parametrize(("body", "said"), [(b"", "ist leer"), (b"\n", "ist leer"), (b"{1}", "bei Zeile 1, Spalte 2.")])
def test_a_body_that_is_no_json_is_refused_without_its_parsers_words(caller, body, said):
    answer = caller.request("POST", "/skus", content=body, headers={"accept-language": "de"})
    [fault] = answer.json()["details"]
    assert fault["message"].endswith(f"{said}; senden Sie JSON." if "leer" in said else said)


def test_a_nul_in_a_parameter_is_refused(caller):
    assert caller.get("/skus?sku_code=%00").status_code == 400
    assert caller.get("/skus?sku_code=%ed%a0%80").status_code == 400, "half a pair is no UTF-8"


def test_more_than_a_thousand_skus_are_refused_whole(caller):
    rows = [{"sku_code": f"B-{number}", "name": "N"} for number in range(1001)]
    answer = caller.post("/skus/batch", {"skus": rows})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    assert [(issue["field"], issue["code"]) for issue in answer.json()["details"]] == [("skus", "too_long")]
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_a_name_that_stands_twice_in_one_object_is_refused(caller):
    answer = caller.request("POST", "/skus", content=b'{"sku_code": "A", "name": "first", "name": "last"}')
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    assert [issue["code"] for issue in answer.json()["details"]] == ["invalid_format"]
    assert "The name “name” stands twice" in answer.json()["details"][0]["message"]
    assert caller.get("/skus").json()["data"] == []


def test_faults_beyond_a_hundred_are_counted_in_a_body_and_in_each_row_of_a_batch(caller):
    wrong = {f"field_{number}": 1 for number in range(130)}
    details = caller.post("/skus", {"sku_code": "A", "name": "n", **wrong}).json()["details"]
    assert (len(details), details[-1]) == (101, {"code": "more", "count": 30})
    rows = [{"sku_code": "B", "name": "n", **wrong}, {"sku_code": "C", "name": "n"}]
    results = caller.post("/skus/batch", {"skus": rows}).json()["results"]
    assert (len(results[0]["errors"]), results[0]["errors"][-1]) == (101, {"code": "more", "count": 30})
    assert results[1]["outcome"] == "created"
    above = caller.post("/skus/batch", {"skus": rows, **wrong}, headers={"Accept-Language": "fr"}).json()["details"]
    assert above[-1] == {"code": "more", "count": 30}


def test_a_control_character_is_refused_by_every_door(caller):
    refusals = [
        caller.post("/skus", {"sku_code": "A\x07", "name": "n"}),
        caller.post(
            "/skus", {"sku_code": "A", "name": "n", "substances": {"pfas": {"status": "absent", "evidence": "\x9b31m"}}}
        ),
        caller.get("/skus", params={"sku_code": "A\x1b"}),
        caller.get("/audit-log", params={"actor": "\x1b"}),
        caller.request("POST", "/imports", params={"filename": "a\x1b.csv"}, content=b"sku_code;name\nA;n\n"),
        caller.request(
            "POST",
            "/imports",
            files={"file": ("a.csv", b"sku_code;name\nA;n\n")},
            data={"mapping_name": "m\x1b", "mapping": "{}"},
        ),
    ]
    assert [answer.status_code for answer in refusals] == [400] * len(refusals)
    codes = {answer.json()["details"][0]["code"] for answer in refusals}
    assert codes == {"invalid_format", "invalid_mapping"}


def test_a_number_that_no_double_holds_is_no_bad_json(caller):
    """1e999 is JSON by RFC 8259."""
    answer = caller.request("POST", "/skus", content=BODIES["infinity"])
    sentence = answer.json()["details"][0]["message"]
    assert sentence == "The number at line 1, column 48 is larger than any that a field holds."


@pytest.mark.parametrize("query", ["q=caf%E9", "q=%ff", "q=caf%C3"])
def test_a_parameter_that_is_no_utf8_is_refused_and_not_searched_for_as_another_text(caller, query):
    answer = caller.get(f"/skus?{query}")
    assert answer.status_code == 400
    assert [(each["field"], each["code"]) for each in answer.json()["details"]] == [("q", "invalid_format")]
    assert caller.get("/skus?q=caf%C3%A9").status_code == 200
    assert caller.get("/skus?nobody=%ff").status_code == 200, "reads ignore what they do not know"
