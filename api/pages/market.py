"""Page of one market: the packaging that its duties cover, tonnes by category with their scope, and the thresholds.

Each statement shows its confidence. The figures are the company's last ones, of the instant that the page names.
"""

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.pages.changes import fact_in_words
from api.pages.concurrency import run_limited
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page
from api.pages.sessions import Session, Viewer
from api.service import service_of
from compliance.confidence import word as confidence_word
from compliance.coverage import KINDS
from schemas.market_names import market_named
from schemas.normalise import Unfit
from warehouse import analytics, figures

router = APIRouter()

_SHOWN_SOURCE: Final = ("https://", "http://")


@router.get("/markets/{code}")
async def get_market(request: Request, code: str, session: Viewer) -> Response:
    """Show the page of a market. Raise `PageRefused` for a code that no table has."""
    return await run_limited(request, "portfolio", _page, request, code, session)


def _page(request: Request, code: str, session: Session) -> Response:
    try:
        market = market_named(code)
    except Unfit:
        raise PageRefused(404, "market.unknown") from None
    covered = analytics.covered_packaging(market)
    if covered is None:
        raise PageRefused(404, "market.unknown")
    service, lang = service_of(request), language_of(request)
    stored = figures.current(service.settings.data_dir, session.company_id)
    found = analytics.figures_in(stored, market, service.clock.today().year) if stored else None
    return page(
        request,
        "market.html",
        session=session,
        market=market,
        covered=covered,
        kinds=KINDS,
        found=found,
        confidence_word=confidence_word,
        source=_address_in(covered["source_url"]),
        facts=lambda fields: [fact_in_words(field, lang) for field in fields],
        linked=_address_in,
    )


def _address_in(source: object) -> str | None:
    """Return a source that is an address; others are words."""
    return source if isinstance(source, str) and source.startswith(_SHOWN_SOURCE) else None
