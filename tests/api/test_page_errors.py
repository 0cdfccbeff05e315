"""Refusals and faults: a page with a number to ask with for people, the error body of the contract for programs."""

import pytest

from api.http.answers import weight_of
from tests.api.people import Browser, added
from tests.api.test_portfolio_pages import words

PEOPLE = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PROGRAMS = ({}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "application/json, text/html;q=0.5"})


@pytest.fixture
def visitor(caller):
    return Browser(caller.http, caller.address)


def test_the_address_of_the_service_leads_people_on(visitor):
    assert visitor.get("/", headers=PEOPLE).headers["location"] == "/portfolio"
    assert visitor.get("/?lang=de", headers=PEOPLE).headers["location"] == "/portfolio?lang=de"
    for program in PROGRAMS:
        answer = visitor.get("/", headers=program)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/portfolo", "/items/1/2/3", "/oauth", "/supplier-data"])
def test_a_mistyped_address_is_a_page_for_people_and_json_for_programs(visitor, path):
    for lang, said in (("en", "There is no page at this address. Check"), ("de", "gibt es keine Seite. Prüfen Sie,")):
        page = visitor.get(f"{path}?lang={lang}", headers=PEOPLE)
        assert (page.status_code, page.headers["content-type"][:9]) == (404, "text/html")
        assert said in words(page)
        assert page.headers["x-correlation-id"] in page.text
        assert "Accept" in page.headers["vary"]
    for program in PROGRAMS:
        assert visitor.get(path, headers=program).json()["error"] == "not_found"


def test_the_interface_answers_json_whoever_asks(visitor):
    answer = visitor.get("/api/v1/nothing", headers=PEOPLE)
    assert answer.json()["correlationId"] == answer.headers["x-correlation-id"]


def test_a_fault_of_ours_is_a_page_with_its_number_and_nothing_else(caller, pool, monkeypatch, visitor):
    visitor.sign_in(added(pool, caller.company))

    def broken(*_args, **_kwargs):
        raise RuntimeError("SELECT secret FROM nowhere")

    monkeypatch.setattr("api.imports.pages.queries.recent", broken)
    page = visitor.get("/imports?lang=fr", headers=PEOPLE)
    assert (page.status_code, "Une erreur s’est produite chez nous" in page.text) == (500, True)
    assert page.headers["x-correlation-id"] in page.text
    assert ("secret" in page.text, "Traceback" in page.text) == (False, False)
    assert visitor.get("/imports", headers=PROGRAMS[2]).json()["error"] == "internal_error"


def test_every_page_that_refuses_has_its_number(caller, pool, visitor):
    answers = [visitor.get("/supplier-data/unknown"), visitor.post("/sign-in", {"email": "x"})]
    visitor.sign_in(added(pool, caller.company))
    answers += [
        visitor.get("/items/export?format=pdf"),
        visitor.get("/items/x"),
        visitor.post("/supplier-requests", {}),
        visitor.get("/connections/x/revoke", headers=PEOPLE),
    ]
    assert [answer.status_code for answer in answers] == [404, 403, 400, 404, 403, 405]
    for answer in answers:
        assert f"<code>{answer.headers['x-correlation-id']}</code>" in answer.text
    assert "number" not in visitor.get("/items").text


@pytest.mark.parametrize(
    ("accept", "html", "json"),
    [
        ("", 0, 0),
        ("*/*", 1, 1),
        ("text/html", 1, 0),
        ("text/*;q=0.5, application/json;q=0.3", 0.5, 0.3),
        ("text/html;level=1;q=0.4,*/*;q=0.1", 0.4, 0.1),
        ("TEXT/HTML; q=x", 0, 0),
    ],
)
def test_what_an_accept_wants(accept, html, json):
    assert (weight_of(accept, "text/html"), weight_of(accept, "application/json")) == (html, json)
