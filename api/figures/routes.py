"""GET /figures/…: a company's tonnes, what could not be counted, and the verdicts on its duties, for machines.

The figures are the last that were computed from a snapshot (docs/figures.md); each answer names its instant, and how
many write transactions came since. Numbers are exact decimals.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from api.audit.words import fact_in_words
from api.http.answers import csv_answer, json_of
from api.http.auth import Credential, Presented, read, read_as_actor
from api.http.parameters import Limit, Offset
from api.http.service import service_of
from api.openapi.document import READ_ERRORS, V1, operation
from api.pages.concurrency import limited, run_limited
from api.pages.forms import offset_of, read_as_person
from api.pages.render import language_of, page
from api.pages.sessions import Session, Viewer
from pipelines.figures import loaded_catalogue
from pipelines.filings import Inputs
from schemas import normalise, texts
from schemas.actors import Actor
from schemas.figures import (
    ObligationListResponse,
    RecycledContentPage,
    TonnesListResponse,
    UncountedListResponse,
    UndecidedListResponse,
)
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.skus.inputs import validator
from services.filings import figures
from services.filings.files import csv_of
from warehouse.catalogue import kept_market
from warehouse.companies import queries as companies
from warehouse.figures import snapshots
from warehouse.figures import stored as stored_figures
from warehouse.figures.stored import Table, figure_rows
from warehouse.operate.sessions import Connection

router = APIRouter(prefix=f"{V1}/figures", tags=["Figures"])
content_router = APIRouter(prefix=V1, tags=["Figures"])

pages_router = APIRouter()
_ALL: Final = 2_147_483_647
_SIZE: Final = 50
"""SKUs of a page."""
_YEARS: Final = range(2000, 2101)
_HALVES: Final = ("0", "1", "2")


def _year(value: str) -> int:
    if not re.fullmatch(r"[0-9]{4}", value) or int(value) not in _YEARS:
        bounds = {"first": str(_YEARS[0]), "last": str(_YEARS[-1])}
        raise Unfit("out_of_range", Message("Send a calendar year from {first} to {last}.", **bounds))
    return int(value)


def _half(value: str) -> int:
    if value not in _HALVES:
        raise Unfit("out_of_range", Message("Send 0 for the calendar year, or 1 or 2 for a half of it."))
    return int(value)


def _text(value: str) -> str:
    if (sentence := texts.control_in(value)) is not None:
        raise Unfit("invalid_format", sentence)
    return texts.code(value)


_ANY_TEXT: Final = WithJsonSchema({"type": "string", "pattern": r"^[^\u0000]*$"})
Market = Annotated[
    str | None,
    AfterValidator(validator(normalise.market)),
    WithJsonSchema({"type": "string"}),
    Query(description="Only this market: a code of /jurisdictions, normalised as in volumes."),
]
Year = Annotated[
    int | None,
    BeforeValidator(validator(_year)),
    WithJsonSchema({"type": "integer", "minimum": _YEARS[0], "maximum": _YEARS[-1]}),
    Query(description="Only this calendar year."),
]
Half = Annotated[
    int | None,
    BeforeValidator(validator(_half)),
    WithJsonSchema({"type": "integer", "enum": [0, 1, 2]}),
    Query(description="Only this period: 0 is the calendar year, 1 and 2 are semesters."),
]
CategoryCode = Annotated[
    str | None, AfterValidator(validator(_text)), _ANY_TEXT, Query(description="Only this category, by its code.")
]
SkuCode = Annotated[
    str | None, AfterValidator(validator(_text)), _ANY_TEXT, Query(description="Only this sku_code, compared exactly.")
]


def _listing(summary: str, model: type[BaseModel]) -> JsonObject:
    return operation(summary, answers={200: model}, errors=READ_ERRORS, preview=True)


@router.get("/tonnes", **_listing("Tonnes by market, period and category", TonnesListResponse))
async def list_tonnes(
    request: Request,
    presented: Presented,
    *,
    market: Market = None,
    year: Year = None,
    half: Half = None,
    category_code: CategoryCode = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """Tonnes placed on each market by scheme category, in all and as far as the category is about them.

    What they do not count is listed by /figures/uncounted. Never add the row of a year (half 0) to those of its halves.
    """
    filters = {"market": market, "year": year, "half": half, "category_code": category_code}
    return await _page(request, presented, "tonnes", filters, limit=limit, offset=offset)


@router.get("/uncounted", **_listing("SKUs that figures do not count", UncountedListResponse))
async def list_uncounted(
    request: Request,
    presented: Presented,
    *,
    market: Market = None,
    year: Year = None,
    half: Half = None,
    sku_code: SkuCode = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """What could not be counted: a row per market, period, SKU and reason, with the fields that would settle it."""
    filters = {"market": market, "year": year, "half": half, "sku_code": sku_code}
    return await _page(request, presented, "uncounted", filters, limit=limit, offset=offset)


@router.get("/undecided", **_listing("SKUs whose scope is not decided", UndecidedListResponse))
async def list_undecided(
    request: Request,
    presented: Presented,
    *,
    market: Market = None,
    year: Year = None,
    half: Half = None,
    sku_code: SkuCode = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """What `undecided_tonnes` wait for: a row per market, period, SKU and set of fields, with its categories."""
    filters = {"market": market, "year": year, "half": half, "sku_code": sku_code}
    return await _page(request, presented, "scope_missing", filters, limit=limit, offset=offset)


@router.get("/obligations", **_listing("Duties by market and year", ObligationListResponse))
async def list_obligations(
    request: Request,
    presented: Presented,
    *,
    market: Market = None,
    year: Year = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """Each threshold of a market with the tonnes that count for it, the verdict, its source, and what is missing.

    `tonnes_upper` adds what is not decided. `confidence` says how sure the threshold is, `scope_confidence` how sure it
    is that this packaging is meant. No legal advice.
    """
    return await _page(request, presented, "obligations", {"market": market, "year": year}, limit=limit, offset=offset)


@content_router.get(
    "/recycled-content",
    **operation("Recycled content by plant", answers={200: RecycledContentPage}, errors=READ_ERRORS, preview=True),
)
async def get_recycled_content(
    request: Request, presented: Presented, *, year: Year = None, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """Recycled content of plastic per plant and year, by type and format, as Article 7 asks: an average with bounds.

    Beside the minimum of 2030 and 2040 stands what is still to find, at least and at most. The rows are the SKUs that
    are in no average, with the questions that settle it. Without a year it is the latest with units in the Union.
    """
    ask = partial(_content_of, request=request, year=year, limit=limit, offset=offset)
    return json_of(await read_as_actor(request, presented, ask))


def _content_of(
    conn: Connection, actor: Actor, *, request: Request, year: int | None, limit: int, offset: int
) -> RecycledContentPage:
    """Return what the operation and the page answer, from the company's newest snapshot."""
    service = service_of(request)
    snapshot = snapshots.current(service.settings.data_dir, actor.company_id)
    inputs = Inputs(snapshot, loaded_catalogue(conn), service.rulesets.active(conn)) if snapshot else None
    return figures.recycled_content(conn, actor, inputs, year, limit=limit, offset=offset)


@pages_router.get("/recycled-content")
@limited("portfolio")
def get_content(request: Request, session: Viewer) -> Response:
    """Show the averages of Article 7 of a year, and the items that are in none."""
    offset = offset_of(request)
    return page(
        request,
        "recycled_content.html",
        session=session,
        found=_content_of_page(request, session, limit=_SIZE, offset=offset),
        facts=lambda fields: [fact_in_words(field, language_of(request)) for field in fields],
        offset=offset,
        size=_SIZE,
    )


@pages_router.get("/recycled-content/file.csv")
@limited("portfolio")
def get_content_file(request: Request, session: Viewer) -> Response:
    """Download the averages, what is exempt, every item that is in none, and what no record says."""
    rows = figures.content_rows(_content_of_page(request, session, limit=_ALL, offset=0))
    return csv_answer(csv_of(figures.CONTENT_COLUMNS, rows), "recycled-content.csv")


def _content_of_page(request: Request, session: Session, *, limit: int, offset: int) -> RecycledContentPage:
    try:
        year = _year(request.query_params["year"])
    except (KeyError, Unfit):
        year = None
    ask = partial(_content_of, request=request, year=year, limit=limit, offset=offset)
    return read_as_person(request, session, ask)


async def _page(
    request: Request, presented: Credential, table: Table, filters: Mapping[str, object], *, limit: int, offset: int
) -> Response:
    """Return a page of a table; an empty one where the company has no figures yet."""
    (writes,) = await read(request, presented, companies.FIGURE_WRITES, {})
    service, company_id = service_of(request), request.state.company_id

    def page() -> Response:
        stored, wanted = stored_figures.current(service.settings.data_dir, company_id), dict(filters)
        if (market := filters.get("market")) is not None:
            with service.writes.company(company_id) as conn:
                wanted["market"] = kept_market(conn, str(market))
        data, total = figure_rows(stored, table, wanted, limit=limit, offset=offset) if stored else ([], 0)
        pagination = {"limit": limit, "offset": offset, "total": total}
        origin = None if stored is None else stored.origin
        answer = {
            "as_of": origin and origin.as_of,
            "snapshot": origin and origin.snapshot,
            "ruleset_version": origin and origin.ruleset_version,
            "catalogue_hash": origin and origin.catalogue_hash,
            "newer_writes": origin and max(writes - origin.writes, 0),
        }
        return json_of({**answer, "data": data, "pagination": pagination})

    return await run_limited(request, "portfolio", page)
