"""Declarations of conformity from draft to withdrawal, by our own operations beside the contract."""

import pytest

from tests.contract.outside import good, refused


@pytest.mark.promise("DOC-20")
def test_a_declaration_is_drafted_issued_renewed_and_withdrawn(caller):
    sku = caller.made(sku_code="DECL-1", name="Bottle", material="glass", weight_grams=300)
    draft = good(caller.post(f"/skus/{sku['id']}/doc-drafts", {"lang": "fr"}))["data"]
    day = draft["drafted_at"][:10]
    signed = dict.fromkeys(("on_behalf_of", "signatory", "function", "place"), "Ada Marsh") | {"issued_on": day}
    fault = refused(caller.post(f"/doc-drafts/{draft['id']}/issue", signed), 400, "invalid_body")
    asked = [issue["field"] for issue in fault]
    assert asked == [f"points.{point['key']}" for point in draft["points"] if point["open"]]
    points = {field.removeprefix("points."): "Lyon" for field in asked}
    issue = signed | {"points": points, "expires_on": day, "languages": ["en"]}
    doc = good(caller.post(f"/doc-drafts/{draft['id']}/issue", issue))["data"]
    assert (doc["state"], doc["languages"], doc["days_left"]) == ("valid", ["fr", "en"], 0)
    assert caller.data("/docs/search", ends_within=0) == [doc]
    for lang in doc["languages"]:
        assert caller.get(f"/docs/{doc['id']}/pdf", params={"lang": lang}).content.startswith(b"%PDF-")
    renewal = good(caller.post(f"/docs/{doc['id']}/renew", {}))["data"]
    assert (renewal["renews"], renewal["lang"], renewal["state"]) == (doc["id"], "fr", "open")
    withdrawn = good(caller.post(f"/docs/{doc['id']}/withdraw", {"reason": "Another glue"}))["data"]
    assert (withdrawn["state"], withdrawn["withdrawn_reason"]) == ("withdrawn", "Another glue")
    assert [item["status"] for item in caller.data("/docs")] == ["rejected"]
