"""Gives a company data for every page: items, an import, supplier requests and their answers, a connection."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

BOTTLE: Final = {
    "sku_code": "WTR-50",
    "name": "Still water 0.5 l",
    "packaging_format": "bottle",
    "food_contact": True,
    "markets": ["DE", "FR"],
    "components": [
        {
            "component_type": "body",
            "material_family": "plastic",
            "polymer_or_grade": "PET",
            "weight_g": 22.4,
            "colour": "transparent",
            "recycled_content_percent": 30,
        },
        {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 1.9},
    ],
}
"""The item of the supplier requests and of the drafted declaration."""
PORTFOLIO: Final = Path(__file__).parents[2] / "examples" / "portfolio.xlsx"
_SECONDS: Final = 240


@dataclass(frozen=True, slots=True)
class Company:
    """A company with one key; `operate` runs a `pcds` command with --json and returns its output."""

    service: str
    id: str
    key: str
    operate: Callable[..., dict[str, Any]]

    def item(self, fields: dict[str, Any]) -> str:
        """Write an item with these fields; return its id."""
        return str(self._sent("POST", "/api/v1/skus", json=fields)["data"]["id"])

    def items(self, skus: list[dict[str, Any]]) -> None:
        """Write up to 1 000 items at once."""
        self._sent("POST", "/api/v1/skus/batch", json={"skus": skus})

    def supplier(self, name: str) -> str:
        """Add a supplier; return its id."""
        return str(self._sent("POST", "/api/v1/suppliers", json={"name": name})["data"]["id"])

    def get(self, path: str, **asked: str) -> list[dict[str, Any]]:
        """Return the first page of a list of the interface."""
        return list(self._sent("GET", f"/api/v1{path}", params=asked)["data"])

    def put(self, path: str, body: object) -> None:
        """Put to the interface."""
        self._sent("PUT", f"/api/v1{path}", json=body)

    def brand(self, name: str) -> str:
        """Add a brand; return its id."""
        return str(self._sent("POST", "/api/v1/brands", json={"name": name})["data"]["id"])

    def archive(self, fields: dict[str, Any]) -> None:
        """Write an item with these fields, and archive it."""
        self._sent("POST", f"/api/v1/skus/{self.item(fields)}/archive", json={})

    def enquire(self, supplier: str, *sku_codes: str) -> tuple[str, str]:
        """Ask a supplier about several items under one link; return the enquiry's id and the path of its link."""
        asked = {"supplier_name": supplier, "sku_codes": sku_codes}
        made = self._sent("POST", "/api/v1/supplier-enquiries", json=asked)
        return str(made["data"]["id"]), urlsplit(made["url"]).path

    def declare(self, market: str, year: int) -> str:
        """Keep a declaration of the company's tonnes; return its id."""
        asked = {"market": market, "year": year, "format": "csv"}
        return str(self._sent("POST", "/api/v1/declarations", json=asked)["data"]["id"])

    def means(self, field: str, text: str, value: str) -> None:
        """Add a word of the company's own."""
        self._sent("PUT", "/api/v1/words", json={"words": [{"field": field, "text": text, "value": value}]})

    def grade(self, item: str) -> str | None:
        """Return the current grade of an item."""
        found: str | None = self._sent("GET", f"/api/v1/skus/{item}")["data"]["recyclability_grade"]
        return found

    def audit(self, **asked: str) -> list[dict[str, Any]]:
        """Return entries of the audit log, newest first."""
        return list(self._sent("GET", "/api/v1/audit-log", params=asked)["data"])

    def imported(self, file: Path = PORTFOLIO) -> str:
        """Import a file, wait for the end, and return the import's id."""
        accepted = self._sent("POST", "/api/v1/imports", content=file.read_bytes(), params={"filename": file.name})
        import_id = str(accepted["poll_url"]).rpartition("/")[2]
        self.ended(import_id)
        return import_id

    def ended(self, import_id: str) -> None:
        """Wait for the end of an import."""
        deadline = time.monotonic() + _SECONDS
        while self._sent("GET", f"/api/v1/imports/{import_id}")["status"] not in ("completed", "failed"):
            if time.monotonic() > deadline:
                raise TimeoutError("The import did not end in time; is a worker running?")
            time.sleep(0.2)

    def hook(self, url: str) -> str:
        """Have the company's changes sent to an address; return the webhook's id."""
        return str(self._sent("POST", "/api/v1/webhooks", json={"url": url})["data"]["id"])

    def asked(self, sku_code: str, supplier: str) -> tuple[str, list[str]]:
        """Create a supplier request; return the path of its link, and the components that it asks about."""
        made = self.operate(
            "supplier-request", "create", "--company", self.id, "--sku", sku_code, "--supplier-name", supplier
        )
        return urlsplit(made["url"]).path, made["component_ids"]

    def answered(self, link: str, *components: dict[str, Any], **more: Any) -> str:
        """Answer at a link as a supplier's program; return the id of its entry in the review queue."""
        said = {"consent": True, "response": {"components": components, **more}}
        return str(self._sent("POST", f"/api{link}", json=said)["submission_id"])

    def _sent(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = httpx2.request(
            method, f"{self.service}{path}", headers={"X-API-Key": self.key}, timeout=_SECONDS, **more
        )
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found
