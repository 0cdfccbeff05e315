"""Pages of figures: tonnes by market, period and category, what is not counted, what a figure is made of, and duties.

They show the rows of GET /figures/… (`warehouse.analytics.figure_rows`); a figure opens to its items by the same way as
`pcds declaration --explain`.
"""

import re
from typing import Any, Final, NamedTuple  # Any: what the template shows

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.pages.advice import said
from api.pages.changes import fact_in_words
from api.pages.concurrency import run_limited
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page
from api.pages.request_values import offset_of
from api.pages.sessions import Session, Viewer
from api.pages.texts import text
from api.service import service_of
from compliance.confidence import word as confidence_word
from pipelines.declarations import explain
from pipelines.declarations.declare import Inputs
from pipelines.figures.compute import loaded_catalogue
from schemas.labels import word
from schemas.market_names import market_named
from schemas.normalise import Unfit
from warehouse import figures, snapshots
from warehouse.analytics import figure_rows
from warehouse.analytics.figure_rows import Rows, Table, periods
from warehouse.companies import queries as companies
from warehouse.figures import StoredFigures

router = APIRouter()

PAGE_SIZE: Final = 50
_YEAR: Final = re.compile(r"20[0-9]{2}|2100")
_LINKED: Final = ("https://", "http://")


class Choice(NamedTuple):
    """The filters of a page, by the columns of the figures; None filters nothing."""

    market: str | None
    year: int | None
    half: int | None


@router.get("/figures")
async def get_figures(request: Request, session: Viewer) -> Response:
    """Show tonnes and what they do not count."""
    return await run_limited(request, "portfolio", _figures_page, request, session)


@router.get("/figures/items")
async def get_items_of_figure(request: Request, session: Viewer) -> Response:
    """Show the items behind one figure with their import lines. Raise `PageRefused` where there is no such figure."""
    return await run_limited(request, "portfolio", _items_page, request, session)


@router.get("/obligations")
async def get_obligations(request: Request, session: Viewer) -> Response:
    """Show the duties of each market and year with verdict, source, and what is missing."""
    return await run_limited(request, "portfolio", _obligations_page, request, session)


def _figures_page(request: Request, session: Session) -> Response:
    choice, faults = _choice_of(request)
    stored, found = _stored(request, session), {"tonnes": Rows([], 0), "uncounted": Rows([], 0)}
    offset = offset_of(request)
    if stored and not faults:
        filters = choice._asdict()
        found["tonnes"] = figure_rows(stored, "tonnes", filters, limit=PAGE_SIZE, offset=offset)
        found["uncounted"] = figure_rows(stored, "uncounted", filters, limit=PAGE_SIZE, offset=0)
    return _page(request, session, "figures.html", stored, choice=choice, faults=faults, found=found, offset=offset)


def _obligations_page(request: Request, session: Session) -> Response:
    choice, faults = _choice_of(request)
    stored, found, offset = _stored(request, session), Rows([], 0), offset_of(request)
    if stored and not faults:
        filters = {"market": choice.market, "year": choice.year}
        table: Table = "obligations"
        found = figure_rows(stored, table, filters, limit=PAGE_SIZE, offset=offset)
    return _page(request, session, "obligations.html", stored, choice=choice, faults=faults, found=found, offset=offset)


def _page(
    request: Request,
    session: Session,
    template: str,
    stored: StoredFigures | None,
    *,
    choice: Choice,
    faults: list[tuple[str, str]],
    **values: Any,
) -> Response:
    """Return a page with the form of filters above it."""
    service, lang = service_of(request), language_of(request)
    with service.writes.company(session.company_id) as conn:
        links = companies.counters(conn).links
    markets = sorted({market for market, *_ in periods(stored)}) if stored else []
    return page(
        request,
        template,
        session=session,
        status=400 if faults else 200,
        faults=faults,
        given=request.query_params,
        filters=choice._asdict(),
        markets=[(code, word("market", code, lang)) for code in markets],
        halves=[(str(half), text(f"figures.half.{half}", lang)) for half in range(3)],
        as_of=stored.origin.as_of if stored else None,
        ruleset_version=stored.origin.ruleset_version if stored else None,
        newer_writes=max(links - stored.origin.number, 0) if stored else 0,
        confidence_word=confidence_word,
        facts=lambda fields: [fact_in_words(field, lang) for field in fields],
        linked=lambda source: isinstance(source, str) and source.startswith(_LINKED),
        size=PAGE_SIZE,
        **values,
    )


def _items_page(request: Request, session: Session) -> Response:
    choice, faults = _choice_of(request)
    service, category = service_of(request), request.query_params.get("category", "")
    stored, snapshot = _stored(request, session), snapshots.current(service.settings.data_dir, session.company_id)
    market, year, half = choice
    if faults or stored is None or snapshot is None or market is None or year is None or half is None:
        raise PageRefused(404, "figures.unknown")
    figure = figure_rows(stored, "tonnes", {**choice._asdict(), "category_code": category}, limit=1, offset=0)
    if not figure.total:
        raise PageRefused(404, "figures.unknown")
    with service.writes.company(session.company_id) as conn:
        inputs = Inputs(snapshot, loaded_catalogue(conn), service.rulesets.active(conn))
    behind = explain.figure(inputs, market, year, half, category)
    offset = offset_of(request)
    with service.writes.company(session.company_id) as conn:
        rows = list(explain.traced(conn, behind.slice(offset, PAGE_SIZE)))
    return page(
        request,
        "figure_items.html",
        session=session,
        choice=choice,
        category=category,
        figure=figure.data[0],
        rows=rows,
        total=behind.height,
        filters={**choice._asdict(), "category": category},
        as_of=snapshot.as_of,
        offset=offset,
        size=PAGE_SIZE,
    )


def _stored(request: Request, session: Session) -> StoredFigures | None:
    return figures.current(service_of(request).settings.data_dir, session.company_id)


def _choice_of(request: Request) -> tuple[Choice, list[tuple[str, str]]]:
    """Return the filters of the address, and a fault for each that no figure can have."""
    lang, sent, faults = language_of(request), request.query_params, list[tuple[str, str]]()
    market, year, half = (sent.get(name, "").strip() or None for name in Choice._fields)
    if market is not None:
        try:
            market = market_named(market)
        except Unfit as unfit:
            faults.append(("market", said(unfit.message, lang)))
    if year is not None and not _YEAR.fullmatch(year):
        faults.append(("year", text("figures.year.hint", lang)))
        year = None
    half = half if half in ("0", "1", "2") else None
    return Choice(market, int(year) if year else None, int(half) if half else None), faults
