"""A draft declaration as a person reads it: page and PDF, for the company that it was filed for and no other."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from schemas.actors import Actor, Origin
from services.conformity import drafts
from services.review import entries
from tests.api.people import Browser, added
from warehouse.rules import Rulesets

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
SCRIPT = '<script>alert("x")</script>'


def filed(pool, company: UUID, sku_id: str, lang: str = "de") -> UUID:
    with pool.company(company) as conn:
        actor = Actor(company, Origin("connection", str(uuid4()), "Helper", str(uuid4())), NOW)
        rules = Rulesets().active(conn)
        draft, _ = drafts.draft(conn, actor, UUID(sku_id), reference="DoC-1", lang=lang, rules=rules)
        payload = {"reference": "DoC-1", "lang": lang, "draft": draft.as_dict()}
        return entries.file(conn, actor, "doc_draft", payload, sku_id=UUID(sku_id)).id


def test_a_draft_is_read_as_a_page_and_as_a_pdf(stopped, pool, join):
    made = stopped.made(name=SCRIPT, material="glass", weight_grams=300)
    entry = filed(pool, stopped.company, made["id"])
    browser = Browser(stopped.http, stopped.address)
    assert browser.get(f"/review/{entry}/draft").status_code == 303
    assert browser.sign_in(added(pool, stopped.company)).status_code == 303
    entry_page = browser.get(f"/review/{entry}")
    assert f"/review/{entry}/draft" in entry_page.text
    page = browser.get(f"/review/{entry}/draft")
    assert page.status_code == 200
    assert "EU-Konformitätserklärung" in page.text
    assert SCRIPT not in page.text
    pdf = browser.get(f"/review/{entry}/draft.pdf")
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.content.startswith(b"%PDF-")
    for unknown in (uuid4(), "x"):
        assert browser.get(f"/review/{unknown}/draft.pdf").status_code == 404
    other = Browser(stopped.http, "10.9.9.9")
    assert other.sign_in(added(pool, join().company)).status_code == 303
    assert other.get(f"/review/{entry}/draft").status_code == 404
