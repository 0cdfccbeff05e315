"""Archiving an item, bringing it back and undoing an import in the browser, without JavaScript."""

import re
from datetime import UTC, datetime
from html import unescape
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from services.review import entries as entries_review
from tests.api.asking import ask
from tests.api.people import hidden, signed_in
from tests.api.portfolios import counted, run, weighed
from tests.api.walking import addresses
from tests.services.making import PDF

PART = {"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass"}


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "editor")


def made(caller, **fields):
    return caller.post("/skus", {"name": "Jar", **fields}).json()["data"]


def form_of(page, action):
    """The hidden fields of the page's form with this action."""
    return hidden("<main" + page.partition(f'action="{action}"')[2])


def test_an_item_is_archived_and_brought_back_from_its_page(caller, browser):
    path = f"/items/{made(caller, sku_code='PAGE-1')['id']}"
    page = browser.get(path).text
    done = browser.post(f"{path}/archive", form_of(page, f"{path}/archive") | {"reason": "Sold out"})
    assert (done.status_code, done.headers["Location"]) == (303, path)
    assert "PAGE-1" not in browser.get("/items").text
    assert f'href="{path}"' in browser.get("/items/archived").text
    for lang, words in (("en", "Archived:"), ("fr", "Archivé :"), ("de", "Archiviert:")):
        page = unescape(browser.get(f"{path}?lang={lang}").text)
        assert words in page
        assert "Sold out" in page
        assert f"{path}/archive" not in page
    back = browser.post(f"{path}/return", form_of(page, f"{path}/return?lang=de"))
    assert back.status_code == 303
    assert "PAGE-1" in browser.get("/items").text
    assert "PAGE-1" not in browser.get("/items/archived").text


def test_a_form_that_is_sent_twice_archives_once(caller, browser):
    path = f"/items/{made(caller, sku_code='TWICE')['id']}"
    form = form_of(browser.get(path).text, f"{path}/archive")
    for _ in range(2):
        assert browser.post(f"{path}/archive", form).status_code == 303
    assert browser.post(f"{path}/archive", {}).status_code == 403
    assert browser.post(f"/items/{uuid4()}/archive", form | {"once": str(uuid4())}).status_code == 404


@pytest.mark.parametrize(("lang", "told", "weight"), [
    ("en", "Nothing was done", "12.5"), ("fr", "Rien n’a été fait", "12,5"), ("de", "Es ist nichts geschehen", "12,5"),
])  # fmt: skip
def test_the_second_person_is_told_what_changed_before_anything_is_done(caller, browser, lang, told, weight):
    item = made(caller, sku_code="BOTH", weight_grams=10)
    path, here = f"/items/{item['id']}", f"?lang={lang}"
    form = form_of(browser.get(path + here).text, f"{path}/archive{here}")
    made(caller, sku_code="BOTH", weight_grams=12.5)
    refused = browser.post(f"{path}/archive{here}", form | {"reason": "Sold out"})
    page = unescape(refused.text)
    assert (refused.status_code, told in page, weight in page.partition("<h1")[0]) == (409, True, True)
    assert 'value="Sold out"' in page
    assert f'href="{path}/edit{here}"' in page
    assert caller.get("/skus").json()["pagination"]["total"] == 1
    again = form_of(refused.text, f"{path}/archive{here}")
    assert browser.post(f"{path}/archive{here}", again).status_code == 303
    late = browser.post(f"{path}/archive{here}", again | {"once": str(uuid4())})
    assert (late.status_code, f"{path}/return{here}" in late.text) == (409, True)
    rested = form_of(browser.get(path + here).text, f"{path}/return{here}")
    made(caller, sku_code="BOTH", weight_grams=13)
    assert browser.post(f"{path}/return{here}", rested).status_code == 409
    assert caller.get(f"/skus/{item['id']}").json()["data"]["weight_grams"] == 13


def test_a_viewer_sees_no_button(caller, browser, pool):
    path = f"/items/{made(caller, sku_code='SEEN')['id']}"
    viewer = signed_in(caller, pool, "viewer")
    assert f"{path}/archive" not in viewer.get(path).text
    assert f"{path}/archive" in browser.get(path).text


def test_an_import_is_undone_after_its_page_has_shown_what_would_happen(caller, browser):
    made(caller, sku_code="U-1", weight_grams=10)
    made(caller, sku_code="U-2", weight_grams=10)
    sent = caller.request(
        "POST",
        "/imports",
        content=b"sku_code,name,weight_grams\nU-1,Jar,20\nU-2,Jar,20\nU-3,Lid,1\n",
        params={"filename": "wrong.csv"},
    )
    import_id = sent.json()["id"]
    run(caller, import_id)
    made(caller, sku_code="U-2", weight_grams=30)
    path = f"/imports/{import_id}"
    assert f'href="{path}/undo?lang=fr"' in browser.get(f"{path}?lang=fr").text
    page = browser.get(f"{path}/undo").text
    assert "wrong.csv" in page
    assert "<code>U-2</code> The SKU has been changed since" in page
    assert "depuis" in browser.get(f"{path}/undo?lang=fr").text.partition("U-2")[2]
    done = browser.post(f"{path}/undo", hidden(page) | {"reason": ""})
    assert (done.status_code, done.headers["Location"]) == (303, path)
    assert "was undone" in browser.get(path).text
    weights = {sku["sku_code"]: sku["weight_grams"] for sku in caller.get("/skus").json()["data"]}
    assert weights == {"U-1": 10, "U-2": 30}
    assert "nothing to undo" in browser.get(f"{path}/undo").text
    assert browser.get(f"/imports/{uuid4()}/undo").status_code == 404


def test_what_waits_in_the_review_is_rejected_or_waits_for_the_items_return(caller, pool):
    browser = signed_in(caller, pool, "approver")
    asked = ask(caller, pool)
    assert asked.answer().status_code == 202
    assistant = Origin("connection", str(uuid4()), "Assistant", "c-3")
    with pool.company(caller.company) as conn:
        entries_review.file(
            conn,
            Actor(caller.company, assistant, datetime.now(UTC)),
            "sku_update",
            {"changes": {"name": "Other"}},
            sku_id=UUID(asked.sku_id),
        )
    made_draft = caller.post(f"/skus/{asked.sku_id}/doc-drafts", {})
    assert made_draft.status_code == 201
    caller.post(f"/skus/{asked.sku_id}/archive", {})
    entries = set(re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text))
    assert len(entries) == 3
    for path in entries:
        page = browser.get(path)
        assert page.status_code == 200
        refused = browser.post(path, hidden(page.text) | {"decision": "accept"})
        assert refused.status_code in (400, 409), "a draft asks for its open points first"
        assert browser.post(path, hidden(page.text) | {"decision": "reject", "reason": "gone"}).status_code == 303
    assert caller.get("/skus").json()["pagination"]["total"] == 0, "nothing of it brought the item back"
    form = browser.get(f"/supplier-data/{asked.token}")
    assert (form.status_code, 'name="0.weight_g"' in form.text) == (200, True), "its parts are still its parts"


def test_a_figure_of_before_is_still_explained(caller, browser):
    item = made(caller, sku_code="FIG-1", components=[{**PART, "weight_g": 10}])
    caller.put(f"/skus/{item['id']}/volumes", [{"market": "DE", "year": 2025, "units_placed": 1000}])
    counted(caller)
    weighed(caller)
    caller.post(f"/skus/{item['id']}/archive", {})
    figures = unescape(browser.get("/figures?market=DE").text)
    address = re.search(r'href="(/figures/items\?[^"]+)"', figures)[1]
    page = browser.get(address)
    assert (page.status_code, "FIG-1" in page.text) == (200, True)


def test_the_page_says_what_was_placed_before_an_item_is_archived(caller, browser):
    path = f"/items/{made(caller, sku_code='PLACED', material='glass', weight_grams=250)['id']}"
    assert "DE 2025" not in unescape(browser.get(path).text)
    caller.put(f"/skus/{path.rpartition('/')[2]}/volumes", [{"market": "DE", "year": 2025, "units_placed": 10_000}])
    for lang, tonnes in (("en", "DE 2025: 2.5 t"), ("fr", "DE 2025 : 2,5 t"), ("de", "DE 2025: 2,5 t")):
        page = unescape(browser.get(f"{path}?lang={lang}").text).partition('id="archive"')[2]
        assert tonnes in page
        assert f'href="{path}/edit?lang={lang}#volumes"' in page or f'href="{path}/edit#volumes"' in page


def test_an_archived_item_is_marked_beside_the_figures(caller, browser):
    item = made(caller, sku_code="BARE", material="glass")
    caller.put(f"/skus/{item['id']}/volumes", [{"market": "DE", "year": 2025, "units_placed": 10}])
    caller.post(f"/skus/{item['id']}/archive", {})
    counted(caller)
    weighed(caller)
    page = browser.get("/figures").text
    row = next(line for line in page.splitlines() if "BARE" in line)
    assert 'href="/items/archived"' in row
    assert ">archived</span>" in row


INSTEAD = "What you asked for is there for items in use only, and nothing was changed."


@pytest.fixture
def resting(caller, browser):
    """An archived item with a part, a file, a draft of a declaration, and units that were placed; its page's path."""
    sku = made(caller, sku_code="REST-1", components=[PART | {"weight_g": 20}], markets=["DE"])
    path = f"/items/{sku['id']}"
    placed = [{"market": "DE", "year": 2026, "half": 0, "units_placed": 10}]
    assert caller.put(f"/skus{path[6:]}/volumes", placed).status_code == 200
    sent = {"files": {"file": ("proof.pdf", PDF, "application/pdf")}, "data": {"type": "test_report"}}
    assert caller.request("POST", f"/skus/{sku['id']}/files", **sent).status_code == 201
    assert caller.post(f"/skus/{sku['id']}/doc-drafts").status_code == 201
    assert caller.post(f"/skus/{sku['id']}/archive").status_code == 200
    return path


def test_no_link_of_an_archived_items_page_leads_to_nothing(browser, resting):
    waiting, seen = [resting, f"{resting}/documents"], set()
    while waiting:
        address = waiting.pop()
        page = browser.get(address, headers={"Accept": "text/html"})
        assert page.status_code < 400, address
        if address.startswith(resting) and "text/html" in page.headers["content-type"]:
            new = {link for link in addresses(page) if link.startswith("/") and not link.startswith("/sign-out")}
            waiting += [link for link in new - seen if not link.endswith("/return")]
            seen |= new
    assert any("/files/" in address for address in seen), "the file can be downloaded"
    assert any(address.startswith("/review/") for address in seen), "the draft can be read"


@pytest.mark.parametrize(
    ("lang", "told"),
    [("en", "The item is archived"), ("fr", "L’article est archivé"), ("de", "Der Artikel ist arch")],
)
def test_the_documents_of_an_archived_item_are_shown_to_read(browser, resting, lang, told):
    page = browser.get(f"{resting}/documents?lang={lang}")
    assert page.status_code == 200
    assert told in unescape(page.text)
    assert "proof.pdf" in page.text
    assert '<form method="post" action="/items' not in page.text


@pytest.mark.parametrize("sub_page", ["edit", "copy", "roles"])
def test_a_page_that_only_items_in_use_have_leads_to_the_archived_item(browser, resting, sub_page):
    led = browser.get(f"{resting}/{sub_page}?lang=en")
    assert (led.status_code, led.headers["Location"]) == (303, f"{resting}?lang=en&instead=yes")
    assert INSTEAD in unescape(browser.get(led.headers["Location"]).text)
    assert browser.get(f"/items/{uuid4()}/{sub_page}").status_code == 404
    assert browser.get(f"/items/nothing/{sub_page}").status_code == 404
    assert INSTEAD not in unescape(browser.get(resting).text)


def test_what_was_printed_on_an_archived_pack_leads_to_the_item_too(browser, resting):
    led = browser.get(resting.replace("/items/", "/marks/"))
    assert led.headers["Location"] == f"{resting}?instead=yes"


@pytest.mark.parametrize("step", ["documents", "roles", "facts", "answer", "edit"])
def test_a_form_that_was_open_when_the_item_was_archived_changes_nothing_and_says_so(caller, browser, resting, step):
    before = caller.get(f"/skus/{resting[7:]}").json()["data"]
    form = hidden(browser.get("/items/new").text) | {"version": "1", "seen": "1", "step": "save"}
    form |= {"fact": "is_fresh", "answer": "yes", "draft_lang": "en", "name": "Other", "sku_code": "REST-1"}
    sent = browser.post(f"{resting}/{step}", form)
    assert sent.status_code in (303, 400, 409), sent.status_code
    if sent.status_code == 303:
        assert INSTEAD in unescape(browser.get(sent.headers["Location"]).text)
    assert caller.get(f"/skus/{resting[7:]}").json()["data"] == before


def test_the_review_queue_and_its_entries_say_that_an_item_is_archived(browser, resting):
    queue = browser.get("/review").text
    row = queue.partition("(REST-1)")[2].partition("</td>")[0]
    assert "archived" in row
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', queue)
    assert "archived" in browser.get(path).text.partition("(REST-1)")[2].partition("</dd>")[0]


def test_an_archived_item_of_another_company_is_not_there(browser, join):
    other = join()
    sku = made(other, sku_code="THEIRS")
    assert other.post(f"/skus/{sku['id']}/archive").status_code == 200
    for sub_page in ("", "/edit", "/documents", "/roles"):
        assert browser.get(f"/items/{sku['id']}{sub_page}").status_code == 404
