"""Portfolio overview page: grades, DoC coverage, gaps, tonnes by market, expiring DoCs, recent imports.

Counts come from the company's newest snapshot, whose instant is shown; DoCs and imports are current. Every row links to
the items that it counts.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.errors import HttpRefusal
from api.pages.columns import asked_for_columns
from api.pages.concurrency import run_limited
from api.pages.item_words import LOWERING_VERDICTS
from api.pages.refusals import is_for_people
from api.pages.render import language_of, link, page, redirect
from api.pages.sessions import Session, Viewer
from api.pages.sign_in import HOME
from api.service import service_of
from compliance.flag_texts import translated_reason
from compliance.grading.languages import rule_text
from compliance.ruleset import RuleSet
from schemas.report import has_counts
from services import record_findings
from warehouse import analytics, figures, snapshots
from warehouse.analytics import Now
from warehouse.analytics.found import skus_by_rule
from warehouse.companies.queries import counters
from warehouse.declarations import docs
from warehouse.imports import queries as imports

router = APIRouter()

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
async def get_portfolio(request: Request, session: Viewer) -> Response:
    """Show the page; `year` chooses the tonnes, else those of the latest year that is not in the future."""
    return await run_limited(request, "portfolio", _page, request, session)


@router.get(f"{HOME}/records")
async def get_records(request: Request, session: Viewer) -> Response:
    """Show stored records that today's rules contradict, as `pcds doctor` finds them; nothing is changed."""
    return await run_limited(request, "portfolio", _records_page, request, session)


def _records_page(request: Request, session: Session) -> Response:
    service = service_of(request)
    today, data_dir = service.clock.today(), service.settings.data_dir
    with service.writes.company(session.company_id) as conn:
        looked = record_findings.Looked(conn, service.rulesets, today, session.company_id, data_dir)
        found = record_findings.find(looked)
    listed = {kind: rows for kind, rows in found.items() if rows}
    return page(request, "portfolio_records.html", session=session, found=listed, most=_MOST_RECORDS)


def _page(request: Request, session: Session) -> Response:
    service = service_of(request)
    with service.writes.company(session.company_id) as conn:
        now = Now.read(conn, service.clock)
        sku_count = counters(conn).skus
        expiring = docs.expiring_docs(conn, today=now.today, days=EXPIRES_WITHIN_DAYS, limit=_SHOWN)
        rules = service.rulesets.active(conn)
        ban = partial(translated_reason, rules=rules, lang=language_of(request))
        recent, _ = imports.newest(conn, limit=_SHOWN // 2)
    snapshot = snapshots.current(service.settings.data_dir, session.company_id)
    stored = figures.current(service.settings.data_dir, session.company_id)
    overview = missing = tonnes = None
    lowering = list[tuple[str, str, int]]()
    if snapshot is not None and snapshot.rows["skus"]:
        overview = analytics.overview(snapshot, now, stored)
        found = analytics.missing(snapshot, now, limit=_SHOWN)
        with service.writes.company(session.company_id) as conn:
            items = analytics.with_asked(conn, found["items"], service.rulesets, language_of(request))
        missing = {**found, "items": items}
        if stored is not None:
            tonnes = analytics.tonnes_of_year(stored, request.query_params.get("year"), now.today.year)
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
        days=EXPIRES_WITHIN_DAYS,
        recent=recent,
        counted=has_counts,
        asks_columns=asked_for_columns,
        ban=ban,
        tonnes=tonnes,
    )


def _lowering(fired: Mapping[str, int], rules: RuleSet, lang: str) -> list[tuple[str, str, int]]:
    """Return the design rules that lower the grades of the most items: id, text and items of each."""
    found = [(rules.rules[rule], items) for rule, items in fired.items() if rule in rules.rules]
    return [
        (rule.rule_id, rule_text(rule.rule_id, rule.feature, (rules,), lang), items)
        for rule, items in found
        if rule.verdict in LOWERING_VERDICTS
    ][:_SHOWN]
