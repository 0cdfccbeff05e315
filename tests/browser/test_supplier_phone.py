"""A supplier with 400 parts of 12 kinds answers on a phone, in three languages, and in two uploads of the workbook.

What arrives is the same to the cell.
"""

import io
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page
from xlsxwriter import Workbook

from pipelines.readers.tasks import cells
from pipelines.suppliers import workbook_headers
from schemas.messages import word
from tests.browser.hand import LOCALES, Hand
from tests.browser.visitor import LetIn
from tools.browser.company import Company
from warehouse.operate.sessions import Pool

pytestmark = pytest.mark.browser

PARTS, KINDS = 400, 12
CODES = [f"CAN-{n:03}" for n in range(PARTS)]
SECONDS_A_FIELD = 8
"""What somebody who has read nothing takes to find a field, understand it and fill it in on a phone."""
PHONE = {"width": 360, "height": 800}
SUBSTANCES = ("pfas", "heavy_metals")


def kind_of(number: int) -> dict[str, str]:
    """What the supplier says of the parts of a row, in the words of the record."""
    return {"polymer_or_grade": f"EN AW-30{number:02}", "recycled_content_percent": f"{number}.5", "colour": "opaque"}


@pytest.fixture
def asking(company: Company) -> Company:
    """A company with 400 cans, of which 12 differ in weight and are otherwise known by their material alone."""
    part = {"component_type": "body", "material_family": "metal", "supplier_id": company.supplier("Dosen AG")}
    company.items(
        [
            {"sku_code": code, "name": f"Can {n}", "components": [{**part, "weight_g": 10.5 + n % KINDS}]}
            for n, code in enumerate(CODES)
        ]
    )
    return company


def by_page(hand: Hand, link: str) -> int:
    """Answer on the phone; with how many taps and fields."""
    hand.open(link)
    steps = 0
    for row in range(1, KINDS + 1):
        for name, said in kind_of(row).items():
            if name == "colour":
                hand.page.locator(f'[name="{row}.colour"]').select_option(said)
            else:
                said_here = said.replace(".", "." if hand.lang == "en" else ",") if name.endswith("percent") else said
                hand.fill(**{f"{row}.{name}": said_here})
            steps += 1
        for substance in SUBSTANCES:
            hand.page.locator(f'[name="{row}.substances.{substance}.status"]').select_option("absent")
            steps += 1
    hand.press("enquiry.confirm")
    assert hand.say("enquiry.progress", confirmed=KINDS, rows=KINDS) in hand.told
    hand.page.locator("#consent").check()
    hand.press("supplier.send")
    assert hand.say("enquiry.sent", count=PARTS) in hand.told
    return steps + 3


def filled(page: Page, link: str, rows: range, lang: str) -> bytes:
    """The workbook as the page gives it, with the answers of some rows, confirmed."""
    read, _ = cells(io.BytesIO(page.request.get(f"{link}/workbook?lang={lang}").body()))
    titles, *lines = [list(line) for line in read["cells"]]
    names = [workbook_headers(lang)[str(title)] for title in titles]
    absent = {f"substances.{substance}.status": word("substance_status", "absent", lang) for substance in SUBSTANCES}
    data = io.BytesIO()
    with Workbook(data, {"in_memory": True, "strings_to_numbers": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, titles)
        for at, line in enumerate(lines, 1):
            said = kind_of(at) | absent | {"colour": word("colour", "opaque", lang), "confirmed": "ja"}
            answers = said if at in rows else {}
            sheet.write_row(at, 0, [answers.get(name, text) for name, text in zip(names, line, strict=True)])
    return data.getvalue()


def filed(pool: Pool, company: Company, enquiry: str) -> dict[str, list[dict[str, object]]]:
    """What arrived of each item, by its code."""
    query = """
SELECT skus.sku_code, entry.payload -> 'components' FROM review_entries AS entry
JOIN supplier_requests AS request ON request.id = entry.request_id JOIN skus ON skus.id = request.sku_id
WHERE request.enquiry_id = %s AND entry.state = 'open'"""
    with pool.company(UUID(company.id)) as conn:
        return dict(conn.execute(query, [UUID(enquiry)]).fetchall())


def test_400_parts_are_answered_on_a_phone_and_by_workbook_equal_to_the_cell(
    asking: Company, let_in: LetIn, pool: Pool, tmp_path: Path
) -> None:
    answers = []
    for lang in ("de", "fr", "en"):
        enquiry, link = asking.enquire("Dosen AG", *CODES)
        phone = let_in(locale=LOCALES[lang], viewport=PHONE)
        steps = by_page(Hand(phone, asking.service, lang), f"{link}?lang={lang}")
        assert steps * SECONDS_A_FIELD < 10 * 60, "in under ten minutes"
        answers.append(filed(pool, asking, enquiry))
    enquiry, link = asking.enquire("Dosen AG", *CODES)
    desk = let_in(locale="de-DE", viewport={"width": 1280, "height": 900})
    hand = Hand(desk, asking.service, "de")
    hand.open(f"{link}?lang=de")
    for rows in (range(1, 7), range(7, 13)):
        file = tmp_path / "packaging.xlsx"
        file.write_bytes(filled(desk, f"{asking.service}{link}", rows, "de"))
        desk.locator("input[type=file]").first.set_input_files(file)
        hand.press("enquiry.workbook.send")
    assert hand.say("enquiry.progress", confirmed=KINDS, rows=KINDS) in hand.told
    desk.locator("#consent").check()
    hand.press("supplier.send")
    answers.append(filed(pool, asking, enquiry))
    assert [len(answer) for answer in answers] == [PARTS] * 4
    assert answers[0] == answers[1] == answers[2] == answers[3]
    weights = {part["weight_g"] for parts in answers[0].values() for part in parts}
    assert weights == {10.5 + n for n in range(KINDS)}
