"""Sentences in the caller's language: how it is asked for, which answers follow it, and what never changes."""

from uuid import uuid4

import pytest

from api.languages import preferred

BAD = {"sku_code": "L-1", "name": None}
SAID = {
    "en": "This field cannot be cleared; send a value or leave it out.",
    "fr": "Ce champ ne peut pas être effacé ; envoyez une valeur ou omettez-le.",
    "de": "Dieses Feld kann nicht geleert werden; senden Sie einen Wert, oder lassen Sie es weg.",
}


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        ("fr", "fr"), ("FR-ch", "fr"), ("de-AT;q=0.5, fr;q=0.4", "de"), ("da, en-gb;q=0.8, de;q=0.9", "de"),
        ("es", "en"), ("es, *;q=0.1", "en"), ("en;q=0, *", "fr"), ("", "en"), ("*", "en"), ("de;q=0", "en"),
        ("fr;q=1.5", "en"), ("fr ; q = 0.3 , de;q=0.2", "fr"), (",,;q=1,fr", "fr"), ("fr;q=0, de;q=0, en;q=0", "en"),
        ("fr-FR;q=0, fr;q=0.1, en;q=0.05", "fr"), ("de,fr", "de"), ("fr" * 5000, "en"),
    ],
)  # fmt: skip
def test_the_preferred_language_is_served(header, lang):
    assert preferred(header) == lang


@pytest.mark.parametrize("lang", SAID)
def test_a_refusal_speaks_the_callers_language_and_keeps_its_codes(caller, lang):
    answer = caller.post("/skus", BAD, headers={"Accept-Language": lang})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    [issue] = answer.json()["details"]
    assert (issue["code"], issue["field"], issue["message"]) == ("not_null", "name", SAID[lang])
    assert (answer.headers["Content-Language"], answer.headers["Vary"]) == (lang, "Accept-Language")
    assert len(answer.content) == int(answer.headers["Content-Length"])


def test_a_refusal_before_any_handler_does_too(caller):
    answer = caller.request("GET", "/skus", headers={"X-API-Key": "svc_unknown", "Accept-Language": "de"})
    assert (answer.status_code, answer.json()["message"]) == (401, "Der Schlüssel ist unbekannt oder widerrufen.")
    assert "WWW-Authenticate" in answer.headers


def test_without_the_header_and_with_an_unknown_language_it_is_english(caller):
    for headers in ({}, {"Accept-Language": "fi"}):
        answer = caller.post("/skus", BAD, headers=headers)
        assert (answer.json()["details"][0]["message"], answer.headers["Content-Language"]) == (SAID["en"], "en")


def test_the_token_endpoint_stays_ascii(caller):
    answer = caller.http.post("/api/v1/oauth/token", data={}, headers={"Accept-Language": "fr"})
    assert answer.json()["error"] == "invalid_request"
    assert answer.text.isascii()


def test_rows_of_a_batch_and_warnings_do_too(caller):
    heavy = {"sku_code": "L-2", "name": "N", "weight_grams": 30, "material_subtype": "PTE"}
    answer = caller.post("/skus/batch", {"skus": [BAD, heavy]}, headers={"Accept-Language": "fr"})
    bad, warned = answer.json()["results"]
    assert bad["errors"][0]["message"] == SAID["fr"]
    assert "n'est pas connu" in warned["warnings"][0]["message"]
    assert "“pete”" in warned["warnings"][0]["message"]


def test_what_a_grade_asks_for_does_too(caller):
    made = caller.made(material="plastic")
    seen = caller.get(f"/skus/{made['id']}", headers={"Accept-Language": "de"}).json()["data"]
    missing = seen["compliance"]["grade_trace"]["missing"]
    assert missing
    assert all(issue["message"].startswith("Geben Sie ") for issue in missing)
    assert seen["name"] == made["name"]


def test_words_of_the_caller_are_never_translated(caller):
    sentence = "This field must be there."
    answer = caller.post(
        "/skus", {"sku_code": sentence, "name": sentence, "description": sentence}, headers={"Accept-Language": "fr"}
    )
    assert {answer.json()["data"][name] for name in ("sku_code", "name", "description")} == {sentence}


def test_a_repeat_gets_the_first_answer_whatever_language_it_asks_for(caller):
    body, key = {"skus": [BAD]}, {"Idempotency-Key": str(uuid4())}
    first = caller.post("/skus/batch", body, headers={**key, "Accept-Language": "fr"})
    again = caller.post("/skus/batch", body, headers={**key, "Accept-Language": "de"})
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.content == first.content
    assert SAID["fr"] in first.text


def test_a_file_is_refused_in_the_callers_language(caller):
    answer = caller.request(
        "POST", "/imports", content=b"a;b\n1;2\n", params={"filename": "f.csv"}, headers={"Accept-Language": "fr"}
    )
    assert [issue["code"] for issue in answer.json()["details"]] == ["missing_column", "missing_column"]
    assert "La ligne 1 ressemble le plus à l'en-tête et contient : A “a”, B “b”." in answer.text.replace("\\", "")
