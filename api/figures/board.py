"""The board of a company: where it stands, what is next and what comes, in the words of a language.

`api.figures.pages` shows it, and prints it. Days of the law are those of `compliance.days`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple  # Any: figures by name, of two kinds of records

from starlette.requests import Request

from api.http.service import service_of
from api.pages.render import language_of, text
from api.pages.sessions import Session
from compliance.days import LegalDay, legal_days
from pipelines.filings import deadlines
from schemas.accounts import includes
from schemas.figures import Counted, Gap, GradeTonnes, HeadFigures, Missing, Overview
from schemas.messages import day, day_of_year, number, word
from warehouse import conformity
from warehouse.figures import gaps, snapshots
from warehouse.figures import overview as overview_figures
from warehouse.figures import stored as stored_figures
from warehouse.figures.overview import IN_FORCE
from warehouse.figures.reader import Now
from warehouse.figures.snapshots import KeptHead, Snapshot
from warehouse.figures.stored import StoredFigures
from warehouse.operate.sessions import Connection


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


EXPIRES_WITHIN_DAYS: Final = 90
"""How many days before its end a declaration of conformity is listed."""
SHOWN: Final = 10
"""The most rows of a list beside the board."""
LISTED: Final = 5
"""Deadlines, and steps, of the board."""
_LATE: Final = 2
"""Of the deadlines those that have passed, unless fewer come."""
_OF_MANY: Final = frozenset(
    ("level_missing", "use_missing", "markets_missing", "pfas_undeclared", "heavy_metals_undeclared", "polymer_missing")
)
"""Gaps whose field is one of those that are set of many items at once."""
_CHART: Final = (100, 20)
"""Width and height in which a trend is drawn."""


def portfolio_of(request: Request, session: Session) -> Portfolio | None:
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
    missing = gaps.missing(snapshot, now, limit=SHOWN)
    recycled = overview_figures.recycled_content(snapshot, rules, now.today)
    head, late = overview["head_figures"], [row for _, row in dated if row.is_late]
    coming = [row for _, row in dated if not row.is_late]
    shown = [*late[-max(_LATE, LISTED - len(coming)) :], *coming][:LISTED]
    board = Board(
        head=head,
        tiles=list(_tiles(head, kept, now.today, lang)),
        bar=list(_bar(head)),
        grades=list(_grades(head, lang)),
        deadlines=shown,
        late=len(late),
        steps=_steps(head, missing, lang, may_edit=includes(session.role, "editor")),
        comes=list(_comes(head, recycled, legal_days(rules, now.today), lang)),
    )
    return Portfolio(now, snapshot, stored, overview, missing, board)


def _share(part: float, whole: float | None) -> float | None:
    """Return the percentage; None of nothing, and of figures kept before the whole was."""
    return 100 * part / whole if whole else None


def tonnes_in_words(tonnes: float | None, lang: str) -> str:
    """Return tonnes to a tenth with their unit."""
    return "–" if tonnes is None else text("board.tonnes", lang, tonnes=number(tonnes, lang, 1))


def _counted(counted: Counted | GradeTonnes | Gap, lang: str) -> str:
    return (
        f"{tonnes_in_words(counted['tonnes'], lang)}, {text('board.items', lang, count=number(counted['skus'], lang))}"
    )


def _tiles(head: HeadFigures, kept: Sequence[KeptHead], today: date, lang: str) -> Iterator[Tile]:
    """Yield the three figures with their change since a month ago, else since the first day of the year's tonnes."""
    before = overview_figures.compared_with(kept, today, head["year"])
    heads = [*(earlier._asdict() for earlier in kept if earlier.year == head["year"]), {**head}]
    items = {name: number(head[name], lang) for name in ("union_skus", "covered_skus")}
    tonnes = {name: tonnes_in_words(head[name], lang) for name in ("tonnes", "union_tonnes")}
    of = {"year": head["year"] or "–", **tonnes, **items}
    of["undecided"] = tonnes_in_words(head["undecided_tonnes"], lang)
    for key, value_of in _VALUES.items():
        value, earlier = value_of(head), value_of(before._asdict()) if before else None
        shown = "–" if value is None else tonnes_in_words(value, lang) if key == "in_scope" else _percent(value, lang)
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
    "covered": lambda head: _share(head["covered_tonnes"], head["union_tonnes"]),
}
"""The figures of the board by their key; shares are percent of the tonnes of the items that are held.

Of declarations of conformity they are of those that the law of the Union asks of.
"""


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
        open_tonnes = text("board.provisional", lang, tonnes=tonnes_in_words(provisional, lang)) if provisional else ""
        yield grade, text(f"grade.{grade}", lang), tonnes_in_words(of_grade["tonnes"], lang), open_tonnes


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
    ending = conformity.page_with_items(today, LISTED, 0, ends_within_days=EXPIRES_WITHIN_DAYS).read(conn)["data"]
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
        row = Row(text("board.undecided", lang), tonnes_in_words(undecided, lang), "/figures", asked, does)
        steps.append((undecided, row))
    return [row for _, row in sorted(steps, key=lambda step: -step[0])[:LISTED]]


def _comes(
    head: HeadFigures, recycled: Mapping[str, Counted], days: Iterable[LegalDay], lang: str
) -> Iterator[tuple[str, list[Row]]]:
    """Yield what is, or may be, in force; then each year with its legal days, and the items that they concern."""
    rows = defaultdict[str, list[Row]](list)
    concerned = _concerned(head, recycled, lang)
    for legal in days:
        on, name = day_of_year(legal.on, lang), "board.day.or_later" if legal.may_move else "board.day"
        what = text(name, lang, day=on, what=legal.sentences[lang])
        rows[str(legal.on.year)] += [Row(what, legal.reference), *concerned.get(legal.key, ())]
    for year, bans in head["bans_by_year"].items():
        counted = {"banned": bans["certain"], "may_be_banned": bans["depends"]}
        for key, of in counted.items():
            rows[year].append(_coming(key, _counted(of, lang), lang, "#flags" if of["skus"] else ""))
    in_force = [*rows.pop(IN_FORCE), _coming("ban_undecided", _counted(head["bans"]["undecided"], lang), lang)]
    yield text("board.comes.in_force", lang), in_force
    yield from sorted(rows.items())


def _coming(key: str, amount: str, lang: str, path: str = "", **asked: str) -> Row:
    return Row(text(f"board.comes.{key}", lang), amount, path, asked)


def _concerned(head: HeadFigures, recycled: Mapping[str, Counted], lang: str) -> dict[str, list[Row]]:
    """Return the items that are, or may be, sold in the Union by the key of the legal day that concerns them.

    A row leads to its list where the list has the same items: no other is sold outside of the Union, or exempt.
    """
    grades = head["union_grades"]
    waiting = (recycled["undecided"], recycled["to_decide"])
    unknown: Counted = {
        "skus": sum(each["skus"] for each in waiting),
        "tonnes": sum(each["tonnes"] for each in waiting),
    }
    open_tonnes = sum(of_grade["provisional_tonnes"] for grade, of_grade in grades.items() if grade != "not_assessed")

    def of_grade(key: str, grade: str) -> Row:
        path = "/items" if grades[grade]["skus"] == head["grades"][grade]["skus"] else ""
        return _coming(key, _counted(grades[grade], lang), lang, path, grade=grade)

    return {
        "grade_acts": [
            _coming("grades", tonnes_in_words(open_tonnes, lang), lang, "/items", gap="grade_provisional"),
            of_grade("unassessed", "not_assessed"),
        ],
        "grades": [of_grade("below_c", "not_recyclable")],
        "recycled": [
            _coming("recycled.below", _counted(recycled["below"], lang), lang),
            _coming("recycled.open", _counted(unknown, lang), lang),
        ],
        "only_a_b": [of_grade("only_a_b", "C")],
    }
