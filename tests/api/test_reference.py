"""The pages at /reference: all that the document says, every link leads somewhere, nothing comes from outside."""

import re
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from markupsafe import escape

from api.reference.guides import guides
from api.reference.operations import limits, type_of
from api.reference.pages import PAGES, TOLD, _inline, render
from compliance.catalogue import listed_rows
from compliance.ruleset import by_kind, load, versions
from schemas.issues import ISSUE_CODES
from schemas.messages import LANGUAGES, translate
from schemas.refusals import ERROR_CODES
from schemas.vocabularies import VOCABULARIES
from tests.openapi import document

DOCUMENT = document()
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """What stands in a page: ids, addresses, tags; a tag that is closed out of turn is a fault."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.addresses += [given[name] for name in ("href", "src") if name in given]
        assert not any(name.startswith("on") or name == "style" for name in given), attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@cache
def rendered() -> dict[str, str]:
    """All pages; made where they are asked for, since every worker loads this module."""
    return render(DOCUMENT)


@cache
def read() -> dict[str, Page]:
    return {name: Page(text) for name, text in rendered().items()}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_asks_for_nothing_from_outside(name):
    page = read()[name]
    assert len(page.ids) == len(set(page.ids))
    assert all(address.startswith(("/reference", "/api/v1/openapi.json", "#")) for address in page.addresses)
    assert {"header", "nav", "main", "h1"} <= set(page.tags)
    assert not {"script", "img", "iframe", "form"} & set(page.tags)
    assert page.tags.count("h1") == page.tags.count("main") == 1


def test_every_link_between_pages_leads_to_a_place():
    for name, page in read().items():
        for address in page.addresses:
            path, _, fragment = address.partition("#")
            path = path.partition("?")[0]
            target = name if not path else path.removeprefix("/reference").removeprefix("/")
            if fragment and target.startswith("guides/"):
                assert fragment in {section.anchor for section in guides()[target.removeprefix("guides/")].sections}
            elif fragment:
                assert fragment in read()[target].ids, address


def test_every_operation_code_field_and_vocabulary_has_its_place():
    operations = {op["operationId"] for methods in DOCUMENT["paths"].values() for op in methods.values()}
    assert operations <= set(read()[""].ids)
    assert {*ERROR_CODES, *(f"issue-{code}" for code in ISSUE_CODES)} <= set(read()["errors"].ids)
    assert set(DOCUMENT["components"]["schemas"]) == set(read()["fields"].ids) - {"content", "objects", "vocabularies"}
    for code in VOCABULARIES["component_type"]:
        assert f"<code>{code}</code>" in rendered()["fields"]


def test_the_rules_are_counted_by_what_they_rest_on():
    for version in versions():
        assert f'<th scope="col">{version}</th>' in rendered()["rules"]
    for kind, number in by_kind(load()).items():
        row = rendered()["rules"].partition(f'<th scope="row">{escape(kind)}</th>')[2].partition("</tr>")[0]
        assert row.endswith(f"<td>{number}</td>"), kind


def test_the_catalogue_says_of_each_row_how_old_and_how_sure_it_is_and_what_changed():
    page = rendered()["catalogue"]
    changes = page.partition('<h2 id="changes">')[2].partition("</section>")[0]
    assert changes.startswith("What changed with the last version, 2026-11-26")
    assert changes.count("<tr>") - 1 == sum(
        row.since == "2026-11-26" for rows in listed_rows().values() for row in rows
    )
    for table, listed in listed_rows().items():
        section = page.partition(f'<h2 id="{table}">')[2].partition("</section>")[0]
        assert section.count("<tr>") - 1 == len(listed)
        assert all(f"<td>{escape(row.sure)}</td></tr>" in section for row in listed)


@pytest.mark.parametrize("path", [*(f"/{name}" if name else "" for name in PAGES), "/style.css"])
def test_the_pages_are_served_closed_to_scripts_and_may_be_kept(http, path):
    first = http.get(f"/reference{path}")
    assert first.status_code == 200
    assert first.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    assert first.headers["Content-Type"].startswith("text/css" if path.endswith("css") else "text/html")
    again = http.get(f"/reference{path}", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_an_unknown_page_is_not_found_and_other_methods_are_not_taken(http):
    assert http.get("/reference/nowhere").json()["error"] == "not_found"
    assert http.get("/reference/../errors").status_code == 404
    refused = http.post("/reference/errors")
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")


def test_the_document_may_be_kept(http):
    first = http.get("/api/v1/openapi.json")
    again = http.get("/api/v1/openapi.json", headers={"If-None-Match": f'"other", {first.headers["ETag"]}'})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(("schema", "words", "bounds"), [
    ({"type": ["string", "null"], "maxLength": 2000}, "string or null", "at most 2\u202f000 characters"),
    ({"type": "string", "format": "date-time"}, "instant", ""),
    ({"type": "array", "items": {"$ref": "#/components/schemas/Issue"}, "maxItems": 3}, "array of Issue",
     "at most 3 entries"),
    ({"anyOf": [{"$ref": "#/components/schemas/Material"}, {"type": "null"}]}, "Material or null", ""),
    ({"type": "number", "minimum": 0, "maximum": 100}, "number", "0 to 100"),
    ({"const": True, "type": "boolean"}, "true", ""),
    ({"enum": ["csv", "xlsx"], "type": "string"}, "csv | xlsx", ""),
    ({"type": "integer", "default": 50}, "integer", "default 50"),
])  # fmt: skip
def test_a_schema_in_words(schema, words, bounds):
    assert type_of(schema).words == words
    assert limits(schema) == bounds


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_page_of_errors_is_whole_in_every_language(lang):
    [text] = [page for name, page in render(DOCUMENT, lang).items() if name in TOLD]
    assert Page(text).ids == read()["errors"].ids
    assert f'<html lang="{lang}">' in text
    for code in (*ERROR_CODES.values(), *ISSUE_CODES.values()):
        assert str(_inline(translate(code.remedy, lang))) in text


def test_every_word_of_the_templates_is_told():
    said = {
        text
        for file in files("api.reference").joinpath("templates").iterdir()
        for text in re.findall(r'say\("([^"]+)"\)', file.read_text("utf-8"))
    }
    same = {"Pages"}
    assert [text for text in said - same for lang in ("fr", "de") if translate(text, lang) == text] == []


def test_the_language_is_the_one_asked_for_by_name_else_by_the_header(http):
    by_name = http.get("/reference/errors?lang=de", headers={"Accept-Language": "fr"})
    by_header = http.get("/reference/errors", headers={"Accept-Language": "fr"})
    assert (by_name.headers["Content-Language"], "Was zu tun ist" in by_name.text) == ("de", True)
    assert (by_header.headers["Content-Language"], "Que faire" in by_header.text) == ("fr", True)
    assert by_header.headers["Vary"] == "Accept-Language"
    assert http.get("/reference/errors?lang=es").json()["details"][0]["field"] == "lang"
    assert http.get("/reference/fields", headers={"Accept-Language": "fr"}).headers["Content-Language"] == "en"
