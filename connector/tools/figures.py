"""Defines the tools of figures: one market's tonnes with what could not be counted, and declarations as filed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, cast  # Any: JSON of the REST interface

from pydantic import Field

from compliance.days import legal_days
from compliance.rollup.categories import families_of
from compliance.rollup.exact import written_tonnes
from compliance.rollup.periods import HALF_YEARLY
from connector.principal import current_principal
from connector.service import Service
from connector.tools.kit import (
    SHORT,
    UNKNOWN_ITEM,
    Answer,
    CalendarYear,
    FittingLimit,
    Found,
    ItemId,
    Limit,
    Offset,
    Page,
    SkuCode,
    ToolSet,
    Values,
    item_id,
    market_code,
    members,
    refusal,
    stated,
)
from connector.tools.skus import InMarket, OfGrade, OfMaterial, OtherFilters, asked_search, refusing_filters
from pipelines.figures import loaded_catalogue
from schemas.figures import Head, MarketReadiness, QuestionedSku
from schemas.filings import Declaration
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import ORIGINAL
from schemas.normalise import Unfit
from schemas.vocabularies import VOCABULARIES
from services import marks, registers
from services.filings import files
from services.skus import listing
from services.skus.listing import Place
from warehouse import filings
from warehouse.companies import profiles, queries
from warehouse.figures import gaps, overview, summaries
from warehouse.figures import market as market_figures
from warehouse.figures import stored as stored_figures
from warehouse.figures.gaps import Finding
from warehouse.figures.market import STATES, Placed
from warehouse.figures.reader import Now
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.snapshots import current as newest
from warehouse.figures.summaries import Filters, Measure, Sum, Summary
from warehouse.skus import queries as skus
from warehouse.skus.search import Search

Market = Annotated[str, Field(description="Name or code: FR, DE, US-CA, …", min_length=2, max_length=100)]
Half = Annotated[Literal[0, 1, 2], Field(description="0 the whole year, 1 or 2 a half of it.")]
State: Any = Literal[STATES]
Property: Any = Literal[summaries.PROPERTIES]
_PORTFOLIO_SOURCE: Final = (
    "A snapshot of the company's own records; grades are indicative (Regulation (EU) 2025/40, Annex II)"
)
_CATALOGUE: Final = "The service's jurisdiction catalogue"
_COUNT_NOTE: Final = (
    "pagination.total counts the items with any gap; each gap counts its own items, so that one item counts in several."
)
_OF_ITEMS: Final = (
    "market",
    "period",
    "skus",
    "blocked",
    "to_decide",
    "incomplete",
    "ready",
    "blocks",
    "decide",
    "indicative",
)
"""The members of a market's readiness that stand beside the items of a class; the others are asked without a class."""
MEMBERS: Final = {"registers": registers.of_market, "marks": marks.of_market}
"""What other subjects say in the answer about a market."""
_SAID_ELSEWHERE: Final = ("scope_key", "scope_confidence", "source_url", "out_of_scope_tonnes")
"""Members of a row of figures that get_market_figures has, or its sources."""
_OF_MISSING: Final = ("code", "sentence", "skus", "units", "examples")
"""Members of a missing fact beside a market; check_missing_data has its fields and article."""
_EXAMPLES: Final = 3
"""The most codes beside a finding that blocks nothing; `state` lists every item."""
_MOST_ASKED: Final = 1
"""The most questions of an item in a list; asked alone it has all."""
_LENGTHS: Final = (10, 5, 3, 2, 1)
"""How many rows of each list of a market stand in an answer that would be too long: the most with which it is short."""
_COMPLETE: Final = "Call check_missing_data for an item to see what to complete first."
_LEFT_OFF: Final = "Rows are left off (`left_off`): get_market_figures and check_missing_data have them."
_QUOTE_SUMS: Final = (
    "Quote the year with units and tonnes: all that was placed, of archived items too, as total_tonnes and "
    "uncounted.tonnes of get_market_figures together; an item with several values counts at each, once in the total."
)
_SIZES: Final = (10, 7, 5, 3, 1)
"""How many sums are shown: the most of these with which the answer is short, at least one."""
_NEWER: Final = "Newer writes than this snapshot: {}; it follows within a minute. "


class Portfolio(Answer):
    """An answer from the analytic store."""

    newer_writes: Annotated[int, Field(description="Writes since `as_of`.")]
    answer: Annotated[Values, Field(description="The figures; counts are of packaging items (SKUs).")]


class PortfolioTools(ToolSet):
    """The tools of the portfolio, which DuckDB answers in a thread, from only the company's own files."""

    TITLES = (
        ("compliance_overview", "Portfolio compliance overview"),
        ("check_market_readiness", "Check readiness for one market"),
        ("check_missing_data", "Check what is missing"),
        ("summarise_items", "Sums by one property"),
    )

    def compliance_overview(self) -> Portfolio:
        """Totals of the portfolio: items by recyclability grade, DoC status, ban, market; tonnes; the plan's limit.

        Each jurisdiction in scope with its EPR system and verification date; legal days; for whom you act: company,
        plan, person, role.
        """
        snapshot, now = newest_snapshot(self._service)
        stored = stored_figures.current(self._service.settings.data_dir, snapshot.company_id)
        answer = overview.overview(snapshot, now, stored)
        who = current_principal()
        with self._service.writes.company(who.company_id) as conn:
            used, rules = queries.used(conn, who.company_id), self._service.rulesets.active(conn)
        left = None if used.sku_limit is None else max(used.sku_limit - used.skus, 0)  # null is no limit
        plan = {"sku_limit": used.sku_limit, "skus_held": used.skus, "skus_left": left}
        you = {"company": used.name, "plan": used.plan, "person": who.user_name, "role": who.role}
        next_step = (
            "Call check_market_readiness with the code of a market for what stands in the way there. Tonnes of "
            "head_figures are of the items held now; those by market count what was placed of archived items too."
        )
        days = [day.as_text() for day in legal_days(rules, now.today)]
        return _answer(now.head(snapshot), {"you": you, **answer, "legal_days": days, "plan": plan}, next_step)

    def check_market_readiness(
        self,
        market: Market,
        state: Annotated[State | None, Field(description="Also list the items of this class.")] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Portfolio:
        """Which packaging items can or cannot be sold in one market, and why; state=blocked lists them all.

        Items are blocked, to_decide, incomplete or ready, by article. Also the market's system, register and duties:
        must we register (LUCID), do we need an authorised representative. Not legal advice. All tonnes and thresholds:
        get_market_figures.
        """
        with self._service.writes.company(current_principal().company_id) as conn:
            market = market_code(conn, market)
        snapshot, now = newest_snapshot(self._service)
        try:
            stored = stored_figures.current(self._service.settings.data_dir, snapshot.company_id)
            with self._service.writes.company(snapshot.company_id) as conn:
                profile = profiles.read(conn)
            readiness = market_figures.readiness(snapshot, market, now, stored, profile)
            if state is None:
                more = members(self._service, MEMBERS, market)
                return _short(now.head(snapshot), stated({**_without_empty(readiness), **more}))
            items = market_figures.items_in(snapshot, market, now, state, limit=limit, offset=offset)
        except Unfit as unfit:
            raise refusal(unfit.code, unfit.message) from None
        of_items = {name: value for name, value in readiness.items() if name in _OF_ITEMS}
        return _answer(now.head(snapshot), stated({**of_items, "state": state, **items}), _COMPLETE)

    def check_missing_data(
        self,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002
        limit: Limit = 10,
        offset: Offset = 0,
    ) -> Portfolio:
        """What is missing for one packaging item, or for the whole portfolio, the worst gaps first.

        Use it for what to complete first, to improve grades. An item's `missing` and `open` are what its grade lacks,
        and what could still change it.
        """
        code = None
        if id is not None or sku_code is not None:
            with self._service.writes.company(current_principal().company_id) as conn:
                code = skus.code_of(conn, item_id(conn, id, sku_code))
        snapshot, now = newest_snapshot(self._service)
        gaps_page = gaps.missing(snapshot, now, sku_code=code, limit=limit, offset=offset)
        if code is not None and not gaps_page["items"]:
            raise refusal("not_found", f"The item is newer than the snapshot; ask again in a minute. {UNKNOWN_ITEM}")
        with self._service.writes.company(current_principal().company_id) as conn:
            items = overview.with_asked(conn, gaps_page["items"], self._service.rulesets, ORIGINAL)
        end, total = offset + len(items), gaps_page["pagination"]["total"]
        more = f"Call again with offset {end} for more of {total} items." if end < total else ""
        next_step = more or "Call propose_sku_update with the missing facts, once the user knows them."
        answer = {**gaps_page, "items": [_incomplete(item, alone=code is not None) for item in items]}
        if code is None:
            answer["count_note"] = _COUNT_NOTE
        return _answer(now.head(snapshot), stated(answer), next_step)

    def summarise_items(
        self,
        *,
        by: Annotated[Property, Field(description="Property.")],
        sort: Annotated[Measure, Field(description="What is ranked.")] = "tonnes",
        least_first: Annotated[bool, Field(description="Else the most first.")] = False,
        year: Annotated[CalendarYear | None, Field(description="Else the latest with units.")] = None,
        half: Half = 0,
        market: InMarket = None,
        material: OfMaterial = None,
        grade: OfGrade = None,
        filters: OtherFilters = None,
        limit: FittingLimit = None,
        offset: Offset = 0,
    ) -> Portfolio:
        """Rank the portfolio by one property: items, units and tonnes of each value, with shares.

        Such as which five items bring most plastic to Germany (by item), the worst brand (by brand, with grade), the
        most frequent reasons of a grade (by reason, sort items). Market, material and supplier narrow the tonnes, too.
        """
        snapshot, now = newest_snapshot(self._service)
        with self._service.writes.company(snapshot.company_id) as conn:
            rules = self._service.rulesets.active(conn)
            others = filters.model_dump() if filters else {}
            wanted = asked_search(conn, market=market, material=material, **others)
        search, finding = wanted
        suppliers = (search.refers_to or []) if others.get("supplier") else None
        if suppliers is not None:  # their parts alone are summed up, of archived items too
            search, finding = replace(search, refers_to=None), replace(finding, no_supplier=False)
        held = half if search.market in HALF_YEARLY else 0
        conditions = Filters(
            search.market, year, search.material, grade, finding.polymer, self._codes(search, finding), suppliers, held
        )
        summary = summaries.summarise(
            snapshot, rules, now.today, conditions, by=by, measure=sort, least_first=least_first
        )
        for size in _SIZES if limit is None else (limit,):
            rows = summary.rows[offset : offset + size]
            with self._service.writes.company(snapshot.company_id) as conn:
                names = summaries.names(conn, snapshot, rules, now, by=by, rows=rows)
            page = Page.from_pagination({"limit": size, "offset": offset, "total": len(summary.rows)}, len(rows))
            told = {**_summed(summary, rows, names, sort), "by": by, "half": held, "page": page.model_dump()}
            if half and not held:
                told["half_note"] = _half_note(search.market or "All markets together", summary.year or "each year")
            answer = _answer(now.head(snapshot), told, page.way_on(_QUOTE_SUMS))
            if len(answer.model_dump_json()) <= SHORT:
                break
        return answer

    def _codes(self, search: Search, finding: Finding) -> list[str] | None:
        """Return the codes of the items of a list; None where it is conditions by nothing but market and material."""
        search, finding = replace(search, market=None, material=None), replace(finding, polymer=None)
        if (search, finding) == (Search(), Finding()):
            return None
        service, company_id = self._service, current_principal().company_id
        place = Place(service.writes, service.clock, service.rulesets, service.settings.data_dir, company_id)
        with refusing_filters():
            return listing.codes(place, search, finding, most=listing.MOST_EXPORTED)


def _summed(summary: Summary, rows: Iterable[Sum], names: Mapping[str, str], sort: Measure) -> JsonObject:
    """Return the total, and rows with names and their share of it in percent; what says itself has no name."""
    whole, lines = summary.total[sort], list[JsonObject]()
    for row in rows:
        name = names.get(row["of"] or "")
        named = row if name is None else {"of": row["of"], "name": name, **row}
        lines.append({**named, "share_percent": round(row[sort] / whole * 100, 1) if whole else 0})
    total = {measure: value for measure, value in summary.total.items() if measure != "of"}
    return {"year": summary.year, "total": total, "rows": lines}


def _without_empty(readiness: MarketReadiness) -> JsonObject:
    """Return a market's readiness without the empty members of its figures' rows, and without notes on sources."""
    figures: JsonObject | None = None
    if readiness["figures"] is not None:
        rows = {"tonnes": readiness["figures"]["tonnes"], "obligations": readiness["figures"]["obligations"]}
        figures = {**readiness["figures"], **{name: list(map(_stated, table)) for name, table in rows.items()}}
    missing = [
        {name: value for name, value in finding.items() if name in _OF_MISSING} for finding in readiness["missing"]
    ]
    return {
        **readiness,
        "figures": figures,
        "missing": list(map(_with_few_examples, missing)),
        "upcoming": list(map(_with_few_examples, readiness["upcoming"])),
        "jurisdiction": _without_notes(readiness["jurisdiction"]),
        "authorised_representative": _without_notes(cast(JsonMapping | None, readiness["authorised_representative"])),
        "coverage": _without_notes(readiness["coverage"]),
    }


def _short(head: Head, readiness: JsonObject) -> Portfolio:
    """Return the answer of a market, shortened where it is too long."""
    answer = _answer(head, readiness, _COMPLETE)
    for most in _LENGTHS:
        if len(answer.model_dump_json()) <= SHORT:
            break
        answer = _answer(head, _shortened(readiness, most), f"{_COMPLETE} {_LEFT_OFF}")
    return answer


def _shortened(readiness: JsonObject, most: int) -> JsonObject:
    """Return a market's readiness with so many rows of each list, the most urgent; `left_off` counts the others."""
    figures = readiness.get("figures", {})
    lists = {name: figures[name] for name in ("tonnes", "obligations", "scope_missing_first") if name in figures}
    lists["missing"] = sorted(readiness["missing"], key=lambda finding: -finding["skus"])
    lists.get("obligations", []).sort(key=lambda duty: duty["verdict"] == "below")  # what asks for something stays
    cut = {name: rows[:most] for name, rows in lists.items()}
    answer = {**readiness, "left_off": {name: len(rows) - most for name, rows in lists.items() if len(rows) > most}}
    answer["missing"] = cut.pop("missing")
    if figures:
        answer["figures"] = {**figures, **cut}
    for kind in ("blocks", "decide", "missing", "upcoming"):
        answer[kind] = [{**finding, "examples": finding["examples"][:most]} for finding in answer[kind]]
    return answer


def _stated(row: JsonMapping) -> JsonObject:
    """Return a row of figures without what is empty or said elsewhere."""
    return {name: value for name, value in row.items() if value not in (None, []) and name not in _SAID_ELSEWHERE}


def _with_few_examples(finding: JsonMapping) -> JsonObject:
    return {**finding, "examples": finding["examples"][:_EXAMPLES]}


_OF_NO_ANSWER: Final = frozenset(
    {
        "source_note",
        "authorised_representative_from_member_state",  # `authorised_representative` says it for this company
        "authorised_representative_from_third_country",
    }
)


def _without_notes(part: JsonMapping | None) -> JsonObject | None:
    if part is None:
        return None
    return {name: value for name, value in part.items() if value is not None and name not in _OF_NO_ANSWER}


def _incomplete(item: QuestionedSku, *, alone: bool) -> JsonObject:
    """Return an item with what it lacks; in a list its gaps are codes, whose sentences stand once, in `gaps`."""
    answer: JsonObject = {name: value for name, value in item.items() if name != "weight"}
    answer["priority"] = item["weight"]
    if alone:
        return answer
    answer["gaps"] = [gap["code"] for gap in item["gaps"]]
    answer |= {"missing": item["missing"][:_MOST_ASKED], "open": item["open"][:_MOST_ASKED]}
    return {name: value for name, value in answer.items() if value != []}


def newest_snapshot(service: Service) -> tuple[Snapshot, Now]:
    """Return the company's newest snapshot, and the current state that answers need besides."""
    company_id = current_principal().company_id
    snapshot = newest(service.settings.data_dir, company_id)
    if snapshot is None:
        raise refusal("not_found", "No snapshot of the portfolio exists yet; one follows each write within a minute.")
    with service.writes.company(company_id) as conn:
        return snapshot, Now.read(conn, service.clock)


def _answer(head: Head, answer: Mapping[str, object], next_step: str) -> Portfolio:
    """Return what was found, without what every answer begins with."""
    newer = head["newer_writes"]
    return Portfolio(
        as_of=head["as_of"],
        newer_writes=newer,
        sources=[_PORTFOLIO_SOURCE, _CATALOGUE],
        next_step=(_NEWER.format(newer) if newer else "") + next_step,
        answer={name: value for name, value in answer.items() if name not in head},
    )


Material: Any = Literal[tuple(VOCABULARIES["material"])]
Year = Annotated[CalendarYear | None, Field(description="Else the latest with figures.")]
_SOURCE: Final = "The company's figures, computed from a snapshot of its records and volumes"
_FILED: Final = "The company's declarations as filed, kept in this service"
_QUOTE: Final = (
    "Quote in_scope_tonnes as what is filed (total_kg in the UK file); total_tonnes are all that was placed, without "
    "the items of `uncounted`."
)
_OF_CATEGORY: Final = (
    *("category_code", "category_name", "materials", "tonnes", "in_scope_tonnes", "undecided_tonnes"),
    *("skus", "confidence"),
)


class FigureTools(ToolSet):
    """The tools of figures, which read stored files and rows in a thread."""

    TITLES = (
        ("get_market_figures", "Figures of one market"),
        ("list_filed_declarations", "Filed declarations"),
    )

    def get_market_figures(
        self,
        *,
        market: Market,
        year: Year = None,
        half: Half = 0,
        material: Annotated[Material | None, Field(description="Only categories of this material.")] = None,
        limit: Limit = 10,
        offset: Offset = 0,
    ) -> Found:
        """How many tonnes were placed on one market in a year or half, by category and material.

        Also thresholds and obligations (do we exceed one?) with verdicts, and the items that could not be counted, with
        the facts they lack. Only GB has halves.
        """
        company_id = current_principal().company_id
        with self._service.writes.company(company_id) as conn:
            code, entries = market_code(conn, market), {entry.code: entry for entry in loaded_catalogue(conn).entries}
        stored = stored_figures.current(self._service.settings.data_dir, company_id)
        if stored is None:
            raise refusal("not_found", "No figures are computed yet; they follow the first volumes within minutes.")
        held = half if code in HALF_YEARLY else 0
        placed = market_figures.placed_in(stored, code, year, held, self._service.clock.today().year)
        rows = [
            {"materials": sorted(families_of(row["category_code"], entries[code])) if code in entries else [], **row}
            for row in placed.tonnes
        ]
        listed = [row for row in rows if material is None or material in row["materials"]]
        note = _half_note(code, placed.year) if half and not held else None
        answer = {
            **stated({"market": code, "year": placed.year, "half": held, "halves": placed.halves, "half_note": note}),
            "unit": "tonnes",
            "total_tonnes": _sum(placed, listed),
            "by_material": _by_material(placed, rows),
            "by_category": [
                _stated({n: row[n] for n in _OF_CATEGORY}) | {"units": int(row["units"])} for row in listed
            ],
            "obligations": [
                _stated(row)
                for row in placed.obligations
                if material is None or material in str(row["material"]) or str(row["material"]) in ("all", "")
            ],
            "uncounted": {  # an item has a row for each reason
                "items": len({row["sku_code"] for row in placed.uncounted}),
                "total": len(placed.uncounted),
                "tonnes": placed.uncounted_tonnes,
                "rows": list(map(stated, placed.uncounted[offset : offset + limit])),
                "next_offset": offset + limit if offset + limit < len(placed.uncounted) else None,
            },
            "items_with_undecided_scope": stated(placed.scope_missing),
            "periods": [{"year": year, "half": part} for year, part in placed.periods],
        }
        return Found(
            as_of=stored.origin.as_of,
            sources=[_SOURCE, *sorted({row["source_url"] for row in placed.obligations if row["source_url"]})[:3]],
            next_step=_next_of_figures(code, placed, held),
            answer=answer,
        )

    def list_filed_declarations(
        self,
        market: Annotated[str | None, Field(description="Name or code, such as GB.")] = None,
        year: Annotated[CalendarYear | None, Field(description="Calendar year.")] = None,
        half: Annotated[Literal[0, 1, 2] | None, Field(description="0 the year, 1 or 2 a half of it.")] = None,
        limit: Limit = 5,
        offset: Offset = 0,
    ) -> Found:
        """What we declared (reported, filed) to a scheme or register for one market and period, as it was filed.

        With the total in scope, who kept it when, corrections, and items that could not be counted. Not declared yet:
        get_market_figures. Declarations of conformity: list_declarations.
        """
        with self._service.writes.company(current_principal().company_id) as conn:
            filters = {"market": None if market is None else market_code(conn, market), "year": year, "half": half}
            wanted = {name: value for name, value in filters.items() if value is not None}
            page = filings.page(limit, offset, wanted).read(conn)
            left_out = {
                declaration["id"]: files.first_uncounted(conn, declaration["id"]) for declaration in page["data"]
            }
        declarations = [
            {
                **_filed(declaration),
                "uncounted_items": declaration["uncounted"],
                "uncounted_first": list(map(stated, left_out[declaration["id"]])),
            }
            for declaration in page["data"]
        ]
        end, total = offset + len(declarations), page["pagination"]["total"]
        nothing = "Nothing is filed for this; call get_market_figures for the tonnes that would be declared."
        more = f"Call again with offset {end} for more of {total}." if end < total else _QUOTE
        return Found(
            as_of=self._service.clock.now(),
            sources=[_FILED],
            next_step=more if total else nothing,
            answer={"declarations": declarations, "total": total, "next_offset": end if end < total else None},
        )


def _sum(placed: Placed, rows: Iterable[JsonMapping]) -> float:
    """Return the tonnes of some categories as a figure is written: rounded once, from the exact sum."""
    return float(written_tonnes(sum((placed.grams[row["category_code"]] for row in rows), Decimal())))


def _by_material(placed: Placed, rows: Iterable[JsonMapping]) -> dict[str, float]:
    rows_by_material = defaultdict[str, list[JsonMapping]](list)
    for row in rows:
        rows_by_material["/".join(row["materials"]) or row["category_name"]].append(row)
    return {name: _sum(placed, of_material) for name, of_material in sorted(rows_by_material.items())}


def _next_of_figures(market: str, placed: Placed, half: int) -> str:
    """Return the next step: nothing that is recorded is no figure of 0 tonnes."""
    if placed.uncounted:
        return "Call propose_sku_update with the facts that an uncounted item lacks."
    if (placed.year, half) in placed.periods:
        return "Quote tonnes with market, year and as_of."
    when = f"{placed.year} half {half}" if half else f"{placed.year}"
    return f"Say that no units above 0 are recorded for {market} in {when}, rather than 0 tonnes; periods has what is."


def _half_note(market: str, year: int | str) -> str:
    return (
        f"{market} is held and declared by the calendar year, not by halves: these are the figures of all of {year}. "
        f"Halves exist for {', '.join(sorted(HALF_YEARLY))} only."
    )


_OF_DECLARATION: Final = (
    *("id", "market", "year", "half", "halves", "format", "filename", "as_of", "ruleset_version", "rows"),
    *("in_scope_tonnes", "undecided_tonnes", "out_of_scope_tonnes", "question", "total_tonnes", "total_kg"),
    *("difference_kg", "corrects", "corrected_by", "created_at"),
)


def _filed(declaration: Declaration) -> JsonObject:
    """Return a declaration without what is empty."""
    row = {name: value for name, value in declaration.items() if name in _OF_DECLARATION and value not in (None, [])}
    return {**row, "kept_by": declaration["kept_by"]["name"] or declaration["kept_by"]["type"]}
