"""What may be used once is used once in parallel too: the statement that checks it consumes it."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.accounts import pages as password_page
from tests.api.asking import ask
from tests.api.people import Browser, added, hidden
from tests.connector.oauth.authorising import at_home
from tests.waiting import PATIENCE_SECONDS
from warehouse.accounts import people, sign_in


def at_once(*works: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(works)) as threads:
        begun = [threads.submit(work) for work in works]
        return [each.result(PATIENCE_SECONDS) for each in begun]


@pytest.mark.parametrize("lifetime", [people.LINK_LIFETIME, people.INVITATION_LIFETIME], ids=["reset", "invitation"])
def test_a_link_that_two_use_sets_one_password(stopped, pool, clock, monkeypatch, lifetime):
    person = added(pool, stopped.company)
    with pool.company(person.company) as connection:
        link = f"/password/{people.new_link(connection, person.company, person.id, clock.now(), lifetime)}"
    both_have_looked, hashed = threading.Barrier(2, timeout=PATIENCE_SECONDS), sign_in.hash_password

    def meeting(password: str) -> str:
        both_have_looked.wait()
        return hashed(password)

    monkeypatch.setattr(password_page.sign_in, "hash_password", meeting)
    chosen = ["four words of my own", "and four of another"]

    def use(new: str) -> int:
        browser = Browser(stopped.http, stopped.address)
        form = hidden(browser.get(link).text) | {"new": new, "again": new}
        return browser.post(link, form).status_code

    answers = at_once(*(lambda new=new: use(new) for new in chosen))
    assert sorted(answers) == [303, 404]
    with pool.company(person.company) as connection:
        entries = "SELECT count(*) FROM audit_entries WHERE action = 'user.password_set'"
        assert connection.execute(entries).fetchone() == (1,)
        stored = connection.execute("SELECT password_hash FROM users WHERE id = %s", [person.id]).fetchone()[0]
    assert sign_in.is_right(chosen[answers.index(303)], stored)


def test_of_a_suppliers_answers_at_once_one_waits_for_review(caller, pool):
    """Its link takes answers until one is accepted (decisions §6): each replaces the one before, none stands beside."""
    asked = ask(caller, pool)
    part = {"component_id": asked.components[0], "weight_g": 21}
    answers = at_once(*[lambda: asked.answer(part).status_code] * 6)
    assert answers == [202] * 6
    with pool.company(caller.company) as connection:
        states = connection.execute("SELECT state FROM review_entries").fetchall()
    assert Counter(state for (state,) in states)["open"] == 1


def test_a_recovery_code_that_two_use_lets_one_in(caller, pool):
    person = added(pool, caller.company)
    with pool.company(person.company) as connection:
        sign_in.switch_on(connection, person.company, person.id, b"sealed", step=1, recovery_codes=["once"])

    def use() -> bool:
        with pool.company(person.company) as connection:
            return sign_in.use_recovery_code(connection, person.id, "once")

    def take() -> bool:
        with pool.company(person.company) as connection:
            return sign_in.take_step(connection, person.id, 2)

    assert sorted(at_once(use, use, use)) == [False, False, True]
    assert sorted(at_once(take, take, take)) == [False, False, True]


def test_an_authorization_code_that_two_redeem_connects_once(caller, pool):
    assistant = at_home(caller.http, caller.address, added(pool, caller.company))
    code = assistant.code()
    answers = at_once(*[lambda: assistant.redeem(code).status_code] * 3)
    assert Counter(answers) == {200: 1, 400: 2}
