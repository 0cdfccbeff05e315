"""A forgotten password: a mail with a link that sets a new one, and the same answer for whoever has no account."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from tests import mailbox
from tests.api.people import Browser, added, hidden
from tests.waiting import wait_until
from warehouse.accounts import people

FORM = "/password/forgotten"


@pytest.fixture
def post():
    with mailbox.opened() as opened:
        yield opened


@pytest.fixture
def browser(stopped, post):
    """A browser at a service that mails."""
    state = stopped.http.app.state
    service = state.service
    mailing = service.settings.model_copy(update={"smtp_url": SecretStr(post.url), "mail_from": "pcds@marque.example"})
    state.service = replace(service, settings=mailing)
    yield Browser(stopped.http, stopped.address)
    state.service = service


@pytest.fixture
def person(stopped, pool):
    return added(pool, stopped.company)


def ask(browser, email, lang="en"):
    return browser.post(f"{FORM}?lang={lang}", hidden(browser.get(f"{FORM}?lang={lang}").text) | {"email": email})


def test_a_link_is_mailed_and_sets_a_password_once(browser, person, post):
    assert f'href="{FORM}"' in browser.get("/sign-in").text
    answer = ask(browser, f" {person.email.upper()} ", "de")
    assert "Gibt es ein Konto" in answer.text
    wait_until(lambda: post.mails)
    [mail] = post.mails
    assert mail["To"] == person.email
    assert mail["Subject"] == "Ein neues Passwort für Verpackungskonformität"
    [path] = re.findall(r"http://127\.0\.0\.1:\d+(/password/\S+)", mail.get_content())
    assert path.endswith("?lang=de")
    form = hidden(browser.get(path).text) | {"new": "four words of my own", "again": "four words of my own"}
    assert browser.post(path, form).status_code == 303
    assert browser.get(path).status_code == 404
    assert browser.sign_in(person).status_code == 403
    assert browser.sign_in(person, password="four words of my own").status_code == 303


def test_nobody_learns_who_has_an_account_and_nobody_is_flooded(browser, person, post, clock, pool):
    ended = added(pool, person.company)
    with pool.company(person.company) as connection:
        people.disable(connection, ended.id, clock.now())
    pages = {
        re.sub(r'name="csrf" value="[^"]*"', "", ask(browser, email).text)
        for email in (person.email, "nobody@brand.example", ended.email, person.email)
    }
    assert len(pages) == 1
    wait_until(lambda: post.mails)
    assert [mail["To"] for mail in post.mails] == [person.email]
    clock.instant += people.FORGOTTEN_PAUSE + timedelta(seconds=1)
    ask(browser, person.email)
    wait_until(lambda: len(post.mails) == 2)


def test_a_link_ends_after_an_hour(browser, person, post, clock):
    ask(browser, person.email)
    wait_until(lambda: post.mails)
    [path] = re.findall(r"http://127\.0\.0\.1:\d+(/password/\S+)", post.mails[0].get_content())
    clock.instant += people.FORGOTTEN_LIFETIME + timedelta(seconds=1)
    assert browser.get(path).status_code == 404


def test_asking_is_limited_and_what_is_no_address_is_said(browser, person):
    assert "Enter an email address" in ask(browser, "no address").text
    answers = [ask(browser, person.email).status_code for _ in range(people.PER_ACCOUNT + 1)]
    assert answers[-1] == 429


def test_without_a_mail_server_the_page_says_whom_to_ask(stopped):
    page = Browser(stopped.http, stopped.address).get(FORM).text
    assert "Ask your administrator" in page
    assert 'name="email"' not in page
