"""Archives a SKU and brings it back, for requests and pages; says what was placed of it.

An archived SKU leaves lists, gaps and the plan's count. Its history, files and declarations stay, and what was placed
of it stays in the figures. Any write with its code brings it back, too (`pipelines.writing.write`).

What was placed is the rollup that every figure comes from, of the record as a snapshot would read it.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple, cast
from uuid import UUID

import polars as pl

from compliance.rollup.exact import written_tonnes
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from compliance.rollup.tonnes import rollup
from compliance.ruleset import RuleSet
from pipelines.figures import loaded_catalogue
from pipelines.writing.write import former_code
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import ORIGINAL, Figure, Message
from schemas.refusals import require
from schemas.skus.types import SkuDetail, SkuPatch
from schemas.vocabularies import Outcome
from services.skus import detail
from services.skus.write import WriteOutcome, write_records
from warehouse.figures.source import tables
from warehouse.operate.sessions import Connection, savepoint
from warehouse.rules import Rulesets
from warehouse.skus import archive, queries
from warehouse.skus.archive import Archived

_PERIOD: Final = ("market", "year")
_YEAR: Final = 0


class PlacedYear(NamedTuple):
    """Units of a SKU placed on a market in a calendar year, and their tonnes; None where no part of it has a weight.

    They are with a category or without; `is_whole` says that they are all of it.
    """

    market: str
    year: int
    units: int
    tonnes: Decimal | None
    is_whole: bool


def placed_years(conn: Connection, sku_id: UUID, today: date, rules: RuleSet) -> list[PlacedYear]:
    """Return what was placed of a SKU of the session's company, the latest year first; none without units."""
    columns = (SKU_COLUMNS, COMPONENT_COLUMNS, VOLUME_COLUMNS)
    return [
        year
        for sku_tables in tables(conn, today, rules, [sku_id])
        for year in _years(
            conn, Portfolio(*(t.select(names.names()) for t, names in zip(sku_tables, columns, strict=True))), rules
        )
    ]


def _years(conn: Connection, portfolio: Portfolio, rules: RuleSet) -> Iterator[PlacedYear]:
    if not portfolio.volumes["units_placed"].sum():
        return
    figures = rollup(portfolio, loaded_catalogue(conn).entries, rules)
    units = _sums(portfolio.volumes, "units_placed")
    listed = figures.uncounted
    weighed = [frame.select(*_PERIOD, "half", "grams") for frame in (figures.tonnes, listed)]
    grams, gaps = _sums(pl.concat(weighed), "grams"), set(listed.select(_PERIOD).rows())
    unweighed = set(listed.filter(~pl.col("reason").str.starts_with("material")).select(_PERIOD).rows())
    for period in sorted({period for period in units if units[period]}, key=lambda period: (-period[1], period[0])):
        placed = grams.get(period, Decimal())
        tonnes = written_tonnes(placed) if placed or period not in gaps else None
        yield PlacedYear(*period, int(units[period]), tonnes, period not in unweighed)


def _sums(rows: pl.DataFrame, column: str) -> dict[tuple[str, int], Decimal]:
    """Sum a column by market and calendar year: of the year's own rows, else of its halves."""
    of_year = pl.col(column).filter(pl.col("half") == _YEAR)
    whole = pl.when(of_year.len() > 0).then(of_year.sum()).otherwise(pl.col(column).sum())
    return {(market, year): value for market, year, value in rows.group_by(_PERIOD).agg(whole).iter_rows()}


_YEARS_NAMED: Final = 20
"""The most markets and years that a warning names, the latest first."""


class Archiving(NamedTuple):
    """What archiving a SKU changed, how it rests, what it warns of, and the version from which it was archived.

    `version_before` is the version as which it rests where it was archived already.
    """

    outcome: Outcome
    item: Archived
    warnings: list[Issue]
    version_before: int


def why_not_held(conn: Connection, codes: Sequence[str]) -> dict[str, Issue]:
    """Return for each of these codes, which no held SKU has, why: archived, renamed since, or unknown."""
    resting, today = archive.resting_codes(conn, codes), queries.codes_of_today(conn, codes)
    return {code: _why_not_held(code, today.get(code), is_archived=code in resting) for code in codes}


def _why_not_held(code: str, today: str | None, *, is_archived: bool) -> Issue:
    if is_archived:
        return archived_code(code)
    if today is not None:
        return former_code(code, today)
    return Issue("unknown_reference", Message("The company has no SKU {code}.", code=code), "sku_code")


def archived_code(code: str) -> Issue:
    """Return the fault of a code that an archived SKU has."""
    return Issue("sku_archived", Message("The SKU {code} is archived; bring it back first.", code=code), "sku_code")


def archive_sku(conn: Connection, actor: Actor, sku_id: UUID, *, rules: RuleSet, dry_run: bool) -> Archiving:
    """Archive a SKU, and return what that changed and how it rests. Raise `NotThere`."""
    with savepoint(conn) as part:
        part.keep = not dry_run
        count = archive.archive(conn, actor.with_reason(actor.origin.reason or "Archived."), [sku_id])
        item = require(archive.find_archived(conn, sku_id, actor.now.date()))
    version, warnings = item.row["version"], placed_warnings(conn, sku_id, rules, actor.now.date())
    return Archiving("updated" if count else "unchanged", item, warnings, version - count)


def placed_warnings(conn: Connection, sku_id: UUID, rules: RuleSet, today: date) -> list[Issue]:
    """Return the warning of a SKU of which units were placed; none where it has no units.

    It says what stays in the figures when the SKU is archived, and how units that were never placed are cleared.
    """
    placed = what_was_placed(conn, sku_id, rules, today)
    if placed is None:
        return []
    sentence = Message(
        "What was placed stays in the figures and declarations of those years: {placed}. Clear units that were never"
        " placed with PUT /skus/{sku_id}/volumes and units_placed null.",
        placed=placed,
        sku_id=str(sku_id),
    )
    return [Issue("placed_units_remain", sentence, "volumes")]


def what_was_placed(conn: Connection, sku_id: UUID, rules: RuleSet, today: date) -> Message | None:
    """Return the tonnes of a SKU by market and year, as a list in words; None where it has no units."""
    placed = placed_years(conn, sku_id, today, rules)
    return _listed(placed[:_YEARS_NAMED]) if placed else None


def _listed(placed: Sequence[PlacedYear]) -> Message:
    first, *others = placed
    return (
        Message("{one}; {others}", one=_placed_message(first), others=_listed(others))
        if others
        else _placed_message(first)
    )


def _placed_message(placed: PlacedYear) -> Message:
    if placed.tonnes is None:
        if placed.units == 1:
            return Message("{market} {year}: 1 unit without weight", market=placed.market, year=placed.year)
        return Message(
            "{market} {year}: {units} units without weight", market=placed.market, year=placed.year, units=placed.units
        )
    tonnes = Figure(f"{placed.tonnes.normalize():f}")
    if placed.is_whole:
        return Message("{market} {year}: {tonnes} t", market=placed.market, year=placed.year, tonnes=tonnes)
    return Message("{market} {year}: at least {tonnes} t", market=placed.market, year=placed.year, tonnes=tonnes)


def return_sku(conn: Connection, actor: Actor, sku_id: UUID, *, rulesets: Rulesets, dry_run: bool) -> WriteOutcome:
    """Bring an archived SKU back: a write of its code and nothing else. Raise `NotThere` and `PlanLimitReached`.

    The outcome is unchanged where it was not archived, and rejected where the law refuses it by now. Nobody is warned
    of a return that was asked for.
    """
    code = require(archive.code_of(conn, sku_id) or queries.code_of(conn, sku_id))
    record = cast(SkuPatch, {"sku_code": code})
    written = write_records(conn, actor, {0: record}, rulesets=rulesets, dry_run=dry_run)
    written[0].warnings = [issue for issue in written[0].warnings if issue.code != "returned_from_archive"]
    return written[0]


def archived_detail(
    conn: Connection, item: Archived, rulesets: Rulesets, now: datetime, lang: str = ORIGINAL
) -> SkuDetail:
    """Return an archived SKU as its detail is shown, with `archived_at`."""
    graded = detail.rulesets_of(conn, rulesets, item.row)
    return {**detail.sku_detail(item.row, graded, today=now.date(), lang=lang), "archived_at": item.archived_at}
