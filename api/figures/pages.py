"""Pages of figures: tonnes by market, period and category, what is not counted, what a figure is made of, and duties.

They show the rows of GET /figures/… (`warehouse.figures.stored`); a figure opens to its items by the same way as
`pcds declaration --explain`.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple  # Any: what the template shows

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.accounts.sign_in import HOME
from api.audit.words import fact_in_words
from api.http.errors import HttpRefusal
from api.http.service import service_of
from api.imports.columns_pages import asked_for_columns
from api.pages.concurrency import limited
from api.pages.forms import offset_of
from api.pages.refusals import PageRefused, is_for_people
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Session, Viewer
from api.skus.words import LOWERING_VERDICTS
from compliance.annex_v import translated_reason
from compliance.catalogue import KINDS, coverages
from compliance.grading.trace import rule_text
from compliance.representatives import representative
from compliance.ruleset import RuleSet
from compliance.tables import word as confidence_word
from pipelines.figures import loaded_catalogue
from pipelines.filings import Inputs
from schemas.imports.types import has_counts
from schemas.messages import word
from schemas.normalise import Unfit
from schemas.words import market_named
from services import operate
from services.filings import figures
from warehouse import conformity
from warehouse.companies import profiles
from warehouse.companies import queries as companies
from warehouse.companies.queries import counters
from warehouse.figures import gaps, snapshots
from warehouse.figures import market as market_figures
from warehouse.figures import overview as overview_figures
from warehouse.figures import stored as stored_figures
from warehouse.figures.gaps import skus_by_rule
from warehouse.figures.reader import Now
from warehouse.figures.stored import Rows, StoredFigures, Table, figure_rows, periods
from warehouse.imports import queries as imports

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
@limited("portfolio")
def get_figures(request: Request, session: Viewer) -> Response:
    """Show tonnes and what they do not count."""
    choice, faults = _choice_of(request)
    stored, tables = _stored(request, session), {"tonnes": Rows([], 0), "uncounted": Rows([], 0)}
    offset = offset_of(request)
    if stored and not faults:
        filters = choice._asdict()
        tables["tonnes"] = figure_rows(stored, "tonnes", filters, limit=PAGE_SIZE, offset=offset)
        tables["uncounted"] = figure_rows(stored, "uncounted", filters, limit=PAGE_SIZE, offset=0)
    return _page(request, session, "figures.html", stored, choice=choice, faults=faults, found=tables, offset=offset)


@router.get("/figures/items")
@limited("portfolio")
def get_items_of_figure(request: Request, session: Viewer) -> Response:
    """Show the items behind one figure with their import lines. Raise `PageRefused` where there is no such figure."""
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
    behind = figures.figure(inputs, market, year, half, category)
    offset = offset_of(request)
    with service.writes.company(session.company_id) as conn:
        rows = list(figures.traced(conn, behind.slice(offset, PAGE_SIZE)))
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


@router.get("/obligations")
@limited("portfolio")
def get_obligations(request: Request, session: Viewer) -> Response:
    """Show the duties of each market and year with verdict, source, and what is missing."""
    choice, faults = _choice_of(request)
    stored, rows, offset = _stored(request, session), Rows([], 0), offset_of(request)
    if stored and not faults:
        filters = {"market": choice.market, "year": choice.year}
        table: Table = "obligations"
        rows = figure_rows(stored, table, filters, limit=PAGE_SIZE, offset=offset)
    return _page(request, session, "obligations.html", stored, choice=choice, faults=faults, found=rows, offset=offset)


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
        linked=_address_in,
        size=PAGE_SIZE,
        **values,
    )


def _stored(request: Request, session: Session) -> StoredFigures | None:
    return stored_figures.current(service_of(request).settings.data_dir, session.company_id)


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


@router.get("/markets/{code}")
@limited("portfolio")
def get_market(request: Request, code: str, session: Viewer) -> Response:
    """Show the page of a market. Raise `PageRefused` for a code that no table has."""
    try:
        market = market_named(code)
    except Unfit:
        raise PageRefused(404, "market.unknown") from None
    covered = coverages().get(market)
    if covered is None:
        raise PageRefused(404, "market.unknown")
    service, lang = service_of(request), language_of(request)
    stored = stored_figures.current(service.settings.data_dir, session.company_id)
    figures = market_figures.figures_in(stored, market, service.clock.today().year) if stored else None
    with service.writes.company(session.company_id) as conn:
        profile = profiles.read(conn)
    return page(
        request,
        "market.html",
        session=session,
        market=market,
        representative=representative(market, profile, lang),
        covered=covered,
        kinds=KINDS,
        found=figures,
        confidence_word=confidence_word,
        source=_address_in(covered["source_url"]),
        facts=lambda fields: [fact_in_words(field, lang) for field in fields],
        linked=_address_in,
    )


def _address_in(source: object) -> str | None:
    """Return a source that is an address; others are words."""
    return source if isinstance(source, str) and source.startswith(_LINKED) else None


EXPIRES_WITHIN_DAYS: Final = 90
_SHOWN: Final = 10
"""Rows of each list that has its own page for the rest."""
_MOST_RECORDS: Final = 200
"""Records of each kind that the page shows; `pcds doctor` lists all."""


@router.get("/")
async def get_root(request: Request) -> Response:
    """Redirect a person to the portfolio; raise `HttpRefusal` for a program."""
    if not is_for_people(request):
        raise HttpRefusal("not_found")
    return redirect(link(request, HOME), {"Vary": "Accept"})


@router.get(HOME)
@limited("portfolio")
def get_portfolio(request: Request, session: Viewer) -> Response:
    """Show the page; `year` chooses the tonnes, else those of the latest year that is not in the future."""
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        now = Now.read(conn, service.clock)
        sku_count = counters(conn).skus
        expiring = conformity.page_with_items(now.today, _SHOWN, 0, ends_within_days=EXPIRES_WITHIN_DAYS).read(conn)
        rules = service.rulesets.active(conn)
        ban = partial(translated_reason, rules=rules, lang=language_of(request))
        recent = imports.recent(_SHOWN // 2).read(conn)["data"]
    snapshot = snapshots.current(service.settings.data_dir, session.company_id)
    stored = stored_figures.current(service.settings.data_dir, session.company_id)
    overview = missing = tonnes = None
    lowering = list[tuple[str, str, int]]()
    if snapshot is not None and snapshot.rows["skus"]:
        overview = overview_figures.overview(snapshot, now, stored)
        items_missing = gaps.missing(snapshot, now, limit=_SHOWN)
        with service.writes.company(session.company_id) as conn:
            items = overview_figures.with_asked(conn, items_missing["items"], service.rulesets, language_of(request))
        missing = {**items_missing, "items": items}
        if stored is not None:
            tonnes = overview_figures.tonnes_of_year(stored, request.query_params.get("year"), now.today.year)
        lowering = _lowering(skus_by_rule(snapshot), rules, language_of(request))
    return page(
        request,
        "portfolio.html",
        session=session,
        sku_count=sku_count,
        overview=overview,
        missing=missing,
        lowering=lowering,
        expiring=expiring,
        today=now.today,
        days=EXPIRES_WITHIN_DAYS,
        recent=recent,
        counted=has_counts,
        asks_columns=asked_for_columns,
        ban=ban,
        tonnes=tonnes,
    )


@router.get(f"{HOME}/records")
@limited("portfolio")
def get_records(request: Request, session: Viewer) -> Response:
    """Show stored records that today's rules contradict, as `pcds doctor` finds them; nothing is changed."""
    service = service_of(request)
    today, data_dir = service.clock.today(), service.settings.data_dir
    with service.writes.company(session.company_id) as conn:
        looked = operate.Looked(conn, service.rulesets, today, session.company_id, data_dir)
        findings = operate.find(looked)
    listed = {kind: rows for kind, rows in findings.items() if rows}
    return page(request, "portfolio_records.html", session=session, found=listed, most=_MOST_RECORDS)


def _lowering(fired: Mapping[str, int], rules: RuleSet, lang: str) -> list[tuple[str, str, int]]:
    """Return the design rules that lower the grades of the most items: id, text and items of each."""
    rules_fired = [(rules.rules[rule], items) for rule, items in fired.items() if rule in rules.rules]
    return [
        (rule.rule_id, rule_text(rule.rule_id, rule.feature, (rules,), lang), items)
        for rule, items in rules_fired
        if rule.verdict in LOWERING_VERDICTS
    ][:_SHOWN]
