"""Parses and describes query and path parameters: each with its rule and its published description.

These rules read them and not the framework's, whose generic code costs a list as much as its query. A parameter that
cannot be read is refused, never ignored; unknown ones are ignored (decisions §1).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from starlette.requests import Request

from api.errors import InvalidBody, NotFound
from schemas import texts
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit

T = TypeVar("T")
V = TypeVar("V")
MAX_PAGE: Final = 200
MAX_IDEMPOTENCY_KEY: Final = 255
MAX_MAPPING_NAME: Final = 100
_MAX_OFFSET: Final = 2**31 - 1
_RFC_3339: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,1000}")
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Parameter(Generic[T]):
    """One query parameter: `parse` gets all sent values, in their order, and raises `Unfit`."""

    name: str
    parse: Callable[[Sequence[str]], T]
    default: T
    schema: Mapping[str, Any]
    description: str

    def of(self, request: Request, also: Sequence[str] = ()) -> T:
        """Return the request's value, or the default where none was sent; `also` are values of the form's part.

        Raise `InvalidBody`.
        """
        values = [*request.query_params.getlist(self.name), *also]
        if not values:
            return self.default
        try:
            return self.parse(values)
        except Unfit as unfit:
            raise InvalidBody([Issue(unfit.code, unfit.message, self.name)]) from None

    def published(self) -> dict[str, Any]:
        """Return the OpenAPI parameter object."""
        return {
            "name": self.name,
            "in": "query",
            "required": False,
            "description": self.description,
            "schema": dict(self.schema),
        }


def record_id(request: Request) -> UUID:
    """Return the `id` of the path; a malformed one counts as unknown, not as a bad request."""
    try:
        return UUID(request.path_params["id"])
    except ValueError:
        raise NotFound from None


RECORD_ID: Final = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The record's id, not its code.",
    "schema": {"type": "string", "format": "uuid"},
}


def idempotency_key(request: Request) -> str | None:
    """Return the header `Idempotency-Key` as it was sent, None where there is none; raise `InvalidBody`.

    It is any string of 1 to 255 characters; UTF-8 bytes are counted as characters.
    """
    values = request.headers.getlist("Idempotency-Key")
    if not values:
        return None
    characters = len(values[0].encode("latin-1").decode("utf-8", "replace"))
    if len(values) > 1 or not 1 <= characters <= MAX_IDEMPOTENCY_KEY:
        sentence = Message("Send one Idempotency-Key of 1 to {most} characters, or none.", most=MAX_IDEMPOTENCY_KEY)
        raise InvalidBody([Issue("out_of_range", sentence, "Idempotency-Key")])
    return values[0]


def _within(least: int, most: int) -> Callable[[Sequence[str]], int]:
    def clamped(values: Sequence[str]) -> int:
        if not _INTEGER.fullmatch(values[-1]):
            raise Unfit("invalid_type", Message("This parameter is an integer."))
        return min(max(int(values[-1]), least), most)

    return clamped


def _truth(values: Sequence[str]) -> bool:
    if not _TRUTHS.keys() >= set(values):
        raise Unfit("invalid_format", Message("This parameter is true, false, 1 or 0."))
    return bool(_once([_TRUTHS[value] for value in values]))


def _once(values: Sequence[V]) -> V:
    """Return the one value that is sent, however often; two different values are refused as ambiguous."""
    if any(value != values[0] for value in values):
        raise Unfit("invalid_format", Message("This parameter is given twice with different values; send it once."))
    return values[0]


def instant(values: Sequence[str]) -> datetime:
    """Return the last value as an instant of RFC 3339; raise `Unfit`."""
    if _RFC_3339.fullmatch(values[-1]):
        try:
            return datetime.fromisoformat(values[-1].upper())
        except ValueError:
            pass  # the form of an instant, but no real date or time
    raise Unfit("invalid_format", Message("Send an RFC 3339 instant with Z or an offset, and write its + as %2B."))


def _codes(values: Sequence[str]) -> list[str]:
    for value in values:
        if (sentence := texts.control_in(value)) is not None:
            raise Unfit("invalid_format", sentence)
    return [texts.code(value) for value in values]


def _text(values: Sequence[str]) -> str:
    return values[-1]


LIMIT: Final = Parameter(
    "limit",
    _within(1, MAX_PAGE),
    50,
    {"type": "integer", "default": 50},
    "Page size; values outside 1 to 200 are clamped.",
)
OFFSET: Final = Parameter(
    "offset", _within(0, _MAX_OFFSET), 0, {"type": "integer", "default": 0}, "Rows to skip; a negative value is 0."
)
DRY_RUN: Final = Parameter(
    "dry_run",
    _truth,
    False,
    {"type": "boolean", "default": False},
    "Validate and grade, report what would happen, write nothing. Also 1 and 0. A multipart import may hold it as a "
    "part of this name.",
)
SKU_CODE: Final[Parameter[list[str] | None]] = Parameter(
    "sku_code",
    _codes,
    None,
    {"type": "array", "items": {"type": "string", "pattern": r"^[^\u0000]*$"}},
    "Only these sku_codes, compared exactly; may repeat.",
)
UPDATED_SINCE: Final[Parameter[datetime | None]] = Parameter(
    "updated_since",
    instant,
    None,
    {"type": "string", "format": "date-time"},
    "Only SKUs updated at or after this instant (RFC 3339 with Z or an offset).",
)
MAPPING: Final[Parameter[str | None]] = Parameter(
    "mapping",
    _once,
    None,
    {"type": "string"},
    'JSON that says what detection cannot know: {"columns": {field: header, letter, array of headers, or null}, '
    '"constants": {field: value of every line}, "values": {field: {text in the file: value}}, "sheet", "header_row", '
    '"decimal", "layout", "components": the first five of the components sheet}. In a multipart body it is a part of '
    "this name.",
)
MAPPING_NAME: Final[Parameter[str | None]] = Parameter(
    "mapping_name",
    _once,
    None,
    {"type": "string", "maxLength": MAX_MAPPING_NAME},
    "Beside a mapping: keep it under this name, unless it is a dry run. Alone: use the one kept. "
    "In a multipart body it is a part of this name.",
)
FILENAME: Final[Parameter[str | None]] = Parameter(
    "filename",
    _text,
    None,
    {"type": "string"},
    "Names a raw body: its extension tells CSV from XLSX. Ignored for multipart.",
)
