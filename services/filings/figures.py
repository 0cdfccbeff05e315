"""Reads what is behind a declared figure, and finds declarations whose figures today's record does not give.

A figure is traced back to its SKUs with units, parts and weights, and to the uploaded line. The rows of a figure add up
to it exactly; a test checks that. docs/figures.md explains how a part comes to its category.

Found are kept declarations that say something else than today's record, and first declarations that are kept twice.
Compared are the figures as filed, read from the kept bytes, with those that the company's current snapshot gives by
today's rules and catalogue: the snapshot that a declaration was made from is not kept that long. A difference is no
fault by itself (the record may have been completed since); whether to correct is the company's decision, and nothing
stored is changed. Of a declaration that was corrected its newest correction is compared.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache, lru_cache, partial
from typing import Any, Final, TypeAlias, TypedDict  # Any: JSON, and rows of frames, whose columns the query names
from uuid import UUID

import orjson
import polars as pl

from compliance import recycled_content as recycled
from compliance import ruleset
from compliance.filings.annex_ix import TOTAL
from compliance.filings.document import tonnes_rows
from compliance.filings.uk.rows import DRINKS, IDENTITY, RATINGS, UK_COLUMNS, Producer, Statements
from compliance.filings.uk.rules import FileRefused
from compliance.rollup.categories import NUMBER, Standings
from compliance.rollup.exact import times_units, written_tonnes
from compliance.rollup.lines import categories, lines_of, prepare_lines
from compliance.rollup.parts import SKU_COLUMNS, Portfolio
from compliance.rollup.tonnes import Figures as RolledFigures
from compliance.scopes import judge_scope
from pipelines import filings
from pipelines.filings import Inputs, portfolios, uk_lines
from schemas.actors import Actor
from schemas.figures import ContentLine, ContentSentence, RecycledContentPage
from schemas.filings import UNION_FORMAT
from schemas.json_values import JsonMapping, instant_text
from schemas.refusals import Refused
from warehouse import filings as filings_warehouse
from warehouse import library
from warehouse.companies.queries import counters
from warehouse.figures.snapshots import Snapshot
from warehouse.filings import Standing
from warehouse.operate.sessions import Connection
from warehouse.skus import history
from warehouse.skus.history import ValueOrigin

COLUMNS: Final = (
    "sku_code",
    "units",
    "unit_grams",
    "tonnes",
    "components",
    "version",
    "import_id",
    "filename",
    "import_sheet",
    "import_line",
    "earlier_versions",
)
_COUNTED: Final = ("sku_code", "units", "unit_grams", "grams")
_FOUND: Final = (*_COUNTED, "parts")
_PART: Final = ("position", "component_type", "material_family", "polymer_or_grade", "weight_g")
SCOPED: Final = ("scope", "scope_why")
"""The last columns where a category is explained: in, ask or out, and the facts that are missing or that decide."""
_NONE: Final = dict.fromkeys((*_COUNTED, *SCOPED), pl.String)


def uk_figure(inputs: Inputs, statements: Statements, material: str) -> pl.DataFrame:
    """Return the SKUs of the UK file's rows of a `packaging_material`: the row's key, then the columns of `figure`."""
    frames = [
        lines.lines.filter(pl.col("material") == material).join(_components(portfolio), on="sku_code", how="left")
        for portfolio, lines in uk_lines(inputs, statements)
    ]
    if not frames:
        return pl.DataFrame(schema={"sku_code": pl.String})
    return pl.concat(frames).sort(*IDENTITY, "sku_code").select(*IDENTITY, *_FOUND).rename(UK_COLUMNS)


def figure(inputs: Inputs, market: str, year: int, half: int, category_code: str) -> pl.DataFrame:
    """Return the SKUs of a figure by code: `units`, exact `unit_grams` in the category, `grams`, `parts`.

    `scope` says whether the category covers it (in, out, ask), `scope_why` which fact excludes it or is missing.
    """
    return with_parts(inputs.snapshot, counted(inputs, market, year, half, category_code))


def with_parts(snapshot: Snapshot, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `counted` with the `parts` of their SKUs."""
    codes = rows.lazy().select("sku_code")
    of_rows = (
        pl.scan_parquet(files).join(codes, on="sku_code", how="semi").collect()
        for files in (snapshot.skus, snapshot.components, snapshot.volumes)
    )
    parts = _components(Portfolio(*of_rows))
    return rows.join(parts, on="sku_code", how="left", maintain_order="left").select(*_FOUND, *SCOPED)


@lru_cache(maxsize=4)
def counted(inputs: Inputs, market: str, year: int, half: int, category_code: str) -> pl.DataFrame:
    """Return the rows of `figure` without `parts`; a snapshot never changes, so that they serve for the next page."""
    of_period = (pl.col("year") == year) & (pl.col("half") == half)
    of_year = replace(inputs.jurisdictions[market], year=year)
    frames = []
    for portfolio in portfolios(inputs, market, year, SKU_COLUMNS):
        ready = prepare_lines(portfolio, (*inputs.catalogue.entries, of_year), inputs.rules)
        if market not in ready.volumes["market"]:
            continue
        rolled = lines_of(market, ready)
        of_category = categories(of_year).filter(pl.col("category_code") == category_code)
        per_unit = (
            rolled.lines.join(of_category.select("path"), on="path", how="semi")
            .group_by("sku")
            .agg(pl.col("grams").sum().alias("unit_grams"))
        )
        placed = rolled.counting.filter(of_period).join(per_unit, on="sku", how="inner")
        with_code = placed.join(ready.skus.select("sku", "sku_code"), on="sku", how="inner")
        weighed = with_code.with_columns(times_units("unit_grams").alias("grams"))
        scoped = weighed.join(_scoped(ready.standings, of_category["scope_key"][0]), on="sku", how="left")
        frames.append(scoped.select(*_COUNTED, *SCOPED))
    return pl.concat(frames or [pl.DataFrame(schema=_NONE)]).sort("sku_code")


def recycled_content(
    conn: Connection, actor: Actor, inputs: Inputs | None, year: int | None, *, limit: int, offset: int
) -> RecycledContentPage:
    """Return the averages of Article 7 of a year, else the latest, and a page of the SKUs that are in none.

    All is empty where there is no snapshot of this release yet, and for a year without units in the Union.
    """
    counted, chosen, years, rules = recycled.combine([]), year, list[int](), ruleset.load()
    if inputs is not None:
        rules = inputs.rules
        counted, chosen, years = filings.recycled_content(inputs, year, actor.today)
    ids = {UUID(site) for site in counted.sums["site_id"].unique()}
    names, stays = library.names(conn, "site", ids), library.merged(conn) if ids else {}
    sites = {str(site): (stays.get(str(site), str(site)), names.get(str(site), "")) for site in ids}
    writes = counters(conn).figure_writes
    return {
        "as_of": inputs.snapshot.as_of if inputs else None,
        "newer_writes": max(writes - inputs.snapshot.writes, 0) if inputs else None,
        "data": [recycled.unplaced_row(row, actor.lang) for row in counted.unplaced[offset:][:limit].to_dicts()],
        "pagination": {"limit": limit, "offset": offset, "total": counted.unplaced.height},
        "summary": {**recycled.summary(counted, years, rules, sites, actor.lang), "year": chosen},
    }


CONTENT_COLUMNS: Final = ("state", *ContentLine.__annotations__, "sku_code", "units", "questions", "fields")
"""The columns of the file of averages."""


def content_rows(found: RecycledContentPage) -> Iterator[dict[str, object]]:
    """Yield the rows of the file: the averages, what is exempt, what is in no average, and what no record says."""
    summary = found["summary"]
    for line in summary["averages"]:
        yield {"state": "average", **line}
    for row in summary["excluded"]:
        yield {"state": "exempt", "skus": row["skus"], "tonnes": row["tonnes"], "questions": [_asked(row)]}
    for sku in found["data"]:
        yield {**sku, "state": "open", "questions": [_asked(ask) for ask in sku["asks"]]}
    for sentence in summary["open"]:
        yield {"state": "not_recorded", "questions": [_asked(sentence)]}


def _asked(said: ContentSentence) -> str:
    return f"{said['sentence']} ({said['reference']})"


def with_origins(connection: Connection, rows: pl.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the rows of a figure with `COLUMNS` behind the row's key: tonnes as they are written, and the origin.

    A version has all values of a SKU, also those that its own file did not name; these came with an earlier one.
    """
    behind = [name for name in rows.columns if name in SCOPED]
    names = [*(name for name in rows.columns if name not in {*_FOUND, *SCOPED}), *COLUMNS, *behind]
    for row in traced(connection, rows):
        words = {
            "components": "; ".join(map(_part, row["parts"])),
            "earlier_versions": "; ".join(map(_version, row["earlier_versions"])),
        }
        yield {name: (row | words)[name] for name in names}


def traced(connection: Connection, rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of a figure, each with `tonnes`, its origin, and `earlier_versions` with their origins."""
    codes = rows["sku_code"].unique().to_list()
    latest, earlier = history.current_origins(connection, codes), history.earlier(connection, codes)
    for row in rows.iter_rows(named=True):
        code = row["sku_code"]
        facts = {"tonnes": written_tonnes(row["grams"]), "earlier_versions": earlier.get(code, ())}
        yield row | latest[code]._asdict() | facts


def _part(part: Mapping[str, object]) -> str:
    """Return a part in words, `0 body plastic PET 25.0 g`; without a position where it is the SKU itself."""
    return " ".join(str(part[name]) for name in _PART if part[name] is not None) + " g"


def _version(origin: ValueOrigin) -> str:
    """Return a version in words: `1 portfolio.xlsx Items line 7`, or `2 single write`."""
    if origin.filename is None:
        return f"{origin.version} single write"
    sheet = "" if origin.import_sheet is None else f" {origin.import_sheet}"
    return f"{origin.version} {origin.filename}{sheet} line {origin.import_line}"


def _scoped(standings: Standings, scope_key: str) -> pl.DataFrame:
    """Return the verdict of a scope on each SKU: `sku`, and `SCOPED`."""
    verdicts = [judge_scope(scope_key, standing) for standing in standings.distinct]
    rows = [
        (number, verdict.verdict, verdict.fact or "; ".join(verdict.fields)) for number, verdict in enumerate(verdicts)
    ]
    judgement = pl.DataFrame(
        rows, schema={"standing": NUMBER, "scope": pl.String, "scope_why": pl.String}, orient="row"
    )
    return standings.of_sku.join(judgement, on="standing", how="left").drop("standing")


def _components(portfolio: Portfolio) -> pl.DataFrame:
    """Return each SKU's `parts`; its own material is its one part where it has no components."""
    components = portfolio.components.sort("sku_code", "position").select("sku_code", pl.struct(_PART).alias("part"))
    itself = pl.struct(
        pl.lit(None, portfolio.components.schema["position"]).alias("position"),
        pl.lit(None, pl.String).alias("component_type"),
        pl.col("material").alias("material_family"),
        pl.col("material_subtype").alias("polymer_or_grade"),
        pl.col("weight_grams").alias("weight_g"),
    ).alias("part")
    whole = portfolio.skus.join(components, on="sku_code", how="anti").select("sku_code", itself)
    every = pl.concat([components, whole], how="vertical_relaxed")
    return every.group_by("sku_code", maintain_order=True).agg(pl.col("part").alias("parts"))


Figures: TypeAlias = Mapping[str, tuple[Decimal, ...]]
"""The figures of a declaration by category code, or by the row of the UK file."""
_SHARES: Final = ("tonnes", "in_scope_tonnes", "undecided_tonnes", "out_of_scope_tonnes")
_NOT_COMPARED: Final = "No snapshot of this release is published yet: nothing was compared."
_WEIGHT: Final = "packaging_material_weight"
_UNITS: Final = "packaging_material_units"


class ChangedDeclaration(TypedDict):
    """A kept declaration whose figures would be others now.

    `filed` and `now` are tonnes in scope (kilograms of the UK file), `now` None where it would be refused; `differs`
    names the categories, or rows of the UK file, that would be others. `compared_with` is the instant of the snapshot,
    None where there is none of this release yet: then nothing was compared, and every declaration is listed.
    """

    id: str
    market: str
    year: int
    half: int
    format: str
    kept_at: str
    compared_with: str | None
    filed: Decimal
    now: Decimal | None
    differs: list[str]
    why: str


class DoubleDeclaration(TypedDict):
    """Equal first declarations of one period, the oldest first: all but one should have been corrections of it."""

    market: str
    year: int
    half: int
    format: str
    ids: list[str]


def double_declarations(conn: Connection) -> list[DoubleDeclaration]:
    """Return the equal first declarations of the session's company, which were kept before they were refused."""
    return [
        {"market": market, "year": year, "half": half, "format": form, "ids": [str(id_) for id_ in ids]}
        for market, year, half, form, ids in filings_warehouse.doubles(conn)
    ]


def changed_declarations(conn: Connection, inputs: Inputs | None) -> list[ChangedDeclaration]:
    """Return the kept declarations of the session's company whose figures the inputs do not give, oldest first."""
    if inputs is None:
        return [
            _row(standing, None, _filed(standing), None, _NOT_COMPARED) for standing in filings_warehouse.standing(conn)
        ]
    figures_of_year = cache(partial(filings.figures, inputs))
    changed = (_changed(inputs, figures_of_year, standing) for standing in filings_warehouse.standing(conn))
    return [change for change in changed if change is not None]


def _changed(
    inputs: Inputs, figures_of_year: Callable[[str, int], RolledFigures], standing: Standing
) -> ChangedDeclaration | None:
    filed, why = _filed(standing), "The record or the rules give other figures now."
    now: Figures | None
    try:
        if standing.format == "rpd":
            now = _by_uk_row(filings.uk_file(inputs, _statements(standing)).rows)
        elif standing.format == UNION_FORMAT:
            now = _by_union_row(filings.union_report(inputs, standing.market, standing.year).rows)
        else:
            market, year = standing.market, standing.year
            now = _by_category(tonnes_rows(figures_of_year(market, year), market, year, standing.half))
    except (FileRefused, Refused, OverflowError, ValueError) as refused:
        now, why = None, f"It would be refused now: {refused}"
    return None if now == filed else _row(standing, inputs.source.as_of, filed, now, why)


def _statements(standing: Standing) -> Statements:
    ratings, drinks = ([list(row.values()) for row in standing.stated[name]] for name in ("ratings", "drinks"))
    return Statements(
        Producer(**standing.producer or {"organisation_id": ""}),
        standing.year,
        standing.half,
        pl.DataFrame(ratings, schema=RATINGS, orient="row"),
        pl.DataFrame(drinks, schema=DRINKS, orient="row"),
    )


def _row(
    standing: Standing, compared_with: str | None, filed: Figures, now: Figures | None, why: str
) -> ChangedDeclaration:
    place = 0 if standing.format in {"rpd", UNION_FORMAT} else 1  # kilograms or tonnes of a row, tonnes in scope

    def total(figures: Figures) -> Decimal:
        return sum((values[place] for values in figures.values()), Decimal(0))

    return {
        "id": str(standing.id),
        "market": standing.market,
        "year": standing.year,
        "half": standing.half,
        "format": standing.format,
        "kept_at": instant_text(standing.created_at),
        "compared_with": compared_with,
        "filed": total(filed),
        "now": None if now is None else total(now),
        "differs": [] if now is None else sorted(key for key in {*filed, *now} if filed.get(key) != now.get(key)),
        "why": why,
    }


def _filed(standing: Standing) -> Figures:
    """Return the figures of a kept declaration from its own bytes."""
    if standing.format == "json":
        document: JsonMapping = orjson.loads(standing.content)
        return _by_category(document["tonnes"])
    rows = csv.DictReader(io.StringIO(standing.content.decode("utf-8-sig"), newline=""))
    of_rows = {"rpd": _by_uk_row, UNION_FORMAT: _by_union_row}
    return of_rows.get(standing.format, _by_category)(rows)


def _by_union_row(rows: Iterable[Any]) -> Figures:
    """Return the tonnes of each row of the report of Article 44 that has some, without the total."""
    return {
        " ".join(filter(None, (row["no"], row["entry"]))): (Decimal(row["tonnes"]),)
        for row in rows
        if row["tonnes"] and row["entry"] != TOTAL and Decimal(row["tonnes"])
    }


def _by_category(rows: Iterable[Any]) -> Figures:
    """Return tonnes in all and by scope of each category, to six places as they are written."""
    return {
        row["category_code"].removeprefix("'"): tuple(
            Decimal(str(row[name])).quantize(Decimal("0.000001")) for name in _SHARES
        )
        for row in rows
    }


def _by_uk_row(rows: Iterable[Any]) -> Figures:
    """Return kilograms and units of each row by its other cells."""
    return {
        " ".join(cell for name, cell in row.items() if name not in (_WEIGHT, _UNITS) and cell): (
            Decimal(row[_WEIGHT] or 0),
            Decimal(row[_UNITS] or 0),
        )
        for row in rows
    }
