"""Answers with a body: JSON out of plain values, or JSON text that the database has written already."""

from typing import Any

import orjson
from starlette.responses import Response


def json_of(value: Any, status: int = 200) -> Response:
    """Plain values as JSON; dates as ISO text, UUIDs as text."""
    return Response(orjson.dumps(value), status, media_type="application/json")


def json_text(text: str) -> Response:
    """Goes out as it is: what the database wrote is not parsed and written again."""
    return Response(text, media_type="application/json")
