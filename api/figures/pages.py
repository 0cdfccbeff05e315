"""Pages of figures: the board with the lists behind it, tonnes and what they do not count, duties.

They show the rows of GET /figures/… (`warehouse.figures.stored`); a figure opens to its items by the same way as
`pcds declaration --explain`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple  # Any: what the template shows

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.accounts.sign_in import HOME
from api.audit.words import fact_in_words
from api.conformity.pages import as_pdf
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
from pipelines.filings import Inputs, deadlines
from schemas.accounts import includes
from schemas.figures import BansOfYear, Counted, Gap, GradeTonnes, HeadFigures, Missing, Overview
from schemas.imports.types import has_counts
from schemas.messages import day, instant, number, word
from schemas.normalise import Unfit
from services import operate
from services.conformity import drafts
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
from warehouse.figures.overview import IN_FORCE
from warehouse.figures.reader import Now
from warehouse.figures.snapshots import KeptHead, Snapshot
from warehouse.figures.stored import Rows, StoredFigures, Table, figure_rows, periods
from warehouse.imports import queries as imports
from warehouse.operate.sessions import Connection

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


class Tile(NamedTuple):
    """A figure of the board in words: its value, what it is of, its change, and the points of its trend's line."""

    key: str
    value: str
    of: str
    change: str
    trend: str


class Row(NamedTuple):
    """A line of the board in words: a day or quantity, what it is about, where it leads and how the button says so."""

    what: str
    amount: str
    path: str = ""
    asked: Mapping[str, object] = {}
    does: str = ""
    is_late: bool = False


class Segment(NamedTuple):
    """A part of the bar of grades, in percent of its width from its beginning."""

    grade: str
    is_provisional: bool
    begins: float
    width: float


class Board(NamedTuple):
    """Where a company stands, what is next and what comes, in the words of a language."""

    head: HeadFigures
    tiles: list[Tile]
    bar: list[Segment]
    grades: list[tuple[str, str, str, str]]
    deadlines: list[Row]
    late: int
    steps: list[Row]
    comes: list[tuple[str, list[Row]]]


class Portfolio(NamedTuple):
    """What the page and the printed board read of one company, once for both."""

    now: Now
    snapshot: Snapshot
    stored: StoredFigures | None
    overview: Overview
    missing: Missing
    board: Board


_TEMPLATE: Final = Path(__file__).parent / "board.typ"
_LISTED: Final = 5
"""Deadlines, and steps, of the board."""
_LATE: Final = 2
"""Of the deadlines those that have passed, unless fewer come."""
_OF_MANY: Final = frozenset(
    ("level_missing", "use_missing", "markets_missing", "pfas_undeclared", "heavy_metals_undeclared", "polymer_missing")
)
"""Gaps whose field is one of those that are set of many items at once."""
_PRINTED: Final = (
    *("title", "stand", "next", "deadlines", "deadlines.none", "steps", "steps.none", "comes"),
    *("grades", "hatched", "law", "late"),
)
_MARKETS: Final = 8
"""Markets of the printed board, those with most tonnes."""
_OF_MARKET: Final[tuple[Literal["tonnes", "in_scope_tonnes"], ...]] = ("tonnes", "in_scope_tonnes")
_CHART: Final = (100, 20)
"""Width and height in which a trend is drawn."""


def _portfolio(request: Request, session: Session) -> Portfolio | None:
    """Return what is known of the company's portfolio; None before its first snapshot with items."""
    service, lang = service_of(request), language_of(request)
    data_dir = service.settings.data_dir
    snapshot = snapshots.current(data_dir, session.company_id)
    if snapshot is None or not snapshot.rows["skus"]:
        return None
    stored = stored_figures.current(data_dir, session.company_id)
    with service.writes.company(session.company_id) as conn:
        now, rules = Now.read(conn, service.clock), service.rulesets.active(conn)
        kept = snapshots.kept_heads(conn, now.today)
        dated = _deadlines(conn, stored, now.today, lang)
    overview = overview_figures.overview(snapshot, now, stored)
    missing = gaps.missing(snapshot, now, limit=_SHOWN)
    recycled = overview_figures.recycled_content(snapshot, rules, now.today)
    head, late = overview["head_figures"], [row for _, row in dated if row.is_late]
    coming = [row for _, row in dated if not row.is_late]
    shown = [*late[-max(_LATE, _LISTED - len(coming)) :], *coming][:_LISTED]
    board = Board(
        head=head,
        tiles=list(_tiles(head, kept, now.today, lang)),
        bar=list(_bar(head)),
        grades=list(_grades(head, lang)),
        deadlines=shown,
        late=len(late),
        steps=_steps(head, missing, lang, may_edit=includes(session.role, "editor")),
        comes=list(_comes(head, recycled, lang)),
    )
    return Portfolio(now, snapshot, stored, overview, missing, board)


def _share(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def _tonnes(tonnes: float | None, lang: str) -> str:
    return "–" if tonnes is None else text("board.tonnes", lang, tonnes=number(tonnes, lang, 1))


def _counted(counted: Counted | GradeTonnes | Gap, lang: str) -> str:
    return f"{_tonnes(counted['tonnes'], lang)}, {text('board.items', lang, count=number(counted['skus'], lang))}"


def _tiles(head: HeadFigures, kept: Sequence[KeptHead], today: date, lang: str) -> Iterator[Tile]:
    """Yield the three figures with their change since a month ago, else since the first day of the year's tonnes."""
    before = overview_figures.compared_with(kept, today, head["year"])
    heads = [*(earlier._asdict() for earlier in kept if earlier.year == head["year"]), {**head}]
    items = {name: number(head[name], lang) for name in ("skus", "covered_skus")}
    of = {"year": head["year"] or "–", "tonnes": _tonnes(head["tonnes"], lang), **items}
    of["undecided"] = _tonnes(head["undecided_tonnes"], lang)
    for key, value_of in _VALUES.items():
        value, earlier = value_of(head), value_of(before._asdict()) if before else None
        shown = "–" if value is None else _tonnes(value, lang) if key == "in_scope" else _percent(value, lang)
        change = text("board.first", lang)
        if before is not None and value is not None and earlier is not None:
            moved = f"{number(abs(value - earlier), lang, 1)}"
            sign = "" if moved == "0" else "+" if value > earlier else "−"
            unit = text(
                "board.change.points" if key != "in_scope" else "board.change.tonnes", lang, change=sign + moved
            )
            change = text("board.since", lang, change=unit, day=day(before.day, lang))
        trend = [value_of(of_day) for of_day in heads]
        points = _line([point for point in trend if point is not None])
        yield Tile(key, shown, text(f"board.{key}.of", lang, **of), change, points)


_VALUES: Final[Mapping[str, Callable[[Mapping[str, Any]], float | None]]] = {
    "in_scope": lambda head: head["in_scope_tonnes"],
    "good": lambda head: _share(head["good_tonnes"], head["tonnes"]),
    "covered": lambda head: _share(head["covered_tonnes"], head["tonnes"]),
}
"""The figures of the board by their key; shares are percent of the tonnes of the items that are held."""


def _percent(value: float, lang: str) -> str:
    return f"{number(value, lang, 1)}\u00a0%"


def _line(values: Sequence[float]) -> str:
    """Return the points of a line through values at equal distances; none for fewer than two."""
    if len(values) < 2:  # a line has two ends
        return ""
    (width, height), low, high = _CHART, min(values), max(values)
    step, rise = width / (len(values) - 1), (height - 2) / (high - low or 1)
    return " ".join(f"{place * step:.1f},{height - 1 - (value - low) * rise:.1f}" for place, value in enumerate(values))


def _bar(head: HeadFigures) -> Iterator[Segment]:
    begins = 0.0
    for grade, of_grade in head["grades"].items():
        provisional = of_grade["tonnes"] if grade == "not_assessed" else of_grade["provisional_tonnes"]
        for is_provisional, tonnes in ((False, of_grade["tonnes"] - provisional), (True, provisional)):
            if width := _share(tonnes, head["tonnes"]):
                yield Segment(grade, is_provisional, round(begins, 3), round(width, 3))
                begins += width


def _grades(head: HeadFigures, lang: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield each grade's code, name, tonnes and how many of them are provisional."""
    for grade, of_grade in head["grades"].items():
        provisional = of_grade["provisional_tonnes"] if grade != "not_assessed" else 0
        open_tonnes = text("board.provisional", lang, tonnes=_tonnes(provisional, lang)) if provisional else ""
        yield grade, text(f"grade.{grade}", lang), _tonnes(of_grade["tonnes"], lang), open_tonnes


def _deadlines(conn: Connection, stored: StoredFigures | None, today: date, lang: str) -> list[tuple[date, Row]]:
    """Return the stated days of reports that are not filed, and the ends of declarations of conformity, by day."""
    dated = list[tuple[date, Row]]()
    for duty in deadlines(conn, stored, today):
        half = f", {text(f'figures.half.{duty.half}', lang)}" if duty.half else ""
        what = f"{word('market', duty.market, lang)} {duty.year}{half}: {word('due_duty', duty.stated.duty, lang)}"
        period = {"market": duty.market, "year": duty.year, "half": duty.half}
        path, asked, does = ("/declarations", period, "file") if duty.is_declared else ("/declarations/due", {}, "open")
        row = Row(what, day(duty.on, lang), path, asked, text(f"board.do.{does}", lang), duty.urgency == "overdue")
        dated.append((duty.on, row))
    ending = conformity.page_with_items(today, _LISTED, 0, ends_within_days=EXPIRES_WITHIN_DAYS).read(conn)["data"]
    for doc in ending:
        if doc["expires_on"] is not None:
            what = text("board.ends", lang, name=doc["sku_name"] or doc["reference"] or "–")
            path = f"/items/{doc['sku_id']}/documents" if doc["sku_id"] else "/documents"
            on = doc["expires_on"]
            dated.append((on, Row(what, day(on, lang), path, {}, text("board.do.renew", lang))))
    return sorted(dated, key=lambda pair: pair[0])


def _steps(head: HeadFigures, missing: Missing, lang: str, *, may_edit: bool) -> list[Row]:
    """Return the steps that decide most tonnes: the gaps of the items, and what is undecided of the figures.

    A gap is closed at the change of many items where they take its field, else at the list of its items.
    """
    steps = list[tuple[float, Row]]()
    for gap in missing["gaps"]:
        of_many = may_edit and gap["code"] in _OF_MANY
        path, does = ("/items/change", "answer") if of_many else ("/items", "open")
        asked = {"gap": gap["code"]}
        amount = _counted(gap, lang) if gap["tonnes"] else text("board.unknown", lang, count=number(gap["skus"], lang))
        row = Row(text(f"gap.{gap['code']}", lang), amount, path, asked, text(f"board.do.{does}", lang))
        steps.append((gap["tonnes"], row))
    if undecided := head["undecided_tonnes"]:
        asked = {"year": str(head["year"])}
        does = text("board.do.decide", lang)
        row = Row(text("board.undecided", lang), _tonnes(undecided, lang), "/figures", asked, does)
        steps.append((undecided, row))
    return [row for _, row in sorted(steps, key=lambda step: -step[0])[:_LISTED]]


def _comes(head: HeadFigures, recycled: Mapping[str, Counted], lang: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield the years of the Regulation with the items that each will concern, after what is, or may be, in force."""
    grades = head["grades"]
    open_tonnes = sum(of_grade["provisional_tonnes"] for grade, of_grade in grades.items() if grade != "not_assessed")
    waiting = (recycled["undecided"], recycled["to_decide"])
    unknown: Counted = {
        "skus": sum(each["skus"] for each in waiting),
        "tonnes": sum(each["tonnes"] for each in waiting),
    }

    def row(key: str, amount: str, path: str = "", **asked: str) -> Row:
        return Row(text(f"board.comes.{key}", lang), amount, path, asked)

    def of_bans(bans: BansOfYear) -> list[Row]:
        counted = {"banned": bans["certain"], "may_be_banned": bans["depends"]}
        return [row(key, _counted(of, lang), "#flags" if of["skus"] else "") for key, of in counted.items()]

    rows = {year: of_bans(bans) for year, bans in head["bans_by_year"].items()}
    in_force = [*rows.pop(IN_FORCE), row("ban_undecided", _counted(head["bans"]["undecided"], lang))]
    rows["2028"] = [
        *rows.get("2028", ()),
        row("grades", _tonnes(open_tonnes, lang), "/items", gap="grade_provisional"),
        row("unassessed", _counted(grades["not_assessed"], lang), "/items", grade="not_assessed"),
    ]
    rows["2030"] = [
        *rows.get("2030", ()),
        row("below_c", _counted(grades["not_recyclable"], lang), "/items", grade="not_recyclable"),
        row("recycled.below", _counted(recycled["below"], lang)),
        row("recycled.open", _counted(unknown, lang)),
    ]
    rows["2038"] = [row("only_a_b", _counted(grades["C"], lang), "/items", grade="C")]
    yield text("board.comes.in_force", lang), in_force
    yield from sorted(rows.items())


@router.get(HOME)
@limited("portfolio")
def get_portfolio(request: Request, session: Viewer) -> Response:
    """Show the page; `year` chooses the tonnes of the list by market, else the latest year that is not ahead."""
    service, lang = service_of(request), language_of(request)
    known = _portfolio(request, session)
    with service.writes.company(session.company_id) as conn:
        today, rules, sku_count = service.clock.today(), service.rulesets.active(conn), counters(conn).skus
        expiring = conformity.page_with_items(today, _SHOWN, 0, ends_within_days=EXPIRES_WITHIN_DAYS).read(conn)
        recent = imports.recent(_SHOWN // 2).read(conn)["data"]
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
    known, lang = _portfolio(request, session), language_of(request)
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
            (word("market", row["market"], lang), *(_tonnes(row[name], lang) for name in _OF_MARKET)) for row in markets
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
    ][:_SHOWN]
