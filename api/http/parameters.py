"""Declares the parameters of the REST API: their types, how they are read, and their published descriptions.

A handler names them in its signature; the framework publishes them, and `api.http.handlers` reads them. A parameter
that cannot be read is refused, never ignored; unknown ones are ignored by reads (decisions §1) and refused by writes.
What belongs here: parameters that several operations have, and the header Idempotency-Key. What does not: how a fault
is answered (`api.http.refusals`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import Depends, Path, Query
from fastapi.dependencies.models import Dependant
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.requests import Request

from schemas import normalise, texts
from schemas.imports.inputs import MAX_MAPPING_NAME
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit, quote
from schemas.pages import MOST_OFFSET
from schemas.refusals import Refused
from schemas.skus.inputs import Archived, validator
from schemas.vocabularies import VOCABULARIES

T = TypeVar("T")
MAX_PAGE: Final = 200
MAX_IDEMPOTENCY_KEY: Final = 255
_RFC_3339: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,1000}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""A byte that is no UTF-8, as it is read with `surrogateescape`."""
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}


def _clamped(value: str, least: int, most: int) -> int:
    if not _INTEGER.fullmatch(value):
        raise Unfit("invalid_type", Message("Send a whole number."))
    return min(max(int(value), least), most)


def at_most(value: str, most: int) -> int:
    """Return the size of a page, clamped to 1 and the most; raise `Unfit`."""
    return _clamped(value, 1, most)


def instant(value: str) -> datetime:
    """Return the instant of a text of RFC 3339; raise `Unfit`."""
    if _RFC_3339.fullmatch(value):
        try:
            return datetime.fromisoformat(value.upper())
        except ValueError:
            pass  # the form of an instant, but no real date or time
    raise Unfit("invalid_format", Message("Send an RFC 3339 instant with Z or an offset, and write its + as %2B."))


def bound(value: str, of_day: time) -> datetime:
    """Return an instant, or a UTC day as its first or last moment; raise `Unfit`."""
    if len(value) != len("2026-08-12"):
        return instant(value)
    try:
        return datetime.combine(date.fromisoformat(value), of_day, UTC)
    except ValueError:
        raise Unfit("invalid_format", Message("Send a day as YYYY-MM-DD, or an RFC 3339 instant.")) from None


INSTANT_OR_DAY: Final = {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}
"""The published type of what `bound` reads."""


def _codes(values: Sequence[str]) -> list[str]:
    for value in values:
        if (sentence := texts.control_in(value)) is not None:
            raise Unfit("invalid_format", sentence)
    return [texts.code(value) for value in values]


def one_of(value: str, codes: Sequence[str]) -> str:
    """Return a value that is one of the codes; raise `Unfit`."""
    if value not in codes:
        sentence = Message("{value} is not one of: {codes}.", value=normalise.quote(value), codes=", ".join(codes))
        raise Unfit("not_in_vocabulary", sentence)
    return value


def one_of_states(states: Sequence[str], description: str) -> Any:
    """Return the type of a parameter of a list: one of its states, or None."""
    schema = WithJsonSchema({"type": "string", "enum": list(states)})
    return Annotated[str | None, AfterValidator(validator(one_of, states)), schema, Query(description=description)]


def plain_text(value: str) -> str:
    """Return a text without control characters; raise `Unfit`."""
    if (sentence := texts.control_in(value)) is not None:
        raise Unfit("invalid_format", sentence)
    return value


def truth(values: Sequence[str]) -> bool:
    """Return the one truth that all values say; raise `Unfit`."""
    if not _TRUTHS.keys() >= set(values):
        raise Unfit("invalid_format", Message("This parameter is true, false, 1 or 0."))
    return sent_once([_TRUTHS[value] for value in values])


def sent_once(values: Sequence[T]) -> T:
    """Return the one value that is sent, however often; two different values are refused as ambiguous."""
    if any(value != values[0] for value in values):
        raise Unfit("invalid_format", Message("This parameter is given twice with different values; send it once."))
    return values[0]


def archived(values: Sequence[str]) -> str:
    """Return the one choice about archived SKUs that all values name; raise `Unfit`."""
    return one_of(sent_once(values), get_args(Archived))


def _agreeing(values: list[str], check: Callable[[Sequence[str]], object]) -> list[str]:
    check(values)
    return values


def agreed(name: str, check: Callable[[Sequence[str]], T], values: Sequence[str]) -> T | None:
    """Return what all values of a parameter say, sent as parameter, part or member of the body; None without any.

    The framework reads one place at a time and of a repeated parameter the last value. Raise `Refused`.
    """
    if not values:
        return None
    try:
        return check(values)
    except Unfit as unfit:
        raise Refused([Issue(unfit.code, unfit.message, name)]) from None


def dry_run_asked(sent: Sequence[str] | None, body: object) -> bool | None:
    """Return what the parameter `dry_run` and the member of that name say; None without either. Raise `Refused`.

    A member that is no boolean is the body's fault.
    """
    member = body.get("dry_run") if isinstance(body, dict) else None
    return agreed("dry_run", truth, [*(sent or ()), *([str(member).lower()] if isinstance(member, bool) else ())])


ImportStatus: Any = one_of_states(VOCABULARIES["import_status"], "Only those in this state.")
"""The state of an import or an export."""
_PLAIN: Final = r"^[^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]*$"
"""What `plain_text` takes, as the document says it: no control characters but tab and line breaks."""
SupplierName = Annotated[
    str | None,
    AfterValidator(validator(plain_text)),
    WithJsonSchema({"type": "string", "pattern": _PLAIN}),
    Query(description="Only requests to the supplier of this name, in any case."),
]
NameLike = Annotated[
    str | None,
    AfterValidator(validator(plain_text)),
    WithJsonSchema({"type": "string", "pattern": _PLAIN}),
    Query(description="Only those whose name or code contains this, in any case."),
]
RecordId = Annotated[UUID, BeforeValidator(UUID), Path(alias="id", description="The record's id, not its code.")]
"""The id of the path; a malformed one is answered as an unknown one."""
Limit = Annotated[
    int,
    BeforeValidator(validator(_clamped, 1, MAX_PAGE)),
    Query(description=f"Page size; values outside 1 to {MAX_PAGE} are clamped."),
]
Offset = Annotated[
    int, BeforeValidator(validator(_clamped, 0, MOST_OFFSET)), Query(description="Rows to skip; a negative value is 0.")
]
SkuCodes = Annotated[
    list[str] | None,
    AfterValidator(validator(_codes)),
    WithJsonSchema({"type": "array", "items": {"type": "string", "pattern": r"^[^\u0000]*$"}}),
    Query(alias="sku_code", description="Only these sku_codes, compared exactly; may repeat."),
]
UpdatedSince = Annotated[
    datetime | None,
    BeforeValidator(validator(instant)),
    WithJsonSchema({"type": "string", "format": "date-time"}),
    Query(description="Only SKUs updated at or after this instant (RFC 3339 with Z or an offset)."),
]
DryRunValues = Annotated[
    list[str] | None,
    AfterValidator(validator(_agreeing, truth)),
    WithJsonSchema({"type": "boolean"}),
    Query(
        alias="dry_run",
        description="Validate and grade, report what would happen, write nothing. Also 1 and 0. A multipart import may "
        "hold it as a part of this name.",
    ),
]
"""All values of `dry_run`, for operations that take it from the body, too: see `agreed`.

Its default is None: for a `default_factory` Pydantic looks at a signature in each request, which takes 0.1 ms.
"""


async def _dry_run(values: DryRunValues = None) -> bool:
    return truth(values) if values else False


DryRun = Annotated[bool, Depends(_dry_run)]


ArchivedValues = Annotated[
    list[str] | None,
    AfterValidator(validator(_agreeing, archived)),
    WithJsonSchema({"type": "string", "enum": list(get_args(Archived)), "x-stability": "preview"}),
    Query(
        alias="archived",
        description="What happens to an archived SKU that a row names: return, it comes back, or keep, the row is "
        "rejected with sku_archived. In a multipart body it is a part of this name.",
    ),
]
MappingValues = Annotated[
    list[str] | None,
    AfterValidator(validator(_agreeing, sent_once)),
    WithJsonSchema({"type": "string"}),
    Query(
        alias="mapping",
        description='JSON that says what detection cannot know: {"columns": {field: header, letter, array of headers, '
        'or null}, "constants": {field: value of every line}, "values": {field: {text in the file: value}}, "sheet", '
        '"header_row", "decimal", "layout", "components": the first five of the components sheet}. In a multipart body '
        "it is a part of this name.",
    ),
]
MappingNameValues = Annotated[
    list[str] | None,
    AfterValidator(validator(_agreeing, sent_once)),
    WithJsonSchema({"type": "string", "maxLength": MAX_MAPPING_NAME}),
    Query(
        alias="mapping_name",
        description="Beside a mapping: keep it under this name, unless it is a dry run. Alone: use the one kept. "
        "In a multipart body it is a part of this name.",
    ),
]
Filename = Annotated[
    str | None,
    WithJsonSchema({"type": "string"}),
    Query(description="Names a raw body: its extension tells CSV from XLSX. Ignored for multipart."),
]


def idempotency_key(request: Request) -> str | None:
    """Return the header `Idempotency-Key` as it was sent, None where there is none; raise `Refused`.

    It is any string of 1 to 255 characters; UTF-8 bytes are counted as characters.
    """
    values = request.headers.getlist("Idempotency-Key")
    if not values:
        return None
    characters = len(values[0].encode("latin-1").decode("utf-8", "replace"))
    if len(values) > 1 or not 1 <= characters <= MAX_IDEMPOTENCY_KEY:
        sentence = Message("Send one Idempotency-Key of 1 to {most} characters, or none.", most=MAX_IDEMPOTENCY_KEY)
        raise Refused([Issue("out_of_range", sentence, "Idempotency-Key")])
    return values[0]


def offset_of(request: Request) -> int:
    """Return the rows to skip that a page's address asks for. Raise `Refused`."""
    values = request.query_params.getlist("offset")
    return agreed("offset", lambda texts: _clamped(texts[-1], 0, MOST_OFFSET), values) or 0


READS: Final = ("GET", "HEAD")
"""The methods that write nothing."""
_ALIKE: Final = 0.5
"""How alike two names must be for the one to be meant by the other; 1 is equal."""


def refuse_parameters(request: Request) -> None:
    """Raise `Refused` where a parameter of one value is sent with two different ones, of which the last would win.

    So are those that are not in UTF-8, and those that a write's operation does not have, each with the nearest that it
    has.
    """
    sent, is_read = request.query_params, request.method in READS
    if issues := list(_unreadable(request)):
        raise Refused(issues)
    if not sent or (is_read and len(sent.multi_items()) == len(sent)):
        return
    declared = dict(_declared(request.scope["route"].dependant))
    names = sorted(declared)
    unknown = () if is_read else [name for name in sent if name not in declared]
    issues = [Issue("unknown_field", _sentence(name, names), name) for name in unknown]
    for name in sent:
        if declared.get(name) is False:
            try:
                sent_once(sent.getlist(name))
            except Unfit as unfit:
                issues.append(Issue(unfit.code, unfit.message, name))
    if issues:
        raise Refused(issues)


def _unreadable(request: Request) -> Iterator[Issue]:
    """Yield an issue for each parameter of the operation that is not in UTF-8: it would be read as another text."""
    raw: bytes = request.scope["query_string"]
    if raw.isascii() and b"%" not in raw:
        return
    declared = dict(_declared(request.scope["route"].dependant))
    for name, value in parse_qsl(raw.decode("latin-1"), keep_blank_values=True, errors="surrogateescape"):
        if name in declared and ((not value.isascii() and not raw.isascii()) or _SURROGATE.search(value)):
            sentence = Message(
                "This parameter is not in UTF-8 and percent-encoded (RFC 3986) in the address; an é is %C3%A9."
            )
            yield Issue("invalid_format", sentence, name)


def _declared(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Yield the query parameters of a route and of all that it depends on, and whether each takes several values."""
    for field in dependant.query_params:
        kinds = (field.field_info.annotation, *get_args(field.field_info.annotation))
        yield field.alias, any(get_origin(kind) is list for kind in kinds)
    for part in dependant.dependencies:
        yield from _declared(part)


def _sentence(name: str, names: list[str]) -> Message:
    if not names:
        return Message("This operation has no parameters; leave {name} out. Nothing was written.", name=quote(name))
    near = get_close_matches(name.lower(), names, n=1, cutoff=_ALIKE)
    if near:
        return Message(
            "This operation has no parameter {name}; {nearest} is the nearest that it has. Nothing was written.",
            name=quote(name),
            nearest=near[0],
        )
    return Message(
        "This operation has no parameter {name}; it has {known}. Nothing was written.",
        name=quote(name),
        known=", ".join(names),
    )
