"""A day of an ERP's middleware, in plain HTTP and within the usual rate: nothing but the contract's own words."""

import hashlib
from collections.abc import Iterator

import httpx2
import pytest

from tests.contract.samples import PDF
from tests.waiting import PATIENCE_SECONDS

CODES = [f"ART-{number:04}" for number in range(1000)]


def article(code: str, **fields: object) -> dict[str, object]:
    return {
        "sku_code": code,
        "name": f"Article {code}",
        "markets": ["FR", "DE"],
        "packaging_format": "bottle",
        "packaging_level": "primary",
        "weight_grams": 22.5,
        "components": [
            {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20.5},
            {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2},
        ],
        **fields,
    }


def pages(client: httpx2.Client, path: str) -> Iterator[dict]:
    """Every record of a list, two hundred at a time."""
    offset, total = 0, 1
    while offset < total:
        page = client.get(path, params={"limit": 200, "offset": offset}).raise_for_status().json()
        yield from page["data"]
        offset, total = offset + 200, page["pagination"]["total"]


@pytest.mark.promise("SVC-01", "TOK-10", "BAT-01", "SVC-10")
def test_a_days_work(caller):
    base, credentials = str(caller.server.client.base_url), (caller.client_id, caller.key)
    with httpx2.Client(base_url=f"{base}/api/v1", timeout=PATIENCE_SECONDS) as client:
        token = client.post("/oauth/token", auth=credentials, data={"grant_type": "client_credentials"})
        assert token.raise_for_status().headers["Cache-Control"] == "no-store"
        client.headers["Authorization"] = f"Bearer {token.json()['access_token']}"

        # Morning: the whole portfolio, checked dry, then sent, then sent again because the line was cut.
        skus = [article(code) for code in CODES]
        dry = client.post("/skus/batch", json={"skus": skus, "dry_run": True}).raise_for_status().json()
        assert dry["summary"]["created"] == 1000
        for replayed in (False, True):
            sent = client.post("/skus/batch", json={"skus": skus}, headers={"Idempotency-Key": "portfolio-1"})
            assert sent.raise_for_status().json()["summary"]["created"] == 1000
            assert ("Idempotent-Replayed" in sent.headers) is replayed
        ids = {row["sku_code"]: row["id"] for row in sent.json()["results"]}
        assert {row["recyclability_grade"] for row in sent.json()["results"]} <= {"A", "B", "C"}

        # Noon: volumes of a few, one of them in a market that does not exist.
        for code in CODES[:5]:
            rows = [{"market": market, "year": 2026, "units_placed": 1000} for market in ("fr", "DE")]
            assert client.put(f"/skus/{ids[code]}/volumes", json=rows).raise_for_status().json()["warnings"] == []
        wrong = client.put(f"/skus/{ids[CODES[5]]}/volumes", json=[{"market": "XX", "year": 2026, "units_placed": 1}])
        assert (wrong.status_code, wrong.json()["details"][0]["code"]) == (400, "unknown_market")

        # Afternoon: evidence, and a change of packaging for ten articles with a mistake in one.
        file = {"file": ("assessment.pdf", PDF, "application/pdf")}
        form = {"type": "recyclability_assessment", "reference": "LAB-1", "issued_on": "2026-03-01"}
        uploaded = client.post(f"/skus/{ids[CODES[0]]}/files", data=form, files=file).raise_for_status()
        assert uploaded.json()["data"]["sha256"] == hashlib.sha256(PDF).hexdigest()
        changed = [article(code, name="Lighter", weight_grams=21) for code in CODES[:9]]
        answer = client.post("/skus/batch", json={"skus": [*changed, article(CODES[9], gtin="123")]}).json()
        assert (answer["summary"]["updated"], answer["summary"]["rejected"]) == (9, 1)

        # Evening: what was sent today is read again, and what the ledger says of it.
        since = client.get("/skus", params={"updated_since": token.headers["Date"], "limit": 1})
        assert since.status_code == 400, "an instant is written as RFC 3339 has it"
        held = list(pages(client, "/skus"))
        assert {item["sku_code"]: item["id"] for item in held} == ids
        assert sum(item["name"] == "Lighter" for item in held) == 9
        detail = client.get(f"/skus/{ids[CODES[0]]}").raise_for_status().json()["data"]
        assert [row["units_placed"] for row in detail["volumes"]] == [1000, 1000]
        assert [part["component_type"] for part in detail["components"]] == ["body", "cap"]
        for path in ("/brands", "/sites", "/components", "/docs", "/jurisdictions"):
            assert list(pages(client, path)) is not None
        actions = [entry["action"] for entry in pages(client, "/audit-log")]
        assert {action: actions.count(action) for action in set(actions)} == {
            "api_key.issued": 1,
            "company.created": 1,
            "sku.created": 1000,
            "sku.updated": 9,
            "sku_volumes.updated": 5,
            "technical_file.uploaded": 1,
        }
