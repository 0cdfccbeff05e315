"""Defines the tool that holds every item against one rule: recycled content, bisphenol A, format bans, Triman."""

from typing import Annotated, Any, Final, Literal  # Any: an annotation made from a vocabulary
from uuid import UUID

from pydantic import Field

from compliance import annex_v
from compliance.readiness import item_rules
from compliance.rule_rows import RuleSet
from connector.principal import current_principal
from connector.tools.figures import newest_snapshot
from connector.tools.kit import Found, Limit, Offset, Page, ToolSet, refusal, stated
from schemas.json_values import JsonObject
from services.skus import detail as detail_skus
from warehouse.figures import by_rule
from warehouse.figures.by_rule import STATES
from warehouse.skus import queries, search
from warehouse.skus import queries as skus

Rule = Annotated[
    Literal["recycled_content_2030", "bpa_in_food_contact", "format_bans", "triman_mark"],
    Field(description="The rule."),
]
State: Any = Literal[tuple(dict.fromkeys(state for states in (*STATES.values(), search.STATES) for state in states))]
_SOURCE: Final = "The company's own packaging records in this service"
_NEXT: Final = "Call propose_sku_update with the facts that are missing, once the user knows them."


class RuleTools(ToolSet):
    """The tool of rules, which judges items in a thread."""

    TITLES = (("check_items_against_rule", "Hold every item against one rule"),)

    def check_items_against_rule(
        self,
        rule: Rule,
        state: Annotated[State | None, Field(description="A state of the rule.")] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Found:
        """Hold every item against one rule: its state, and the facts that are missing to be sure.

        Recycled plastic beside the minimum of 2030; bisphenol A (BPA) in food packaging; format bans of Annex V; the
        French Triman mark: who needs it and lacks it.
        """
        states = search.STATES if rule == "triman_mark" else STATES[rule]
        if state is not None and state not in states:
            raise refusal("not_in_vocabulary", f"state: the states of {rule} are {', '.join(states)}.")
        company_id = current_principal().company_id
        if rule == "triman_mark":
            with self._service.writes.company(company_id) as conn:
                counts, items = search.by_label(conn, state=state, limit=limit, offset=offset)
            as_of = self._service.clock.now()
        else:
            snapshot, now = newest_snapshot(self._service)
            with self._service.writes.company(company_id) as conn:
                active = self._service.rulesets.active(conn)
            counts, items = by_rule.by_rule(snapshot, now, active, rule, state=state, limit=limit, offset=offset)
            as_of = now.head(snapshot)["as_of"]
            if rule == "format_bans":
                items = self._with_open_facts(company_id, items, active)
        total = sum(counts.values()) if state is None else counts[state]
        page = Page.from_pagination({"limit": limit, "offset": offset, "total": total}, len(items))
        law = item_rules()[rule]
        return Found(
            as_of=as_of,
            sources=[_SOURCE, f"{law.reference}, {law.source_url}"],
            next_step=page.way_on(_NEXT),
            answer={
                "rule": stated(law.as_dict()),
                "counts": counts,
                "items": [stated({name: value for name, value in item.items() if value != []}) for item in items],
                "page": page.model_dump(),
            },
        )

    def _with_open_facts(self, company_id: UUID, items: list[JsonObject], rules: RuleSet) -> list[JsonObject]:
        """Return the items with the facts on which each ban depends, by their records as they stand now."""
        today, rows = self._service.clock.today(), list[JsonObject]()
        with self._service.writes.company(company_id) as conn:
            for item in items:
                row = queries.find_sku(conn, skus.id_of(conn, item["sku_code"]), today)
                flags = annex_v.flags(detail_skus.record(row), rules, today=today) if row else []
                facts = {flag["code"]: flag["depends_on"] for flag in flags}
                bans = [{**ban, "depends_on": facts.get(ban["code"], [])} for ban in item["bans"]]
                rows.append({**item, "bans": bans})
        return rows
