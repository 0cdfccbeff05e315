"""Takes pictures of every page for docs/pages/, and of Dagster's for docs/dagster/, from a temporary service.

It takes one of each of our pages at a desktop's width in light colours, a few at a phone's width and in dark, and those
of the visual language in all four. They are small: a palette instead of true colours, and only the beginning of a long
page. Names of pages as arguments take those of our own alone.
"""

import io
import secrets
import sys
from pathlib import Path
from typing import Final, Literal

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, ViewportSize

from tools import service
from tools.browser import chromium, dagster
from tools.browser.assistant import Assistant
from tools.browser.company import Company
from tools.browser.pages import FOR_ALL, FOR_PERSONS, prepare, sign_in

FOLDER: Final = service.ROOT / "docs" / "pages"
OF_DAGSTER: Final = service.ROOT / "docs" / "dagster"
PHONES: Final = ("portfolio", "item", "supplier-form", "review-answer", "consent")
"""Pages that are also taken at 360 px, in dark."""
DARK: Final = ("review", "portfolio", "item")
"""Pages that are also taken at 1440 px, in dark."""
IN_ALL: Final = ("portfolio", "item", "import", "filing", "due")
"""Pages that are taken in both widths and schemes, for docs/design.md; `filing` is a declaration that is checked."""
_EMAIL: Final = "ada.marsh@brand.example"
_STAFF: Final = "sam.reed@operator.example"
LONG: Final = ("item", "import")
"""Pages whose pictures reach further down than the others."""
_TALLEST: Final = 1_030
_TALLEST_LONG: Final = 1_500
_COLOURS: Final = 32
_DESK: Final[ViewportSize] = {"width": 1440, "height": 900}
_SETTLED: Final = 1_500
"""Milliseconds: Dagster's pages request more data after their first rendering."""
_SLUG: Final = "example"
"""The partition of the company that `tools.service` makes."""


def main() -> int:
    """Take all pictures; return exit status 2 where there is no Chromium."""
    program = chromium.found()
    if program is None:
        print(f"SKIPPED: {chromium.MISSING}")
        return 2
    FOLDER.mkdir(exist_ok=True)
    OF_DAGSTER.mkdir(exist_ok=True)
    chosen = sys.argv[1:]
    with service.running(*([] if chosen else ["--dagster-ui"])) as running, chromium.opened(program) as browser:
        password = secrets.token_urlsafe(16)
        running.made(
            "user", "add", "--company", running.company_id, "--email", _EMAIL, "--password-stdin", said=password
        )
        company = Company(running.address, running.company_id, running.key, running.made)
        running.made("staff", "add", "--email", _STAFF, "--role", "operator", "--password-stdin", said=password)
        import_id = _take(browser, company, password, chosen)
        if not chosen:
            _take_dagster(browser, company, password, import_id)
    for folder in (FOLDER, OF_DAGSTER):
        print(f"{sum(path.stat().st_size for path in folder.glob('*.*')) / 1e6:.2f} MB in {folder}")
    return 0


def _take(browser: Browser, company: Company, password: str, chosen: list[str]) -> str:
    """Take our own pages, or those that are chosen; return the id of the company's import."""
    with (
        browser.new_context(locale="en-GB", reduced_motion="reduce") as context,
        Assistant(company.service).listening() as assistant,
    ):
        signed_in, stranger = context.new_page(), browser.new_page(locale="en-GB")
        sign_in(signed_in, company.service, _EMAIL, password)
        paths = prepare(company, assistant, signed_in, lambda: _count(company))
        for name in chosen or dict.fromkeys((*FOR_ALL, *FOR_PERSONS, *IN_ALL)):
            page = stranger if name in FOR_ALL else signed_in
            _open(page, company.service, paths, name)
            tallest = _TALLEST_LONG if name in LONG else _TALLEST
            _picture(page, name, 1440, tallest, "light")
            if name in (*DARK, *IN_ALL):
                _picture(page, f"{name}-dark", 1440, tallest, "dark")
            if name in (*PHONES, *IN_ALL):
                _picture(page, f"{name}-360", 360, tallest, "dark")
            if name in IN_ALL:
                _picture(page, f"{name}-360-light", 360, tallest, "light")
    return paths["import"].rpartition("/")[2]


def _open(page: Page, service: str, paths: dict[str, str], name: str) -> None:
    if name in paths:
        page.goto(service + paths[name])
        return
    page.goto(f"{service}/declarations?market=FR&year=2026&format=csv")
    page.get_by_role("button", name="Check it").click()


def _take_dagster(browser: Browser, company: Company, password: str, import_id: str) -> None:
    """Take the pictures of Dagster for docs/auditor.md and docs/operations.md, as an operator sees it."""
    with browser.new_context(locale="en-GB", viewport=_DESK, reduced_motion="reduce") as context:
        page, start = context.new_page(), f"{company.service}/dagster"
        dagster.sign_in(page, company.service, _STAFF, password)
        page.goto(start)
        dagster.bar(page, "import_file").hover(force=True)  # the line of now may lie over it
        _seen(page, page.locator("body"), "timeline")
        page.goto(f"{start}/runs?q[0]=tag:pcds/import_id={import_id}")
        page.get_by_text("import_file").first.wait_for()
        _seen(page, page.locator("body"), "import-runs")
        dagster.materialised(page, company.service, "figures", _SLUG)
        page.get_by_text("Success").first.wait_for()
        page.goto(f"{start}/assets/figures?view=partitions&partition={_SLUG}")
        _seen(page, page.locator("table").filter(has_text="ruleset_version").first, "figures")
        _seen(page, page.locator("tr").filter(has=page.get_by_text("tonnes_by_category", exact=True)).last, "category")
        page.goto(f"{start}/assets/portfolio_snapshot?view=partitions&partition={_SLUG}")
        _seen(page, page.locator("table").filter(has_text="skus_by_import").first, "snapshot")
        page.goto(f"{start}/assets/declarations?view=lineage&lineageScope=upstream&lineageDepth=5")
        dagster.node(page, "declarations").wait_for()
        _seen(page, page.locator("body"), "lineage")


def _seen(page: Page, what: Locator, name: str) -> None:
    """Take a part of a page of Dagster after it has loaded, and only the part's beginning."""
    what.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(_SETTLED)
    box = what.bounding_box()
    assert box is not None
    if box["height"] > _DESK["height"]:
        page.set_viewport_size({"width": _DESK["width"], "height": min(int(box["y"] + box["height"]) + 1, _TALLEST)})
    _kept(what.screenshot(), OF_DAGSTER / f"{name}.png", widest=_DESK["width"] - int(box["x"]))
    page.set_viewport_size(_DESK)


def _count(company: Company) -> None:
    for command in ("snapshot", "rollup"):
        company.operate(command, "--company", company.id)


def _picture(page: Page, name: str, width: int, tallest: int, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    tall = int(page.evaluate("document.documentElement.scrollHeight"))
    page.set_viewport_size({"width": width, "height": min(tall, tallest)})
    _kept(page.screenshot(), FOLDER / f"{name}.webp")


def _kept(seen: bytes, path: Path, widest: int = _DESK["width"]) -> None:
    """Store a picture, cut at the window's width and the greatest height."""
    image = Image.open(io.BytesIO(seen)).convert("RGB")
    part = image.crop((0, 0, min(image.width, widest), min(image.height, _TALLEST_LONG)))
    few = part.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    if path.suffix == ".webp":  # a third smaller than PNG, and the same pixels
        few.convert("RGB").save(path, lossless=True, quality=75, method=4)
    else:
        few.save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
