"""List page of packaging items: all of them, the newest first, or those that match a search and filters.

The unfiltered list comes from the current database. Searches use the newest snapshot, which takes the same time
whatever its size; an item newer than the snapshot is still found by its whole code.
"""

from dataclasses import asdict
from typing import Any, Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.pages.concurrency import run_limited
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page
from api.pages.request_values import offset_of
from api.pages.sessions import Session, Viewer
from api.pages.texts import text
from api.service import service_of
from compliance.flag_texts import translated_reason
from compliance.ruleset import RuleSet
from schemas import texts
from schemas.normalise import Unfit
from schemas.normalise import market as normalised
from schemas.vocabularies import VOCABULARIES
from warehouse import snapshots
from warehouse.analytics import Now, Wanted, items
from warehouse.analytics.items import GAPS
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

router = APIRouter()

PAGE_SIZE: Final = 50
CHOICES: Final = {"grade": VOCABULARIES["recyclability_grade"], "doc_status": VOCABULARIES["doc_status"], "gap": GAPS}
"""The choices of the form for each filter."""
_LONGEST: Final = 200
"""Characters of a search that are used."""


@router.get("/items")
async def get_items(request: Request, session: Viewer) -> Response:
    """Show a page of items. Raise `PageRefused` for a filter that our links and form never send."""
    return await run_limited(request, "portfolio", _page, request, session)


def _page(request: Request, session: Session) -> Response:
    service, lang = service_of(request), language_of(request)
    search, offset = _parse_search(request), offset_of(request)
    with service.writes.company(session.company_id) as conn:
        now, rules = Now.read(conn, service.clock), service.rulesets.active(conn)
        snapshot = snapshots.current(service.settings.data_dir, session.company_id)
        found: dict[str, Any] | None = None  # a page of the analytics or of the REST API, both JSON
        if search == Wanted():
            found = _list_current(conn, now, offset)
        elif snapshot is not None:
            found = items(snapshot, now, search, limit=PAGE_SIZE, offset=offset)
        if search.text and search == Wanted(text=search.text) and not (found and found["pagination"]["total"]):
            by_code = _list_current(conn, now, 0, code=search.text)
            found = by_code if by_code["items"] else found
    filters = {name: value for name, value in asdict(search).items() if value is not None}
    given = ({"q": filters.pop("text")} if "text" in filters else {}) | filters
    return page(
        request,
        "items.html",
        session=session,
        found=found,
        wanted=search,
        given=given,
        choices=_choices(lang),
        offset=offset,
        size=PAGE_SIZE,
        ban=search.flag and _ban(search.flag, rules, lang),
    )


def _choices(lang: str) -> dict[str, list[tuple[str, str]]]:
    """Return the codes of each filter with their words."""
    return {name: [(code, text(f"{name}.{code}", lang)) for code in codes] for name, codes in CHOICES.items()}


def _ban(code: str, rules: RuleSet, lang: str) -> str:
    """Return the words for a ban; the code itself where the rules have no such ban."""
    return next((translated_reason(code, ban.flag_text, rules, lang) for ban in rules.bans if ban.code == code), code)


def _parse_search(request: Request) -> Wanted:
    given = {name: value for name in (*CHOICES, "market", "flag") if (value := request.query_params.get(name))}
    for name, codes in CHOICES.items():
        if name in given and given[name] not in codes:
            raise PageRefused(400, "items.no_such_filter")
    if "market" in given:
        try:
            given["market"] = normalised(given["market"])
        except Unfit:
            raise PageRefused(400, "items.no_such_filter") from None
    searched = texts.shown(request.query_params.get("q", ""))[:_LONGEST]
    return Wanted(text=searched or None, **given)


def _list_current(conn: Connection, now: Now, offset: int, *, code: str | None = None) -> dict[str, object]:
    """Return a page as the REST API lists it, or the one item of a code."""
    query = skus.page(PAGE_SIZE, offset, filtered=code is not None)
    row = conn.execute(query, {"now": now.today, "today": now.today, "sku_codes": code and [code]}).fetchone()
    assert row is not None, "a page is one row"
    listed = orjson.loads(row[0])
    provisional = skus.provisional(conn, [item["id"] for item in listed["data"]])
    items = [{**item, "grade_provisional": item["id"] in provisional} for item in listed["data"]]
    return {"as_of": None, "newer_writes": 0, "items": items, "pagination": listed["pagination"]}
