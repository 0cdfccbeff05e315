"""Passwords: which one nobody may have, the link that sets one once, and the change by who knows the old one."""

from dataclasses import replace
from unittest.mock import Mock
from uuid import uuid4

import pytest

from tests.api.people import PASSWORD, Browser, added, hidden
from warehouse.accounts import people, sign_in

HOME = "/portfolio"
NEW = "four words of my own"


@pytest.fixture
def browser(stopped):
    return Browser(stopped.http, stopped.address)


@pytest.fixture
def person(stopped, pool):
    return added(pool, stopped.company)


@pytest.fixture
def link(person, pool, clock):
    with pool.company(person.company) as connection:
        return f"/password/{people.new_link(connection, person.company, person.id, clock.now())}"


def landed(answer):
    return answer.status_code, answer.headers.get("location")


def chosen(browser, path, new=NEW, again=NEW, **more):
    form = hidden(browser.get(path).text) | {"new": new, "again": again} | more
    return browser.post(path, form)


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("123456789", "length"),
        ("x" * 1_001, "length"),
        ("1234567890", "common"),
        ("QwertyUiop", "common"),
        ("password123", "common"),
        ("four words of mine", None),
        ("ü" * 10, None),
    ],
)
def test_short_long_and_common_ones_are_refused(password, fault):
    assert sign_in.fault(password) == fault


def test_a_link_sets_a_password_once_and_ends_the_sessions(browser, stopped, person, link):
    browser.sign_in(person)
    elsewhere = Browser(stopped.http, "198.51.100.7")
    assert person.email in elsewhere.get(link).text
    assert landed(chosen(elsewhere, link)) == (303, "/sign-in")
    assert browser.get(HOME).status_code == 303, "the session before it has ended"
    assert elsewhere.get(link).status_code == 404, "a link counts once"
    assert elsewhere.sign_in(person).status_code == 403
    assert landed(elsewhere.sign_in(replace(person, password=NEW))) == (303, HOME)


def test_a_link_is_over_after_a_day_with_the_next_one_and_with_its_account(browser, person, link, pool, clock):
    clock.advance(people.LINK_LIFETIME)
    assert browser.get(link).status_code == 404
    with pool.company(person.company) as connection:
        first = people.new_link(connection, person.company, person.id, clock.now())
        second = people.new_link(connection, person.company, person.id, clock.now())
    assert [browser.get(f"/password/{token}").status_code for token in (first, second)] == [404, 200]
    with pool.company(person.company) as connection:
        people.disable(connection, person.id, clock.now())
    assert browser.get(f"/password/{second}").status_code == 404


@pytest.mark.parametrize(
    ("new", "again"), [("short", "short"), ("1234567890", "1234567890"), (NEW, f"{NEW} too")], ids=str
)
def test_what_nobody_should_have_is_refused_and_the_link_stays(browser, person, link, new, again):
    assert chosen(browser, link, new, again).status_code == 400
    assert landed(browser.sign_in(person)) == (303, HOME)
    assert browser.get(link).status_code == 200


def test_a_link_needs_the_form_of_this_browser(browser, person, link):
    assert browser.post(link, {"new": NEW, "again": NEW, "csrf": "guessed"}).status_code == 403


def test_who_knows_the_old_one_changes_it(browser, person):
    browser.sign_in(person)
    assert chosen(browser, "/password", old="not this one").status_code == 400
    assert landed(chosen(browser, "/password", old=PASSWORD)) == (303, "/sign-in")
    assert browser.get(HOME).status_code == 303
    assert landed(browser.sign_in(replace(person, password=NEW))) == (303, HOME)


def test_guesses_of_the_old_one_are_counted(browser, person):
    browser.sign_in(person)
    said = [chosen(browser, "/password", old="wrong").status_code for _ in range(people.PER_ACCOUNT + 1)]
    assert said == [400] * people.PER_ACCOUNT + [429]


def test_a_password_of_another_company_is_out_of_reach(stopped, caller, pool):
    """The function runs as the owner, and asks whose session it is itself."""
    person = added(pool, stopped.company)
    with pool.company(caller.company) as connection:
        assert not people.set_password(connection, person.id, sign_in.hash_password(NEW))


def test_an_address_that_was_ended_can_return(stopped, person, pool, clock):
    new = replace(person, id=uuid4(), password=NEW)
    with pool.company(person.company) as connection:
        people.disable(connection, person.id, clock.now())
        people.add(
            connection,
            person.company,
            new.id,
            email=new.email,
            password_hash=sign_in.hash_password(NEW),
            at=clock.now(),
        )
    assert Browser(stopped.http, "198.51.100.8").sign_in(person).status_code == 403
    assert landed(Browser(stopped.http, "198.51.100.9").sign_in(new)) == (303, HOME)


COMPOSED, COMBINING = "pässwörter für café", "pa\u0308sswo\u0308rter fu\u0308r cafe\u0301"


@pytest.mark.parametrize(("chosen_as", "typed_as"), [(COMPOSED, COMBINING), (COMBINING, COMPOSED)])
def test_a_password_is_the_same_in_each_unicode_form(stopped, person, link, chosen_as, typed_as):
    """NIST SP 800-63B, section 3.1.1.2: letters are composed by one keyboard and combined by another."""
    elsewhere = Browser(stopped.http, "198.51.100.8")
    assert landed(chosen(elsewhere, link, new=chosen_as, again=typed_as)) == (303, "/sign-in")
    wrong = typed_as.replace("f", "v")
    for place, (typed, status) in enumerate(((typed_as, 303), (chosen_as, 303), (wrong, 403))):
        browser = Browser(stopped.http, f"198.51.{place}.9")
        assert browser.sign_in(replace(person, password=typed)).status_code == status


WIDE = "ﬁve wide ｌｅｔｔｅｒｓ"
BY_ARGON2_CFFI = {
    COMPOSED: "$argon2id$v=19$m=19456,t=2,p=1$wFgzj7YptFX9aVXY7ACEPg$Yvsr60fhsQfrT67mWx14lYEywiks2CfuHOnBMynahlI",
    COMBINING: "$argon2id$v=19$m=19456,t=2,p=1$fao3AKCuITkFpYvIK0bRlQ$nkt9SLl0F/2G62Dwx1Nma4tVX1jrmvIFjfx8T51iAAM",
    WIDE: "$argon2id$v=19$m=19456,t=2,p=1$49BtcP7jEjPYW6xoFsN6kA$MAmQqcqnrYGjkTyPbVRreA/v2g/GWtDQQqvaC5BI++s",
}
"""Hashes that argon2-cffi 25.1 made of what was typed, with the parameters of today."""


@pytest.mark.parametrize("hashed", BY_ARGON2_CFFI)
def test_a_password_that_was_hashed_as_it_was_typed_by_another_library_still_works(hashed):
    stored = BY_ARGON2_CFFI[hashed]
    assert sign_in.is_right(hashed, stored)
    if hashed in (COMPOSED, COMBINING):
        assert sign_in.is_right(COMPOSED, stored)
        assert sign_in.is_right(COMBINING, stored)
    assert not sign_in.is_right(f"{hashed}.", stored)


def test_a_hash_has_the_parameters_and_lengths_of_those_before_and_a_salt_of_its_own():
    first, second, before = sign_in.hash_password("x"), sign_in.hash_password("x"), BY_ARGON2_CFFI[WIDE]
    assert first != second
    assert first.split("$")[:4] == before.split("$")[:4] == ["", "argon2id", "v=19", "m=19456,t=2,p=1"]
    assert [len(part) for part in first.split("$")] == [len(part) for part in before.split("$")]


@pytest.mark.parametrize("stored", ["", "x", "$argon2id$v=19$m=19456,t=2,p=1$AAAA", "$2b$12$" + "a" * 53])
def test_nobody_signs_in_by_a_text_that_is_no_hash(stored):
    assert not sign_in.is_right("", stored)
    assert not sign_in.is_right("x", stored)


def test_how_long_a_comparison_takes_tells_nothing_of_the_account(monkeypatch):
    function = Mock(wraps=sign_in.Argon2id)
    monkeypatch.setattr(sign_in, "Argon2id", function)
    counts = []
    for stored in (sign_in.hash_password(COMPOSED), BY_ARGON2_CFFI[COMBINING], sign_in.hash_password("x"), None):
        function.reset_mock()
        sign_in.is_right(COMPOSED, stored)
        counts.append(function.verify_phc_encoded.call_count)
    assert len(set(counts)) == 1
    assert counts[0] > 1


def test_the_length_of_a_password_is_that_of_its_letters():
    assert sign_in.fault("u\u0308" * 9) == "length"
    assert sign_in.fault("u\u0308" * 10) is None
    assert not sign_in.is_too_long("u\u0308" * sign_in.LONGEST)
    assert sign_in.is_too_long("u" * (sign_in.LONGEST + 1))
    assert sign_in.fault("ｐａｓｓｗｏｒｄ１２３") == "common"
