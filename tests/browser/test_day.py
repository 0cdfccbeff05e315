"""A packaging manager's first day in a browser: from the sign-in to a corrected second upload, without a document."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.api.people import Person
from tests.browser.hand import LOCALES, Hand
from tests.browser.visitor import LetIn
from tests.browser.windows import ONE, in_windows
from tools.browser.company import PORTFOLIO, Company

pytestmark = pytest.mark.browser

MOST_CLICKS = 6
"""Sign in, Imports, read the file, import it, open what was rejected, import what was corrected."""
RIGHT = {
    "3250390017166": "3250390017165",
    "FR,Atlantis": "FR",
    "84 - 86": "85",
    "WTR-01": "WTR-99",
    "1,234": "1.234",
}
"""The wrong cells of the example file, and what is right."""
FORBIDDEN = 1
"""Rows that no cell can mend: PFAS in contact with food."""


@in_windows(ONE)
def test_from_the_sign_in_to_a_corrected_second_upload(
    company: Company, person: Person, let_in: LetIn, *, lang: str, width: int, script: bool
):
    viewport = {"width": width, "height": 900}
    page = let_in(java_script_enabled=script, locale=LOCALES[lang], viewport=viewport)
    hand = Hand(page, company.service, lang)
    hand.open("/")
    hand.fill(email=person.email, password=person.password)
    hand.press("sign_in.button")
    hand.click(page.locator('main a.button[href^="/imports"]'))  # the empty portfolio says what to do
    page.locator("#file").set_input_files(Path(PORTFOLIO))
    hand.press("imports.send.read")
    hand.wait_for_end()
    hand.press("imports.confirm.import")
    hand.wait_for_end()
    assert _rejected(page) == len(RIGHT) + FORBIDDEN
    hand.follow("imports.rejected.open")
    _correct(page)
    hand.press("imports.rejected.send")
    hand.wait_for_end()
    assert hand.clicks <= MOST_CLICKS
    assert _rejected(page) == FORBIDDEN
    expect(page.locator(".tag.good")).to_be_visible()


def _rejected(page: Page) -> int:
    """The number of rejected items that the page of an import shows."""
    return int(page.locator("table.chart").first.locator("tbody tr").last.locator("td").inner_text())


def _correct(page: Page) -> None:
    """Type what the page says would be right."""
    cells = page.locator("main td input")
    typed = 0
    for place in range(cells.count()):
        if right := RIGHT.get(cells.nth(place).input_value()):
            cells.nth(place).fill(right)
            typed += 1
    assert typed == len(RIGHT)
