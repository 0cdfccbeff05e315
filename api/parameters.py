"""Query and path parameters that several operations share, each with its rule and its published description.

Clamping and refusing happen here, so that a handler only sees values that it can use.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError
from starlette.requests import Request

from api.errors import NotFound

MAX_PAGE: Final = 200
_MAX_OFFSET: Final = 2**31 - 1
_RFC_3339: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)  # fmt: skip
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}


def _fit(code: str, message: str) -> PydanticCustomError:
    return PydanticCustomError(code, "{sentence}", {"sentence": message})


def _integer(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]{1,1000}", value):
        raise _fit("invalid_type", "This parameter is an integer.")
    return value


def _truth(value: Any) -> Any:
    if isinstance(value, str) and value not in _TRUTHS:
        raise _fit("invalid_format", "dry_run is true, false, 1 or 0.")
    return _TRUTHS.get(value, value)


def _instant(value: Any) -> Any:
    refusal = _fit("invalid_format", "Send an RFC 3339 instant with Z or an offset, with + written as %2B.")
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise refusal
    try:
        return datetime.fromisoformat(value.upper())
    except ValueError:
        raise refusal from None


def _without_nul(value: str) -> str:
    if "\x00" in value:
        raise _fit("invalid_format", "No sku_code holds a NUL character.")
    return value.strip()


Limit = Annotated[
    int,
    BeforeValidator(_integer),
    AfterValidator(lambda value: min(max(value, 1), MAX_PAGE)),
    Query(description="Page size; values outside 1 to 200 are clamped."),
]
Offset = Annotated[
    int,
    BeforeValidator(_integer),
    AfterValidator(lambda value: min(max(value, 0), _MAX_OFFSET)),
    Query(description="Rows to skip; a negative value is 0."),
]
DryRun = Annotated[
    bool,
    BeforeValidator(_truth),
    Query(description="Validate and grade, report what would happen, write nothing."),
]
SkuCodes = Annotated[
    list[Annotated[str, AfterValidator(_without_nul)]] | None,
    Query(description="Only these sku_codes, compared exactly; may repeat."),
]
UpdatedSince = Annotated[
    Annotated[datetime, BeforeValidator(_instant)] | None,
    Query(description="Only SKUs updated at or after this instant (RFC 3339 with Z or an offset)."),
]


def _record_id(
    request: Request,
    id: Annotated[str, Path(description="The record's id.", json_schema_extra={"format": "uuid"})],  # noqa: A002, ARG001
) -> UUID:
    # The parameter is declared for the document only: a malformed id is an unknown one, not a bad request.
    try:
        return UUID(request.path_params["id"])
    except ValueError:
        raise NotFound from None


RecordId = Annotated[UUID, Depends(_record_id)]
