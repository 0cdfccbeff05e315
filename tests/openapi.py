"""The OpenAPI document of the app: made once a process, since making it costs as much as a thousand small tests."""

from functools import cache
from typing import Any

from api.app import build_app


@cache
def document() -> dict[str, Any]:
    """The document, which all readers share and none changes."""
    return build_app().openapi()
