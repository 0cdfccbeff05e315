"""Sentences in the caller's language: how it is asked for, which answers follow it, and what never changes."""

from uuid import uuid4

import pytest

from api.http.answers import preferred_language
from schemas.imports.types import Asked
from schemas.messages import LANGUAGES

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
    assert preferred_language(header) == lang


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


BOTTLE = {
    "packaging_format": "bottle",
    "packaging_level": "sales",
    "components": [
        {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20},
        {"component_type": "label", "material_family": "plastic", "polymer_or_grade": "PVC", "weight_g": 2},
    ],
}
COLOUR = {
    "en": "What colour is the pack?",
    "fr": "De quelle couleur est l’emballage ?",
    "de": "Welche Farbe hat die Verpackung?",
}


def trace_of(answer):
    return answer.json()["data"]["compliance"]["grade_trace"]


def test_what_a_grade_asks_for_does_too(caller):
    made = caller.made(material="plastic")
    seen = caller.get(f"/skus/{made['id']}", headers={"Accept-Language": "de"})
    [missing] = [each for each in trace_of(seen)["missing"] if each["field"] == "material_subtype"]
    assert missing["message"].startswith("Woraus genau besteht dieses Teil")
    assert seen.json()["data"]["name"] == made["name"]


@pytest.mark.parametrize("lang", COLOUR)
def test_a_grade_is_explained_in_the_callers_language_when_read_and_when_written(caller, lang):
    body = {"sku_code": f"B-{lang}", "name": "B", **BOTTLE, "components": BOTTLE["components"][:1]}
    written = caller.post("/skus", body, headers={"Accept-Language": lang})
    read = caller.get(f"/skus/{written.json()['data']['id']}", headers={"Accept-Language": lang})
    assert trace_of(written) == trace_of(read)
    first = trace_of(read)["open"][0]
    assert first["ask"].startswith(COLOUR[lang])
    assert (first["field"], first["component_id"]) == ("colour", read.json()["data"]["components"][0]["id"])


def test_reasons_rules_and_assumptions_are_in_one_language_and_the_rest_is_the_same(caller):
    made = caller.made(**BOTTLE)
    by_language = {
        lang: trace_of(caller.get(f"/skus/{made['id']}", headers={"Accept-Language": lang}))
        for lang in ("en", "fr", "de")
    }
    rules = {
        lang: {rule["rule_id"]: rule["text"] for u in trace["units"] for c in u["components"] for rule in c["rules"]}
        for lang, trace in by_language.items()
    }
    assert rules["en"].keys() == rules["fr"].keys() == rules["de"].keys()
    for lang in ("fr", "de"):
        assert not set(rules[lang].values()) & set(rules["en"].values())
        assert not set(by_language[lang]["assumptions"]) & set(by_language["en"]["assumptions"])
        deciding = [rule for rule in rules[lang] if f"({rule})" in by_language[lang]["reason"]]
        assert deciding
        assert all(f"{rules[lang][rule]} ({rule})" in by_language[lang]["reason"] for rule in deciding)
        plain = ("provisional", "stream", "weight_share_percent", "limited_features", "cap", "ruleset_version")
        assert [by_language[lang][name] for name in plain] == [by_language["en"][name] for name in plain]
        assert [fact["could_become"] for fact in by_language[lang]["open"]] == [
            fact["could_become"] for fact in by_language["en"]["open"]
        ]


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


FEED = b"product_id,name,length_cm,width_cm,height_cm,weight_kg\nP1,Chair,40,40,90,3.5\n"


def test_a_question_about_a_column_is_in_the_callers_language_at_once_and_when_polled(caller):
    file = {"content": FEED, "params": {"filename": "f.csv"}}
    answers = {
        lang: caller.request("POST", "/imports", **file, headers={"Accept-Language": lang}) for lang in LANGUAGES
    }
    for lang, answer in answers.items():
        asked = answer.json()["source"]["asked"]
        polled = caller.http.get(answer.json()["poll_url"], headers={"X-API-Key": caller.key, "Accept-Language": lang})
        assert polled.json()["source"]["asked"] == asked
        assert set(asked[0]) == {*Asked.__annotations__}
    said = [answer.json()["source"]["asked"][0]["message"] for answer in answers.values()]
    assert "“weight_kg” may be the product's or its packaging's" in said[0]
    assert "kann zum Produkt oder zu seiner Verpackung gehören" in said[2]
    assert len({message for message in said if '{"columns": {"weight_grams": "F"}}' in message}) == 3
