"""Lists a company's items by words, filters and findings: the one search of the REST API, the pages and the exports.

Words and filters are met by the records as they stand now; gaps, format bans and design rules by the newest snapshot,
which follows each write within half a minute.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any, Final, Literal, TypeAlias, cast  # Any: items as JSON
from uuid import UUID

from compliance.ruleset import RuleSet
from pipelines.writing.workbooks import Cell, Sheet, Workbook
from schemas.issues import Issue
from schemas.messages import Message, plain
from schemas.normalise import quote
from schemas.pages import Page
from schemas.refusals import Refused
from schemas.skus.types import ExportedSku, SkuListItem
from schemas.texts import as_cell
from warehouse.catalogue import kept_market
from warehouse.figures import snapshots
from warehouse.figures.gaps import Finding, ids_with
from warehouse.figures.reader import Now
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Connection, Pool
from warehouse.rules import Rulesets
from warehouse.skus import search as skus
from warehouse.skus.search import Search

MOST_EXPORTED: Final = 1_048_575
"""The most items of an export: the lines of a worksheet below its headers."""

_NOTHING: Final = Finding()
_NEAREST: Final = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where items are searched: the deployment's database and snapshots, and the company."""

    pool: Pool
    clock: Clock
    rulesets: Rulesets
    data_dir: Path
    company_id: UUID


def page(
    place: Place, search: Search, finding: Finding, *, limit: int, offset: int, with_rows: bool = False
) -> Page[SkuListItem]:
    """Return a page of what is found (`warehouse.skus.search.page`). Raise `Refused`."""
    with _prepared(place, search, finding) as (conn, wanted):
        return skus.page(wanted, limit, offset, place.clock.now(), with_rows=with_rows).read(conn)


@contextmanager
def every(place: Place, search: Search, finding: Finding) -> Iterator[Iterator[ExportedSku]]:
    """Open the whole list, at most `MOST_EXPORTED` items, as it stands at one instant. Raise `Refused`."""
    with _prepared(place, search, finding) as (conn, wanted):
        yield skus.rows(conn, wanted, place.clock.now(), most=MOST_EXPORTED)


def codes(place: Place, search: Search, finding: Finding, *, most: int) -> list[str]:
    """Return the codes of the whole list, at most so many, in no order. Raise `Refused`."""
    with _prepared(place, search, finding) as (conn, wanted):
        return skus.codes(conn, wanted, place.clock.now(), most=most)


@contextmanager
def _prepared(place: Place, search: Search, finding: Finding) -> Iterator[tuple[Connection, Search]]:
    """Open a transaction of the company; the search has the market as records do, and the items with the finding."""
    with place.pool.company(place.company_id) as conn:
        if search.market is not None:
            search = replace(search, market=kept_market(conn, search.market))
        if finding == _NOTHING:
            yield conn, search
            return
        _check(finding, place.rulesets.active(conn))
        if finding.gap is not None:
            finding = replace(finding, market=search.market)
        snapshot = snapshots.current(place.data_dir, place.company_id)
        ids = "{}" if snapshot is None else ids_with(snapshot, Now.read(conn, place.clock), finding)
        yield conn, replace(search, ids=ids, ids_as_of=None if snapshot is None else snapshot.as_of)


def _check(finding: Finding, rules: RuleSet) -> None:
    bans = sorted({ban.code for ban in rules.bans})
    if finding.flag is not None and finding.flag not in bans:
        sentence = Message("{value} is not one of: {codes}.", value=quote(finding.flag), codes=", ".join(bans))
        raise Refused([Issue("not_in_vocabulary", sentence, "flag")])
    if finding.rule is not None and finding.rule not in rules.rules:
        nearest = get_close_matches(finding.rule.upper()[:100], rules.rules, _NEAREST, 0) or sorted(rules.rules)
        sentence = Message(
            "{value} is no design rule of the rule-set; the nearest are: {codes}.",
            value=quote(finding.rule),
            codes=", ".join(nearest[:_NEAREST]),
        )
        raise Refused([Issue("not_in_vocabulary", sentence, "rule")])


Form: TypeAlias = Literal["csv", "xlsx"]
FORMS: Final[tuple[Form, ...]] = ("csv", "xlsx")
MEDIA_TYPES: Final[Mapping[Form, str]] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
ShowItem: TypeAlias = Callable[[ExportedSku], Sequence[Cell]]

ALWAYS: Final = ("sku_code", "name")
"""The first columns of every list."""
COLUMNS: Final = (
    "recyclability_grade",
    "recyclability_score",
    "doc_status",
    "markets",
    "material",
    "material_subtype",
    "weight_grams",
    "recycled_content_percent",
    "food_contact",
    "packaging_level",
    "packaging_format",
    "product_category",
    "gtin",
    "ppwr_role",
    "brand_id",
    "created_at",
    "updated_at",
)
"""What a list can show of an item besides its name and code, in the order in which it is shown."""

_MARK: Final = "\ufeff"
"""Tells spreadsheets that a CSV is in UTF-8."""
_DELIMITERS: Final = {"en": ",", "fr": ";", "de": ";"}
"""What a spreadsheet in each language takes for the end of a cell."""
_SHEET: Final = "SKU"


@dataclass(frozen=True, slots=True)
class Table:
    """What is written of a list: the headers, and the cells of an item; `lang` decides how CSV writes numbers."""

    headers: Sequence[str]
    cells: ShowItem
    lang: str


def write(out: IO[bytes], form: Form, table: Table, items: Iterable[ExportedSku]) -> None:
    """Write the headers, and a line for each item."""
    (_write_csv if form == "csv" else _write_workbook)(out, table, items)


def _write_csv(out: IO[bytes], table: Table, items: Iterable[ExportedSku]) -> None:
    text = io.TextIOWrapper(cast(Any, out), encoding="utf-8", errors="replace", newline="", write_through=False)
    text.write(_MARK)
    writer = csv.writer(text, delimiter=_DELIMITERS[table.lang])
    writer.writerow([as_cell(header) for header in table.headers])
    for item in items:
        writer.writerow([_text(cell, table.lang) for cell in table.cells(item)])
    text.flush()
    text.detach()


def _text(cell: Cell, lang: str) -> str:
    if cell is None:
        return ""
    return as_cell(cell) if isinstance(cell, str) else plain(cell, lang)


def _write_workbook(out: IO[bytes], table: Table, items: Iterable[ExportedSku]) -> None:
    with Workbook(out, {"constant_memory": True}) as book:
        sheet = Sheet(book, _SHEET, table.headers, frozen_columns=2)
        for item in items:
            sheet.add(enumerate(as_cell(cell) if isinstance(cell, str) else cell for cell in table.cells(item)))
