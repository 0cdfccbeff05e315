"""Computes what a company declares, the figures of one market, year and half, from its snapshot; and what is due when.

Two declarations of one snapshot, rule-set and catalogue are equal to the byte. `forms` makes the bytes.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Self
from uuid import UUID

import polars as pl

from compliance import recycled_content as recycled
from compliance.catalogue import OTHER_DUTIES, DueDay, Jurisdiction, due_days
from compliance.filings import annex_ix, document
from compliance.filings.document import Source, halves_there, of_latest_years, of_market, totals_by_period
from compliance.filings.uk.rows import (
    UK_SKU_COLUMNS,
    Lines,
    PackagingFile,
    Statements,
    lines_of,
    packaging_file,
    submission,
    sum_blocks,
)
from compliance.filings.uk.rules import MARKET
from compliance.rollup.exact import written_tonnes
from compliance.rollup.parts import SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from compliance.rollup.periods import HALF_YEARLY, HALVES_SCHEMA, halves_of, market_of, recorded_halves, volume_rows
from compliance.rollup.tonnes import QUESTION_SCHEMA, STANDING_SCHEMA, TONNES_SCHEMA, Figures, combine_blocks, rollup
from compliance.ruleset import RuleSet
from pipelines.figures import TONNES, Catalogue, blocks, loaded_catalogue
from pipelines.operate import Proceed
from schemas.issues import Issue
from schemas.json_values import instant_text
from schemas.messages import Message, day, message_of, translate, word
from schemas.refusals import Refused
from schemas.suppliers import MailText
from warehouse import supplier_mails
from warehouse.accounts import people
from warehouse.companies.queries import every_company
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.stored import Basis, StoredFigures, current, periods
from warehouse.filings import latest
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Connection, Pool
from warehouse.operate.settings import Settings
from warehouse.supplier_mails import Mail

YEAR: Final = 0
"""The value of half that means the calendar year."""


def not_declarable(reason: str) -> Refused:
    """Return the refusal of a market or period for which there is nothing to declare; the reason names a right one."""
    return Refused([Issue("not_declarable", message_of(reason))])


def nothing_placed() -> Refused:
    """Return the refusal of a market and period in which nothing was placed."""
    return Refused([Issue("not_declarable", Message("Nothing was placed on this market in this period."), "market")])


@dataclass(frozen=True, slots=True)
class Inputs:
    """The snapshot and tables that a company declares from; `jurisdictions` by code.

    `reporter` is what its registers hold of the market, which the report of Article 44 states.
    """

    snapshot: Snapshot
    catalogue: Catalogue
    rules: RuleSet
    reporter: annex_ix.Reporter = annex_ix.NO_REPORTER

    @property
    def jurisdictions(self) -> dict[str, Jurisdiction]:
        """Return the catalogue by code."""
        return {entry.code: entry for entry in self.catalogue.entries}

    @property
    def source(self) -> Source:
        """Return the origin that the declaration names."""
        as_of = instant_text(self.snapshot.as_of)
        return Source(str(self.snapshot.company_id), as_of, self.rules.version, self.snapshot.path)


def declared_market(inputs: Inputs, market: str, half: int) -> str:
    """Return the market in the form in which it is declared. Raises `Refused`."""
    code = market_of(market, inputs.jurisdictions)
    if code not in inputs.jurisdictions:
        raise not_declarable(
            f"unknown_market: there is no jurisdiction {market}; GET /api/v1/jurisdictions lists them."
        )
    if half != YEAR and code not in HALF_YEARLY:
        raise not_declarable(f"{code} is declared by the year: leave --half out. Only GB has halves.")
    return code


def figures(inputs: Inputs, market: str, year: int) -> Figures:
    """Return the figures of a market and year, with its halves."""
    return combine_blocks(
        rollup(portfolio, inputs.catalogue.entries, inputs.rules)
        for portfolio in portfolios(inputs, market, year, SKU_COLUMNS)
    )


def halves(inputs: Inputs, market: str, year: int, half: int) -> list[int] | None:
    """Return the halves that are there, of a calendar year of a half-yearly market; else None."""
    if half != YEAR or market not in HALF_YEARLY:
        return None
    volumes = pl.scan_parquet(inputs.snapshot.volumes).filter(pl.col("year") == year).collect()
    rows = volume_rows(volumes.rename({"sku_code": "sku"}), inputs.jurisdictions).filter(pl.col("market") == market)
    halves = halves_of(recorded_halves(rows, market), market, year)
    return list(halves.there) if halves else None


def uk_file(inputs: Inputs, statements: Statements) -> PackagingFile:
    """Return the packaging data file of a period. Raises `FileRefused` with the regulator's error numbers."""
    period = submission(statements.producer, statements.year, statements.half)
    lines = (lines_of_half for _, lines_of_half in uk_lines(inputs, statements))
    return packaging_file(sum_blocks(lines), statements.producer, period)


def union_report(inputs: Inputs, market: str, year: int) -> annex_ix.Report:
    """Return the report of Article 44 of a Member State and year.

    Raise `Refused` for another market, and where nothing was placed on it in the year.
    """
    if inputs.jurisdictions[market].region != "eu":
        message = Message(
            "Article 44 is about the Member States of the European Union; {market} is none.", market=market
        )
        raise Refused([Issue("not_declarable", message, "market")])
    portfolios = blocks(inputs.snapshot, sku_columns=annex_ix.ANNEX_IX_COLUMNS)
    counted = annex_ix.combine(
        annex_ix.count(portfolio, market, year, inputs.jurisdictions, inputs.rules) for portfolio in portfolios
    )
    if not counted.units:
        raise nothing_placed()
    return annex_ix.report(counted, year, inputs.reporter, inputs.snapshot.as_of.date())


@lru_cache(maxsize=4)
def recycled_content(inputs: Inputs, year: int | None, today: date) -> tuple[recycled.Counted, int | None, list[int]]:
    """Return the plastic of Article 7 in a year, that year, and all that have units in the Union, the latest first.

    Without a year it is the latest that has begun; nothing is counted of a year without units. A snapshot never
    changes, so that what is counted serves for the next page.
    """
    volumes = pl.scan_parquet(inputs.snapshot.volumes).select(VOLUME_COLUMNS.names()).collect()
    years = recycled.years_placed(volumes, inputs.jurisdictions)
    chosen = year or next((each for each in years if each <= today.year), None)
    portfolios = blocks(
        inputs.snapshot, sku_columns=recycled.CONTENT_SKUS, component_columns=recycled.CONTENT_COMPONENTS
    )
    counted = recycled.combine(
        recycled.count(portfolio, chosen, inputs.jurisdictions, inputs.rules)
        for portfolio in portfolios
        if chosen in years and chosen is not None
    )
    return counted, chosen, years


def uk_lines(inputs: Inputs, statements: Statements) -> Iterator[tuple[Portfolio, Lines]]:
    """Yield the lines that the UK file sums up, block by block, each with the portfolio that it was counted from."""
    for portfolio in portfolios(inputs, MARKET, statements.year, UK_SKU_COLUMNS):
        yield portfolio, lines_of(portfolio, inputs.catalogue.entries, inputs.rules, statements)


def portfolios(inputs: Inputs, market: str, year: int, sku_columns: pl.Schema) -> Iterator[Portfolio]:
    """Yield the parts of the snapshot that count for a market and year, block by block."""
    for portfolio in blocks(inputs.snapshot, sku_columns=sku_columns):
        yield of_market(portfolio, market, year, inputs.jurisdictions)


_NAME: Final = re.compile(r"(?P<market>[A-Z]{2}(?:-[A-Z0-9]{1,3})?)-(?P<year>[0-9]{4})(?:-H(?P<half>[12]))?")
_PERIOD: Final = ("market", "year", "half")
_SHARE: Final = {f"{name}tonnes": TONNES for name in ("", "in_scope_", "undecided_", "out_of_scope_")}
FILING_SCHEMA: Final = pl.Schema({name: _SHARE.get(name) or TONNES_SCHEMA[name] for name in document.TONNES_COLUMNS})
"""The columns of a filing's tonnes."""


class Filing(NamedTuple):
    """A market and period; `half` is 1 or 2, or 0 for the calendar year."""

    market: str
    year: int
    half: int

    @property
    def name(self) -> str:
        """Return the name: `DE-2025`, `GB-2025-H1`."""
        return f"{self.market}-{self.year}" + (f"-H{self.half}" if self.half != YEAR else "")

    @classmethod
    def from_name(cls, name: str) -> Self:
        """Return the filing of a name. Raises `Refused`."""
        if (match := _NAME.fullmatch(name)) is None:
            raise not_declarable(f"{name} names no filing; say market and year, such as DE-2025, or GB-2025-H1.")
        market, half = match["market"], int(match["half"] or YEAR)
        if half != YEAR and market not in HALF_YEARLY:
            raise not_declarable(f"{market} is declared by the year. Only GB has halves.")
        return cls(market, int(match["year"]), half)


@dataclass(frozen=True, slots=True)
class ComputedFiling:
    """A computed declaration: its rows, and the basis that the figures were computed from.

    `uncounted` are SKUs that no figure counts, by reason; `scope_missing` those that lack a fact that decides whether a
    category covers them.
    """

    filing: Filing
    origin: Basis
    tonnes: list[document.TonnesRow]
    totals: document.Totals
    halves: list[int] | None
    uncounted: list[document.UncountedRow]
    scope_missing: list[document.ScopeMissingRow]
    obligations: pl.DataFrame


def compute_filings(figures: StoredFigures) -> list[ComputedFiling]:
    """Compute every declaration for which these figures have something, by market and period."""
    frames = [pl.read_parquet(path, columns=[*_PERIOD]).select(_PERIOD) for path in (figures.tonnes, figures.uncounted)]
    return [compute_filing(figures, Filing(*row)) for row in pl.concat(frames).unique().sort(_PERIOD).iter_rows()]


def compute_filing(figures: StoredFigures, filing: Filing) -> ComputedFiling:
    """Compute the declaration from these figures. Raises `Refused` where they have nothing for it."""
    market, year, half = filing
    of_filing = (pl.col("market") == market) & (pl.col("year") == year) & (pl.col("half") == half)
    tonnes, uncounted, missing = (
        pl.read_parquet(path).filter(of_filing) for path in (figures.tonnes, figures.uncounted, figures.scope_missing)
    )
    if tonnes.is_empty() and uncounted.is_empty():
        raise not_declarable(
            f"The company's figures of {figures.origin.as_of:%Y-%m-%d} hold nothing for {filing.name}."
        )
    not_stored = (pl.DataFrame(schema=schema) for schema in (STANDING_SCHEMA, QUESTION_SCHEMA, HALVES_SCHEMA))
    figures_of_filing = Figures(tonnes, uncounted, missing, *not_stored)
    verdicts = pl.read_parquet(figures.obligations)
    return ComputedFiling(
        filing,
        figures.origin,
        list(document.tonnes_rows(figures_of_filing, market, year, half)),
        document.totals(figures_of_filing, market, year, half),
        next(iter(pl.concat([tonnes.select("halves"), uncounted.select("halves")])["halves"].to_list()), None),
        list(document.uncounted_rows(uncounted)),
        list(document.missing_rows(missing)),
        verdicts.filter((pl.col("market") == market) & (pl.col("year") == year)),
    )


def tonnes_by_period(figures: Figures, this_year: int) -> dict[str, float]:
    """Return tonnes of each market's latest year with figures, and of its declared halves: GB-2026-H1."""
    return {
        Filing(totals["market"], totals["year"], totals["half"]).name: float(totals["tonnes"])
        for totals in totals_by_period(of_latest_years(figures.tonnes, this_year))
    }


def halves_by_year(figures: Figures) -> dict[str, list[int]]:
    """Return the halves that are there, of each calendar year of a half-yearly market: of one half a lower bound."""
    years = figures.halves.select("market", "year").iter_rows()
    return {Filing(market, year, 0).name: halves_there(figures, market, year, 0) or [] for market, year in years}


def tonnes_of_latest_years(figures: Figures, this_year: int) -> float:
    """Sum the latest years of all markets, each year once: halves count only where there is no whole year."""
    latest = of_latest_years(figures.tonnes, this_year)
    whole = latest.filter((pl.col("half") == 0).any().over("market") == (pl.col("half") == 0))
    return float(written_tonnes(sum(whole["grams"], Decimal(0))))


HALF_RHYTHM: Final = "half-yearly"
_SECOND_HALF_BEGINS: Final = 7

State = Literal["overdue", "open", "coming", "kept"]
"""Overdue where each day that a source states has passed; open where the period has ended, coming where it has not."""
_ORDER: Final[tuple[State, ...]] = ("overdue", "open", "coming", "kept")


class Due(NamedTuple):
    """A period of a market; `rhythms` is empty where the tables have none, `kept` the newest declaration of it."""

    market: str
    year: int
    half: int
    rhythms: tuple[str, ...]
    kept: UUID | None
    source_url: str | None
    days: tuple["Day", ...]
    state: State


class Day(NamedTuple):
    """A day that a source states for a period."""

    on: date
    stated: DueDay

    def days_left(self, today: date) -> int:
        """Return how many days are left for the duty, 0 on the last one; negative where it is late."""
        return (self.on - today).days - (self.stated.bound == "before")


def due(
    entries: Mapping[str, Jurisdiction],
    placed: Iterable[tuple[str, int]],
    kept: Mapping[tuple[str, int, int], UUID],
    today: date,
) -> list[Due]:
    """Return what is due of the markets and years with tonnes (`placed`): overdue first, each by its first day.

    Of periods with a kept declaration only the last one is listed, of those that have not ended the running one.
    """
    years: dict[str, set[int]] = {}
    for market, year in placed:
        years.setdefault(market, set()).add(year)
    rows = [
        row
        for market, of_market in years.items()
        for row in _of_market(entries.get(market), market, of_market, kept, today)
    ]

    def order(row: Due) -> tuple[int, date, str, int, int]:
        first_day = row.days[0].on if row.days else date.max
        return _ORDER.index(row.state), first_day, row.market, -row.year, -row.half

    return sorted(rows, key=order)


def _of_market(
    entry: Jurisdiction | None,
    market: str,
    years: Collection[int],
    kept: Mapping[tuple[str, int, int], UUID],
    today: date,
) -> Iterator[Due]:
    rhythms = entry.reporting_period if entry else ()
    by_half = tuple(rhythm for rhythm in rhythms if rhythm == HALF_RHYTHM and market in HALF_YEARLY)
    by_year = tuple(rhythm for rhythm in rhythms if rhythm not in by_half)
    source = entry.source_url if entry else None
    for halves, of_rhythm in (((1, 2), by_half), ((0,), by_year)):
        if not of_rhythm and (halves == (1, 2) or by_half):
            continue
        comes = {today.year} if today.year - 1 in years else set()  # the report of a market that had tonnes last year
        reported = sorted({year for year in years if year <= today.year} | comes)
        reports = [(year, half) for year in reported for half in halves]
        last_kept = max((report for report in reports if (market, *report) in kept), default=None)
        running = next((report for report in sorted(reports) if not _has_ended(*report, today)), None)
        for year, half in reports:
            declaration = kept.get((market, year, half))
            stated = (
                due_day
                for due_day in due_days().get(market, ())
                if due_day.half == half and year >= (due_day.first_year or 0)
            )
            days = tuple(sorted((Day(due_day.after(year), due_day) for due_day in stated), key=lambda day: day.on))
            own = [day for day in days if day.stated.duty not in OTHER_DUTIES]
            state: State = "open"
            if declaration is not None:
                state = "kept"
            elif not _has_ended(year, half, today):
                state = "coming"
            elif own and all(day.days_left(today) < 0 for day in own):
                state = "overdue"
            if (state == "kept" and (year, half) != last_kept) or (state == "coming" and (year, half) != running):
                continue
            yield Due(market, year, half, of_rhythm, declaration, source, days, state)


def _has_ended(year: int, half: int, today: date) -> bool:
    """Return whether a year, or its half, is over."""
    return year < today.year or (half == 1 and year == today.year and today.month >= _SECOND_HALF_BEGINS)


NEXT_DAYS: Final = 90
"""How many days ahead a duty is among the next ones."""

Urgency = Literal["overdue", "next", "later"]


class Deadline(NamedTuple):
    """A day by or before which a duty of a market and period is due; `days_left` is negative once it is late."""

    urgency: Urgency
    on: date
    market: str
    year: int
    half: int
    stated: DueDay
    days_left: int

    @property
    def is_declared(self) -> bool:
        """Whether a declaration of the period meets it."""
        return self.stated.duty not in OTHER_DUTIES


def calendar(conn: Connection, figures: StoredFigures | None, today: date) -> list[Due]:
    """Return what is due of the session's company, as `due` does; nothing where it has no figures."""
    return _due(conn, periods(figures) if figures else (), today)


def _due(conn: Connection, placed: Iterable[tuple[str, int, int]], today: date) -> list[Due]:
    years = {(market, year) for market, year, _ in placed}
    entries = {entry.code: entry for entry in loaded_catalogue(conn).entries} if years else {}
    return due(entries, years, latest(conn), today)


def deadlines(conn: Connection, figures: StoredFigures | None, today: date) -> list[Deadline]:
    """Return the duties of the session's company that are not met, by day and market: what is overdue comes first.

    Every duty counts for which the tables state a day, of each market and period with tonnes. A kept declaration of the
    period meets it. Of a report that no declaration here meets (`OTHER_DUTIES`) nobody can say that it is late: it is
    listed up to its day. What the company's tonnes exclude for certain is not listed.
    """
    if figures is None:
        return []
    return dated_duties(conn, periods(figures), pl.read_parquet(figures.obligations), today)


def dated_duties(
    conn: Connection, placed: Iterable[tuple[str, int, int]], verdicts: pl.DataFrame, today: date
) -> list[Deadline]:
    """Return what `deadlines` does, of markets, years and halves with tonnes, and the verdicts on them."""
    excluded = _excluded(verdicts, today)
    listed = [
        Deadline(_urgency(left), day.on, row.market, row.year, row.half, day.stated, left)
        for row in _due(conn, placed, today)
        for day in row.days
        if (left := day.days_left(today)) >= 0 or day.stated.duty not in OTHER_DUTIES
        if row.state != "kept" or day.stated.duty in OTHER_DUTIES
        if (row.market, row.year, day.stated.duty) not in excluded
    ]
    return sorted(listed, key=lambda deadline: (deadline.on, deadline.market, deadline.year, deadline.half))


LEADS: Final = {"due_day": 1, "due_week": 7, "due_month": 30}
"""The kinds of mails about a day, by how many days before its last one each is sent, the nearest first."""


def lead_of(days_left: int) -> str | None:
    """Return the kind of mail that is sent so many days before; None where none is, or the day has passed."""
    return next((kind for kind, days in LEADS.items() if 0 <= days_left <= days), None)


def plan_mails(pool: Pool, settings: Settings, clock: Clock, proceed: Proceed) -> int:
    """Store a mail of each day that comes up for each person who wants it: a month, a week and a day before.

    Each is stored once, also where this runs again. A run that was missed is made up for by the nearest kind alone.
    Where no mail server is set none is stored.
    """
    stored = 0
    for company_id in every_company(pool) if settings.smtp_url else ():
        proceed()
        with pool.company(company_id) as conn:
            figures, now = current(settings.data_dir, company_id), clock.now()
            rows = deadlines(conn, figures, now.date())
            days = {(row.on, kind) for row in rows if (kind := lead_of(row.days_left))}
            stored += sum(supplier_mails.add_due_mails(conn, company_id, on, kind, now) for on, kind in sorted(days))
    return stored


def due_mail(
    conn: Connection, figures: StoredFigures | None, mail: Mail, *, company: str, base_url: str, now: datetime
) -> MailText | None:
    """Return the mail that tells a person what is due on a day; None where it is not needed any more.

    It is not needed where all of it is met, the person wants none, or a nearer mail is due by now.
    """
    lang = people.due_mail_language(conn, mail.user_id) if mail.user_id else None
    rows = [row for row in deadlines(conn, figures, now.date()) if row.on == mail.due_on]
    if lang is None or not rows or lead_of(rows[0].days_left) != mail.kind:
        return None
    lines = [
        f"- {word('market', row.market, lang)}, {_period(row, lang)}: {word('due_duty', row.stated.duty, lang)}"
        for row in rows
    ]
    gaps = {"company": company, "day": day(rows[0].on, lang)}
    address = f"{base_url}{{}}?lang={lang}".format
    paragraphs = (
        translate(Message("{company} has duties that are due on {day}:", **gaps), lang),
        "\n".join(lines),
        translate(Message("Each with its source: {address}", address=address("/declarations/due")), lang),
        translate(Message("To end these mails: {address}", address=address("/account")), lang),
    )
    return {
        "subject": translate(Message("{company}: due on {day}", **gaps), lang),
        "text": "\n\n".join(paragraphs) + "\n",
    }


def _period(row: Deadline, lang: str) -> str:
    halves = (Message("first half of {year}", year=str(row.year)), Message("second half of {year}", year=str(row.year)))
    return translate(halves[row.half - 1], lang) if row.half else str(row.year)


def _urgency(days_left: int) -> Urgency:
    return "overdue" if days_left < 0 else "next" if days_left <= NEXT_DAYS else "later"


def _excluded(verdicts: pl.DataFrame, today: date) -> set[tuple[str, int, str]]:
    """Return market, year and duty where the tonnes say that it is not the company's.

    The simplified report is not for who is above its limit; an ended year whose tonnes are all below the limits has
    no declaration of completeness and no report of a half.
    """
    verdict, ended = pl.coalesce("group_verdict", "verdict"), pl.col("year") < today.year
    is_below = ended & (verdict == "below") & pl.col("reason").is_null()
    duty = (
        pl.when((pl.col("obligation") == "simplified_declaration") & (verdict == "above"))
        .then(pl.lit("simplified_report"))
        .when(is_below & (pl.col("obligation") == "completeness_declaration"))
        .then(pl.lit("completeness_declaration"))
        .when(is_below & (pl.col("obligation") == "declare"))
        .then(pl.lit("half_report"))
    )
    return set(verdicts.select("market", "year", duty.alias("duty")).drop_nulls().iter_rows())
