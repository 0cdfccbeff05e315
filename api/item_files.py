"""Answers with a list of items as a file, which is written to the disk first: a fault is then still a refusal."""

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, cast  # Any: filters of every type

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from api.item_filters import Filters
from services import item_export, item_search
from services.item_export import MEDIA_TYPES, Form, Table
from services.item_search import Place

_IN_MEMORY_BYTES: Final = 2**20
_CHUNK_BYTES: Final = 2**16


def answer(place: Place, filters: Filters, form: Form, table: Table, **others: Any) -> Response:
    """Return the whole list in the columns of the table; `others` narrow it as `Filters.search` has them.

    Raise `Refused`.
    """
    file = cast(IO[bytes], SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))  # noqa: SIM115  (closed after the answer)
    try:
        with item_search.every(place, filters.search(**others), filters.finding()) as items:
            item_export.write(file, form, table, items)
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
