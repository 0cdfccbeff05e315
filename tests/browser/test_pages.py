"""Every page in a real browser: read by axe, at a phone's and a desk's width, light and dark, by keyboard alone."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.visitor import LetIn, Shop
from tools.browser.pages import FOR_ALL, FOR_PERSONS

pytestmark = pytest.mark.browser

WIDTHS = (360, 1440)
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "resultTypes": ["violations"],
}


def opened(name: str, shop: Shop, let_in: LetIn, **options: Any) -> Page:
    window = let_in(storage_state=shop.signed_in if name in FOR_PERSONS else None, **options)
    window.goto(shop.service + shop.paths[name])
    return window


@pytest.mark.parametrize("name", [*FOR_ALL, *FOR_PERSONS])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(name: str, shop: Shop, let_in: LetIn):
    window = opened(name, shop, let_in)
    found = []
    for width in WIDTHS:
        window.set_viewport_size({"width": width, "height": 800})
        wide = window.evaluate("document.scrollingElement.scrollWidth")
        if wide > width:
            found.append(f"{width}: {wide} px wide")
        for scheme in ("light", "dark"):
            window.emulate_media(color_scheme=scheme)
            for each in Axe().run(window, options=RULES).response["violations"]:
                found += [f"{width} {scheme} {each['impact']} {each['id']}: {node['html']}" for node in each["nodes"]]
    assert found == []
