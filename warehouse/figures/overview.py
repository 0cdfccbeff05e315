"""Summarises the portfolio: SKUs by grade, DoC status, flags, markets and level; tonnes; jurisdictions in scope."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final
from uuid import UUID

import polars as pl

from compliance import grading
from compliance.annex_v import dated_ban
from compliance.filings.document import PeriodTonnes, latest_year, totals_by_period
from schemas.figures import (
    FlagSkus,
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
from warehouse.figures.reader import Now, Row, reader
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.source import ARCHIVED
from warehouse.figures.stored import StoredFigures
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets

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
    with reader(snapshot) as answers:
        counted: dict[str, list[Row]] = {}
        for what, *row in answers.rows(_COUNTS):
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
        "jurisdictions": _in_scope(counted, now),
    }


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
