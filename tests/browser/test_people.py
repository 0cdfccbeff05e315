"""The company at its own place: invitations, roles, passwords, second factors, sessions, keys, the audit log."""

from base64 import b32decode
from datetime import UTC, datetime
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from playwright.sync_api import expect

from tests.api.people import PASSWORD, added
from tests.browser.hand import Hand
from tests.browser.visitor import Desk
from tests.browser.windows import ONE, OTHER, Opens, in_windows
from warehouse.operate.sessions import Pool

pytestmark = pytest.mark.browser


@in_windows(ONE)
def test_somebody_is_invited_given_a_role_ended_and_let_back_in(hand: Hand, window: Opens, lang: str):
    email = f"luise-{lang}@brand.example"
    hand.open("/people")
    hand.press("people.invite.do")
    hand.fill(email=email)
    hand.choose(role="viewer")
    hand.press("people.invite.do")
    link = hand.page.locator(".done code").inner_text()

    guest = window(signed_in=False)
    guest.open(link)
    guest.fill(new=PASSWORD, again=PASSWORD + "!")
    guest.press("password.button")
    expect(guest.page.locator(".fault")).to_be_visible()
    guest.fill(new=PASSWORD, again=PASSWORD)
    guest.press("password.button")
    guest.fill(email=email, password=PASSWORD)
    guest.press("sign_in.button")
    guest.open("/imports")
    assert guest.at("file").count() == 0, "a viewer reads"
    guest.open("/items/new")
    assert guest.say("role.editor") in guest.told

    card = hand.main.locator("li", has_text=email)
    card.locator("select").select_option("editor")
    hand.click(card.get_by_role("button", name=hand.say("people.role.give")))
    guest.open("/imports")
    expect(guest.at("file")).to_be_visible()
    hand.press("people.disable", email=email)
    guest.open("/imports")
    expect(guest.at("password")).to_be_visible()
    hand.press("people.return", email=email)
    guest.fill(email=email, password=PASSWORD)
    guest.press("sign_in.button")
    guest.open("/account")
    guest.press("account.leave.do")
    expect(guest.page.locator("main .error")).to_have_text(guest.say("account.sure.needed"))
    guest.at("sure").check()
    guest.press("account.leave.do")
    hand.open("/people")
    assert hand.say("people.disabled") in hand.main.locator("li", has_text=email).inner_text()


def code_of(secret: str, later: int = 0) -> str:
    """The code that an authenticator app shows for a secret, `later` steps of 30 seconds from now."""
    at = int(datetime.now(UTC).timestamp()) + 30 * later
    return TOTP(b32decode(secret.replace(" ", "")), 6, SHA1(), 30).generate(at).decode()


@in_windows(OTHER)
def test_a_person_changes_the_password_adds_a_second_factor_and_ends_sessions(
    desk: Desk, window: Opens, pool: Pool, lang: str
):
    person, hand = added(pool, UUID(desk.company.id), "viewer", called=f"own-{lang}-"), window(signed_in=False)
    hand.open("/account")
    hand.fill(email=person.email, password=person.password + "!")
    hand.press("sign_in.button")
    assert hand.at("email").input_value() == person.email
    hand.fill(password=person.password)
    hand.press("sign_in.button")
    hand.follow("account.password")
    hand.fill(old=person.password, new=PASSWORD + " too", again=PASSWORD + " too")
    hand.press("password.button")
    hand.fill(email=person.email, password=PASSWORD + " too")
    hand.press("sign_in.button")

    hand.open("/account/second-factor")
    secret = hand.main.locator("p code").inner_text()
    hand.fill(code=code_of(secret))
    hand.press("second_factor.switch_on")
    recovery = hand.main.locator("li code").first.inner_text()
    for code in (code_of(secret, later=1), recovery):
        hand.unfold(".menu")
        hand.press("sign_out")
        hand.open("/account")
        hand.fill(email=person.email, password=PASSWORD + " too")
        hand.press("sign_in.button")
        hand.fill(code=code)
        hand.press("sign_in.button")
        assert urlsplit(hand.page.url).path == "/account"
    hand.press("account.end.all")
    hand.open("/account")
    expect(hand.at("password")).to_be_visible()


@in_windows(ONE)
def test_a_key_is_revoked_and_the_audit_log_says_so(desk: Desk, hand: Hand, lang: str):
    desk.company.operate("key", "issue", "--company", desk.company.id, "--name", f"ERP {lang}")
    hand.open("/keys")
    asked_once = hand.main.locator("summary", has_text=hand.say("keys.revoke", name=f"ERP {lang}"))
    asked_once.click()
    hand.press("keys.revoke.do")
    assert asked_once.count() == 0
    hand.open("/audit")
    hand.fill(actor=desk.email)
    hand.choose(kind="api_key")
    hand.press("items.find")
    entry = hand.main.locator("ol li").first
    assert desk.email in entry.inner_text()
    entry.locator("summary").click()
    assert "→" in entry.inner_text()
