"""The catalogue of jurisdictions: public, ordered, and as deep as it says."""

import re
from collections import Counter
from datetime import UTC, date, datetime

import pytest

from tests.contract.outside import good, refused
from tests.contract.shapes import faults

MEMBER_STATES = {
    "AT",
    "BE",
    "BG",
    "HR",
    "CY",
    "CZ",
    "DK",
    "EE",
    "FI",
    "FR",
    "DE",
    "GR",
    "HU",
    "IE",
    "IT",
    "LV",
    "LT",
    "LU",
    "MT",
    "NL",
    "PL",
    "PT",
    "RO",
    "SK",
    "SI",
    "ES",
    "SE",
}
FEDERATIONS = {"US", "CA"}


@pytest.fixture(scope="module")
def answer(shop):
    return good(shop.with_headers().get("/jurisdictions?limit=200"))


@pytest.mark.promise("JUR-01", "JUR-07", "SVC-07", "CNV-11")
def test_entries_stand_by_code_with_their_fields(shop, answer):
    entries = answer["data"]
    assert [fault for entry in entries for fault in faults("Jurisdiction", entry)] == []
    codes = [entry["code"] for entry in entries]
    assert codes == sorted(set(codes))
    assert answer["pagination"] == {"limit": 200, "offset": 0, "total": len(codes)}
    assert all(re.fullmatch(r"[A-Z]{2}(-[A-Z0-9]{1,3})?", code) for code in codes)
    page = good(shop.with_headers().get("/jurisdictions?limit=5&offset=10"))
    assert page["data"] == entries[10:15]
    assert page["coverage"] == answer["coverage"]


@pytest.mark.promise("JUR-02")
def test_coverage_counts_the_entries(answer):
    entries, coverage = answer["data"], answer["coverage"]
    depths = Counter(entry["depth"] for entry in entries)
    assert (coverage["signalled"], coverage["sourced"], coverage["guided"]) == (depths[1], depths[2], depths[3])
    newest = max((entry["verified_on"] for entry in entries if entry["verified_on"]), default=None)
    assert coverage["newest_verified_on"] == newest
    assert coverage["breakdown"] == {
        "by_system": Counter(entry["system_key"] for entry in entries),
        "by_region": Counter(entry["region"] for entry in entries),
    }


@pytest.mark.promise("JUR-03")
def test_depth_three_needs_a_review_of_the_last_18_months(answer):
    today = datetime.now(UTC).date()
    for entry in answer["data"]:
        assert entry["depth"] in (1, 2, 3)
        if entry["depth"] == 3:
            reviewed = date.fromisoformat(entry["reviewed_on"])
            assert (today.year - reviewed.year) * 12 + today.month - reviewed.month <= 18


@pytest.mark.promise("JUR-04")
def test_the_catalogue_covers_what_it_says(answer):
    codes = {entry["code"] for entry in answer["data"]}
    assert MEMBER_STATES | FEDERATIONS | {"GB"} <= codes
    parents = {code.partition("-")[0] for code in codes if "-" in code}
    assert FEDERATIONS <= parents <= codes


@pytest.mark.promise("JUR-05")
def test_no_entry_holds_an_amount_of_money(answer):
    money = re.compile(r"[€£$]\s?\d|\d\s?[€£]|\d\s?(?:EUR|GBP|USD|CHF)\b|\b(?:EUR|GBP|USD|CHF)\s?\d")
    assert [entry["code"] for entry in answer["data"] if money.search(str(entry))] == []


@pytest.mark.promise("JUR-06", "CNV-09")
def test_a_credential_is_not_needed_but_a_bad_one_is_refused(shop):
    assert shop.get("/jurisdictions").status_code == 200
    bad = shop.with_headers(**{"X-API-Key": f"svc_{'x' * 43}"}).get("/jurisdictions")
    refused(bad, 401, "invalid_api_key")
    assert bad.headers["WWW-Authenticate"]
    refused(shop.with_headers(Authorization="Bearer nonsense").get("/jurisdictions"), 401, "invalid_token")
