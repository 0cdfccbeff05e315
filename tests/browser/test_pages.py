"""Every page in a real browser: read by axe, at a phone's and a desk's width, light and dark, by keyboard alone."""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from api.pages.routes import router
from tests.browser.visitor import LetIn, Shop, Visitor
from tools.browser.pages import FOR_ALL, FOR_PERSONS, WITHOUT_PICTURE

pytestmark = pytest.mark.browser

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
STYLES = ("api.pages", "api.reference")
WIDTHS = (360, 1440)
AT_FIRST: ViewportSize = {"width": 1280, "height": 720}
"""The window in which a page opens; its document is read there."""
NO_PAGES = {
    "/",  # leads to the portfolio
    "/pages/style.css",
    "/pages/live.js",
    "/items/export",
    "/portfolio/board.pdf",
    "/registers/file.csv",
    "/marks/file.csv",
    "/evidence.csv",
    "/documents/{id}/bundle.zip",
    "/recycled-content/file.csv",
    "/supplier-enquiries/{token}/workbook",
    "/items/{id}/files/{file_id}",
    "/imports/template.xlsx",
    "/imports/{id}/rejected.xlsx",
    "/declarations/{id}.pdf",
    "/declarations/kept/{id}/content",
    "/review/{id}/draft.pdf",
    "/review/{id}/files/{file_id}",
}
"""Addresses of the pages' router that answer with files, or lead elsewhere."""
WIDTH_RULES = ["target-size", "scrollable-region-focusable"]
"""Those that depend on the width alone: a scheme changes colours (`test_a_scheme_changes_colours_alone`)."""
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""Those that depend on width and colours."""
SEEN_RULES = [*WIDTH_RULES, *COLOUR_RULES]
"""The others read the document and are asked once."""
READ_RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "rules": {rule: {"enabled": False} for rule in SEEN_RULES},
}
BEGINNING = """for (const part of document.querySelectorAll("main, nav"))
    [...part.querySelectorAll("*")].slice(400).forEach(each => each.remove())"""
"""What follows in a reference of thousands of rows looks as its beginning does, and takes axe minutes to look at."""
NEXT_STOP = """() => {
    const at = document.activeElement, look = getComputedStyle(at), box = at.getBoundingClientRect();
    const isSeen = look.outlineStyle != "none" && parseFloat(look.outlineWidth) >= 2
        && box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0;
    return {place: window.stops.indexOf(at), isSeen, html: at.outerHTML.slice(0, 120)};
}"""
STOPS = """() => {
    const found = document.querySelectorAll(
        'a[href], button, input:not([type="hidden"]), select, textarea, summary, [tabindex="0"]');
    window.stops = [...found].filter(each => each.checkVisibility() && !each.disabled);
    return window.stops.length;
}"""
MOST_STOPS = 120
REFUSED_OR_CHECKED: list[tuple[str, dict[str, str], str]] = [
    ("/items/new", {"sku_code": "N", "name": "N", "weight_grams": "heavy"}, "Save"),
    ("/items/new", {"sku_code": "N", "name": "N"}, "Show what would follow"),
    ("/imports", {"rows": "Foo\tBar"}, "Read the file"),
    ("/declarations", {}, "Check it"),
    ("/declarations", {"market": "DE", "year": "2026", "format": "csv"}, "Check it"),
]
"""Page, what is typed there, and the button that is pressed."""


@pytest.fixture(scope="module")
def visitor(shop: Shop, browser: Browser) -> Iterator[Visitor]:
    """One window for all pages: each of its own is a process that compiles axe, and its calls, anew."""
    visitor = Visitor(browser.new_context(reduced_motion="reduce"), shop.service)
    yield visitor
    assert visitor.left() == []


@pytest.fixture
def window(name: str, shop: Shop, visitor: Visitor) -> Iterator[Page]:
    """A page in that window, by whoever it is for; nothing is left in it of the page before."""
    visitor.context.clear_cookies()
    if name not in FOR_ALL:
        visitor.context.add_cookies(shop.signed_in["cookies"])
    visitor.page.emulate_media(color_scheme="light")
    visitor.page.set_viewport_size(AT_FIRST)
    visitor.page.goto(shop.service + shop.paths[name])
    yield visitor.page
    faults, visitor.faults = visitor.faults, []
    assert faults == []


def violations(window: Page, options: dict[str, Any]) -> list[str]:
    found = window.evaluate(
        "options => axe.run(options).then(found => found.violations)", options | {"resultTypes": ["violations"]}
    )
    return [f"{each['impact']} {each['id']}: {node['html']}" for each in found for node in each["nodes"]]


def addresses(routes: Any) -> Iterator[str]:
    """The addresses of a router that are got."""
    yield from (route.path for route in routes if "GET" in route.methods)


def matches(address: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", address), path) is not None


def test_no_page_of_the_router_is_forgotten(shop: Shop):
    """A new page stands in `tools.browser.pages`, so that axe, the tab key and the windows below are tried at it."""
    paths = [urlsplit(path).path for path in shop.paths.values()]
    unseen = {address for address in addresses(router.routes) if not any(matches(address, path) for path in paths)}
    assert unseen == NO_PAGES


@pytest.mark.parametrize("name", [*FOR_ALL, *FOR_PERSONS, *WITHOUT_PICTURE])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(window: Page):
    window.evaluate(AXE)
    assert violations(window, READ_RULES) == []
    for width in WIDTHS:
        window.set_viewport_size({"width": width, "height": 800})
        assert window.evaluate("document.scrollingElement.scrollWidth") <= width
    window.evaluate(BEGINNING)
    for width in WIDTHS:
        window.set_viewport_size({"width": width, "height": 800})
        for scheme, rules in (("light", SEEN_RULES), ("dark", COLOUR_RULES)):
            window.emulate_media(color_scheme=scheme)
            assert violations(window, {"runOnly": rules}) == [], (width, scheme)


@pytest.mark.parametrize("package", STYLES)
def test_a_scheme_changes_colours_alone(package: str):
    """So that what depends on a page's widths alone is looked at in one scheme."""
    style = (files(package) / "style.css").read_text(encoding="utf-8")
    [dark] = re.findall(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}\s*\}", style, re.DOTALL)
    assert style.count("prefers-color-scheme") == 1
    values = [value.strip() for _, _, value in (each.partition(":") for each in dark.split(";")) if value.strip()]
    assert values
    assert [value for value in values if not re.fullmatch(r"#[0-9a-f]{6}|rgb\([\d %/]+\)", value)] == []


@pytest.mark.parametrize("name", [*FOR_ALL, *FOR_PERSONS])
def test_the_tab_key_reaches_every_control_in_order_and_shows_where_it_is(window: Page):
    window.set_viewport_size({"width": 360, "height": 800})
    stops = min(window.evaluate(STOPS), MOST_STOPS)
    reached: list[int] = []
    while len(reached) < stops:
        window.keyboard.press("Tab")
        stop = window.evaluate(NEXT_STOP)
        if reached and stop["place"] == reached[-1]:
            continue  # a day has three parts, each a stop of its own
        assert stop["isSeen"], stop
        assert stop["place"] == len(reached), stop
        reached.append(stop["place"])


def test_axe_finds_nothing_where_a_form_was_refused_or_is_checked(shop: Shop, let_in: LetIn):
    window = let_in(storage_state=shop.signed_in, viewport={"width": 360, "height": 800})
    for path, fields, button in REFUSED_OR_CHECKED:
        window.goto(shop.service + path)
        for name, value in fields.items():
            entry = window.locator(f'[id="{name}"]')
            entry.select_option(value) if name in ("market", "format") else entry.fill(value)
        with window.expect_navigation():
            window.get_by_role("button", name=button, exact=True).last.click()
        window.evaluate(AXE)
        assert violations(window, READ_RULES) == [], path
        assert violations(window, {"runOnly": SEEN_RULES}) == [], path


@pytest.mark.parametrize("names", [FOR_ALL, FOR_PERSONS])
def test_no_page_has_a_script_or_needs_one(names: tuple[str, ...], shop: Shop, let_in: LetIn):
    signed_in = None if names is FOR_ALL else shop.signed_in
    window = let_in(storage_state=signed_in, reduced_motion="reduce", java_script_enabled=False)
    for name in names:
        window.goto(shop.service + shop.paths[name])
        assert (window.locator("h1").count(), window.locator("script").count()) == (1, 0), name


def test_no_page_lets_another_frame_it(shop: Shop, browser: Browser):
    with browser.new_context(storage_state=shop.signed_in) as context:
        window = context.new_page()
        for path in shop.paths.values():
            window.set_content(f'<iframe src="{shop.service}{path}"></iframe>', wait_until="load")
            [frame] = window.main_frame.child_frames
            frame.wait_for_url("chrome-error://**", timeout=60_000)
