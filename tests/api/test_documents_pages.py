"""Documents in the browser: a declaration from draft to withdrawal, and technical files, by their pages alone."""

import re
from datetime import timedelta
from html import unescape

import pytest

from tests.api.people import hidden, signed_in
from tests.api.test_issuing_pages import SIGNED
from tests.api.walking import SWITCH
from tests.services.making import PDF, PNG


@pytest.fixture
def sku(caller):
    return caller.made(material="glass", weight_grams=300)


@pytest.fixture
def today(caller):
    return caller.http.app.state.service.clock.today()


def text_of(answer):
    assert answer.status_code in (200, 400, 409, 413, 415), answer.status_code
    return unescape(answer.text)


def drafted(browser, sku, **fields):
    """The address of the draft that the form of an item's page made."""
    path = f"/items/{sku['id']}/documents"
    answer = browser.post(path, hidden(browser.get(path).text) | fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"].partition("?")[0]


def issued(browser, sku, today, *, languages=(), **fields):
    """The id of the declaration that was drafted and issued by the pages."""
    draft = drafted(browser, sku, draft_lang="de")
    form = hidden(browser.get(draft).text) | SIGNED | {"decision": "accept", "issued_on": str(today)} | fields
    answer = browser.post(draft, form | {"languages": list(languages)})
    assert answer.status_code == 303, answer.text
    found = re.search(r"/declarations/([0-9a-f-]{36})\.pdf", browser.get(draft).text)
    assert found
    return found[1]


def upload(browser, sku, data=PDF, *, filename="standards.pdf", lang="en", **fields):
    path = f"/items/{sku['id']}/documents?lang={lang}"
    form = hidden(browser.get(path).text) | {"type": "test_report"} | fields
    files = {"file": (filename, data, "application/octet-stream")}
    return browser.post(f"/items/{sku['id']}/files?lang={lang}", form, files=files)


def test_a_declaration_goes_from_the_item_to_issue_in_pages(caller, browser, sku, today):
    assert f"/items/{sku['id']}/documents" in browser.get(f"/items/{sku['id']}").text
    draft = drafted(browser, sku, doc_reference="D-9", draft_lang="de")
    for address in ("/documents?show=drafts", f"/items/{sku['id']}/documents"):
        page = text_of(browser.get(address))
        assert f'href="{draft}"' in page
        assert {"manufacturer", "standards"} == set(re.findall(rf"{draft}#point\.(\w+)", page)), address
    page = browser.get(draft).text
    assert all(f'id="point.{name}"' in page for name in ("manufacturer", "standards"))
    assert f"/items/{sku['id']}/documents#files" in page
    form = hidden(page) | SIGNED | {"decision": "accept", "issued_on": str(today), "languages": ["en"]}
    assert browser.post(draft, form).status_code == 303
    [doc] = caller.get("/docs/search").json()["data"]
    assert (doc["reference"], doc["languages"]) == ("D-9", ["de", "en"])
    page = text_of(browser.get(f"/documents/{doc['id']}"))
    pdfs = re.findall(r'href="(/declarations/[^"]+\.pdf\?in=\w+)"', page)
    assert len({browser.get(address).content for address in pdfs}) == len(pdfs) == 2
    assert browser.get(f"/declarations/{doc['id']}.pdf?in=it").status_code == 404
    assert f"/documents/{doc['id']}" in browser.get("/documents?show=valid").text


def test_what_ends_soon_is_listed_and_renewed(caller, browser, sku, today):
    doc = issued(browser, sku, today, expires_on=str(today + timedelta(days=60)))
    assert f"/documents/{doc}" in browser.get("/documents?show=ending").text
    assert f"/documents/{doc}" not in browser.get("/documents?show=ending&days=59").text
    form = hidden(browser.get(f"/documents/{doc}").text)
    first, again = (browser.post(f"/documents/{doc}/renew", form) for _ in range(2))
    assert first.status_code == 303
    assert first.headers["Location"] == again.headers["Location"], "the form drafts once"
    [draft] = caller.get("/doc-drafts").json()["data"]
    assert draft["renews"] == doc


def test_a_declaration_is_withdrawn_for_a_reason_and_stays(caller, browser, sku, today):
    doc = issued(browser, sku, today)
    path = f"/documents/{doc}/withdraw"
    form = hidden(browser.get(f"/documents/{doc}").text)
    refused = browser.post(f"{path}?lang=de", form | {"reason": "  "})
    assert refused.status_code == 400
    assert "Geben Sie an, warum" in text_of(refused)
    assert browser.post(path, form | {"reason": "Another glue"}).status_code == 303
    page = text_of(browser.get(f"/documents/{doc}"))
    assert "Another glue" in page
    assert path not in page
    assert f"/documents/{doc}" in browser.get("/documents?show=withdrawn").text
    assert browser.get(f"/declarations/{doc}.pdf").status_code == 200
    assert browser.post(path, form | {"reason": "Again"}).status_code == 409
    assert caller.get(f"/skus/{sku['id']}").json()["data"]["doc_status"] == "missing"


@pytest.mark.parametrize("reference", ["x" * 201, "a\x07b"])
def test_a_reference_that_cannot_be_is_said_at_its_field_and_kept(browser, sku, reference):
    path = f"/items/{sku['id']}/documents"
    answer = browser.post(path, hidden(browser.get(path).text) | {"doc_reference": reference})
    assert answer.status_code == 400
    assert 'id="doc_reference-error"' in answer.text
    assert reference in unescape(answer.text)


def test_a_technical_file_is_uploaded_listed_and_downloaded(caller, browser, sku):
    answer = upload(browser, sku, reference="R-1", issuer="Lab", issued_on="2026-01-02", type="standards_list")
    assert answer.status_code == 303, answer.text
    [file] = caller.get(f"/skus/{sku['id']}/files").json()["data"]
    assert (file["type"], file["reference"], file["issuer"]) == ("standards_list", "R-1", "Lab")
    page = text_of(browser.get(answer.headers["Location"]))
    address = f"/items/{sku['id']}/files/{file['id']}"
    assert address in page
    got = browser.get(address)
    assert (got.content, got.headers["Content-Type"]) == (PDF, "application/pdf")
    assert got.headers["Content-Disposition"].startswith("attachment")
    draft = text_of(browser.get(drafted(browser, sku)))
    assert "point.standards" not in draft, "the draft names the file"


@pytest.mark.parametrize(
    ("data", "fields", "refused"),
    [
        (b"MZ\x90\x00", {}, ("file", 415)),
        (b"", {}, ("file", 400)),
        (PNG, {"filename": ""}, ("file", 400)),
        (PDF, {"type": ""}, ("type", 400)),
        (PDF, {"issued_on": "2026-02-30"}, ("issued_on", 400)),
        (PDF, {"issued_on": "2026-02-02", "expires_on": "2026-01-01"}, ("expires_on", 400)),
        (PDF, {"issuer": "x" * 2001}, ("issuer", 400)),
    ],
)
def test_an_upload_that_cannot_be_is_said_at_its_field(browser, sku, data, fields, refused):
    place, status = refused
    answer = upload(browser, sku, data, reference="Kept", **fields)
    assert answer.status_code == status
    assert f'id="{place}-error"' in answer.text
    assert "bytes" not in text_of(answer)
    assert 'value="Kept"' in answer.text
    assert "/files/" not in browser.get(f"/items/{sku['id']}/documents").text, "nothing is stored"


def test_a_file_that_is_too_large_is_refused(caller, browser, sku):
    answer = upload(browser, sku, PDF + bytes(20_000_000))
    assert answer.status_code == 413
    assert "The file is larger than 20 MB." in answer.text
    assert caller.get(f"/skus/{sku['id']}/files").json()["data"] == []


def test_a_form_of_another_page_stores_nothing(caller, browser, sku):
    assert upload(browser, sku, csrf="x").status_code == 403
    path = f"/items/{sku['id']}/files"
    form = hidden(browser.get(f"/items/{sku['id']}/documents").text) | {"type": "test_report"}
    other = {"Sec-Fetch-Site": "cross-site"}
    assert browser.post(path, form, files={"file": ("a.pdf", PDF)}, headers=other).status_code == 403
    assert caller.get(f"/skus/{sku['id']}/files").json()["data"] == []
    assert list(caller.http.app.state.service.objects.stored(caller.company, "files")) == []


def test_the_same_form_stores_one_file(caller, browser, sku):
    form = hidden(browser.get(f"/items/{sku['id']}/documents").text) | {"type": "test_report"}
    for _ in range(2):
        answer = browser.post(f"/items/{sku['id']}/files", form, files={"file": ("a.pdf", PDF, "application/pdf")})
        assert answer.status_code == 303
    assert len(caller.get(f"/skus/{sku['id']}/files").json()["data"]) == 1


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_pages_speak_the_language_and_keep_it(browser, sku, today, lang):
    doc = issued(browser, sku, today, languages=["en"], expires_on=str(today))
    drafted(browser, sku)
    upload(browser, sku)
    paths = [f"/documents?show={view}" for view in ("all", "drafts", "valid", "ending", "expired", "withdrawn")]
    for path in (*paths, f"/documents/{doc}", f"/items/{sku['id']}/documents"):
        page = text_of(browser.get(path, params={"lang": lang} | dict(re.findall(r"(\w+)=(\w+)", path))))
        assert f'<html lang="{lang}"' in page
        assert "<script" not in page
        links = re.findall(r'(?:href|action)="(/(?!pages/)[^"]*)"', SWITCH.sub("", page))
        assert [each for each in links if f"lang={lang}" not in each and each != "/documents"] == []


def filled_in(page):
    """What the form of a draft is filled in with, by input."""
    texts = re.findall(r'<textarea id="(point\.\w+)"[^>]*>([^<]*)</textarea>', page)
    lines = re.findall(r'<input id="(on_behalf_of|signatory|function|place)"[^>]*? value="([^"]*)"', page)
    return {name: unescape(text) for name, text in (*texts, *lines)}


def unfilled(page):
    return set(re.findall(r'<li><a href="#(point\.\w+|signatory|function|place)"', page))


PROFILE = {
    "address": "Marken GmbH\nQuai 1, Köln",
    "standards": "EN 13430:2004",
    "signatory": "Ada Marsh",
    "function": "Leiterin Qualität",
    "place": "Köln",
}


def test_the_company_profile_fills_a_draft_and_the_page_says_what_is_not_filled(caller, browser, sku, pool, today):
    draft = drafted(browser, sku, draft_lang="de")
    page = browser.get(draft).text
    assert unfilled(page) == {"point.manufacturer", "point.standards", "signatory", "function", "place"}
    administrator = signed_in(caller, pool, "administrator")
    assert administrator.post("/company", hidden(administrator.get("/company").text) | PROFILE).status_code == 303
    page = browser.get(draft).text
    assert unfilled(page) == set()
    form = filled_in(page)
    assert (form["point.manufacturer"], form["point.standards"]) == (PROFILE["address"], PROFILE["standards"])
    assert {name: form[name] for name in ("signatory", "function", "place")} == {
        name: PROFILE[name] for name in ("signatory", "function", "place")
    }
    sent = hidden(page) | form | {"decision": "accept", "issued_on": str(today)}
    assert browser.post(draft, sent).status_code == 303
    assert "Quai 1, Köln" in text_of(browser.get(f"{draft}/draft"))


def test_a_renewal_carries_over_what_the_former_declaration_stated(browser, sku, today):
    doc = issued(browser, sku, today, languages=("en",))
    page = browser.get(f"/documents/{doc}").text
    answer = browser.post(f"/documents/{doc}/renew", hidden(page) | {"draft_lang": "de"})
    assert answer.status_code == 303
    form = filled_in(browser.get(answer.headers["Location"]).text)
    assert form == {**SIGNED, "point.legislation": "", "point.additional": ""}  # nothing was added to these


@pytest.fixture
def of_stranger(join, pool):
    """A draft of another company's item that is like the others."""
    foreign = join()
    stranger = signed_in(foreign, pool)
    return drafted(stranger, foreign.made(material="glass", weight_grams=300), draft_lang="de")


def test_drafts_that_differ_in_nothing_that_matters_are_issued_at_once(caller, browser, sku, today, of_stranger):
    twin, other = caller.made(material="glass", weight_grams=300), caller.made(material="glass", weight_grams=301)
    draft, of_twin, of_other = (drafted(browser, each, draft_lang="de") for each in (sku, twin, other))
    page = browser.get(draft).text
    offered = re.findall(r'name="also" value="([^"]+)"', page)
    assert offered == [of_twin.rpartition("/")[2]]
    form = hidden(page) | SIGNED | {"decision": "accept", "issued_on": str(today)}
    for wrong in (of_other, of_stranger):
        answer = browser.post(draft, form | {"also": [*offered, wrong.rpartition("/")[2]]})
        assert answer.status_code == 409
        assert caller.get("/docs/search").json()["data"] == []
    assert browser.post(draft, form | {"also": offered, "place": ""}).status_code == 400
    assert caller.get("/docs/search").json()["data"] == []
    assert browser.post(draft, form | {"also": offered}).status_code == 303
    assert {doc["sku_code"] for doc in caller.get("/docs/search").json()["data"]} == {sku["sku_code"], twin["sku_code"]}
    assert 'name="also"' not in browser.get(of_other).text
