"""What people do from the first page to the last, each in a window of their own and without a single script."""

import re

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.api.people import Person
from tests.browser.visitor import LetIn
from tests.contract.samples import PDF
from tests.waiting import PATIENCE_SECONDS
from tools.browser.assistant import Assistant
from tools.browser.company import Company

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 740}


def filled_in(window: Page, person: Person) -> None:
    """The sign-in page, wherever it leads back to."""
    window.get_by_label("Email").fill(person.email)
    window.get_by_label("Password").fill(person.password)
    window.get_by_role("button", name="Sign in").click()


def test_an_assistant_is_let_in_asks_and_is_shut_out(company: Company, item: str, person: Person, let_in: LetIn):
    window = let_in(java_script_enabled=False)
    with Assistant(company.service, "Packaging <b>helper</b>").listening() as assistant:
        assistant.register()
        window.goto(company.service + assistant.consent)
        filled_in(window, person)
        expect(window.get_by_role("heading", level=1)).to_contain_text("Packaging <b>helper</b>")
        expect(window.get_by_role("main")).to_contain_text("127.0.0.1")
        window.get_by_role("button", name="Do not allow").click()
        expect(window).to_have_url(re.compile("/callback"))
        assert assistant.answers[-1]["error"] == "access_denied"

        window.goto(company.service + assistant.consent)
        window.get_by_role("button", name="Allow", exact=True).click()
        expect(window).to_have_url(re.compile("/callback"))
        assistant.redeem()
        asked = assistant.call("list_packaging_items")
        [found] = asked.json()["result"]["structuredContent"]["items"]
        assert found["id"] == item

        window.goto(f"{company.service}/connections")
        expect(window.get_by_role("heading", level=2, name="Packaging <b>helper</b>")).to_be_visible()
        window.locator("summary", has_text="Packaging <b>helper</b>").click()
        window.locator("main button.stop").click()
        expect(window.get_by_role("heading", level=2, name="Packaging <b>helper</b>")).to_have_count(0)
        assert assistant.call("list_packaging_items").status_code == 401
    done = [entry["action"] for entry in company.audit(actor="user")]
    assert done == ["connection.revoked", "connection.authorised", "user.signed_in"]


def test_a_suppliers_answer_changes_the_grade_once_a_person_accepts_it(
    company: Company, item: str, person: Person, let_in: LetIn
):
    window = let_in(java_script_enabled=False)
    window.goto(f"{company.service}/supplier-requests?sku=WTR-50")
    filled_in(window, person)
    window.get_by_label("Cap").uncheck()
    window.get_by_label("Supplier").fill("Préformes du Rhône")
    window.get_by_role("button", name="Make").click()
    link = window.locator(".done code").inner_text()
    before = company.grade(item)

    supplier = let_in(java_script_enabled=False, viewport=PHONE, locale="fr-FR")
    supplier.goto(link)
    expect(supplier.locator("html")).to_have_attribute("lang", "fr")
    supplier.locator("#file").set_input_files({"name": "essai.pdf", "mimeType": "application/pdf", "buffer": PDF})
    supplier.locator("section button").click()
    expect(supplier.get_by_role("main")).to_contain_text("essai.pdf")
    supplier.locator('[id="0.weight_g"]').fill("lourd")
    supplier.locator("#consent").check()
    supplier.locator("form >> nth=-1").get_by_role("button").click()
    supplier.locator(".fault a").click()
    expect(supplier.locator('[id="0.weight_g"]')).to_have_value("lourd")
    supplier.locator('[id="0.weight_g"]').fill("22,4")
    supplier.locator('[id="0.colour"]').select_option("carbon_black")
    supplier.locator("form >> nth=-1").get_by_role("button").click()
    expect(supplier).to_have_url(re.compile("/thanks"))
    assert company.grade(item) == before, "nobody has decided yet"

    window.goto(f"{company.service}/review")
    window.get_by_role("main").get_by_role("table").get_by_role("link").click()
    expect(window.get_by_role("table").last).to_contain_text("carbon black")
    window.get_by_label("Reason").fill("Seen at the plant")
    window.get_by_role("button", name="Accept").click()
    expect(window.locator(".tag.good")).to_be_visible()
    assert (before != company.grade(item), company.grade(item)) == (True, "not_recyclable")
    done = company.audit(actor="user")
    assert {entry["actor"]["name"] for entry in done} == {person.email}
    assert [entry["action"] for entry in done] == [
        "supplier_submission.accepted",
        "technical_file.uploaded",
        "sku.updated",
        "supplier_request.created",
        "user.signed_in",
    ]
    assert httpx2.get(link, timeout=PATIENCE_SECONDS).status_code == 404


def test_the_enter_key_sends_an_answer_and_attaching_keeps_what_is_typed(company: Company, item: str, let_in: LetIn):
    link, _ = company.asked("WTR-50", "Préformes du Rhône")
    supplier = let_in(java_script_enabled=False, viewport=PHONE)
    supplier.goto(company.service + link if link.startswith("/") else link)
    supplier.locator('[id="0.weight_g"]').fill("22.4")
    supplier.locator("#consent").check()
    supplier.locator("#file").set_input_files({"name": "test.pdf", "mimeType": "application/pdf", "buffer": PDF})
    supplier.get_by_role("button", name="Attach").click()
    expect(supplier.get_by_role("main")).to_contain_text("test.pdf")
    expect(supplier.locator('[id="0.weight_g"]')).to_have_value("22.4")
    expect(supplier.locator("#consent")).to_be_checked()
    supplier.locator('[id="0.weight_g"]').press("Enter")
    expect(supplier).to_have_url(re.compile("/thanks"))
    supplier.get_by_role("main").get_by_role("link").last.click()
    expect(supplier.locator('[id="0.weight_g"]')).to_have_value("22.4")


def test_a_draft_becomes_the_declaration(company: Company, item: str, person: Person, let_in: LetIn):
    window = let_in(java_script_enabled=False)
    with Assistant(company.service).listening() as assistant:
        assistant.register()
        window.goto(company.service + assistant.consent)
        filled_in(window, person)
        window.get_by_role("button", name="Allow", exact=True).click()
        assistant.redeem()
        draft = assistant.filed("generate_doc_draft", sku_code="WTR-50", reference="DoC-2026-18")
    window.goto(f"{company.service}/review/{draft}")
    window.get_by_label("Place of issue").fill("Lyon")
    window.get_by_role("button", name="Issue the declaration").click()
    expect(window.locator(".fault a")).to_have_count(4)
    expect(window.get_by_label("Place of issue")).to_have_value("Lyon")
    window.locator(".fault a").first.click()
    window.get_by_label("Name and address of the manufacturer").fill("Quai 1, Lyon")
    window.get_by_label("Harmonised standards").fill("EN 13430")
    window.get_by_label("Name of the signatory").fill("Ada Marsh")
    window.get_by_label("Function of the signatory").fill("Head of quality")
    window.get_by_role("button", name="Issue the declaration").click()
    expect(window.locator(".done")).to_contain_text("DoC-2026-18")
    window.get_by_role("link", name="Read the declaration").click()
    expect(window.get_by_role("main")).to_contain_text("Ada Marsh, Head of quality")
    expect(window.get_by_role("main")).not_to_contain_text("to be completed")
    [created] = [entry for entry in company.audit(actor="user") if entry["action"] == "doc.created"]
    assert created["actor"]["name"] == person.email
