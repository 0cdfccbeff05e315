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
"""The operations of the contract; every other one is our own and marked so (docs/spec)."""


@cache
def document() -> dict[str, Any]:
    """The document, which all readers share and none changes."""
    return build_app().openapi()
