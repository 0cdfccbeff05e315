"""The page of a company's profile: who sees and who answers, what is refused, and what follows from it elsewhere."""

import re

import pytest

from tests.api.people import hidden, signed_in

ANSWERS = {"seat": "Deutschland", "size": "small", "sells_directly_abroad": "yes"}


@pytest.fixture
def other(join):
    return join()


@pytest.fixture
def administrator(caller, pool):
    return signed_in(caller, pool, "administrator")


def send(browser, **answers):
    return browser.post("/company", hidden(browser.get("/company").text) | answers)


def stored(browser):
    page = browser.get("/company").text
    chosen = re.findall(r'<option value="(\w+)" selected', page)
    return re.search(r'name="seat" value="([^"]*)"', page)[1], chosen, hidden(page)["version"]


def entries(caller):
    found = caller.get("/audit-log").json()["data"]
    return [entry for entry in found if entry["action"] == "company.profile_updated"]


def test_nothing_is_assumed_before_the_first_answer(administrator):
    assert stored(administrator) == ("", [], "0")
    page = administrator.get("/company").text
    assert "Article" in page
    assert "2003/361/EC" in page


def test_answers_are_stored_entered_and_can_be_taken_back(caller, administrator):
    assert send(administrator, **ANSWERS).status_code == 303
    assert stored(administrator) == ("DE", ["small", "yes"], "1")
    assert send(administrator, seat="DE", size="small", sells_directly_abroad="").status_code == 303
    assert stored(administrator) == ("DE", ["small"], "2")
    newest, first = entries(caller)
    assert first["after"] == {"seat": "DE", "size": "small", "sells_directly_abroad": True}
    assert first["before"] == {"seat": None, "size": None, "sells_directly_abroad": None}
    assert (newest["before"], newest["after"]) == ({"sells_directly_abroad": True}, {"sells_directly_abroad": None})
    assert newest["actor"]["type"] == "user"
    assert newest["resource_id"] == str(caller.company)


def test_the_same_form_sent_twice_is_one_change(caller, administrator):
    form = hidden(administrator.get("/company").text) | ANSWERS
    assert [administrator.post("/company", form).status_code for _ in range(2)] == [303, 303]
    assert len(entries(caller)) == 1


def test_a_form_older_than_the_stored_answers_overwrites_none(administrator):
    old = hidden(administrator.get("/company").text)
    assert send(administrator, **ANSWERS).status_code == 303
    answer = administrator.post("/company", old | {"seat": "FR", "size": "large"})
    assert answer.status_code == 400
    assert "Somebody has changed the profile" in answer.text
    assert stored(administrator) == ("DE", ["small", "yes"], "1")


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"seat": "Atlantis"}, "seat"),
        ({"seat": "US-CA"}, "seat"),
        ({"seat": "FR; DROP TABLE"}, "seat"),
        ({"seat": "\x00"}, "seat"),
        ({"size": "huge"}, "size"),
        ({"sells_directly_abroad": "perhaps"}, "sells_directly_abroad"),
    ],
)
def test_what_is_no_answer_is_refused_at_its_field_and_nothing_is_stored(caller, administrator, sent, field):
    answer = send(administrator, **{**ANSWERS, **sent})
    assert answer.status_code == 400
    assert f'href="#{field}"' in answer.text
    assert stored(administrator) == ("", [], "0")
    assert entries(caller) == []


def test_a_version_that_is_none_counts_as_the_first(administrator):
    form = hidden(administrator.get("/company").text)
    assert administrator.post("/company", form | ANSWERS | {"version": "-7; x"}).status_code == 303
    assert stored(administrator)[0] == "DE"


def test_others_read_the_answers_and_cannot_change_them(caller, pool, administrator):
    send(administrator, **ANSWERS)
    viewer = signed_in(caller, pool, "viewer")
    page = viewer.get("/company").text
    assert "<fieldset disabled>" in page
    assert "Save the answers" not in page
    assert stored(viewer) == ("DE", ["small", "yes"], "1")
    csrf = hidden(viewer.get("/account").text)["csrf"]
    assert viewer.post("/company", {"csrf": csrf, "version": "1", "seat": "FR"}).status_code == 403
    assert stored(administrator)[0] == "DE"


def test_another_company_has_its_own_profile(caller, other, pool, administrator):
    send(administrator, **ANSWERS)
    stranger = signed_in(other, pool, "administrator")
    assert stored(stranger) == ("", [], "0")
    assert send(stranger, seat="FR").status_code == 303
    assert stored(administrator) == ("DE", ["small", "yes"], "1")
    assert [entry["after"] for entry in entries(other)] == [{"seat": "FR"}]


def test_a_market_s_page_asks_and_then_decides_whether_a_representative_is_needed(administrator):
    page = administrator.get("/markets/FR").text
    assert "Whether your company needs one here is open" in page
    assert 'href="/company"' in page
    send(administrator, **ANSWERS)
    assert "Your company needs one here." in administrator.get("/markets/FR").text
    assert "Your company needs none here." in administrator.get("/markets/DE").text
    assert "Ihr Unternehmen braucht hier einen." in administrator.get("/markets/FR?lang=de").text
