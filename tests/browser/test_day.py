"""A packaging manager's first day in a browser: from the sign-in to a corrected second upload, without a document.

Then three files of other people, whose volumes stand under headers of their own: from the sign-in to the tonnes.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
import xlsxwriter
from playwright.sync_api import Page, expect

from schemas.messages import number, word
from tests.api.people import Person
from tests.api.portfolios import weigh
from tests.browser.hand import LOCALES, Hand
from tests.browser.test_pages import AXE, READ_RULES, SEEN_RULES, violations
from tests.browser.visitor import LetIn
from tests.browser.windows import ONE, OTHER, in_windows
from tests.contract.outside import Server
from tools.browser.company import PORTFOLIO, Company
from warehouse.figures import snapshots
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

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


MOST_CLICKS_OF_A_FILE = 25
"""What leads to another page, and two for each choice from a list: opening it, choosing."""


@dataclass(frozen=True)
class File:
    """A file, what a person chooses and types on its page, and its tonnes by market in 2026.

    `corrections` are wrong cells and what is right. Tonnes are all that were placed, by hand: grams times units.
    """

    name: str
    data: bytes
    choices: Mapping[str, str]
    tonnes: Mapping[str, float]
    typed: Mapping[str, str] = field(default_factory=dict)
    corrections: Mapping[str, str] = field(default_factory=dict)


def _german() -> bytes:
    """Two lines of headers, units under one header for three markets, numbers of two readings, a weight shortened."""
    rows = [
        ["4711", "Honigglas 500 g", "Glas", "", "Primärverpackung", "212,5", "12.400", "3.100", "800"],
        ["4712", "Deckel TO 82", "Metall", "Weißblech", "Primärverpackung", "9,8", "12.400", "3.100", "800"],
        ["4713", "Umkarton 6er", "Pappe", "Wellpappe", "Umverpackung", "140", "2.067", "517", "133"],
        ["4714", "Stretchfolie", "Kunststoff", "PE-LD", "Transportverpackung", "310", "340", "85", "20"],
    ]
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Stamm")
        sheet.write(0, 0, "Verpackungsstamm Müller GmbH, Stand 02/2026")
        sheet.write_row(2, 0, ["Art.-Nr.", "Bezeichnung", "Werkstoff", "Sorte", "Ebene", "Leerw. (g)"])
        sheet.merge_range(2, 6, 2, 8, "Absatz 2026 (Stück)")
        sheet.write_row(3, 6, ["DE", "AT", "FR"])
        for at, row in enumerate(rows):
            sheet.write_row(4 + at, 0, row)
    return out.getvalue()


FRENCH = """Réf. article;Libellé;Matière;Poids unitaire (g);Qté France 2026;Export 2
B-100;Bouteille 75 cl;Verre;430;18 500;2 300
B-101;Capsule;Aluminium;1,2;18 500;2 300
B-102;Carton 6 bouteilles;Carton;365;3 084;384
B-103;Film palette;Plastique X;280;120;16
"""
ENGLISH = """Item no,Description,Material,Unit weight g,Brand,UK units H1 2026,UK units H2 2026,Sales DE 2026
JAR-1,Jam jar 340 g,glass,185,Orchard,20000,22500,4100
LID-1,Twist lid,steel,8.4,Orchard,20000,22500,4100
CTN-1,Shipping carton,corrugated board,210,,1700,1900,350
"""
FILES = {
    "de": File(
        "stamm.xlsx",
        _german(),
        {"sku.F": "weight_grams", "sku.D": "material_subtype", "decimal": ","},
        {"DE": 3.1513, "AT": 0.78786, "FR": 0.19646},  # in France the film is not counted, and listed
    ),
    "fr": File(
        "articles.csv",
        FRENCH.encode("cp1252"),
        {"sku.D": "weight_grams", "sku.C": "material", "year.sku.F": "2026"},
        {"FR": 9.10286, "BE": 1.13192},  # the film, of a plastic that nobody named, is listed as not counted
        typed={"market.sku.F": "Belgique"},
        corrections={"Plastique X": "plastique"},
    ),
    "en": File(
        "items.csv",
        ENGLISH.encode(),
        {"sku.D": "weight_grams", "sku.C": "material"},
        {"GB": 8.9755, "DE": 0.86644},
    ),
}


@in_windows([*ONE, *OTHER])
def test_a_file_with_headers_of_its_own_from_the_sign_in_to_tonnes(
    company: Company, person: Person, pool: Pool, service: Server, let_in: LetIn, *, lang: str, width: int, script: bool
):
    file, viewport = FILES[lang], {"width": width, "height": 900}
    page = let_in(java_script_enabled=script, locale=LOCALES[lang], viewport=viewport, reduced_motion="reduce")
    hand = Hand(page, company.service, lang)
    hand.open("/")
    hand.fill(email=person.email, password=person.password)
    hand.press("sign_in.button")
    hand.click(page.locator('main a.button[href^="/imports"]'))
    page.locator("#file").set_input_files({"name": file.name, "mimeType": "", "buffer": file.data})
    hand.press("imports.send.read")
    hand.wait_for_end()
    clicks = 2 + _choose(page, file)  # two for the file
    _look(page, script=script)
    hand.press("imports.confirm.again")
    hand.wait_for_end()
    if file.corrections:
        hand.follow("imports.rejected.open")
        for wrong, right in file.corrections.items():
            page.locator(f'main td input[value="{wrong}"]').fill(right)
        hand.press("imports.rejected.import")
    else:
        assert _rejected(page) == 0
        _look(page, script=script)
        foreseen = page.locator("table", has=page.locator(f'th:text-is("{hand.say("imports.tonnes.after")}")'))
        for market in file.tonnes:
            assert word("market", market, lang) in foreseen.inner_text()
        hand.press("imports.confirm.import")
    hand.wait_for_end()
    assert _rejected(page) == 0
    data_dir, company_id, rulesets = service.place.folder / "data", UUID(company.id), Rulesets()
    snapshots.publish(pool, company_id, data_dir, datetime.now(UTC), rulesets)  # what the service does by itself
    weigh(pool, rulesets, data_dir, company_id)
    hand.unfold(".menu")
    hand.click(page.locator('.menu a[href^="/figures"]').first)
    for market, tonnes in file.tonnes.items():
        fold = page.locator("details.part", has=page.get_by_role("heading", name=word("market", market, lang)))
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()
        rows = fold.locator("tbody tr", has=page.locator("td:nth-child(2):text-is('2026')"))
        cells = rows.locator("td:nth-child(3) a").all_inner_texts()
        assert sum(_tonnes_of(cell, lang) for cell in cells) == pytest.approx(tonnes, abs=0.003), (market, cells)
    _look(page, script=script)
    assert hand.clicks + clicks <= MOST_CLICKS_OF_A_FILE


def _choose(page: Page, file: File) -> int:
    """Choose and type what the file's page asks for; return the clicks."""
    for name in file.typed:
        page.locator(f'[id="{name}"]').locator("xpath=ancestor::details").locator("summary").first.click()
    for name, value in file.choices.items():
        page.locator(f'select[name="{name}"]').first.select_option(value)
    for name, text in file.typed.items():
        page.locator(f'[id="{name}"]').fill(text)
    return 2 * len(file.choices) + 2 * len(file.typed)


def _tonnes_of(cell: str, lang: str) -> float:
    """The number of a figure's cell, which the language writes with its own marks."""
    tonnes = float(cell.replace(",", "."))
    assert cell == number(tonnes, lang, 3)
    return tonnes


def _look(page: Page, *, script: bool) -> None:
    """Let axe read the page, light and dark; it is a script, and waits for ever in a window that runs none."""
    if not script:
        return
    page.evaluate(AXE)
    assert violations(page, READ_RULES) == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page, {"runOnly": SEEN_RULES}) == [], scheme
