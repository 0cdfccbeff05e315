"""Signing in, held against whoever guesses, forges a form, plants a session or sends somebody elsewhere."""

from dataclasses import replace
from datetime import timedelta
from unittest.mock import Mock

import anyio
import pytest
from starlette.testclient import TestClient

from api.app import create
from tests.api.people import BASE, PASSWORD, Browser, added, hidden
from warehouse.accounts import people, sign_in
from warehouse.operate.settings import Settings

HOME = "/portfolio"


@pytest.fixture
def browser(stopped):
    return Browser(stopped.http, stopped.address)


@pytest.fixture
def person(stopped, pool):
    return added(pool, stopped.company)


def visit(browser):
    return browser.http.cookies["pcds_visit"]


def landed(answer):
    return answer.status_code, answer.headers.get("location")


def test_a_person_signs_in_is_known_and_signs_out(browser, person):
    assert landed(browser.get(HOME)) == (303, f"/sign-in?next={HOME.replace('/', '%2F')}")
    assert landed(browser.sign_in(person)) == (303, HOME)
    page = browser.get(HOME)
    assert page.status_code == 200
    assert person.email in page.text
    csrf = page.text.partition('name="csrf" value="')[2].partition('"')[0]
    cookie = browser.http.cookies["pcds_session"]
    assert landed(browser.post("/sign-out", {"csrf": csrf})) == (303, "/sign-in")
    browser.http.cookies.set("pcds_session", cookie)
    assert browser.get(HOME).status_code == 303, "a cookie kept aside is worth nothing after signing out"


def test_an_email_is_taken_in_any_letters(browser, person):
    assert landed(browser.sign_in(replace(person, email=f"  {person.email.upper()} "))) == (303, HOME)


def test_unknown_disabled_and_wrong_are_told_alike(browser, person, pool, clock):
    answers = [browser.sign_in(person, password="wrong"), browser.sign_in(replace(person, email="no@brand.example"))]
    with pool.company(person.company) as connection:
        assert people.disable(connection, person.id, clock.now())
    answers.append(browser.sign_in(person))
    assert {answer.status_code for answer in answers} == {403}
    said = {answer.text.replace(person.email, "").replace("no@brand.example", "") for answer in answers}
    assert len(said) == 1


def test_each_is_one_comparison_of_a_slow_hash(browser, person, monkeypatch):
    function = Mock(wraps=sign_in.Argon2id)
    monkeypatch.setattr(sign_in, "Argon2id", function)
    browser.sign_in(person, password="wrong")
    browser.sign_in(replace(person, email="no@brand.example"))
    assert function.verify_phc_encoded.call_count == 2


def test_disabling_ends_a_session_at_once(browser, person, pool, clock):
    browser.sign_in(person)
    with pool.company(person.company) as connection:
        people.disable(connection, person.id, clock.now())
    assert browser.get(HOME).status_code == 303


def test_a_session_ends_idle_and_in_the_end(browser, person, clock):
    browser.sign_in(person)
    for _ in range(6):
        clock.advance(people.IDLE - timedelta(minutes=1))
        assert browser.get(HOME).status_code == 200
    clock.advance(timedelta(minutes=7))
    assert browser.get(HOME).status_code == 303, "12 hours are over"
    browser.sign_in(person)
    clock.advance(people.IDLE)
    assert browser.get(HOME).status_code == 303, "two hours without a request are over"


def test_signing_in_begins_a_new_session_whatever_cookie_was_brought(browser, person):
    planted = "planted-by-somebody-else"
    form = hidden(browser.get("/sign-in").text) | {"email": person.email, "password": PASSWORD}
    answer = browser.post("/sign-in", form, headers={"Cookie": f"pcds_session={planted}; pcds_visit={visit(browser)}"})
    assert landed(answer) == (303, HOME)
    assert browser.http.cookies["pcds_session"] != planted
    assert landed(browser.get("/sign-in")) == (303, HOME), "who is signed in is sent on"


def test_a_session_before_ends_with_a_new_sign_in(browser, stopped, person):
    form = hidden(browser.get("/sign-in").text) | {"email": person.email, "password": PASSWORD}
    visited = visit(browser)
    browser.post("/sign-in", form)
    first = browser.http.cookies["pcds_session"]
    browser.http.cookies.set("pcds_visit", visited)
    assert landed(browser.post("/sign-in", form)) == (303, HOME)
    kept_aside = Browser(stopped.http, stopped.address)
    kept_aside.http.cookies.set("pcds_session", first)
    assert kept_aside.get(HOME).status_code == 303
    assert browser.get(HOME).status_code == 200


@pytest.mark.parametrize("csrf", ["", "guessed", None])
def test_a_form_that_is_not_of_this_browser_is_refused(browser, person, csrf):
    form = hidden(browser.get("/sign-in").text) | {"email": person.email, "password": PASSWORD}
    form = {name: value for name, value in (form | {"csrf": csrf}).items() if value is not None}
    assert browser.post("/sign-in", form).status_code == 403
    assert "pcds_session" not in browser.http.cookies


def test_a_form_of_another_site_or_another_browser_is_refused(browser, stopped, person):
    form = hidden(browser.get("/sign-in").text) | {"email": person.email, "password": PASSWORD}
    for site in ("cross-site", "same-site"):
        assert browser.post("/sign-in", form, headers={"Sec-Fetch-Site": site}).status_code == 403
    assert Browser(stopped.http, stopped.address).post("/sign-in", form).status_code == 403


def test_guesses_are_counted_by_network_and_the_right_password_is_not(stopped, person, pool):
    address = Browser(stopped.http, stopped.address)
    for _ in range(people.PER_ACCOUNT + 2):
        assert address.sign_in(person).status_code == 303
        address.http.cookies.delete("pcds_session")
    for _ in range(people.PER_ACCOUNT):
        assert Browser(stopped.http, "10.1.0.9").sign_in(person, password="wrong").status_code == 403
    waits = Browser(stopped.http, "10.1.0.9").sign_in(person)
    assert (waits.status_code, waits.headers["retry-after"]) == (429, "60")
    for number in range(people.PER_NETWORK):
        nobody = replace(person, email=f"{number}@no.example")
        assert Browser(stopped.http, "10.3.0.9").sign_in(nobody).status_code == 403
    another = added(pool, stopped.company)
    assert Browser(stopped.http, "10.3.0.9").sign_in(another).status_code == 429
    assert Browser(stopped.http, "10.4.0.9").sign_in(another).status_code == 303


@pytest.mark.parametrize(
    "back",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "x",
        "/\t/evil.example",
        "https:evil.example",
        "/%0d%0aSet-Cookie:x\n",
        "http://[",
        "",
    ],
)
def test_nobody_is_sent_elsewhere(browser, person, back):
    assert landed(browser.sign_in(person, back=back)) == (303, HOME)


def test_the_way_back_is_kept_with_its_query(browser, person):
    assert landed(browser.sign_in(person, back="/oauth/authorize?a=1&b=%2F")) == (303, "/oauth/authorize?a=1&b=%2F")


def test_what_a_person_types_is_shown_as_text(browser, person):
    script = '"><script>alert(1)</script>'
    page = browser.sign_in(replace(person, email=script)).text
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_pages_are_protected_and_come_in_three_languages(browser):
    for lang, words in (("en", "Password"), ("fr-CH", "Mot de passe"), ("de", "Passwort")):
        page = browser.get("/sign-in", headers={"Accept-Language": lang})
        assert words in page.text
        assert page.headers["content-language"] == lang[:2]
    policy = page.headers["content-security-policy"]
    assert {"default-src 'none'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert "unsafe" not in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["cache-control"] == "no-store"
    assert "http" not in page.text.replace(BASE, "").replace("http-equiv", ""), "nothing from another address"
    assert browser.get("/pages/style.css").headers["content-type"].startswith("text/css")


def test_cookies_are_closed_to_scripts_and_other_sites(browser, person):
    given = browser.sign_in(person).headers.get_list("set-cookie")
    [session] = [cookie for cookie in given if cookie.startswith("pcds_session=")]
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(session.split("; "))


def test_behind_https_cookies_are_secure_and_bound_to_the_host(database, pool, company, tmp_path_factory):
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("https"), base_url="https://packaging.example")
    with TestClient(create(settings, database), base_url="https://packaging.example", follow_redirects=False) as http:
        person, form = added(pool, company), hidden(http.get("/sign-in").text)
        answer = http.post("/sign-in", data=form | {"email": person.email, "password": PASSWORD})
        assert landed(answer) == (303, HOME)
        for cookie in answer.headers.get_list("set-cookie"):
            assert cookie.startswith("__Host-")
            assert {"Secure", "Path=/"} <= set(cookie.split("; "))
            assert "Domain" not in cookie
        assert person.email in http.get(HOME).text
        server = http.get("/.well-known/oauth-authorization-server").json()
        assert server["issuer"] == "https://packaging.example"


def test_who_guesses_from_one_network_does_not_lock_the_owner_out_elsewhere(stopped, person):
    guesser, owner = Browser(stopped.http, "2001:db8:1:1::66"), Browser(stopped.http, "2001:db8:1:2::1")
    said = [guesser.sign_in(person, password="wrong").status_code for _ in range(people.PER_ACCOUNT + 1)]
    assert said == [403] * people.PER_ACCOUNT + [429]
    beside = Browser(stopped.http, "2001:db8:1:1:ffff::1")
    assert beside.sign_in(person).status_code == 429, "another address of the same network of 64 bits"
    assert landed(owner.sign_in(person)) == (303, HOME)


def test_guesses_from_everywhere_make_an_account_slow_and_do_not_close_it(stopped, person, monkeypatch):
    slept, really_sleep = [], anyio.sleep

    async def sleep(seconds):
        if seconds != people.SLOW_SECONDS:  # the service's other tasks sleep too
            await really_sleep(seconds)
        else:
            slept.append(seconds)

    monkeypatch.setattr("api.accounts.sign_in.anyio.sleep", sleep)
    for place in range(people.SLOW_ABOVE):
        assert Browser(stopped.http, f"198.51.100.{place}").sign_in(person, password="wrong").status_code == 403
    assert slept == []
    assert Browser(stopped.http, "198.51.100.98").sign_in(person, password="wrong").status_code == 403
    assert landed(Browser(stopped.http, "198.51.100.99").sign_in(person)) == (303, HOME)
    assert slept == [people.SLOW_SECONDS] * 2, "the right password answers no sooner than a wrong one"
