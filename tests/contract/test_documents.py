"""Declarations of conformity from draft to withdrawal, by our own operations beside the contract."""

import pytest

from tests.contract.outside import good, refused


@pytest.mark.promise("DOC-20")
def test_a_declaration_is_drafted_issued_renewed_and_withdrawn(caller):
    sku = caller.made(sku_code="DECL-1", name="Bottle", material="glass", weight_grams=300)
    draft = good(caller.post(f"/skus/{sku['id']}/doc-drafts", {"lang": "de"}))["data"]
    day = draft["drafted_at"][:10]
    signed = dict.fromkeys(("on_behalf_of", "signatory", "function", "place"), "Ada Marsh") | {"issued_on": day}
    fault = refused(caller.post(f"/doc-drafts/{draft['id']}/issue", signed), 400, "invalid_body")
    asked = [issue["field"] for issue in fault]
    assert asked == [f"points.{point['key']}" for point in draft["points"] if point["open"]]
    points = {field.removeprefix("points."): "Lyon" for field in asked}
    issue = signed | {"points": points, "expires_on": day, "languages": ["en"]}
    doc = good(caller.post(f"/doc-drafts/{draft['id']}/issue", issue))["data"]
    assert (doc["state"], doc["languages"], doc["days_left"]) == ("valid", ["de", "en"], 0)
    assert caller.data("/docs/search", ends_within=0) == [doc]
    for lang in doc["languages"]:
        assert caller.get(f"/docs/{doc['id']}/pdf", params={"lang": lang}).content.startswith(b"%PDF-")
    renewal = good(caller.post(f"/docs/{doc['id']}/renew", {}))["data"]
    assert (renewal["renews"], renewal["lang"], renewal["state"]) == (doc["id"], "de", "open")
    withdrawn = good(caller.post(f"/docs/{doc['id']}/withdraw", {"reason": "Another glue"}))["data"]
    assert (withdrawn["state"], withdrawn["withdrawn_reason"]) == ("withdrawn", "Another glue")
    assert [item["status"] for item in caller.data("/docs")] == ["rejected"]


@pytest.mark.promise("DOC-21")
def test_no_declaration_is_issued_against_the_record_of_its_own_item(caller):
    """decisions §13: PFAS in food contact whatever the market, and heavy metals; each fact by itself."""
    above = {"status": "above_limit"}
    facts = {"food_contact": True, "markets": ["GB"], "substances": {"pfas": above, "heavy_metals": above}}
    sku = caller.made(sku_code="DECL-2", name="Wrap", material="paper", weight_grams=9, **facts)
    draft = good(caller.post(f"/skus/{sku['id']}/doc-drafts", {}))["data"]
    day = draft["drafted_at"][:10]
    signed = dict.fromkeys(("on_behalf_of", "signatory", "function", "place"), "Ada Marsh") | {"issued_on": day}
    signed["points"] = {point["key"]: "Lyon" for point in draft["points"] if point["open"]}
    for dry_run in ("true", "false"):
        answer = caller.post(f"/doc-drafts/{draft['id']}/issue", signed, params={"dry_run": dry_run})
        found = refused(answer, 409, "not_conform")
        assert [issue["field"] for issue in found] == ["substances.pfas", "substances.heavy_metals"]
    assert caller.data("/docs") == []
    clean = {"sku_code": "DECL-2", "name": "Wrap", "substances": {"pfas": None, "heavy_metals": None}}
    good(caller.post("/skus", clean))
    corrected = good(caller.post(f"/skus/{sku['id']}/doc-drafts", {}))["data"]
    lines = [line for point in corrected["points"] for line in point["lines"]]
    assert [line for line in lines if line.startswith("Open: ")]
    assert good(caller.post(f"/doc-drafts/{corrected['id']}/issue", signed))["data"]["state"] == "valid"


@pytest.mark.promise("DOC-20")
def test_no_declaration_is_issued_that_cannot_be_printed(caller):
    """Each line with a character that no font has, of the record or of the person; a dry run refuses alike."""
    sku = caller.made(sku_code="DECL-3", name="Bottle 😀", material="glass", weight_grams=300)
    draft = good(caller.post(f"/skus/{sku['id']}/doc-drafts", {}))["data"]
    signed = dict.fromkeys(("on_behalf_of", "signatory", "function", "place"), "Ada Marsh")
    signed |= {"issued_on": draft["drafted_at"][:10]}
    signed["points"] = {point["key"]: "Lyon" for point in draft["points"] if point["open"]}
    for dry_run in ("true", "false"):
        for more, fields in (({}, ["points.object"]), ({"place": "Köln 😀"}, ["place"])):
            answer = caller.post(f"/doc-drafts/{draft['id']}/issue", signed | more, params={"dry_run": dry_run})
            found = refused(answer, 400, "invalid_body")
            assert [issue["field"] for issue in found] == fields
            assert "😀 (U+1F600)" in found[0]["message"]
    assert caller.data("/docs") == []
