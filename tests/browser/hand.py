"""What a person does at a page, in the words of their language: opens, fills in, presses, follows, waits.

Each page that it comes to must speak that language and be no wider than the window.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Error, Locator, Page

from api.pages.render import text

LOCALES: Final = {"en": "en-GB", "de": "de-DE", "fr": "fr-FR"}


@dataclass
class Hand:
    """`clicks` are those on what leads to another page."""

    page: Page
    service: str
    lang: str
    clicks: int = 0

    def say(self, key: str, **gaps: object) -> str:
        """What the pages say for a key of their texts."""
        return text(key, self.lang, **gaps)

    def open(self, path: str) -> None:
        self.page.goto(path if path.startswith("http") else self.service + path)
        self._arrived()

    def click(self, what: Locator) -> None:
        """Click on what leads to another page, and wait for it."""
        with self.page.expect_navigation():
            what.click()
        self.clicks += 1
        self._arrived()

    def press(self, key: str, **gaps: object) -> None:
        """The first button of this name."""
        self.click(self.page.get_by_role("button", name=self.say(key, **gaps), exact=True).first)

    def follow(self, key: str, **gaps: object) -> None:
        """The first link of this name."""
        self.click(self.main.get_by_role("link", name=self.say(key, **gaps), exact=True).first)

    def unfold(self, fold: str) -> None:
        """Open a fold of the page; the menu is one on a phone alone."""
        summary = self.page.locator(f"{fold} > summary")
        if summary.is_visible():
            summary.click()

    def fill(self, **values: str) -> None:
        """Type into inputs by their names; `__` is a dot."""
        for name, value in values.items():
            self.at(name.replace("__", ".")).fill(value)

    def choose(self, **values: str) -> None:
        """Choose from lists by their names; `__` is a dot."""
        for name, value in values.items():
            self.at(name.replace("__", ".")).select_option(value)

    def at(self, name: str) -> Locator:
        """The input of this name."""
        return self.page.locator(f'[id="{name}"]')

    @property
    def main(self) -> Locator:
        return self.page.locator("main")

    @property
    def told(self) -> str:
        """What the page says."""
        return self.main.inner_text()

    def wait_for_end(self) -> None:
        """Look at an import again until it has ended; a person may look as often as they like."""
        while self.main.get_by_role("link", name=self.say("imports.again")).count():
            self.page.wait_for_timeout(300)
            with suppress(Error):  # the page's own script may be turning it just then
                self.page.reload()
            self.page.wait_for_load_state()

    def _arrived(self) -> None:
        if not self.page.url.startswith(self.service):
            return
        size = self.page.viewport_size
        assert size is not None
        assert self.page.locator("html").get_attribute("lang") == self.lang, self.page.url
        # Waited for: a page that waits may be turning itself just then.
        self.page.wait_for_function("width => document.scrollingElement.scrollWidth <= width", arg=size["width"])
