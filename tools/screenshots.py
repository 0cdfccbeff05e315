"""Pictures of every page for docs/pages/, taken anew from a service that is started for the occasion.

One of each page at a desk's width in light, and a few as a phone shows them and in dark. They are small: a palette
instead of true colours, and no more of a long page than its beginning.
"""

import io
import secrets
import sys
from typing import Final, Literal

from PIL import Image
from playwright.sync_api import Browser, Page

from tools import service
from tools.browser import chromium
from tools.browser.assistant import Assistant
from tools.browser.company import Company
from tools.browser.pages import FOR_ALL, FOR_PERSONS, prepare, sign_in

FOLDER: Final = service.ROOT / "docs" / "pages"
PHONES: Final = ("portfolio", "item", "supplier-form", "review-answer", "consent")
"""Also at 360 px, in dark."""
DARK: Final = ("portfolio", "review")
"""Also at 1440 px, in dark."""
_EMAIL: Final = "ada.marsh@brand.example"
LONG: Final = ("portfolio", "item", "import")
"""Shown further down than the others."""
_TALLEST: Final = 1_200
_TALLEST_LONG: Final = 4_000
_COLOURS: Final = 32


def main() -> int:
    """Exit status 2 where there is no Chromium."""
    program = chromium.found()
    if program is None:
        print(f"SKIPPED: {chromium.MISSING}")
        return 2
    FOLDER.mkdir(exist_ok=True)
    with service.running() as running, chromium.opened(program) as browser:
        password = secrets.token_urlsafe(16)
        running.made("user", "add", "--company", running.company_id, "--email", _EMAIL, "--password-stdin",
                     said=password)  # fmt: skip
        company = Company(running.address, running.company_id, running.key, running.made)
        _take(browser, company, password)
    print(f"{sum(path.stat().st_size for path in FOLDER.glob('*.png')) / 1e6:.2f} MB in {FOLDER}")
    return 0


def _take(browser: Browser, company: Company, password: str) -> None:
    with browser.new_context(locale="en-GB", reduced_motion="reduce") as context, \
            Assistant(company.service).listening() as assistant:  # fmt: skip
        signed_in, stranger = context.new_page(), browser.new_page(locale="en-GB")
        sign_in(signed_in, company.service, _EMAIL, password)
        paths = prepare(company, assistant, signed_in, lambda: _count(company))
        for name in (*FOR_ALL, *FOR_PERSONS):
            page = signed_in if name in FOR_PERSONS else stranger
            page.goto(company.service + paths[name])
            tallest = _TALLEST_LONG if name in LONG else _TALLEST
            _picture(page, f"{name}.png", 1440, tallest, "light")
            if name in DARK:
                _picture(page, f"{name}-dark.png", 1440, tallest, "dark")
            if name in PHONES:
                _picture(page, f"{name}-360.png", 360, tallest, "dark")


def _count(company: Company) -> None:
    for command in ("snapshot", "rollup"):
        company.operate(command, "--company", company.id)


def _picture(page: Page, name: str, width: int, tallest: int, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    tall = int(page.evaluate("document.documentElement.scrollHeight"))
    page.set_viewport_size({"width": width, "height": min(tall, tallest)})
    seen = Image.open(io.BytesIO(page.screenshot()))
    seen.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
