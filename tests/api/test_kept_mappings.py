"""Mappings kept under names: listed, removed, recalled no more, and never another company's."""

from html import unescape

import pytest

from schemas.imports.types import KeptMappingListResponse, KeptMappingRemoval
from tests.api.people import hidden, signed_in
from tests.api.published import published

FILE = b"Code;Titel\nA-1;Bottle\n"
MAPPING = '{"columns": {"sku_code": "Code", "name": "Titel"}}'


def sent(caller, **query):
    return caller.post("/imports", content=FILE, params={"filename": "a.csv", **query})


def kept(caller):
    answer = caller.get("/mappings")
    published(KeptMappingListResponse, answer.json())
    return answer.json()["data"]


@pytest.mark.promise("IMP-61")
def test_it_is_listed_and_removed_and_recalled_no_more(caller, join):
    other = join()
    for name in ("Works", "a/b ü"):
        assert sent(caller, mapping=MAPPING, mapping_name=name).status_code == 202
    assert [each["name"] for each in kept(caller)] == ["a/b ü", "Works"]
    works = kept(caller)[1]
    assert works["mapping"]["columns"] == {"sku_code": "Code", "name": "Titel"}
    path = f"/mappings/{works['id']}"
    assert kept(other) == []
    assert other.request("DELETE", path).status_code == 404
    assert caller.request("DELETE", path, params={"dry_run": True}).json() == {"dry_run": True, "data": works}
    again = [caller.request("DELETE", path, headers={"Idempotency-Key": "gone"}) for _ in range(2)]
    assert [(each.status_code, each.json()) for each in again] == [(200, {"dry_run": False, "data": works})] * 2
    published(KeptMappingRemoval, again[0].json())
    assert caller.request("DELETE", path).status_code == 404
    assert [each["name"] for each in kept(caller)] == ["a/b ü"]
    refused = sent(caller, mapping_name="Works")
    assert (refused.status_code, refused.json()["details"][0]["code"]) == (400, "invalid_mapping")
    [entry] = [e for e in caller.get("/audit-log").json()["data"] if e["action"] == "import_mapping.removed"]
    assert entry["before"] == {"Works": works["mapping"]}


def test_a_mapping_that_is_sent_again_keeps_its_id(caller):
    sent(caller, mapping=MAPPING, mapping_name="Works")
    [before] = kept(caller)
    sent(caller, mapping='{"columns": {"sku_code": "A", "name": "B"}}', mapping_name="Works")
    [after] = kept(caller)
    assert (after["id"], after["mapping"]["columns"]) == (before["id"], {"sku_code": "A", "name": "B"})


@pytest.mark.parametrize(("lang", "name", "off"), [
    ("en", "Item name", "not read"), ("fr", "Nom", "non lu"), ("de", "Bezeichnung", "nicht gelesen"),
])  # fmt: skip
def test_a_person_sees_and_removes_them(caller, pool, lang, name, off):
    columns = '{"columns": {"sku_code": "Code", "name": ["Titel", "B"], "weight_grams": null}}'
    for kept_as in ("Works", "Mill"):
        assert sent(caller, mapping=columns, mapping_name=kept_as).status_code == 202
    browser = signed_in(caller, pool, "editor")
    assert f'href="/words?lang={lang}#mappings"' in browser.get(f"/imports?lang={lang}").text
    page = unescape(browser.get(f"/words?lang={lang}").text)
    assert f"{name}: Titel / B" in page
    assert f": {off}" in page
    [works] = [each["id"] for each in kept(caller) if each["name"] == "Works"]
    gone = browser.post(f"/words?lang={lang}", hidden(page) | {"mapping": works})
    assert gone.headers["Location"] == f"/words?lang={lang}"
    assert [each["name"] for each in kept(caller)] == ["Mill"]
    assert browser.post(f"/words?lang={lang}", hidden(page) | {"mapping": "Mill"}).status_code == 404
