"""Lists every page, and prepares a company so that each page has data to show."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Page

from tools.browser.assistant import Assistant
from tools.browser.company import BOTTLE, Company
from warehouse.operate.clock import Clock

FOR_ALL: Final = (
    "sign-in",
    "supplier-form",
    "supplier-thanks",
    "refused",
    "reference",
    "reference-errors",
    "reference-fields",
)
FOR_PERSONS: Final = (
    "portfolio",
    "items",
    "items-found",
    "item",
    "edit",
    "archived",
    "imports",
    "import",
    "rejected",
    "undo",
    "words",
    "figures",
    "obligations",
    "declarations",
    "consent",
    "connections",
    "review",
    "review-decided",
    "review-answers",
    "review-answer",
    "review-proposal",
    "review-draft",
    "draft",
    "documents",
    "document",
    "item-documents",
    "suppliers",
    "supplier",
    "supplier-worth",
    "supplier-requests",
    "enquiries",
    "account",
    "second-factor",
    "people",
    "keys",
    "audit",
)
"""Names of the pages for signed-in persons; the others are for everybody."""
WITHOUT_PICTURE: Final = (
    "library",
    "library-record",
    "roles",
    "item-roles",
    "registers",
    "registers-market",
    "recycled-content",
    "evidence",
    "marks",
    "pack",
    "change",
    "statement",
    "forgotten",
    "portfolio-records",
    "new",
    "copy",
    "values",
    "figure",
    "market",
    "kept-declaration",
    "enquiry",
    "supplier-enquiry",
    "password",
    "guides",
    "guides-found",
    "guide",
    "webhooks",
    "webhook",
    "import-columns",
    "import-grades",
    "company",
    "due",
)
"""Pages that look like one of those above, and have no picture in docs/pages."""


def sign_in(page: Page, service: str, email: str, password: str, back: str = "/connections") -> None:
    """Sign in through the form, as a person does."""
    page.goto(f"{service}/sign-in?next={back}")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def prepare(company: Company, assistant: Assistant, page: Page, count: Callable[[], None]) -> dict[str, str]:
    """Return the path of each page by its name; in `page` a person of the company is signed in.

    `count` computes the portfolio and its tonnes, which the service does by itself within a minute or two.
    """
    item = company.item(BOTTLE)
    sent = company.imported()
    link, _ = company.asked("WTR-50", "Etiketten Baden")
    answered, lines = company.asked("WTR-50", "Préformes du Rhône")
    answer = company.answered(
        answered,
        {
            "component_id": lines[0],
            "weight_g": 21.9,
            "colour": "carbon_black",
            "substances": {"pfas": {"status": "absent"}},
        },
        contact="quality@preformes.example",
        comment="Measured on line 3.",
    )
    assistant.register()
    page.goto(company.service + assistant.consent)
    page.get_by_role("button", name="Allow", exact=True).click()
    assistant.redeem()
    draft = assistant.filed("generate_doc_draft", sku_code="WTR-50", reference="DoC-2026-17")
    proposal = assistant.filed("propose_sku_update", sku_code="WTR-50", changes={"markets": ["AT", "DE", "FR"]})
    refused = assistant.filed("propose_sku_update", sku_code="WTR-50", changes={"food_contact": False})
    page.goto(f"{company.service}/review/{refused}")
    page.get_by_label("Reason").fill("It holds drinking water.")
    page.get_by_role("button", name="Reject").click()
    last_day = Clock().today() + timedelta(days=45)
    doc = company.operate(
        "doc",
        "add",
        "--company",
        company.id,
        "--sku",
        "WTR-01",
        "--reference",
        "DoC-2025-3",
        "--status",
        "valid",
        "--expires-on",
        last_day.isoformat(),
    )
    enquiry, enquiry_link = company.enquire("Préformes du Rhône", "WTR-50")
    company.archive({"sku_code": "WTR-00", "name": "Still water 0.33 l", "material": "glass"})
    company.means("material", "Weißblech", "metal")
    webhook = company.hook("https://erp.brand.example/packaging-changes")
    sent_rows = {
        "import-columns": "Ref\tWhat\tBottle of\nWTR-60\tStill water 0.6 l\tPET",
        "import-grades": "SKU code\tName\tPackaging format\tMaterial\tWeight\nWTR-70\tTray\ttray\tpaper_cardboard\t12",
    }
    read = {name: _read(company, page, rows) for name, rows in sent_rows.items()}
    _make_test_key(company, page)
    brand = company.brand("Quellwasser")
    count()
    kept = company.declare("DE", 2026)
    return {
        "portfolio": "/portfolio",
        "portfolio-records": "/portfolio/records",
        "items": "/items",
        "items-found": "/items?q=water",
        "item": f"/items/{item}",
        "edit": f"/items/{item}/edit",
        "new": "/items/new",
        "copy": f"/items/{item}/copy",
        "archived": "/items/archived",
        "imports": "/imports",
        "import": f"/imports/{sent}",
        "rejected": f"/imports/{sent}/rejected",
        "undo": f"/imports/{sent}/undo",
        "values": f"/imports/{sent}/values",
        "words": "/words",
        "figures": "/figures",
        "figure": "/figures/items?market=DE&year=2026&half=0&category=plastics",
        "market": "/markets/DE",
        "obligations": "/obligations",
        "declarations": "/declarations",
        "due": "/declarations/due",
        "statement": "/statements?statement=Retailers+must+keep+the+declaration+for+ten+years.",
        "kept-declaration": f"/declarations/kept/{kept}",
        "sign-in": "/sign-in",
        "refused": "/supplier-data/unknown",
        "supplier-form": link,
        "supplier-thanks": f"{link}/thanks",
        "reference": "/reference",
        "reference-errors": "/reference/errors",
        "reference-fields": "/reference/fields",
        "guides": "/reference/guides",
        "guides-found": "/reference/guides?q=volumes+batch",
        "guide": "/reference/guides/auditor",
        "consent": assistant.consent,
        "connections": "/connections",
        "review": "/review",
        "review-decided": "/review?state=decided",
        "review-answers": "/review/answers",
        "review-answer": f"/review/{answer}",
        "review-proposal": f"/review/{proposal}",
        "review-draft": f"/review/{draft}",
        "draft": f"/review/{draft}/draft",
        "documents": "/documents",
        "document": f"/documents/{doc['id']}",
        "item-documents": f"/items/{item}/documents",
        "suppliers": "/suppliers",
        "library": "/library",
        "library-record": f"/library/brand/{brand}",
        "roles": "/roles",
        "item-roles": f"/items/{item}/roles",
        "registers": "/registers",
        "registers-market": "/registers?market=FR",
        "recycled-content": "/recycled-content",
        "evidence": "/evidence",
        "marks": "/marks",
        "pack": f"/marks/{item}",
        "change": f"/items/change?id={item}",
        "forgotten": "/password/forgotten",
        "supplier": "/suppliers?name=Pr%C3%A9formes%20du%20Rh%C3%B4ne",
        "supplier-worth": "/suppliers/worth",
        "supplier-requests": "/supplier-requests?sku=WTR-50",
        "enquiries": "/enquiries",
        "enquiry": f"/enquiries/{enquiry}",
        "supplier-enquiry": enquiry_link,
        "account": "/account",
        "password": "/password",
        "second-factor": "/account/second-factor",
        "company": "/company",
        "people": "/people",
        "keys": "/keys",
        "webhooks": "/webhooks",
        "webhook": f"/webhooks/{webhook}",
        "audit": "/audit",
        **read,
    }


def _read(company: Company, page: Page, rows: str) -> str:
    """Paste rows to be read and not stored; return the path of the page that says how they were read."""
    page.goto(f"{company.service}/imports")
    page.locator("#rows").fill(rows)
    page.get_by_role("button", name="Read the file").click()
    path = urlsplit(page.url).path
    company.ended(path.rpartition("/")[2])
    return path


def _make_test_key(company: Company, page: Page) -> None:
    page.goto(f"{company.service}/keys")
    page.locator("#name").fill("Trial of the ERP")
    page.get_by_role("button", name="Make a test key").click()
