"""The second factor: set up, asked for at the sign-in, guessed at, lost, and taken off."""

import re
from base64 import b32decode
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from services import accounts as codes
from tests.api.forms import filled
from tests.api.people import Browser, added, hidden, signed_in
from warehouse.accounts import people as people_accounts
from warehouse.accounts.people import Ticket
from warehouse.operate.keys import SECOND_FACTORS, Seal

NOW = datetime(2026, 11, 24, 12, 0, 5, tzinfo=UTC)


def code_at(secret: bytes, at: datetime) -> str:
    return TOTP(secret, 6, SHA1(), 30).generate(int(at.timestamp())).decode()


def test_a_code_counts_within_a_step_of_its_time():
    secret = codes.new_secret()
    for seconds, counts in ((-65, False), (-30, True), (0, True), (30, True), (65, False)):
        found = codes.step_of(secret, code_at(secret, NOW + timedelta(seconds=seconds)), NOW)
        assert (found is not None) is counts, seconds
    for wrong in ("", "12345", "1234567", "abcdef", "١٢٣٤٥٦"):
        assert codes.step_of(secret, wrong, NOW) is None
    right = code_at(secret, NOW)
    assert codes.step_of(secret, f"{right[:3]} {right[3:]}", NOW) == int(NOW.timestamp()) // 30


def test_a_ticket_is_of_one_key_and_of_five_minutes():
    seal, person = Seal((b"k" * 32,), SECOND_FACTORS), Ticket(uuid4(), uuid4(), "a@b.example")
    sent = codes.ticket(seal, person, NOW)
    assert codes.read_ticket(seal, sent, NOW + timedelta(minutes=4)) == person
    assert codes.read_ticket(seal, sent, NOW + timedelta(minutes=5)) is None
    assert codes.read_ticket(Seal((b"x" * 32,), SECOND_FACTORS), sent, NOW) is None
    altered = ("B" if sent[0] == "A" else "A") + sent[1:]
    for broken in ("", "!", sent[:-8], altered, "ü"):
        assert codes.read_ticket(seal, broken, NOW) is None
    assert seal.unseal(seal.seal(b"secret", b"one"), b"other") is None


@pytest.fixture
def person(pool, caller):
    return added(pool, caller.company, "viewer")


@pytest.fixture
def browser(caller):
    return Browser(caller.http, caller.address)


def switch_on(browser):
    """The secret of a person who is signed in, the code that switched it on, and the recovery codes."""
    page = browser.get("/account/second-factor").text
    assert "<svg" in page
    secret = b32decode(re.search(r"<code>([A-Z2-7 ]+)</code>", page)[1].replace(" ", ""))
    form = hidden(page)
    assert browser.post("/account/second-factor", form | {"code": "000000"}).status_code == 400
    code = code_at(secret, datetime.now(UTC))
    done = browser.post("/account/second-factor", form | {"code": code})
    return secret, code, re.findall(r"<code>([a-z2-7]{16})</code>", done.text)


def asked(browser, person):
    answer = browser.sign_in(person)
    assert answer.status_code == 200
    assert "Enter your code" in answer.text
    return hidden(answer.text)


def enter(browser, form, code):
    return browser.post("/sign-in/code", form | {"code": code})


def test_a_person_with_a_second_factor_needs_a_code_that_counts_once(caller, browser, person):
    assert browser.sign_in(person).status_code == 303
    secret, used, recovery = switch_on(browser)
    assert len(set(recovery)) == codes.RECOVERY_CODES
    other = Browser(caller.http, caller.address)
    form = asked(other, person)
    assert other.get("/account").status_code == 303, "the password alone signs nobody in"
    assert enter(other, form, used).status_code == 403, "it was used to switch it on"
    assert "wrong, over, or was used" in unescape(enter(other, form, "123456").text)
    later = code_at(secret, datetime.now(UTC) + timedelta(seconds=30))
    assert enter(other, form, later).status_code == 303
    assert other.get("/account").status_code == 200
    third = Browser(caller.http, caller.address)
    assert enter(third, asked(third, person), later).status_code == 403, "a code counts once"
    assert enter(third, asked(third, person), recovery[0].upper()).status_code == 303
    fourth = Browser(caller.http, caller.address)
    assert enter(fourth, asked(fourth, person), recovery[0]).status_code == 403, "and so does a recovery code"
    actions = [entry["action"] for entry in caller.get("/audit-log?resource_type=user").json()["data"]]
    assert actions.count("user.recovery_code_used") == 1
    assert "user.second_factor_on" in actions
    assert recovery[1] not in caller.get("/audit-log").text


def test_guesses_at_a_code_count_as_those_at_a_password(caller, browser, person):
    assert browser.sign_in(person).status_code == 303
    switch_on(browser)
    other = Browser(caller.http, caller.address)
    form = asked(other, person)
    answers = [enter(other, form, "000000").status_code for _ in range(12)]
    assert set(answers) == {403, 429}
    assert other.sign_in(person).status_code == 429
    assert enter(other, form | {"ticket": "x"}, "000000").headers["Location"].startswith("/sign-in")


def test_guesses_from_many_networks_end_too(caller, browser, person):
    assert browser.sign_in(person).status_code == 303
    secret, *_ = switch_on(browser)
    other = Browser(caller.http, caller.address)
    form = asked(other, person)
    for network in range(21):
        other.address = f"10.9.{network}.1"
        enter(other, form, "000000")
    later = code_at(secret, datetime.now(UTC) + timedelta(seconds=30))
    assert enter(other, form, later).status_code == 429, "the right one waits as well"


def test_a_ticket_is_worth_nothing_once_the_account_has_ended(caller, browser, person, pool):
    assert browser.sign_in(person).status_code == 303
    *_, recovery = switch_on(browser)
    other = Browser(caller.http, caller.address)
    form = asked(other, person)
    with pool.company(caller.company) as conn:
        people_accounts.disable(conn, person.id, datetime.now(UTC))
    assert enter(other, form, recovery[0]).status_code == 403


def test_it_is_switched_off_with_a_code_or_by_an_administrator(caller, browser, person, pool):
    assert browser.sign_in(person).status_code == 303
    *_, recovery = switch_on(browser)
    page = browser.get("/account/second-factor").text
    assert browser.post("/account/second-factor", hidden(page) | {"code": "000000"}).status_code == 400
    assert browser.post("/account/second-factor", hidden(page) | {"code": recovery[1]}).status_code == 303
    assert Browser(caller.http, caller.address).sign_in(person).status_code == 303
    switch_on(browser)
    administrator = signed_in(caller, pool, "administrator")
    people = administrator.get("/people").text
    path = re.search(r'action="(/people/[^"]+)"[^§]*?second_factor_off', people.partition(person.email)[2])[1]
    form = {"csrf": hidden(people)["csrf"], "step": "second_factor_off"}
    assert administrator.post(path, form).status_code == 303
    assert Browser(caller.http, caller.address).sign_in(person).status_code == 303
    assert filled(people, "none") == []
