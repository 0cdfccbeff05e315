"""Declares the filters and the order of a list of items, of REST and of pages, and writes the list as a file.

Both read a value by the same function, so that a link of a page says the same as the request of a program; a page takes
names beside codes.
"""

import base64
import binascii
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from inspect import Parameter, Signature
from tempfile import SpooledTemporaryFile
from typing import (  # Any: each filter has a type of its own  # Any: filters of every type
    IO,
    Annotated,
    Any,
    Final,
    Self,  # Any: values of the sorted column, of any type
    cast,
)
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.http.answers import accepted_language, as_json, in_language, json_of
from api.http.auth import Presented, admit
from api.http.errors import WrongMethod
from api.http.parameters import SkuCodes, UpdatedSince, one_of
from api.http.service import service_of
from api.openapi.document import READ_ERRORS, V1, operation
from pipelines.writing.workbooks import Cell
from schemas import normalise, texts
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.pages import Page
from schemas.refusals import Refused
from schemas.skus.answers import SkuListResponse
from schemas.skus.inputs import uuid_text, validator
from schemas.skus.types import ExportedSku, SkuListItem
from schemas.vocabularies import VOCABULARIES
from schemas.words import market_named
from services.library import record_named
from services.skus import listing
from services.skus.detail import fields, sku_detail, versions_of
from services.skus.listing import ALWAYS, COLUMNS, FORMS, MEDIA_TYPES, Form, Place, Table
from warehouse.catalogue import kept_market
from warehouse.figures.gaps import GAPS, Finding
from warehouse.skus import search
from warehouse.skus.search import LASTING, MOST_WORDS, NEWEST, SORTS, Search

MOST_CHARACTERS: Final = 200
"""The most characters of a text that is searched, of a ban's code and of a rule's id."""


def _words(value: str) -> tuple[str, ...]:
    words = tuple(normalise.text(value, min_length=None, max_length=MOST_CHARACTERS).split())
    if len(words) > MOST_WORDS:
        raise Unfit("out_of_range", Message("At most {most} words are searched at once.", most=MOST_WORDS))
    return words


def _id(value: str) -> UUID:
    return UUID(uuid_text(value))


_code = partial(normalise.text, min_length=1, max_length=MOST_CHARACTERS, is_code=True)


def _codes(codes: tuple[str, ...]) -> dict[str, object]:
    return {"type": "string", "enum": list(codes)}


_TEXT: Final = {"type": "string", "maxLength": MOST_CHARACTERS}
_UUID: Final = {"type": "string", "format": "uuid"}
_FOUND: Final = "As of the newest snapshot, see `findings_as_of`."
_OF_WORDS: Final = (
    f"Only SKUs that contain every word of these, {MOST_WORDS} at most, in code, name, GTIN, material, format, "
    "category, brand or supplier. Order, case and accents do not count."
)
_OF_MARKET: Final = (
    "Only SKUs of this market, named or with units above 0 in 2026 or later; a country includes its subdivisions."
)
_OF_SORT: Final = (
    "Field to sort by, with a minus in descending order; SKUs without a value come last. Without it: newest first."
)
_OF_BAN: Final = f"Only SKUs that meet, or may meet, the format ban of this code, as in `annex_v_flags`. {_FOUND}"
_OF_RULE: Final = (
    f"Only SKUs on which the design rule of this id fired and is not overruled, as in `grade_trace`. {_FOUND}"
)


def _vocabulary(name: str, meaning: str) -> tuple[Callable[[str], Any], dict[str, object], str]:
    return partial(normalise.code, vocabulary=name), _codes(VOCABULARIES[name]), meaning


FILTERS: Final[Mapping[str, tuple[Callable[[str], Any], Mapping[str, object], str]]] = {
    "q": (_words, _TEXT, _OF_WORDS),
    "market": (normalise.market, {"type": "string"}, _OF_MARKET),
    "grade": _vocabulary("recyclability_grade", "Only SKUs of this grade."),
    "doc_status": _vocabulary("doc_status", "Only SKUs of this DoC status."),
    "material": _vocabulary("material", "Only SKUs of this material, or with a component of it."),
    "brand_id": (_id, _UUID, "Only SKUs of this brand."),
    "supplier_id": (_id, _UUID, "Only SKUs with a component of this supplier."),
    "gap": (partial(one_of, codes=GAPS), _codes(GAPS), f"Only SKUs of which this is not recorded. {_FOUND}"),
    "flag": (_code, _TEXT, _OF_BAN),
    "rule": (_code, _TEXT, _OF_RULE),
    "sort": (partial(one_of, codes=SORTS), _codes(SORTS), _OF_SORT),
}
"""Each parameter: the function that reads it, which raises `Unfit` with what would be accepted; schema; meaning."""
READ: Final = {name: read for name, (read, _, _) in FILTERS.items()}
_OF_FINDING: Final = ("gap", "flag", "rule")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of items is narrowed to, and its order, as `READ` reads them; those that are not given are left out.

    Of a list without any of them the newest item is the first.
    """

    values: Mapping[str, Any]

    def search(self, **others: Any) -> Search:
        """Return the conditions on the records, with `others` of `Search` besides."""
        own = {name: value for name, value in self.values.items() if name not in (*_OF_FINDING, "q")}
        return Search(words=self.values.get("q", ()), **own, **others)

    def finding(self) -> Finding:
        """Return the conditions on what the snapshot found."""
        return Finding(**{name: self.values[name] for name in _OF_FINDING if name in self.values})


def read_filters(request: Request, company_id: UUID) -> tuple[Filters, list[Issue]]:
    """Return the filters of a page's address that can be read, and a fault for each other one; empty is none.

    A person names a market, a brand and a supplier in words, too.
    """
    values, faults = dict[str, Any](), list[Issue]()
    records = {"brand_id": "brand", "supplier_id": "supplier"}
    by_name = {name: partial(_record_id, request, company_id, resource) for name, resource in records.items()}
    readers: Mapping[str, Callable[[str], Any]] = {
        **READ,
        "market": partial(market_filter, request, company_id),
        **by_name,
    }
    for name, read in readers.items():
        if not (value := texts.from_form(request.query_params.get(name, ""))):
            continue
        try:
            values[name] = read(value)
        except Unfit as unfit:
            faults.append(Issue(unfit.code, unfit.message, name))
    return Filters(values), faults


def market_filter(request: Request, company_id: UUID, value: str) -> str:
    """Return the code, as records keep it, of the market that a person names. Raise `Unfit`."""
    with service_of(request).writes.company(company_id) as conn:
        return kept_market(conn, market_named(value))


def _record_id(request: Request, company_id: UUID, resource: str, value: str) -> UUID:
    with service_of(request).writes.company(company_id) as conn:
        return record_named(conn, resource, value)


def place_of(request: Request, company_id: UUID) -> Place:
    """Return where the items of a company are searched."""
    service = service_of(request)
    return Place(service.writes, service.clock, service.rulesets, service.settings.data_dir, company_id)


def _parameter(name: str) -> Parameter:
    read, schema, meaning = FILTERS[name]
    as_published = WithJsonSchema({**schema, "x-stability": "preview"})
    declared = Annotated[Any, BeforeValidator(validator(read)), as_published, Query(description=meaning)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=declared)


class _FilterParameters:
    """The filters as the framework reads and publishes them: its signature is made from the table."""

    __signature__ = Signature([_parameter(name) for name in FILTERS])

    async def __call__(self, **values: Any) -> Filters:
        return Filters({name: value for name, value in values.items() if value is not None})


FilterParameters = Annotated[Filters, Depends(_FilterParameters())]
"""The filters of a request; one that cannot be read is refused with what would be accepted."""


START: Final = "start"
"""The cursor of the first page."""
_LONGEST: Final = 2_000
_UNREADABLE: Final = Message("Send cursor=start for the first page, then `next_cursor` as the answer has it.")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: behind a SKU in an order of what was asked for, or at the top where all are None."""

    sort: str | None = None
    key: str | None = None
    sku_id: UUID | None = None
    asked: str | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the cursor of a parameter; raise `Unfit`."""
        if text == START:
            return cls()
        try:
            if len(text) > _LONGEST:
                raise ValueError
            sort, key, sku_id, asked = orjson.loads(
                base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
            )
            cursor = cls(sort, key, UUID(sku_id), asked)
            _check_key(sort, key)
        except (ValueError, TypeError, AttributeError, KeyError, binascii.Error):
            raise Unfit("invalid_format", _UNREADABLE) from None
        return cursor

    def check(self, *, sort: str, asked: str, offset: int) -> None:
        """Raise `Refused` where the request asks for an offset, other SKUs, another order or one that writes change."""
        if offset:
            raise Refused([Issue("out_of_range", Message("A cursor takes no offset; send one of the two."), "offset")])
        if sort.removeprefix("-") not in LASTING:
            lasting = ", ".join(sign + name for name in LASTING for sign in ("", "-"))
            sentence = Message("With a cursor the order is one that no write changes: {codes}.", codes=lasting)
            raise Refused([Issue("not_in_vocabulary", sentence, "sort")])
        if self.sort not in (None, sort):
            sentence = Message(
                "This cursor is of a list in the order {sort}; send that `sort` with it.", sort=self.sort
            )
            raise Refused([Issue("invalid_format", sentence, "cursor")])
        if self.asked not in (None, asked):
            sentence = Message(
                "This cursor is of a list with other filters; send the same ones with it, or cursor=start."
            )
            raise Refused([Issue("invalid_format", sentence, "cursor")])


def _check_key(sort: str, key: str) -> None:
    """Raise where a text that was not made here could not be a sort key."""
    name = sort.removeprefix("-")
    if name not in LASTING or texts.control_in(key) is not None:
        raise ValueError
    if name == "created_at" and datetime.fromisoformat(key).tzinfo is None:
        raise ValueError


def next_cursor(items: Sequence[SkuListItem], sort: str, asked: str, limit: int) -> str | None:
    """Return the cursor of the page behind this one; None where this one has fewer SKUs than were asked for."""
    if len(items) < limit:
        return None
    last: Mapping[str, object] = items[-1]
    return base64.urlsafe_b64encode(as_json([sort, last[sort.removeprefix("-")], last["id"], asked])).decode()


def asked_of(filters: Mapping[str, Any], **others: Any) -> str:
    """Return what the filters of a request ask for, in short: of two that differ another text. The order is none."""
    given = {name: str(value) for name, value in {**filters, **others}.items() if value is not None}
    named = sorted((name, value) for name, value in given.items() if name != "sort")
    return sha256(as_json(named)).hexdigest()[:16]


def sort_of(filters: Mapping[str, Any]) -> str:
    """Return the order that a request's filters ask for."""
    return str(filters.get("sort", NEWEST))


_Sent = Annotated[
    Any,
    BeforeValidator(validator(Cursor.read)),
    WithJsonSchema({"type": "string", "maxLength": _LONGEST}),
    Query(
        alias="cursor",
        description="Pages that stay right while others write: `start`, then `next_cursor` of each answer until it is "
        "null. Not with `offset`; with `sort` only by `created_at` or `sku_code`.",
    ),
]


async def _cursor(sent: _Sent = None) -> Cursor | None:
    """Return the cursor of a request, which the framework itself takes for no type of a parameter."""
    cursor: Cursor | None = sent
    return cursor


AskedCursor = Annotated[Cursor | None, Depends(_cursor)]


PARTS: Final = ("components", "volumes", "compliance")
"""What `include` can name; the compliance block takes most of the time, as each grade is explained."""


def _included_names(values: list[str]) -> list[str]:
    return [one_of(part.strip(), PARTS) for value in values for part in value.split(",")]


Include = Annotated[
    list[str] | None,
    AfterValidator(validator(_included_names)),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(PARTS)}}),
    Query(
        description="Parts of the detail that each item has, too: `include=components,volumes,compliance`, or repeated."
    ),
]


async def with_parts(request: Request, page: Page[SkuListItem], parts: Collection[str]) -> Response:
    """Return a page of items `with_rows` with these parts of each item; the items are shown in a thread."""
    service, lang = service_of(request), accepted_language(request)
    rows = search.stored_rows(page["data"])
    versions = {versions_of(row) for row in rows} if "compliance" in parts else set()
    rules = {versions_asked: await service.rules_for(*versions_asked) for versions_asked in versions}

    def add() -> None:
        for item, row in zip(page["data"], rows, strict=True):
            values: Mapping[str, object]
            if "compliance" in parts:
                values = sku_detail(row, rules[versions_of(row)], today=service.clock.today(), lang=lang)
            else:
                values = fields(row)
            cast(JsonObject, item).update({part: values[part] for part in PARTS if part in parts})

    await run_in_threadpool(add)
    return in_language(json_of(page), lang)


_IN_MEMORY_BYTES: Final = 2**20
_CHUNK_BYTES: Final = 2**16


def file_answer(place: Place, filters: Filters, form: Form, table: Table, **others: Any) -> Response:
    """Return the whole list in the columns of the table; `others` narrow it as `Filters.search` has them.

    Raise `Refused`.
    """
    file = cast(IO[bytes], SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))  # noqa: SIM115  (closed after the answer)
    try:
        with listing.every(place, filters.search(**others), filters.finding()) as items:
            listing.write(file, form, table, items)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    file.seek(0)
    headers = {
        "Content-Disposition": f'attachment; filename="items.{form}"',
        "Content-Length": str(size),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    chunks = iter(lambda: file.read(_CHUNK_BYTES), b"")
    return StreamingResponse(chunks, 200, headers, MEDIA_TYPES[form], BackgroundTask(file.close))


router = APIRouter(prefix=f"{V1}/skus", tags=["SKUs"])

_LANG: Final = "en"
"""Numbers with a point, cells with a comma: what programs read."""
_EXPORT: Final = operation("Export SKUs as a file", answers={200: SkuListResponse}, errors=READ_ERRORS, preview=True)
_EXPORT["response_class"] = Response
_EXPORT["responses"][200] = {
    "description": "The whole list: a line of column names, then a line for each SKU.",
    "content": {
        kind.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA_TYPES.values()
    },
    "headers": {
        "Content-Disposition": {"description": "Names the file, for a download.", "schema": {"type": "string"}}
    },
}


def _each_of(values: list[str], codes: Sequence[str]) -> list[str]:
    return [one_of(value, codes) for value in values]


FileForm = Annotated[
    Form,
    BeforeValidator(validator(one_of, FORMS)),
    WithJsonSchema({"type": "string", "enum": list(FORMS)}),
    Query(alias="format", description="What kind of file."),
]
Columns = Annotated[
    list[str] | None,
    AfterValidator(validator(_each_of, COLUMNS)),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(COLUMNS)}}),
    Query(description="The columns besides `sku_code` and `name`, in our order; all where none is named. May repeat."),
]


@router.get("/export", **_EXPORT)
async def export_skus(
    request: Request,
    presented: Presented,
    *,
    file_form: FileForm = "csv",
    columns: Columns = None,
    sku_codes: SkuCodes = None,
    updated_since: UpdatedSince = None,
    wanted: FilterParameters,
) -> Response:
    """All SKUs that the filters leave, in the order of `sort`, at most 1 048 575: as CSV in UTF-8, or as a workbook.

    A text that a spreadsheet would compute has a `'` before it, which an import takes off again. Lists have `;` between
    their values.
    """
    key = await admit(request, presented, "read")
    place, others = place_of(request, key.company_id), {"sku_codes": sku_codes, "updated_since": updated_since}
    chosen = tuple(column for column in COLUMNS if columns is None or column in columns)
    return await run_in_threadpool(partial(_exported, place, wanted, file_form, chosen, **others))


def _exported(place: Place, wanted: Filters, form: Form, columns: tuple[str, ...], **others: Any) -> Response:
    names = (*ALWAYS, *columns)

    def cells(item: ExportedSku) -> list[Cell]:
        values: Mapping[str, object] = item
        return [_cell(values[name]) for name in names]

    return file_answer(place, wanted, form, Table(names, cells, _LANG), **others)


def _cell(value: object) -> Cell:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case int() | float():
            return float(value)
        case list():
            return ";".join(value)
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
    return str(value)


@router.put("/export", include_in_schema=False)
@router.patch("/export", include_in_schema=False)
def wrong_method_of_export() -> Response:
    """Refuse PUT; without this route the path would be read as that of a SKU with the id “export”."""
    raise WrongMethod(["GET"])
