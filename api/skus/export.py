"""GET /skus/export: the list of SKUs as a file, narrowed and sorted as GET /skus, in codes and field names."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import (  # Any: filters of every type
    IO,
    Annotated,  # Any: filters of every type
    Any,
    Final,
    cast,
)

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.http.auth import Presented, admit
from api.http.errors import WrongMethod
from api.http.parameters import SkuCodes, UpdatedSince
from api.openapi.document import READ_ERRORS, V1, operation
from api.skus.listing import FilterParameters, Filters, place_of
from pipelines.writing.workbooks import Cell
from schemas.messages import Message
from schemas.normalise import Unfit, shown
from schemas.skus.answers import SkuListResponse
from schemas.skus.inputs import validator
from schemas.skus.types import ExportedSku
from services.skus import listing
from services.skus.listing import ALWAYS, COLUMNS, FORMS, MEDIA_TYPES, Form, Place, Table

_IN_MEMORY_BYTES: Final = 2**20
_CHUNK_BYTES: Final = 2**16


def answer(place: Place, filters: Filters, form: Form, table: Table, **others: Any) -> Response:
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
    return StreamingResponse(_chunks(file), 200, headers, MEDIA_TYPES[form], BackgroundTask(file.close))


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK_BYTES), b"")


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


def _known(value: str, names: Sequence[str]) -> str:
    if value not in names:
        named = Message("{value} is not one of: {codes}.", value=shown(value), codes=", ".join(names))
        raise Unfit("not_in_vocabulary", named)
    return value


def _all_known(values: list[str]) -> list[str]:
    return [_known(value, COLUMNS) for value in values]


FileForm = Annotated[
    Form,
    BeforeValidator(validator(_known, FORMS)),
    WithJsonSchema({"type": "string", "enum": list(FORMS)}),
    Query(alias="format", description="What kind of file."),
]
Columns = Annotated[
    list[str] | None,
    AfterValidator(validator(_all_known)),
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

    return answer(place, wanted, form, Table(names, cells, _LANG), **others)


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
def wrong_method_of_export() -> Response:
    """Refuse PUT; without this route the path would be read as that of a SKU with the id “export”."""
    raise WrongMethod(["GET"])
