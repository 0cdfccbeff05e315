"""Offers what is no tool: the portfolio's summary as a resource, and a prompt that prepares a quarterly review.

A person attaches the resource or chooses the prompt in their assistant; a model calls tools. Reading a resource counts
against the ceiling like a call (`connector.gate`).
"""

import json
from typing import Annotated, Final

from anyio import to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from connector.service import Service
from connector.tools.portfolio import PortfolioTools

SUMMARY: Final = "pcds://portfolio/summary"
_REVIEW: Final = """\
Prepare our quarterly packaging review{quarter}. Use the tools of this server only, quote every figure with its unit, \
`as_of` and source, and name items by their codes.

1. compliance_overview: items by grade, provisional grades, declarations, format bans, markets.
2. check_market_readiness for each market in scope, with state=blocked and state=to_decide where there are any.
3. get_market_figures for each market: tonnes by material, thresholds that are exceeded or undecidable, and items that \
could not be counted; list_filed_declarations for what was filed.
4. list_changes since the first day of the quarter; check_bulk_import with import_id=latest for rows to correct.
5. list_declarations with expires_within_days=90; list_supplier_requests for answers that are awaited.
6. check_items_against_rule for recycled_content_2030, bpa_in_food_contact, format_bans and triman_mark.
7. check_missing_data: what to complete first, by units.

Write one page: what is blocked, what is due, what changed, what is missing and who has to act. Say which figures are \
older than others, and that grades are indicative. Propose nothing without asking."""


def add_guides(server: MCPServer[None], service: Service) -> None:
    """Add the resource and the prompt to the server."""

    async def portfolio_summary() -> str:
        try:
            found = await to_thread.run_sync(PortfolioTools(service).compliance_overview)
        except ToolError as refused:  # as before the first snapshot: the resource is there and says so
            return json.dumps({"message": str(refused)})
        return found.model_dump_json(by_alias=True)

    def prepare_quarterly_review(
        quarter: Annotated[str, Field(description="Such as 2026-Q3; the last one where left out.")] = "",
    ) -> str:
        return _REVIEW.format(quarter=f" of {quarter}" if quarter else "")

    server.resource(
        SUMMARY,
        title="Portfolio summary",
        description="The company's items by grade, declarations, format bans and markets, with their instant.",
        mime_type="application/json",
    )(portfolio_summary)
    server.prompt(
        title="Prepare the quarterly review",
        description="Collects blocked items, due declarations, changes and gaps of a quarter on one page.",
    )(prepare_quarterly_review)
