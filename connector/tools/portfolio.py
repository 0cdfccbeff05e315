"""Defines the tools of the whole portfolio, on the company's newest snapshot: overview, one market, missing data."""

from collections.abc import Mapping
from typing import Annotated, Any, Final  # Any: JSON of the REST interface

import orjson
from pydantic import Field

from connector.principal import current_principal
from connector.service import Service
from connector.tools.answer import Told, Tool, refusal
from connector.tools.arguments import UNKNOWN_ITEM, ItemId, Limit, Offset, SkuCode, item_id
from schemas.analytics import Head
from schemas.messages import ORIGINAL
from schemas.normalise import Unfit
from warehouse import analytics, figures
from warehouse.analytics import Now
from warehouse.skus import queries as skus
from warehouse.snapshots import Snapshot
from warehouse.snapshots import current as newest

Market = Annotated[
    str, Field(description="Jurisdiction code of the market: FR, DE, GB, US-CA, …", min_length=2, max_length=20)
]
_SOURCE: Final = "A snapshot of the company's own records; grades are indicative (Regulation (EU) 2025/40, Annex II)"
_CATALOGUE: Final = "The service's jurisdiction catalogue"
_NEWER: Final = "Newer writes than this snapshot: {}; it follows within a minute. "


class Portfolio(Told):
    """An answer from the analytic store."""

    newer_writes: Annotated[int, Field(description="Write transactions that came after `as_of`.")]
    answer: Annotated[dict[str, Any], Field(description="The figures; counts are of packaging items (SKUs).")]


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
        """Totals over the whole portfolio: items by recyclability grade, DoC status, format bans, markets, tonnes.

        It also lists every jurisdiction in scope with its EPR system, depth and verification date. Use it for "how
        compliant are we" and "how many items"; for one market use check_market_readiness.
        """
        snapshot, now = self._newest()
        stored = figures.current(self._service.settings.data_dir, snapshot.company_id)
        found = analytics.overview(snapshot, now, stored)
        return _told(
            now.head(snapshot),
            found,
            "Call check_market_readiness with the code of a market for what stands in the way there.",
        )

    def check_market_readiness(self, market: Market) -> Portfolio:
        """Which packaging items can or cannot be sold in one market, and why, by the company's own records.

        Use it for questions such as "which of our items cannot be sold in France". Items are blocked, to decide,
        incomplete or ready; each finding has its article, the number of items and examples. With it come the market's
        tonnes by category, the thresholds that they are held against, how sure each is, and the facts that are missing
        to know which packaging counts. It is not legal advice.
        """
        snapshot, now = self._newest()
        try:
            stored = figures.current(self._service.settings.data_dir, snapshot.company_id)
            found = analytics.readiness(snapshot, market, now, stored)
        except Unfit as unfit:
            raise refusal(unfit.code, unfit.message) from None
        return _told(now.head(snapshot), found, "Call check_missing_data for an item to see what to complete first.")

    def check_missing_data(
        self,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Portfolio:
        """What is missing for one packaging item (sku_code or id), or for the whole portfolio, the worst gaps first.

        Use it for "what is missing" and "what should we complete first". Without an item it gives the gaps of all
        items and a page of the items with the worst ones. An item's `missing` and `open` are the questions of its
        grade: what it lacks, and what could still change it, the strongest first.
        """
        code = None
        if id is not None or sku_code is not None:
            with self._service.writes.company(current_principal().company_id) as conn:
                code = skus.code_of(conn, item_id(conn, id, sku_code))
        snapshot, now = self._newest()
        found = analytics.missing(snapshot, now, sku_code=code, limit=limit, offset=offset)
        if code is not None and not found["items"]:
            raise refusal("not_found", f"The item is newer than the snapshot; ask again in a minute. {UNKNOWN_ITEM}")
        with self._service.writes.company(current_principal().company_id) as conn:
            items = analytics.with_asked(conn, found["items"], self._service.rulesets, ORIGINAL)
        end, total = offset + len(items), found["pagination"]["total"]
        more = f"Call again with offset {end} for more of {total} items." if end < total else ""
        next_step = more or "Call propose_sku_update with the missing facts, once the user knows them."
        return _told(now.head(snapshot), {**found, "items": items}, next_step)

    def _newest(self) -> tuple[Snapshot, Now]:
        """Return the company's newest snapshot, and the current state that answers need besides."""
        company_id = current_principal().company_id
        snapshot = newest(self._service.settings.data_dir, company_id)
        if snapshot is None:
            raise refusal(
                "not_found", "No snapshot of the portfolio exists yet; one follows each write within a minute."
            )
        with self._service.writes.company(company_id) as conn:
            return snapshot, Now.read(conn, self._service.clock)


def _told(head: Head, found: Mapping[str, object], next_step: str) -> Portfolio:
    """The answer: what was found, without what every answer begins with."""
    newer = head["newer_writes"]
    return Portfolio(
        as_of=head["as_of"],
        newer_writes=newer,
        sources=[_SOURCE, _CATALOGUE],
        next_step=(_NEWER.format(newer) if newer else "") + next_step,
        answer=orjson.loads(orjson.dumps({name: value for name, value in found.items() if name not in head})),
    )
