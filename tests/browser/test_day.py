"""A packaging manager's first day in a browser: from the sign-in to a corrected second upload, without a document."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.api.people import Person
from tests.browser.visitor import LetIn
from tools.browser.company import PORTFOLIO, Company

pytestmark = pytest.mark.browser

MOST_CLICKS = 6
"""Sign in, Imports, read the file, import it, open what was rejected, import what was corrected."""
WORDS = {
    "en": (
        "Read the file",
        "Show how far it is now",
        "Import",
        "Correct the rejected rows",
        "Import the corrected rows",
    ),
    "de": (
        "Datei lesen",
        "Jetzigen Stand zeigen",
        "Importieren",
        "Abgelehnte Zeilen berichtigen",
        "Berichtigte Zeilen importieren",
    ),
    "fr": (
        "Lire le fichier",
        "Voir où il en est",
        "Importer",
        "Corriger les lignes rejetées",
        "Importer les lignes corrigées",
    ),
}
"""The buttons and links on the way, by language."""
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


@dataclass
class Hand:
    """What a person does with the mouse, counted."""

    page: Page
    clicks: int = 0

    def click(self, what: Locator) -> None:
        """Click on what leads to another page, and wait for it."""
        with self.page.expect_navigation():
            what.click()
        self.clicks += 1

    def wait_for_end(self, again: str) -> None:
        """Look again until the import has ended; a person may look as often as they like."""
        while self.page.get_by_role("link", name=again).count():
            self.page.wait_for_timeout(300)
            self.page.reload()


@pytest.mark.parametrize(
    ("lang", "locale", "width", "script"),
    [("en", "en-GB", 1440, True), ("de", "de-DE", 360, False), ("fr", "fr-FR", 360, True)],
)
def test_from_the_sign_in_to_a_corrected_second_upload(
    company: Company, person: Person, let_in: LetIn, *, lang: str, locale: str, width: int, script: bool
):
    read, again, confirm, correct, send = WORDS[lang]
    page = let_in(java_script_enabled=script, locale=locale, viewport={"width": width, "height": 900})
    hand = Hand(page)
    page.goto(f"{company.service}/")
    page.locator("#email").fill(person.email)
    page.locator("#password").fill(person.password)
    hand.click(page.locator("main button"))
    hand.click(page.locator('nav a[href^="/imports"]'))
    page.locator("#file").set_input_files(Path(PORTFOLIO))
    hand.click(page.get_by_role("button", name=read))
    hand.wait_for_end(again)
    hand.click(page.get_by_role("button", name=confirm, exact=True))
    hand.wait_for_end(again)
    assert _rejected(page) == len(RIGHT) + FORBIDDEN
    hand.click(page.get_by_role("link", name=correct))
    _correct(page)
    hand.click(page.get_by_role("button", name=send))
    hand.wait_for_end(again)
    assert hand.clicks <= MOST_CLICKS
    assert _rejected(page) == FORBIDDEN
    expect(page.locator(".tag.good")).to_be_visible()


def _rejected(page: Page) -> int:
    """The number of rejected items that the page of an import shows."""
    return int(page.locator("table.chart").first.locator("tbody tr").last.locator("td").inner_text())


def _correct(page: Page) -> None:
    """Type what the page says would be right."""
    cells = page.locator("main section.card input")
    typed = 0
    for place in range(cells.count()):
        if right := RIGHT.get(cells.nth(place).input_value()):
            cells.nth(place).fill(right)
            typed += 1
    assert typed == len(RIGHT)
