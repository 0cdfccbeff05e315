"""Defines the tools of figures: one market's tonnes with what could not be counted, and declarations as filed."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal  # Any: an annotation made from a vocabulary; lines of a file

import orjson
from pydantic import Field

from compliance.rollup.categories import families_of
from compliance.rollup.exact import written_tonnes
from compliance.rollup.periods import HALF_YEARLY
from connector.principal import current_principal
from connector.service import Service
from connector.tools.answer import Found, Tool, instant, refusal
from connector.tools.arguments import Limit, Offset, market_code
from connector.tools.portfolio import Market
from pipelines.figures.compute import loaded_catalogue
from schemas.json_values import JsonMapping, JsonObject
from schemas.vocabularies import VOCABULARIES
from warehouse import analytics, figures
from warehouse.analytics.market import Placed
from warehouse.declarations import kept

Material: Any = Literal[tuple(VOCABULARIES["material"])]
Year = Annotated[int | None, Field(description="Calendar year; the latest with figures where left out.")]
Half = Annotated[Literal[0, 1, 2], Field(description="0 the whole year, 1 or 2 a half of it.")]
_SOURCE: Final = "The company's figures, computed from a snapshot of its records and volumes"
_FILED: Final = "The company's declarations as filed, kept in this service"
_QUOTE: Final = (
    "Quote in_scope_tonnes as what is filed (total_kg in the UK file); total_tonnes are all that was placed."
)
_LISTED: Final = 10
"""The most items that are not counted of one declaration."""


class FigureTools:
    """The tools of figures, which read stored files and rows in a thread."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def tools(self) -> list[Tool]:
        """Return the tools with their titles."""
        return [
            Tool(self.get_market_figures, "Tonnes, thresholds and uncounted items of one market"),
            Tool(self.list_filed_declarations, "List declarations as filed to a scheme or register"),
        ]

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
        """How many tonnes were placed on one market in a year or half, by category and material: plastic, paper, glass.

        Also the thresholds and obligations (do we exceed a threshold?) with verdicts, and the items that could not be
        counted, with the facts they lack. Only GB has halves; other markets are held by the year.
        """
        company_id, code = current_principal().company_id, market_code(market)
        stored = figures.current(self._service.settings.data_dir, company_id)
        if stored is None:
            raise refusal("not_found", "No figures are computed yet; they follow the first volumes within minutes.")
        held = half if code in HALF_YEARLY else 0
        placed = analytics.placed_in(stored, code, year, held, self._service.clock.today().year)
        with self._service.writes.company(company_id) as conn:
            entries = {entry.code: entry for entry in loaded_catalogue(conn).entries}
        rows = [
            {"materials": sorted(families_of(row["category_code"], entries[code])) if code in entries else [], **row}
            for row in placed.tonnes
        ]
        shown = [row for row in rows if material is None or material in row["materials"]]
        answer = {
            "market": code,
            "year": placed.year,
            "half": held,
            "halves": placed.halves,
            "half_note": _half_note(code, placed.year) if half and not held else None,
            "unit": "tonnes",
            "total_tonnes": _sum(placed, shown),
            "by_material": _by_material(placed, rows),
            "by_category": [_category(row) for row in shown],
            "obligations": [_obligation(row) for row in placed.obligations if _is_of(row, material)],
            "uncounted": _uncounted(placed, offset, offset + limit),
            "items_with_undecided_scope": placed.scope_missing,
            "periods": [{"year": each, "half": part} for each, part in placed.periods],
        }
        return Found(
            as_of=instant(stored.origin.as_of),
            sources=[_SOURCE, *sorted({row["source_url"] for row in placed.obligations if row["source_url"]})[:3]],
            next_step="Call propose_sku_update with the facts that an uncounted item lacks."
            if placed.uncounted
            else "Quote tonnes with market, year and as_of.",
            answer=orjson.loads(orjson.dumps(answer)),
        )

    def list_filed_declarations(
        self,
        market: Annotated[str | None, Field(description="Jurisdiction: name or code, such as GB.")] = None,
        year: Annotated[int | None, Field(description="Calendar year that was declared.")] = None,
        half: Annotated[Literal[0, 1, 2] | None, Field(description="0 the year, 1 or 2 a half of it.")] = None,
        limit: Limit = 5,
        offset: Offset = 0,
    ) -> Found:
        """What did we declare (report, file) to a scheme or register for one market and period, as it was filed.

        Each with its total in scope, who kept it when, corrections, and items that could not be counted. For tonnes not
        declared yet use get_market_figures; for declarations of conformity list_declarations.
        """
        given = {"market": None if market is None else market_code(market), "year": year, "half": half}
        wanted = {name: value for name, value in given.items() if value is not None}
        with self._service.writes.company(current_principal().company_id) as conn:
            row = conn.execute(kept.page(limit, offset, tuple(wanted)), wanted).fetchone()
            assert row is not None, "a page is one row"
            found = orjson.loads(row[0])
            left_out = {each["id"]: _left_out(kept.files_of(conn, each["id"])) for each in found["data"]}
        declarations = [
            {**_filed(each), "uncounted_items": each["uncounted"], "uncounted_first": left_out[each["id"]]}
            for each in found["data"]
        ]
        end, total = offset + len(declarations), found["pagination"]["total"]
        nothing = "Nothing is filed for this; call get_market_figures for the tonnes that would be declared."
        more = f"Call again with offset {end} for more of {total}." if end < total else _QUOTE
        return Found(
            as_of=instant(self._service.clock.now()),
            sources=[_FILED],
            next_step=more if total else nothing,
            answer={"declarations": declarations, "total": total, "next_offset": end if end < total else None},
        )


def _sum(placed: Placed, rows: Iterable[JsonMapping]) -> float:
    """Return the tonnes of some categories as a figure is written: rounded once, from the exact sum."""
    return float(written_tonnes(sum((placed.grams[row["category_code"]] for row in rows), Decimal())))


def _by_material(placed: Placed, rows: Iterable[JsonMapping]) -> dict[str, float]:
    found = defaultdict[str, list[JsonMapping]](list)
    for row in rows:
        found["/".join(row["materials"]) or row["category_name"]].append(row)
    return {name: _sum(placed, of_material) for name, of_material in sorted(found.items())}


def _uncounted(placed: Placed, offset: int, end: int) -> JsonObject:
    """Return what is not counted: how many items, and a page of the rows, of which an item has one for each reason."""
    return {
        "items": len({row["sku_code"] for row in placed.uncounted}),
        "total": len(placed.uncounted),
        "rows": placed.uncounted[offset:end],
        "next_offset": end if end < len(placed.uncounted) else None,
    }


def _half_note(market: str, year: int) -> str:
    return (
        f"{market} is held and declared by the calendar year, not by halves: these are the figures of all of {year}. "
        f"Halves exist for {', '.join(sorted(HALF_YEARLY))} only."
    )


def _category(row: JsonMapping) -> JsonObject:
    shown = ("category_code", "category_name", "materials", "tonnes", "in_scope_tonnes", "undecided_tonnes")
    return {name: row[name] for name in (*shown, "skus", "confidence")} | {"units": int(row["units"])}


def _is_of(row: JsonMapping, material: str | None) -> bool:
    return material is None or material in str(row["material"]) or str(row["material"]) in ("all", "")


def _obligation(row: JsonMapping) -> JsonObject:
    """Return an obligation without what is empty."""
    hidden = ("source_url", "scope_key", "scope_confidence")
    return {name: value for name, value in row.items() if value not in (None, []) and name not in hidden}


def _filed(each: JsonMapping) -> JsonObject:
    shown = (
        "id",
        "market",
        "year",
        "half",
        "halves",
        "format",
        "filename",
        "as_of",
        "ruleset_version",
        "rows",
        "in_scope_tonnes",
        "undecided_tonnes",
        "out_of_scope_tonnes",
        "question",
        "total_tonnes",
        "total_kg",
        "difference_kg",
        "corrects",
        "corrected_by",
        "created_at",
    )
    row = {name: each[name] for name in shown if each[name] not in (None, [])}
    return {**row, "kept_by": each["kept_by"]["name"] or each["kept_by"]["type"]}


def _left_out(files: tuple[str, bytes, bytes | None] | None) -> Sequence[Mapping[str, object]]:
    """Return the first items that a declaration does not count: they are in its JSON, else in the list beside it."""
    if files is None:
        return []
    form, content, beside = files
    rows: list[Any] = orjson.loads(content)["uncounted"] if form == "json" else []
    if beside is not None:
        rows = list(csv.DictReader(io.StringIO(beside.decode("utf-8-sig"))))
    return rows[:_LISTED]
