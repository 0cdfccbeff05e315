"""List page of packaging items: searched, filtered and sorted by the address, which also keeps the columns."""

from collections.abc import Set
from typing import Final
from uuid import UUID

import orjson
from fastapi import APIRouter
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response

from api.item_filters import MOST_CHARACTERS, Filters, place_of, read_filters
from api.pages import item_columns
from api.pages.advice import said
from api.pages.concurrency import run_limited
from api.pages.render import language_of, page
from api.pages.request_values import offset_of
from api.pages.sessions import Session, Viewer
from api.pages.texts import text
from api.service import service_of
from compliance.flag_texts import translated_reason
from compliance.grading.languages import rule_text
from compliance.ruleset import RuleSet
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.labels import word
from schemas.refusals import Refused
from schemas.vocabularies import VOCABULARIES
from services import item_search
from services.item_export import COLUMNS
from warehouse import snapshots
from warehouse.analytics import Now
from warehouse.analytics.found import GAPS
from warehouse.library.queries import first_names, names
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

router = APIRouter()

PAGE_SIZE: Final = 50
_MOST_NAMES: Final = 200
"""The most brands, and suppliers, that are offered in a list."""

Choices = dict[str, list[tuple[str, str]]]


@router.get("/items")
async def get_items(request: Request, session: Viewer) -> Response:
    """Show a page of items. A filter that cannot be read is named at its field, and nothing is listed."""
    return await run_limited(request, "portfolio", _page, request, session)


def _page(request: Request, session: Session) -> Response:
    service, lang = service_of(request), language_of(request)
    filters, faults = read_filters(request, session.company_id)
    columns, offset = item_columns.chosen(request), offset_of(request)
    found: JsonObject | None = None
    if not faults:
        place = place_of(request, session.company_id)
        try:
            body = item_search.page(place, filters.search(), filters.finding(), limit=PAGE_SIZE, offset=offset)
            found = orjson.loads(body)
        except Refused as refused:
            faults = list(refused.issues)
    with service.writes.company(session.company_id) as conn:
        now, rules = Now.read(conn, service.clock), service.rulesets.active(conn)
        choices = _choices(conn, {*now.jurisdictions, *_asked_market(filters)}, lang)
        items = found["data"] if found else []
        brands = names(conn, "brand", {UUID(item["brand_id"]) for item in items if item["brand_id"]})
        provisional = skus.provisional(conn, [item["id"] for item in items])
    ban, rule = _finding_in_words(filters, rules, lang)
    snapshot = snapshots.current(service.settings.data_dir, session.company_id)
    return page(
        request,
        "items.html",
        session=session,
        status=400 if faults else 200,
        found=found,
        rows=item_columns.rows_in_words(items, columns, brands, lang),
        provisional=provisional,
        newer=now.head(snapshot)["newer_writes"] if snapshot else 0,
        faults=[_fault_of(request, fault, lang) for fault in faults],
        given=_given(request, filters, columns),
        address=_address(request),
        choices=choices,
        columns=[(column, item_columns.name_of(column, lang), item_columns.can_sort(column)) for column in columns],
        all_columns=item_columns.choices(lang),
        sort=filters.given.get("sort", "-created_at"),
        offset=offset,
        size=PAGE_SIZE,
        ban=ban,
        rule=rule,
    )


def _given(request: Request, filters: Filters, columns: tuple[str, ...]) -> ImmutableMultiDict[str, str]:
    """Return the form as it was sent, with the market's code as it is listed and the columns that are shown."""
    sent = [(name, value) for name, value in request.query_params.multi_items() if name != "columns"]
    markets = [("market", market) for market in _asked_market(filters)]
    return ImmutableMultiDict([*sent, *markets, *(("columns", column) for column in columns)])


def _asked_market(filters: Filters) -> tuple[str, ...]:
    """Return the market that the list is narrowed to, which need not be one of the catalogue."""
    return (filters.given["market"],) if "market" in filters.given else ()


def _address(request: Request) -> dict[str, object]:
    """Return the parameters of the list's address, for links to another page, order or form of it."""
    kept = {name: value for name, value in request.query_params.items() if name in (*_FILTERS, "sort") and value}
    columns = [column for column in request.query_params.getlist("columns") if column in COLUMNS]
    return {**kept, **({"columns": columns} if columns else {})}


_FILTERS: Final = (
    "q",
    "market",
    "grade",
    "doc_status",
    "material",
    "gap",
    "brand_id",
    "supplier_id",
    "flag",
    "rule",
)


def _choices(conn: Connection, jurisdictions: Set[str], lang: str) -> Choices:
    """Return the codes of each filter with their words, in the order of the form."""
    markets = sorted(((code, word("market", code, lang)) for code in jurisdictions), key=lambda pair: pair[1])
    found = {
        "market": [(code, name if name == code else f"{name} ({code})") for code, name in markets],
        "grade": _codes("grade", VOCABULARIES["recyclability_grade"], lang),
        "doc_status": _codes("doc_status", VOCABULARIES["doc_status"], lang),
        "material": [(code, word("material", code, lang)) for code in VOCABULARIES["material"]],
        "gap": _codes("gap", GAPS, lang),
        "brand_id": first_names(conn, "brand", _MOST_NAMES),
        "supplier_id": first_names(conn, "supplier", _MOST_NAMES),
    }
    return {name: choices for name, choices in found.items() if choices}


def _codes(group: str, codes: tuple[str, ...], lang: str) -> list[tuple[str, str]]:
    return [(code, text(f"{group}.{code}", lang)) for code in codes]


def _fault_of(request: Request, fault: Issue, lang: str) -> tuple[str, str]:
    """Return what is wrong with a filter; those that are only chosen are never typed, but in an address."""
    name = fault.field or ""
    if name in ("q", "market", "brand_id", "supplier_id"):
        return name, said(fault.message, lang)
    return name, text("items.no_choice", lang, value=request.query_params.get(name, "")[:MOST_CHARACTERS])


def _finding_in_words(filters: Filters, rules: RuleSet, lang: str) -> tuple[str | None, str | None]:
    """Return the words for the ban and for the design rule that the list is narrowed to."""
    flag, rule = filters.given.get("flag"), rules.rules.get(filters.given.get("rule", ""))
    bans = [translated_reason(ban.code, ban.flag_text, rules, lang) for ban in rules.bans if ban.code == flag]
    feature = f"{rule_text(rule.rule_id, rule.feature, (rules,), lang)} ({rule.rule_id})" if rule else None
    return bans[0] if bans else flag, feature
