"""The jobs of a packaging manager about items, figures, declarations and suppliers, from the first page to the last."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.hand import Hand
from tests.browser.visitor import Desk
from tests.browser.windows import ONE, OTHER, Opens, in_windows
from tests.contract.samples import PDF

pytestmark = pytest.mark.browser


@in_windows(ONE)
def test_an_item_is_made_edited_copied_archived_and_brought_back(desk: Desk, hand: Hand, lang: str):
    code = f"EDIT-{lang}"
    hand.open("/items")
    hand.follow("edit.new")
    hand.fill(sku_code=code, name="Jar", weight_grams="heavy")
    hand.choose(material="glass")
    hand.press("edit.check")
    expect(hand.at("weight_grams-error")).to_be_visible()
    assert (hand.at("name").input_value(), hand.at("weight_grams").input_value()) == ("Jar", "heavy")
    hand.fill(weight_grams="200")
    hand.press("edit.check")
    expect(hand.page.locator("#after")).to_be_visible()
    assert desk.find(code) == [], "what would follow is stored nowhere"
    hand.press("edit.save")
    expect(hand.page.locator(".done")).to_have_text(hand.say("edit.saved"))

    [item] = desk.find(code)
    hand.follow("edit.open")
    desk.company.put(f"/skus/{item['id']}", {"sku_code": code, "name": "Jar of theirs"})
    hand.fill(product_category="Jam")
    hand.press("edit.save")
    assert "Jar of theirs" in hand.page.locator(".fault").inner_text()
    hand.press("edit.save")
    [item] = desk.find(code)
    assert (item["name"], item["product_category"]) == ("Jar of theirs", "Jam")

    hand.follow("edit.copy")
    hand.fill(sku_code=f"{code}-B")
    hand.press("edit.save")
    hand.unfold("#archive")
    hand.press("item.archive.do")
    assert desk.find(f"{code}-B") == []
    hand.open("/items")
    hand.follow("archived.title")
    hand.click(hand.main.locator("tr", has_text=f"{code}-B").get_by_role("link"))
    hand.press("item.return")
    assert len(desk.find(f"{code}-B")) == 1


@in_windows(OTHER)
def test_what_is_missing_leads_to_the_field_that_asks_for_it(desk: Desk, hand: Hand, lang: str):
    body = {"component_type": "body", "material_family": "plastic", "weight_g": 20}
    item = desk.company.item(
        {"sku_code": f"GAP-{lang}", "name": "Tray", "packaging_format": "tray", "components": [body]}
    )
    assert desk.company.grade(item) == "not_assessed"
    hand.open(f"/items/{item}")
    hand.click(hand.main.locator('a[href*="#parts.0.polymer_or_grade"]').first)
    asked = hand.page.locator(":target")
    expect(asked).to_be_in_viewport()
    asked.fill("PET")
    hand.press("edit.check")
    tag = hand.page.locator("#after .tag").last.inner_text()
    assert desk.company.grade(item) == "not_assessed", "what would follow is stored nowhere"
    hand.press("edit.save")
    assert hand.page.locator(".lead .tag").first.inner_text() == tag
    assert desk.company.grade(item) != "not_assessed"


@in_windows(ONE)
def test_a_figure_opens_to_its_items_and_a_duty_to_its_market(hand: Hand):
    hand.open("/figures")
    assert hand.say("figures.reason.weight_missing") in hand.told
    hand.click(hand.main.locator("tr", has_text="Glas").locator("td a[href*='/figures/items']").first)
    assert hand.say("figures.line.single") in hand.told
    hand.click(hand.main.get_by_role("link", name="JAR", exact=True))
    hand.click(hand.main.locator("table").get_by_role("link", name="Jar").first)
    hand.open("/obligations")
    assert hand.say("verdict.above") in hand.told or hand.say("verdict.below") in hand.told
    hand.click(hand.main.locator('a[href^="/markets/DE"]').first)
    assert hand.say("market.duties") in hand.told


@in_windows(OTHER)
def test_tonnes_are_declared_kept_downloaded_and_corrected(desk: Desk, hand: Hand):
    """An equal first declaration of another window is kept already: then the first one of this is its correction."""
    kept = desk.company.get("/declarations")
    before = len(kept)
    wanted = ("DE", 2025, "csv", None)
    first = next((d for d in kept if (d["market"], d["year"], d["format"], d["corrects"]) == wanted), None)
    hand.open("/declarations")
    hand.press("declarations.check")
    expect(hand.at("market-error")).to_have_text(hand.say("declarations.choose.market"))
    hand.choose(market="DE", format="csv")
    hand.fill(year="2025")
    hand.press("declarations.check")
    if first is not None:
        assert hand.say("declarations.already") in hand.told
        hand.open(f"/declarations?corrects={first['id']}")
        hand.press("declarations.check")
    assert "BOX" in hand.told
    assert len(desk.company.get("/declarations")) == before, "a look keeps nothing"
    hand.press("declarations.keep")
    with hand.page.expect_download() as download:
        hand.main.get_by_role("link", name=hand.say("declarations.file.declaration"), exact=True).click()
    assert download.value.suggested_filename == "DE-2025.csv"
    hand.follow("declarations.correct")
    assert (hand.at("market").input_value(), hand.at("year").input_value()) == ("DE", "2025")
    hand.press("declarations.check")
    hand.press("declarations.keep")
    assert hand.say("declarations.corrects") in hand.told
    assert len(desk.company.get("/declarations")) == before + 2
    hand.follow("declarations.title")
    assert hand.main.get_by_role("link", name="DE-2025.csv", exact=True).count() >= 2


@in_windows(ONE)
def test_the_uk_file_is_checked_before_it_is_kept(hand: Hand, lang: str):
    organisation = {"en": "123456", "fr": "123457", "de": "123458"}[lang]
    hand.open("/declarations")
    hand.choose(market="GB", half="1", format="rpd")
    hand.fill(year="2025")
    hand.press("declarations.check")
    expect(hand.at("organisation_id-error")).to_be_visible()
    hand.fill(organisation_id="12345")
    hand.press("declarations.check")
    assert hand.at("organisation_id").input_value() == "12345"
    hand.fill(organisation_id=organisation)
    hand.press("declarations.check")
    hand.press("declarations.keep")
    with hand.page.expect_download() as download:
        hand.main.get_by_role("link", name=hand.say("declarations.file.declaration"), exact=True).click()
    assert organisation.encode() in download.value.path().read_bytes()


@in_windows(OTHER)
def test_a_declaration_of_conformity_is_drafted_issued_renewed_and_withdrawn(desk: Desk, hand: Hand, lang: str):
    item = desk.company.item({"sku_code": f"DOC-{lang}", "name": "Jar", "material": "glass", "weight_grams": 200})
    hand.open(f"/items/{item}")
    hand.follow("documents.of_item.do")
    hand.choose(type="test_report")
    hand.at("file").set_input_files({"name": "pruefung.pdf", "mimeType": "application/pdf", "buffer": PDF})
    hand.press("documents.upload.do")
    expect(hand.page.locator(".done")).to_have_text(hand.say("documents.uploaded"))
    with hand.page.expect_download() as download:
        hand.main.get_by_role("link", name="pruefung.pdf").click()
    assert download.value.path().read_bytes() == PDF

    hand.fill(doc_reference=f"DoC-{lang}")
    hand.press("documents.draft")
    hand.press("issuing.issue")
    expect(hand.page.locator(".fault a")).to_have_count(5)
    hand.fill(point__manufacturer="Quai 1, Lyon", point__standards="EN 13430")
    hand.fill(signatory="Ada Marsh", function="Quality", place="Lyon")
    hand.press("issuing.issue")
    hand.open("/documents")
    hand.click(hand.main.get_by_role("link", name=f"DoC-{lang}", exact=True))
    pdf = hand.page.request.get(
        desk.company.service + str(hand.main.locator('a[href*=".pdf"]').first.get_attribute("href"))
    )
    assert pdf.body().startswith(b"%PDF")
    hand.fill(doc_reference=f"DoC-{lang}-2")
    hand.press("documents.renew")
    hand.open("/documents")
    hand.click(hand.main.get_by_role("link", name=f"DoC-{lang}", exact=True))
    hand.press("documents.withdraw")
    expect(hand.at("reason-error")).to_have_text(hand.say("documents.reason.needed"))
    hand.fill(reason="Recalled")
    hand.press("documents.withdraw")
    expect(hand.page.locator(".tag.bad")).to_have_text(hand.say("doc.status.withdrawn"))


@in_windows(ONE)
def test_a_supplier_is_asked_rejected_and_withdrawn_from(desk: Desk, window: Opens, hand: Hand, lang: str):
    parts = [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}]
    for number in (1, 2):
        desk.company.item({"sku_code": f"ASK-{lang}-{number}", "name": f"Cup {number}", "components": parts})
    hand.open("/suppliers")
    hand.follow("suppliers.ask_items")
    hand.fill(supplier_name=f"Préformes {lang}", sku_codes=f"ASK-{lang}-1\nASK-{lang}-9")
    hand.press("enquiries.make")
    assert hand.at("supplier_name").input_value() == f"Préformes {lang}"
    assert f"ASK-{lang}-9" in hand.page.locator(".fault").inner_text()
    hand.fill(sku_codes=f"ASK-{lang}-1\nASK-{lang}-2")
    hand.press("enquiries.make")
    link = hand.page.locator(".done code").first.inner_text()

    supplier = window(signed_in=False)
    supplier.open(link)
    supplier.page.locator("main > details > summary").last.click()
    supplier.click(supplier.main.locator("li a").first)
    supplier.fill(**{"0__weight_g": "24"})
    supplier.at("consent").check()
    supplier.click(supplier.page.locator("form >> nth=-1").get_by_role("button"))
    hand.open("/review")
    hand.click(hand.main.locator("tr", has_text=f"Préformes {lang}").get_by_role("link").first)
    hand.fill(reason="Too heavy", note="Please weigh again")
    hand.press("review.reject")
    supplier.open(link)
    assert "Please weigh again" in supplier.told
    hand.open(f"/suppliers?name=Pr%C3%A9formes%20{lang}")
    assert hand.say("suppliers.state.rejected") in hand.main.locator("table").last.inner_text()
    hand.open("/enquiries")
    hand.click(hand.main.get_by_role("link", name=f"Préformes {lang}"))
    hand.press("enquiries.withdraw")
    supplier.page.goto(link)
    expect(supplier.page.locator("h1")).to_be_visible()
    assert supplier.main.locator("li a").count() == 0


@in_windows(OTHER)
def test_items_are_found_sorted_shown_in_other_columns_and_exported(hand: Hand):
    hand.open("/items")
    hand.fill(q="large BOX")
    hand.press("items.find")
    assert hand.main.locator("tbody tr").count() == 1
    hand.click(hand.main.locator("thead a").first)
    assert hand.main.locator('th[aria-sort="ascending"]').count() == 1
    hand.main.locator("details summary").first.click()
    hand.at("columns.weight_grams").check()
    hand.press("items.find")
    assert hand.main.locator('th[aria-sort="ascending"]').count() == 1, "the order stays"
    for kind, name in (("xlsx", "items.export.xlsx"), ("csv", "items.export.csv")):
        with hand.page.expect_download() as download:
            hand.main.get_by_role("link", name=hand.say(name), exact=True).click()
        assert download.value.suggested_filename.endswith(kind)
    assert "BOX" in download.value.path().read_text(encoding="utf-8-sig")
    hand.choose(material="plastic")
    hand.press("items.find")
    assert hand.say("items.total", total=0) in hand.told
    hand.follow("items.all")
    assert hand.main.locator("tbody tr").count() > 1


@in_windows(OTHER)
def test_an_unknown_word_gets_its_meaning_and_the_import_is_undone(desk: Desk, hand: Hand, lang: str):
    hand.open("/imports")
    hand.press("imports.send.read")
    expect(hand.page.locator(".fault")).to_be_visible()
    hand.fill(rows="Notiz\tFoo\n1\t2")
    hand.press("imports.send.read")
    for column, field in (("A", "sku_code"), ("B", "name")):
        hand.main.locator(f'select[name="sku.{column}"]').select_option(field)
    hand.press("imports.confirm.again")
    hand.wait_for_end()
    assert hand.main.get_by_role("button", name=hand.say("imports.confirm.import")).count() == 1
    hand.open("/imports")
    codes = [f"WORD-{lang}-{number}" for number in (1, 2)]
    table = ["sku_code\tname\tweight_grams\tpackaging_level", *(f"{code}\tJar\t200\tRegal {lang}" for code in codes)]
    hand.fill(rows="\n".join(table))
    hand.press("imports.send.read")
    hand.wait_for_end()
    hand.press("imports.confirm.import")
    hand.wait_for_end()
    hand.follow("imports.values.open")
    hand.main.locator("select").first.select_option("transport")
    hand.press("imports.values.send")
    hand.wait_for_end()
    assert [item["packaging_level"] for code in codes for item in desk.find(code)] == ["transport"] * 2
    hand.follow("undo.open")
    hand.press("undo.do")
    assert [desk.find(code) for code in codes] == [[], []]
    hand.open("/words")
    row = hand.main.locator("tr", has_text=f"Regal {lang}")
    row.locator("input").check()
    hand.press("words.remove.chosen")
    assert hand.main.locator("tr", has_text=re.compile(f"Regal {lang}")).count() == 0
