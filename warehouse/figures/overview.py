"""Summarises the portfolio: SKUs by grade, DoC status, flags, markets and level; tonnes; jurisdictions in scope."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Final, TypedDict
from uuid import UUID

import polars as pl

from compliance import grading
from compliance.annex_v import dated_ban
from compliance.filings.document import PeriodTonnes, latest_year, totals_by_period
from compliance.rollup.exact import written_tonnes
from compliance.rule_rows import RuleSet
from schemas.figures import (
    BansOfYear,
    Counted,
    FlagSkus,
    GradeTonnes,
    HeadFigures,
    IncompleteSku,
    InScope,
    JurisdictionFacts,
    MarketTonnes,
    Overview,
    PortfolioTonnes,
    QuestionedSku,
    Questions,
    TonnesOfYear,
)
from schemas.vocabularies import VOCABULARIES
from warehouse.figures import snapshots
from warehouse.figures.by_rule import RECYCLED_STATES, hold_against_minimum
from warehouse.figures.reader import MAY_BE_IN_UNION, WEIGHED, Now, Row, keep_markets_inside, period, reader
from warehouse.figures.snapshots import KeptHead, Snapshot
from warehouse.figures.source import ARCHIVED
from warehouse.figures.stored import StoredFigures
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets

_PLACES: Final = 6
BANS: Final = ("certain", "depends", "undecided")
"""How sure a format ban of an item is, by its surest flag; undecided: it has none, and one cannot be ruled out."""
_COUNTS: Final = """
WITH held AS MATERIALIZED (
    SELECT recyclability_grade, grade_provisional, doc_status, packaging_level, markets_in_effect AS markets, flags,
           ruleset_version
    FROM skus
), flagged AS (SELECT unnest(flags) AS flag FROM held), named AS (
    SELECT unnest(list_distinct(list_concat(markets, list_transform(markets, lambda code: split_part(code, '-', 1)))))
        AS market
    FROM held
)
SELECT 'grades' AS what, recyclability_grade AS of, NULL::DATE AS day, count(*) AS skus,
       count(*) FILTER (WHERE grade_provisional) AS part, NULL AS text FROM held GROUP BY ALL
UNION ALL SELECT 'doc_status', doc_status, NULL, count(*), 0, NULL FROM held GROUP BY ALL
UNION ALL SELECT 'packaging_levels', coalesce(packaging_level, 'unknown'), NULL, count(*), 0, NULL FROM held
          GROUP BY ALL
UNION ALL SELECT 'markets', market, NULL, count(*), 0, NULL FROM named
          WHERE market IN (SELECT unnest(markets) FROM held) GROUP BY ALL
UNION ALL SELECT 'without_market', NULL, NULL, count(*), 0, NULL FROM held WHERE len(markets) = 0
UNION ALL SELECT 'flags', flag.code, flag.applies_from, count(*), count(*) FILTER (WHERE flag.certainty = 'certain'),
          any_value(flag.text) FROM flagged GROUP BY flag.code, flag.applies_from
UNION ALL SELECT 'volumes', market, NULL, count(*), 0, NULL FROM volumes GROUP BY ALL
UNION ALL SELECT 'rulesets', ruleset_version, NULL, count(*), 0, NULL FROM held GROUP BY ALL
"""


def overview(snapshot: Snapshot, now: Now, figures: StoredFigures | None = None) -> Overview:
    """Summarise one company's portfolio. Every code of a vocabulary is named, also where no SKU has it.

    `tonnes` are null where no figures are computed yet; they have an `as_of` of their own. A market counts the SKUs
    of which it is one in effect, a country with its subdivisions, as the list of SKUs that it links to; a jurisdiction
    is in scope where it is such a market.
    """
    counted: dict[str, list[Row]] = {}
    for what, *row in _counts(snapshot):
        counted.setdefault(what, []).append(tuple(row))
    by_grade = {row[0]: row for row in counted.get("grades", ())}
    return {
        **now.head(snapshot),
        "skus": snapshot.rows["skus"],
        "components": snapshot.rows["components"],
        "indicative": True,
        "ruleset_versions": sorted(row[0] for row in counted.get("rulesets", ())),
        "grades": _by_code("recyclability_grade", by_grade.values()),
        "provisional": {grade: row[3] for grade, row in by_grade.items()},
        "doc_status": _by_code("doc_status", counted.get("doc_status", ())),
        "packaging_levels": _by_code("packaging_level", counted.get("packaging_levels", ()), "unknown"),
        "markets": [{"market": row[0], "skus": row[2]} for row in _most_first(counted.get("markets", ()))],
        "skus_without_market": counted["without_market"][0][2],
        "annex_v_flags": _flags(counted.get("flags", ()), now.today),
        "tonnes": _tonnes(figures) if figures else None,
        "head_figures": head_figures(snapshot, figures, now.today),
        "jurisdictions": _in_scope(counted, now),
    }


@lru_cache(maxsize=64)
def _counts(snapshot: Snapshot) -> list[Row]:
    with reader(snapshot) as answers:
        return answers.rows(_COUNTS)


_HEAD: Final = f"""
WITH {WEIGHED}
SELECT recyclability_grade AS grade, grade_provisional AS provisional, doc_status = 'valid' AS covered,
       {MAY_BE_IN_UNION} AS in_union, coalesce(exempt, false) AS exempt,
       CASE WHEN len(list_filter(flags, lambda flag: flag.certainty = 'certain')) > 0 THEN 'certain'
            WHEN len(flags) > 0 THEN 'depends' WHEN len(annex_v_undecided) > 0 THEN 'undecided' END AS ban,
       list_min(list_transform(list_filter(flags, lambda flag: flag.certainty = ban),
                               lambda flag: flag.applies_from)) AS ban_from,
       count(*) AS skus, sum(tonnes) AS tonnes
FROM weighed GROUP BY ALL
"""
IN_FORCE: Final = "in_force"
"""The bans of `HeadFigures.bans_by_year` that are in force on the day of the answer."""
GOOD: Final = ("A", "B")
"""The grades that may be placed on the market from 2038 on (Article 6(2) and Annex II of Regulation (EU) 2025/40)."""


class _Group(TypedDict):
    """SKUs of one grade, cover and ban; `ban` is None where no flag points to one and none is undecided.

    `in_union`: they are, or may be, sold there. `exempt`: Article 6 asks no grade of them, or may ask none.

    `ban_from` is the first day of their surest flags; None where `ban` is None or undecided.
    """

    grade: str
    provisional: bool
    covered: bool
    in_union: bool
    exempt: bool
    ban: str | None
    ban_from: date | None
    skus: int
    tonnes: float


def head_figures(snapshot: Snapshot, figures: StoredFigures | None, today: date) -> HeadFigures:
    """Return what a company tells its board, of the latest year that has units and is not ahead on a UTC day."""
    year, groups = _weighed(snapshot, today)
    inside = [group for group in groups if group["in_union"]]
    every, union, covered = _sum(groups), _sum(inside), _sum(group for group in inside if group["covered"])
    graded = [group for group in inside if not group["exempt"]]
    in_scope = None if figures is None or year is None else _scoped_tonnes(figures, year)
    return {
        "year": year,
        "skus": every["skus"],
        "covered_skus": covered["skus"],
        "tonnes": every["tonnes"],
        "good_tonnes": _sum(g for g in groups if g["grade"] in GOOD and not g["provisional"])["tonnes"],
        "covered_tonnes": covered["tonnes"],
        "in_scope_tonnes": in_scope and in_scope[0],
        "undecided_tonnes": in_scope and in_scope[1],
        "grades": {grade: _of_grade(groups, grade) for grade in VOCABULARIES["recyclability_grade"]},
        "union_skus": union["skus"],
        "union_tonnes": union["tonnes"],
        "union_grades": {grade: _of_grade(graded, grade) for grade in VOCABULARIES["recyclability_grade"]},
        "bans": {ban: _sum(group for group in groups if group["ban"] == ban) for ban in BANS},
        "bans_by_year": _bans_by_year(groups, today),
    }


def _bans_by_year(groups: Iterable[_Group], today: date) -> dict[str, BansOfYear]:
    """Return the bans by the year from which they apply, those that are in force first."""
    by_year: dict[str, list[_Group]] = {IN_FORCE: []}
    for group in sorted(groups, key=lambda group: group["ban_from"] or today):
        if begins := group["ban_from"]:
            by_year.setdefault(IN_FORCE if begins <= today else str(begins.year), []).append(group)
    return {
        year: {
            "certain": _sum(group for group in of_year if group["ban"] == "certain"),
            "depends": _sum(group for group in of_year if group["ban"] == "depends"),
        }
        for year, of_year in by_year.items()
    }


def _of_grade(groups: Iterable[_Group], grade: str) -> GradeTonnes:
    of_grade = [group for group in groups if group["grade"] == grade]
    provisional = _sum(group for group in of_grade if group["provisional"])
    return {**_sum(of_grade), "provisional_tonnes": provisional["tonnes"]}


def _sum(groups: Iterable[_Group]) -> Counted:
    listed = list(groups)
    return {
        "skus": sum(group["skus"] for group in listed),
        "tonnes": round(sum(group["tonnes"] for group in listed), _PLACES),
    }


@lru_cache(maxsize=64)
def _weighed(snapshot: Snapshot, today: date) -> tuple[int | None, tuple[_Group, ...]]:
    """Return the year whose tonnes count, and the SKUs with their tonnes by what head figures tell apart."""
    with reader(snapshot) as answers:
        keep_markets_inside(answers)
        groups = answers.records(_Group, _HEAD, market=None, today=today)
        return period(answers, None, today), tuple(groups)


def _scoped_tonnes(figures: StoredFigures, year: int) -> tuple[float, float]:
    """Return the tonnes of a calendar year in scope and undecided, of all markets together."""
    tonnes = pl.scan_parquet(figures.tonnes).filter((pl.col("year") == year) & (pl.col("half") == 0))
    sums = tonnes.select(pl.col("in_scope_grams", "undecided_grams").sum()).collect().row(0)
    return float(written_tonnes(sums[0])), float(written_tonnes(sums[1]))


def compared_with(kept: Sequence[KeptHead], today: date, year: int | None) -> KeptHead | None:
    """Return the kept figures that today's are compared with: the newest that are a month old, else the oldest.

    Only those about the same calendar year compare; `kept` is sorted by day.
    """
    of_year = [head for head in kept if head.year == year]
    last_of_month = today.replace(day=1) - timedelta(days=1)
    month_ago = last_of_month.replace(day=min(today.day, last_of_month.day))
    return next((head for head in reversed(of_year) if head.day <= month_ago), of_year[0] if of_year else None)


_SKU_TONNES: Final = f"WITH {WEIGHED} SELECT sku_code, tonnes FROM weighed"


@lru_cache(maxsize=64)
def recycled_content(snapshot: Snapshot, rules: RuleSet, today: date) -> Mapping[str, Counted]:
    """Return the items with plastic by their state at the minimum of recycled content of 2030 (`by_rule`), by state."""
    with reader(snapshot) as answers:
        rows = answers.rows(_SKU_TONNES, market=None, today=today)
    weighed = pl.DataFrame(rows, schema={"sku_code": pl.String, "tonnes": pl.Float64}, orient="row")
    judged, _ = hold_against_minimum(snapshot, rules)
    states = judged.join(weighed, on="sku_code").group_by("state").agg(pl.len(), pl.col("tonnes").sum())
    counted = {state: Counted(skus=skus, tonnes=round(tonnes, _PLACES)) for state, skus, tonnes in states.iter_rows()}
    return {state: counted.get(state, {"skus": 0, "tonnes": 0.0}) for state in RECYCLED_STATES}


def keep_head_figures(conn: Connection, snapshot: Snapshot, figures: StoredFigures) -> None:
    """Keep the head figures of a snapshot as those of its UTC day; nothing of a company without items."""
    day = snapshot.as_of.date()
    head = head_figures(snapshot, figures, day)
    if head["skus"] and head["year"] is not None:
        snapshots.keep_head(conn, snapshot.company_id, day, {**head, "as_of": snapshot.as_of})


def _by_code(vocabulary: str, rows: Iterable[Row], *more: str) -> dict[str, int]:
    values = {row[0]: row[2] for row in rows}
    return {code: values.get(code, 0) for code in (*VOCABULARIES[vocabulary], *more)}


def _most_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def _flags(rows: Iterable[Row], today: date) -> list[FlagSkus]:
    """Return bans by code, the most SKUs first, in the words of the snapshot's rules, dated by `today`."""
    return [
        {
            "code": code,
            "text": dated_ban(text, day, today),
            "applies_from": day.isoformat(),
            "skus": skus,
            "certain": certain,
            "depends": skus - certain,
        }
        for code, day, skus, certain, text in _most_first(rows)
    ]


def _tonnes(figures: StoredFigures) -> PortfolioTonnes:
    rows = pl.read_parquet(figures.tonnes)
    halves = {tuple(period): there for *period, there in rows.select("market", "year", "half", "halves").rows()}
    return {
        "as_of": figures.origin.as_of,
        "by_market": [_market_tonnes(totals, halves) for totals in totals_by_period(rows)],
    }


def _market_tonnes(totals: PeriodTonnes, halves: Mapping[tuple[object, ...], list[int] | None]) -> MarketTonnes:
    return {
        "market": totals["market"],
        "year": totals["year"],
        "half": totals["half"],
        "halves": halves[totals["market"], totals["year"], totals["half"]],
        "tonnes": float(totals["tonnes"]),
        "in_scope_tonnes": float(totals["in_scope_tonnes"]),
        "undecided_tonnes": float(totals["undecided_tonnes"]),
        "out_of_scope_tonnes": float(totals["out_of_scope_tonnes"]),
    }


def tonnes_of_year(figures: StoredFigures, wanted_year: str | None, this_year: int) -> TonnesOfYear:
    """Return the tonnes of one year by market, the most first; without a known year, of the latest not in the future.

    `uncounted` are the rows of that year by market, period, SKU and reason.
    """
    rows = _tonnes(figures)["by_market"]
    listed = pl.read_parquet(figures.uncounted, columns=["year"])["year"]
    years = sorted({*(row["year"] for row in rows), *listed}, reverse=True)
    year = next((year for year in years if str(year) == wanted_year), latest_year(years, this_year))
    return {
        "year": year,
        "years": years,
        "rows": sorted((row for row in rows if row["year"] == year), key=lambda row: -row["tonnes"]),
        "as_of": figures.origin.as_of,
        "ruleset_version": figures.origin.ruleset_version,
        "uncounted": sum(listed_year == year for listed_year in listed),
    }


def _in_scope(counted: dict[str, list[Row]], now: Now) -> list[InScope]:
    """Return each market in effect; null facts where the catalogue does not serve it."""
    counts_of_market = {row[0]: row[2] for row in counted.get("markets", ())}
    placed = {row[0]: row[2] for row in counted.get("volumes", ())}
    return [
        {
            "code": code,
            **_facts(code, now),
            "skus": counts_of_market[code],
            "volume_rows": placed.get(code, 0),
        }
        for code in sorted(counts_of_market)
    ]


def _facts(code: str, now: Now) -> JurisdictionFacts:
    facts = now.jurisdictions.get(code)
    return {
        "name": facts.name if facts else None,
        "system": facts.system if facts else None,
        "system_key": facts.system_key if facts else None,
        "depth": facts.depth(now.today) if facts else None,
        "verified_on": facts.verified_on.isoformat() if facts and facts.verified_on else None,
        "register_name": facts.register_name if facts else None,
    }


def imports(snapshot: Snapshot) -> dict[UUID, int]:
    """Count SKUs by the import that wrote them last, most first; SKUs last written singly are in none."""
    written = pl.scan_parquet(snapshot.skus).filter(~pl.col(ARCHIVED), pl.col("import_id").is_not_null())
    counted = written.group_by("import_id").len("skus").sort("skus", "import_id", descending=[True, False])
    return {UUID(import_id): skus for import_id, skus in counted.collect().iter_rows()}


_ROWS: Final = f"""
SELECT sku_code, ruleset_version,
       {", ".join(f"{name}::text" if name != "weight_grams" else name for name in grading.GRADED_INPUTS)}
FROM skus WHERE sku_code = ANY(%s)
"""


def with_asked(conn: Connection, items: Sequence[IncompleteSku], rulesets: Rulesets, lang: str) -> list[QuestionedSku]:
    """Return the items with the questions of their grades."""
    questions_by_code = questions(conn, [item["sku_code"] for item in items], rulesets, lang)
    return [{**item, **questions_by_code[item["sku_code"]]} for item in items]


def questions(conn: Connection, sku_codes: Sequence[str], rulesets: Rulesets, lang: str) -> dict[str, Questions]:
    """Return `missing` and `open` of the traces of some SKUs, asked in a language of `LANGUAGES`, by code.

    Both are empty where a grade asks for nothing, and where the company has no such SKU.
    """
    day = rulesets.active(conn)
    questions_by_code: dict[str, Questions] = {code: {"missing": [], "open": []} for code in sku_codes}
    for code, version, *row in conn.execute(_ROWS, [list(sku_codes)]):
        inputs: grading.Inputs = tuple(row)
        trace = grading.explain_row(inputs, grading.record_of(inputs), rulesets.load(conn, version), day=day, lang=lang)
        questions_by_code[code] = {"missing": trace["missing"], "open": trace["open"]}
    return questions_by_code
