"""Pages of figures: the board with the lists behind it, tonnes and what they do not count, duties.

They show the rows of GET /figures/… (`warehouse.figures.stored`); a figure opens to its items by the same way as
`pcds declaration --explain`.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple  # Any: what the template shows

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.accounts.sign_in import HOME
from api.audit.words import fact_in_words
from api.conformity.pages import as_pdf
from api.figures.board import EXPIRES_WITHIN_DAYS, SHOWN, portfolio_of, tonnes_in_words
from api.http.errors import HttpRefusal
from api.http.service import service_of
from api.imports.columns_pages import asked_for_columns
from api.pages.concurrency import limited
from api.pages.forms import offset_of, write_of
from api.pages.refusals import PageRefused, is_for_people
from api.pages.render import PANELS, language_of, link, page, redirect, said, text
from api.pages.sessions import Session, Viewer
from api.skus.listing import market_filter
from compliance.annex_v import translated_reason
from compliance.catalogue import KINDS, coverages
from compliance.grading.trace import rule_text
from compliance.representatives import representative
from compliance.rule_rows import LOWERING_VERDICTS
from compliance.ruleset import RuleSet
from compliance.tables import word as confidence_word
from pipelines.figures import loaded_catalogue
from pipelines.filings import Inputs
from schemas.imports.types import has_counts
from schemas.messages import instant, word
from schemas.normalise import Unfit
from services import operate
from services.conformity import drafts
from services.filings import figures
from warehouse import conformity
from warehouse.companies import profiles
from warehouse.companies import queries as companies
from warehouse.companies.queries import counters
from warehouse.figures import market as market_figures
from warehouse.figures import overview as overview_figures
from warehouse.figures import snapshots
from warehouse.figures import stored as stored_figures
from warehouse.figures.gaps import skus_by_rule
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
    choice, faults = _choice_of(request, session)
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
    choice, faults = _choice_of(request, session)
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
    behind, offset = figures.counted(inputs, market, year, half, category), offset_of(request)
    with_parts = figures.with_parts(snapshot, behind.slice(offset, PAGE_SIZE))
    with service.writes.company(session.company_id) as conn:
        rows = list(figures.traced(conn, with_parts))
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
    choice, faults = _choice_of(request, session)
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
        writes = companies.counters(conn).figure_writes
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
        newer_writes=max(writes - stored.origin.writes, 0) if stored else 0,
        confidence_word=confidence_word,
        facts=lambda fields: [fact_in_words(field, lang) for field in fields],
        linked=_address_in,
        size=PAGE_SIZE,
        **values,
    )


def _stored(request: Request, session: Session) -> StoredFigures | None:
    return stored_figures.current(service_of(request).settings.data_dir, session.company_id)


def _choice_of(request: Request, session: Session) -> tuple[Choice, list[tuple[str, str]]]:
    """Return the filters of the address, and a fault for each that no figure can have."""
    lang, sent, faults = language_of(request), request.query_params, list[tuple[str, str]]()
    market, year, half = (sent.get(name, "").strip() or None for name in Choice._fields)
    if market is not None:
        try:
            market = market_filter(request, session.company_id, market)
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
        market = market_filter(request, session.company_id, code)
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
        actor = write_of(request, session).actor
        panels = [(template, fill(conn, actor, market)) for template, fill in PANELS["market"]]
    return page(
        request,
        "market.html",
        session=session,
        market=market,
        panels=panels,
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


_MOST_RECORDS: Final = 200
"""Records of each kind that the page shows; `pcds doctor` lists all."""


@router.get("/")
async def get_root(request: Request) -> Response:
    """Redirect a person to the portfolio; raise `HttpRefusal` for a program."""
    if not is_for_people(request):
        raise HttpRefusal("not_found")
    return redirect(link(request, HOME), {"Vary": "Accept"})


_TEMPLATE: Final = Path(__file__).parent / "board.typ"
_PRINTED: Final = (
    *("title", "stand", "next", "deadlines", "deadlines.none", "steps", "steps.none", "comes"),
    *("grades", "hatched", "law", "late"),
)
_MARKETS: Final = 8
"""Markets of the printed board, those with most tonnes."""
_OF_MARKET: Final[tuple[Literal["tonnes", "in_scope_tonnes"], ...]] = ("tonnes", "in_scope_tonnes")


@router.get(HOME)
@limited("portfolio")
def get_portfolio(request: Request, session: Viewer) -> Response:
    """Show the page; `year` chooses the tonnes of the list by market, else the latest year that is not ahead."""
    service, lang = service_of(request), language_of(request)
    known = portfolio_of(request, session)
    with service.writes.company(session.company_id) as conn:
        today, rules, sku_count = service.clock.today(), service.rulesets.active(conn), counters(conn).skus
        expiring = conformity.page_with_items(today, SHOWN, 0, ends_within_days=EXPIRES_WITHIN_DAYS).read(conn)
        recent = imports.recent(SHOWN // 2).read(conn)["data"]
        worst = known.missing["items"] if known else ()
        items = overview_figures.with_asked(conn, worst, service.rulesets, lang)
    tonnes, lowering = None, list[tuple[str, str, int]]()
    if known is not None:
        lowering = _lowering(skus_by_rule(known.snapshot), rules, lang)
        if known.stored is not None:
            tonnes = overview_figures.tonnes_of_year(known.stored, request.query_params.get("year"), today.year)
    return page(
        request,
        "portfolio.html",
        session=session,
        sku_count=sku_count,
        overview=known and known.overview,
        board=known and known.board,
        missing=known and known.missing,
        worst=items,
        lowering=lowering,
        expiring=expiring,
        today=today,
        days=EXPIRES_WITHIN_DAYS,
        recent=recent,
        counted=has_counts,
        asks_columns=asked_for_columns,
        ban=partial(translated_reason, rules=rules, lang=lang),
        tonnes=tonnes,
        year_chosen="year" in request.query_params,
    )


@router.get(f"{HOME}/board.pdf")
@limited("portfolio")
def get_board(request: Request, session: Viewer) -> Response:
    """Return the board's two pages as a PDF: the figures of the page. Raise `PageRefused` where there are none yet."""
    known, lang = portfolio_of(request, session), language_of(request)
    if known is None:
        raise PageRefused(404, "board.none")
    board, year = known.board, str(known.board.head["year"])
    of_year = overview_figures.tonnes_of_year(known.stored, year, known.now.today.year)["rows"] if known.stored else []
    markets = [row for row in of_year if not row["half"]][:_MARKETS]
    columns = ("portfolio.markets.what", "portfolio.tonnes.unit", "market.in_scope")
    company, *due = drafts.printable([session.company_name, *(row.what for row in board.deadlines)])  # people's words
    content = {
        "tiles": [tile._asdict() for tile in board.tiles],
        "bar": [segment._asdict() for segment in board.bar],
        "grades": board.grades,
        "deadlines": [row._replace(what=what)._asdict() for row, what in zip(board.deadlines, due, strict=True)],
        "steps": [row._asdict() for row in board.steps],
        "comes": [(year_of, [row._asdict() for row in rows]) for year_of, rows in board.comes],
        "markets": [
            (word("market", row["market"], lang), *(tonnes_in_words(row[name], lang) for name in _OF_MARKET))
            for row in markets
        ],
        "say": {
            **{name.replace(".", "_"): text(f"board.{name}", lang) for name in _PRINTED},
            "markets": text("portfolio.tonnes", lang),
            "market_columns": [text(name, lang) for name in columns],
        },
        "names": {tile.key: text(f"board.{tile.key}", lang) for tile in board.tiles},
        "company": company,
        "as_of": f"{text('portfolio.as_of', lang)} {instant(known.overview['as_of'], lang)}",
        "lang": lang,
    }
    return as_pdf(drafts.typeset(_TEMPLATE, "board", content), f"board-{known.now.today}.pdf")


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
    ][:SHOWN]
