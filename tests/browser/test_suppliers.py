"""A supplier asked by mail: from the form to the answer in the review, with two people at two browsers."""

import re

import pytest
from playwright.sync_api import expect

from tests.api.people import Person
from tests.browser.visitor import LetIn
from tests.mailbox import Mailbox
from tests.waiting import wait_until
from tools.browser.company import Company

pytestmark = pytest.mark.browser

SUPPLIER = "quality@preformes.example"


@pytest.mark.usefixtures("item")
def test_a_supplier_gets_a_mail_and_answers_at_its_link(company: Company, person: Person, let_in: LetIn, post: Mailbox):
    page = let_in(java_script_enabled=False, locale="fr-FR", viewport={"width": 360, "height": 800})
    page.goto(f"{company.service}/enquiries?sku=WTR-50")
    page.locator("#email").fill(person.email)
    page.locator("#password").fill(person.password)
    page.locator("main button").click()
    page.get_by_label("Fournisseur", exact=True).fill("Préformes du Rhône")
    page.get_by_label("Courriel du fournisseur").fill(SUPPLIER)
    page.get_by_role("button", name="Créer le lien").click()
    assert f"envoyé maintenant à {SUPPLIER}" in page.locator("main").inner_text()

    wait_until(lambda: post.mails)
    [mail] = post.mails
    assert (mail["To"], mail["Reply-To"]) == (SUPPLIER, person.email)
    found = re.search(r"(http://\S+/supplier-enquiries/\S+)", str(mail.get_body().get_content()))
    assert found is not None
    supplier = let_in(locale="fr-FR", viewport={"width": 360, "height": 800})
    supplier.goto(found[1])
    supplier.locator("main > details > summary").last.click()
    supplier.locator("main li a").first.click()
    supplier.locator('[id="0.weight_g"]').fill("22,4")
    supplier.get_by_role("link", name="Pièce suivante").first.click()
    expect(supplier.locator('[id="0.weight_g"]')).to_be_hidden()
    supplier.locator('[id="1.weight_g"]').fill("1,9")
    supplier.locator("#consent").check()
    supplier.locator("form >> nth=-1").get_by_role("button").click()
    expect(supplier).to_have_url(re.compile("/thanks"))

    page.goto(f"{company.service}/suppliers")
    page.get_by_role("link", name="Préformes du Rhône").click()
    assert "À examiner" in page.locator("main table").last.inner_text()
