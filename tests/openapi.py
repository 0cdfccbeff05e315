"""The operations of the contract, and the app's OpenAPI document: made once a process, as it costs a thousand tests."""

from functools import cache
from typing import Any

from api.app import build_app

CONTRACT = {
    ("POST", "/oauth/token"), ("GET", "/skus"), ("POST", "/skus"), ("GET", "/skus/{id}"), ("PUT", "/skus/{id}"),
    ("PUT", "/skus/{id}/volumes"), ("GET", "/skus/{id}/files"), ("POST", "/skus/{id}/files"), ("POST", "/skus/batch"),
    ("POST", "/imports"), ("GET", "/imports/{id}"), ("GET", "/components"), ("GET", "/sites"), ("GET", "/brands"),
    ("GET", "/jurisdictions"), ("GET", "/audit-log"), ("GET", "/docs"), ("GET", "/openapi.json"),
    ("GET", "/schemas/supplier-data-response"),
}  # fmt: skip
"""The operations of the contract; every other one is our own (docs/spec)."""

OURS: set[tuple[str, str]] = {
    ("PATCH", "/skus/{id}"), ("POST", "/skus/{id}/free-code"), ("POST", "/skus/{id}/archive"),
    ("POST", "/skus/{id}/return"), ("GET", "/skus/archived"), ("GET", "/me"), ("GET", "/changes"),
    ("GET", "/webhooks"), ("POST", "/webhooks"), ("GET", "/webhooks/{id}"), ("PATCH", "/webhooks/{id}"),
    ("DELETE", "/webhooks/{id}"), ("GET", "/webhooks/{id}/deliveries"), ("POST", "/webhooks/{id}/roll-secret"),
    ("POST", "/webhooks/{id}/replay"), ("POST", "/webhooks/{id}/test"), ("POST", "/exports"), ("GET", "/exports"),
    ("GET", "/exports/{id}"), ("GET", "/exports/{id}/file"), ("GET", "/suppliers"), ("POST", "/supplier-requests"),
    *(("POST", f"/{kind}") for kind in ("brands", "sites", "components", "suppliers")),
    *((method, f"/{kind}/{{id}}") for kind in ("brands", "sites", "components", "suppliers")
      for method in ("GET", "PATCH")),
}  # fmt: skip
"""Those of our own that are stable since 2026-11-28 (docs/interface-changes.md); the others are preview."""


@cache
def document() -> dict[str, Any]:
    """The document, which all readers share and none changes."""
    return build_app().openapi()
