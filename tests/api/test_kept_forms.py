"""A form that is sent after its session has ended: what was typed stays, and its person sends it after the sign-in."""

from datetime import timedelta

import pytest

from tests.api.people import Browser, added, hidden
from warehouse.accounts import people

ROWS = "Artikelnummer;Bezeichnung;Gewicht (g)\nA-1;Dose „groß“;12,5\n"


@pytest.fixture
def person(stopped, pool):
    return added(pool, stopped.company)


@pytest.fixture
def browser(stopped, person):
    browser = Browser(stopped.http, stopped.address)
    assert browser.sign_in(person).status_code == 303
    return browser


def end_session(clock):
    clock.instant += people.IDLE + timedelta(minutes=1)


def sign_in_again(browser, asked, person, password=None):
    assert asked.status_code == 200, asked.text
    return browser.post(
        "/sign-in", hidden(asked.text) | {"email": person.email, "password": password or person.password}
    )


def action_of(page):
    return page.partition("<main")[2].partition('action="')[2].partition('"')[0]


def test_what_was_typed_is_sent_after_signing_in(browser, person, clock):
    csrf = hidden(browser.get("/company").text)["csrf"]
    end_session(clock)
    asked = browser.post("/imports?lang=de", {"csrf": csrf, "rows": ROWS}, files={"file": ("", b"", "text/csv")})
    assert "Ihre Eingaben sind noch da" in asked.text
    wrong = browser.post("/sign-in", hidden(asked.text) | {"email": person.email, "password": "wrong"})
    assert wrong.status_code == 403
    assert hidden(wrong.text)["kept"] == hidden(asked.text)["kept"]
    offered = sign_in_again(browser, asked, person)
    fields = hidden(offered.text)
    assert offered.status_code == 200
    assert fields["csrf"] != csrf
    assert fields["rows"] == ROWS
    assert 'enctype="multipart/form-data"' in offered.text
    done = browser.post(action_of(offered.text), fields, files={"file": ("", b"", "text/csv")})
    assert done.status_code == 303, done.text
    assert done.headers["location"].startswith("/imports/")


def test_nothing_is_written_by_the_sign_in_alone(browser, person, clock, stopped):
    page = browser.get("/company").text
    end_session(clock)
    asked = browser.post("/company", hidden(page) | {"seat": "DE"})
    sign_in_again(browser, asked, person)
    assert browser.get("/company").text.count("selected") == page.count("selected")


def test_a_form_of_another_page_is_not_kept(browser, person, clock):
    csrf = hidden(browser.get("/company").text)["csrf"]
    end_session(clock)
    for fields, headers in (
        ({"csrf": "forged"}, {}),
        ({}, {}),
        ({"csrf": csrf}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        answer = browser.post("/company", fields | {"seat": "DE"}, headers=headers)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fcompany")


@pytest.mark.parametrize("path", ["/password", "/account/second-factor", "/keys/test"])
def test_secrets_are_not_kept(browser, person, clock, path):
    csrf = hidden(browser.get("/company").text)["csrf"]
    end_session(clock)
    answer = browser.post(path, {"csrf": csrf, "old": person.password, "new": "my own new words", "code": "123456"})
    assert answer.status_code == 303
    assert "new words" not in answer.text


def test_a_chosen_file_is_chosen_again_on_its_page(browser, clock):
    csrf = hidden(browser.get("/company").text)["csrf"]
    end_session(clock)
    answer = browser.post("/imports", {"csrf": csrf}, files={"file": ("a.csv", b"a;b\n", "text/csv")})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fimports")


@pytest.mark.parametrize("kept", ["x", "eJw=", "&", "é", "x" * 9_000])
def test_what_is_no_kept_form_leads_to_the_page(browser, person, clock, kept):
    end_session(clock)
    form = hidden(browser.get("/sign-in?next=/items").text)
    answer = browser.post("/sign-in", form | {"kept": kept, "email": person.email, "password": person.password})
    assert (answer.status_code, answer.headers["location"]) == (303, "/items")


def test_a_form_goes_back_to_the_page_that_has_it(browser, clock):
    end_session(clock)
    answer = browser.post("/imports/0197a1b2-0000-7000-8000-000000000000/columns", {"csrf": "forged"})
    assert answer.headers["location"] == "/sign-in?next=%2Fimports%2F0197a1b2-0000-7000-8000-000000000000"
