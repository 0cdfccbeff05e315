"""The items that the page Items lists, as a file: the same filters, order and columns, in the reader's words."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import item_files
from api.item_filters import place_of, read_filters
from api.pages import item_columns
from api.pages.concurrency import run_limited
from api.pages.refusals import PageRefused
from api.pages.render import language_of
from api.pages.sessions import Session, Viewer
from pipelines.workbooks import Cell
from schemas.json_values import JsonMapping
from schemas.refusals import Refused
from services.item_export import ALWAYS, FORMS, Table

router = APIRouter()


@router.get("/items/export")
async def get_export(request: Request, session: Viewer) -> Response:
    """Return the file. Raise `PageRefused` for an address that our page never makes."""
    return await run_limited(request, "portfolio", _export, request, session)


def _export(request: Request, session: Session) -> Response:
    form, lang = request.query_params.get("format", "csv"), language_of(request)
    filters, faults = read_filters(request, session.company_id)
    if faults or form not in FORMS:
        raise PageRefused(400, "items.no_such_filter")
    columns = item_columns.chosen(request)
    headers = [item_columns.name_of(column, lang) for column in (*ALWAYS, *columns)]

    def cells(item: JsonMapping) -> list[Cell]:
        return [item["sku_code"], item["name"], *(_cell(item, column, lang) for column in columns)]

    try:
        return item_files.answer(place_of(request, session.company_id), filters, form, Table(headers, cells, lang))
    except Refused:
        raise PageRefused(400, "items.no_such_filter") from None


def _cell(item: JsonMapping, column: str, lang: str) -> Cell:
    """Return a value as a cell: numbers as numbers, nothing where nothing is stored, else the words of the page."""
    value = item[column]
    if value is None or value == []:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return item_columns.in_words(item, column, {str(item["brand_id"]): item["brand"]}, lang)
