"""Defines the tools of the whole portfolio, on the company's newest snapshot: overview, one market, missing data."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal  # Any: JSON of the REST interface

import orjson
from pydantic import Field

from connector.principal import current_principal
from connector.service import Service
from connector.tools.answer import Answer, Tool, refusal
from connector.tools.arguments import UNKNOWN_ITEM, ItemId, Limit, Offset, SkuCode, item_id, market_code
from schemas.analytics import Head, QuestionedSku
from schemas.json_values import JsonObject
from schemas.messages import ORIGINAL
from schemas.normalise import Unfit
from warehouse import analytics, figures
from warehouse.analytics import Now
from warehouse.analytics.readiness import STATES
from warehouse.companies import limits
from warehouse.skus import queries as skus
from warehouse.snapshots import Snapshot
from warehouse.snapshots import current as newest

Market = Annotated[str, Field(description="Name or code of the market: FR, DE, US-CA, …", min_length=2, max_length=100)]
State: Any = Literal[STATES]
_SOURCE: Final = "A snapshot of the company's own records; grades are indicative (Regulation (EU) 2025/40, Annex II)"
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
_SAID_ELSEWHERE: Final = ("scope_key", "scope_confidence", "source_url", "out_of_scope_tonnes")
"""Members of a row of figures that get_market_figures has, or its sources."""
_OF_MISSING: Final = ("code", "sentence", "skus", "units", "examples")
"""Members of a missing fact beside a market; check_missing_data has its fields and article."""
_EXAMPLES: Final = 3
"""The most codes beside a finding that blocks nothing; `state` lists every item."""
_MOST_ASKED: Final = 1
"""The most questions of an item in a list; asked alone it has all."""
_NEWER: Final = "Newer writes than this snapshot: {}; it follows within a minute. "


class Portfolio(Answer):
    """An answer from the analytic store."""

    newer_writes: Annotated[int, Field(description="Write transactions that came after `as_of`.")]
    answer: Annotated[JsonObject, Field(description="The figures; counts are of packaging items (SKUs).")]


class PortfolioTools:
    """The tools of the portfolio, which DuckDB answers in a thread, from only the company's own files."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def tools(self) -> list[Tool]:
        """Return the tools with their titles."""
        return [
            Tool(self.compliance_overview, "Portfolio compliance overview"),
            Tool(self.check_market_readiness, "Check readiness for one market"),
            Tool(self.check_missing_data, "Check what is missing"),
        ]

    def compliance_overview(self) -> Portfolio:
        """Totals over the portfolio: items by recyclability grade, DoC status, ban, market; tonnes; the plan's limit.

        Also every jurisdiction in scope with its EPR system, depth and verification date. Use it for how many items
        have which grade, and how many are provisional; for one market use check_market_readiness.
        """
        snapshot, now = newest_snapshot(self._service)
        stored = figures.current(self._service.settings.data_dir, snapshot.company_id)
        found = analytics.overview(snapshot, now, stored)
        return _answer(
            now.head(snapshot),
            {**found, "plan": self._plan()},
            "Call check_market_readiness with the code of a market for what stands in the way there.",
        )

    def _plan(self) -> dict[str, int | None]:
        """Return how many items the company's plan allows, and how many more it may store; null is no limit."""
        company_id = current_principal().company_id
        with self._service.writes.company(company_id) as conn:
            held = limits.skus(conn, company_id)
        assert held is not None, "the session is of this company"
        left = None if held.limit is None else max(held.limit - held.held, 0)
        return {"sku_limit": held.limit, "skus_held": held.held, "skus_left": left}

    def check_market_readiness(
        self,
        market: Market,
        state: Annotated[State | None, Field(description="Also list the items of this class, with codes.")] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Portfolio:
        """Which packaging items can or cannot be sold in one market, and why; state=blocked lists all with their codes.

        Items are blocked, to_decide, incomplete or ready; each finding has its article and examples. Also the market's
        system, register and duties: must we register (LUCID), do we need an authorised representative. Not legal
        advice. Tonnes and thresholds in full: get_market_figures.
        """
        market = market_code(market)
        snapshot, now = newest_snapshot(self._service)
        try:
            stored = figures.current(self._service.settings.data_dir, snapshot.company_id)
            found = analytics.readiness(snapshot, market, now, stored)
            if state is None:
                found = _without_empty(found)
            else:
                found = {name: found[name] for name in _OF_ITEMS}
                found |= {
                    "state": state,
                    **analytics.items_in(snapshot, market, now, state, limit=limit, offset=offset),
                }
        except Unfit as unfit:
            raise refusal(unfit.code, unfit.message) from None
        return _answer(now.head(snapshot), found, "Call check_missing_data for an item to see what to complete first.")

    def check_missing_data(
        self,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002
        limit: Limit = 10,
        offset: Offset = 0,
    ) -> Portfolio:
        """What is missing for one packaging item (sku_code or id), or for the whole portfolio, the worst gaps first.

        Use it for what to complete first, to improve grades. Without an item it gives the gaps of all items and a page
        of the items with the worst ones. An item's `missing` and `open` are what its grade lacks, and what could still
        change it.
        """
        code = None
        if id is not None or sku_code is not None:
            with self._service.writes.company(current_principal().company_id) as conn:
                code = skus.code_of(conn, item_id(conn, id, sku_code))
        snapshot, now = newest_snapshot(self._service)
        found = analytics.missing(snapshot, now, sku_code=code, limit=limit, offset=offset)
        if code is not None and not found["items"]:
            raise refusal("not_found", f"The item is newer than the snapshot; ask again in a minute. {UNKNOWN_ITEM}")
        with self._service.writes.company(current_principal().company_id) as conn:
            items = analytics.with_asked(conn, found["items"], self._service.rulesets, ORIGINAL)
        end, total = offset + len(items), found["pagination"]["total"]
        more = f"Call again with offset {end} for more of {total} items." if end < total else ""
        next_step = more or "Call propose_sku_update with the missing facts, once the user knows them."
        answer = {**found, "items": [_incomplete(item, alone=code is not None) for item in items]}
        if code is None:
            answer["count_note"] = _COUNT_NOTE
        return _answer(now.head(snapshot), answer, next_step)


def _without_empty(found: Mapping[str, object]) -> JsonObject:
    """Return a market's readiness without the empty members of its figures' rows, and without notes on sources."""
    answer: JsonObject = orjson.loads(orjson.dumps(found))
    for table in ("tonnes", "obligations"):
        rows = (answer["figures"] or {}).get(table, [])
        for row in rows:
            for name in [name for name, value in row.items() if value in (None, []) or name in _SAID_ELSEWHERE]:
                del row[name]
    answer["missing"] = [{name: found[name] for name in _OF_MISSING} for found in answer["missing"]]
    for finding in (*answer["missing"], *answer["upcoming"]):
        finding["examples"] = finding["examples"][:_EXAMPLES]
    for part in (answer["jurisdiction"] or {}, answer["coverage"] or {}):
        for name in [name for name, value in part.items() if value is None or name == "source_note"]:
            del part[name]
    return answer


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


def _answer(head: Head, found: Mapping[str, object], next_step: str) -> Portfolio:
    """The answer: what was found, without what every answer begins with."""
    newer = head["newer_writes"]
    return Portfolio(
        as_of=head["as_of"],
        newer_writes=newer,
        sources=[_SOURCE, _CATALOGUE],
        next_step=(_NEWER.format(newer) if newer else "") + next_step,
        answer=orjson.loads(orjson.dumps({name: value for name, value in found.items() if name not in head})),
    )
