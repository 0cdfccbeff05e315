"""Defines the tool that tries a change without filing it: for one item, or for every item that uses a component."""

from typing import Annotated, Final, Literal
from uuid import UUID

import orjson
from pydantic import Field, ValidationError

from connector.principal import current_principal
from connector.service import Service
from connector.tools.kit import Found, ItemId, Limit, Offset, SkuCode, Tool, item_id, refusal
from connector.tools.review import (
    ComponentChange,
    ComponentChanges,
    FreeChanges,
    check_together,
    effect,
    given,
    given_lines,
)
from connector.tools.skus import UsesComponent, named_records
from schemas.json_values import JsonObject
from schemas.skus.inputs import Strict, issues_of
from services.skus import what_if
from services.skus.what_if import Way
from warehouse.operate.sessions import Connection
from warehouse.skus import queries as skus
from warehouse.skus import search
from warehouse.skus.search import Search

Target = Annotated[
    Literal["A", "B", "C"] | None, Field(description="The grade to reach: which facts or changes would make it so?")
]
_SOURCES: Final = ["The company's own packaging records in this service", "The active rule-set; grades are indicative"]
_NEXT: Final = "Nothing was changed or filed. To file a change call propose_sku_update with it."
_MOST_ITEMS: Final = 50
_MOST_FACTS: Final = 15


class WhatIfTools:
    """The tool of trials, whose writes are dry runs in a thread."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def tools(self) -> list[Tool]:
        """Return the tool with its title."""
        return [Tool(self.what_if, "What would the grade be if")]

    def what_if(
        self,
        *,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002  (the contract's name)
        target_grade: Target = None,
        changes: FreeChanges = None,
        component_changes: ComponentChanges = None,
        component: UsesComponent = None,
        component_fields: Annotated[
            JsonObject | None,
            Field(description="With `component`: fields to change in it, such as polymer_or_grade: HDPE."),
        ] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Found:
        """Try a change without filing it: what would happen to the grade, or what would make an item grade B (or A, C).

        For one item send target_grade, or changes. For a shared component or cap that many items use send component
        with component_fields: the grade of each before and after. Also why an item has no grade and what to send.
        """
        if component is not None:
            if sku_code is not None or id is not None or changes is not None or component_changes:
                raise refusal("invalid_body", "With component send component_fields alone, without an item.")
            return self._of_component(component, component_fields or {}, limit, offset)
        fields, lines = given(changes), given_lines(component_changes)
        service, company_id, now = self._service, current_principal().company_id, self._service.clock.now()
        with service.writes.company(company_id) as conn:
            sku_id = item_id(conn, id, sku_code)
            code = str(skus.code_of(conn, sku_id))
            if not fields and not lines:
                way = what_if.way_to(conn, sku_id, target_grade or "B", now=now, rulesets=service.rulesets)
                return self._answer(_way(code, target_grade or "B", way))
            check_together(fields, lines)
            compared = what_if.compared(conn, company_id, sku_id, fields, lines, now=now, rulesets=service.rulesets)
        if compared.refused is not None:
            raise refusal("invalid_body", compared.refused)
        return self._answer({"sku_code": code, **effect(compared)})

    def _of_component(self, component: str, fields: JsonObject, limit: int, offset: int) -> Found:
        service, company_id = self._service, current_principal().company_id
        with service.writes.company(company_id) as conn:
            named = named_records(conn, "library_component", component)
            ids = [each.id for each in named]
            asked = Search(refers_to=ids, sort="sku_code")
            row = conn.execute(
                search.page(asked, min(limit, _MOST_ITEMS), offset), asked.parameters(service.clock.now())
            ).fetchone()
            assert row is not None, "a page is one row"
            page = orjson.loads(row[0])
            items = [self._item(conn, company_id, item, ids, fields) for item in page["data"]]
        total, end = page["pagination"]["total"], offset + len(items)
        return self._answer(
            {
                "component": [each.label for each in named],
                "change": fields,
                "items": items,
                "total": total,
                "next_offset": end if end < total else None,
            }
        )

    def _item(
        self, conn: Connection, company_id: UUID, item: JsonObject, ids: list[str], fields: JsonObject
    ) -> JsonObject:
        """Return an item that uses the component, with its grade now and after the change."""
        answer = {"sku_code": item["sku_code"], "name": item["name"], "grade_now": item["recyclability_grade"]}
        if not fields:
            return answer
        sku_id = UUID(item["id"])
        lines = given_lines([_change(str(line["id"]), fields) for line in what_if.lines_of(conn, sku_id, ids)])
        compared = what_if.compared(
            conn, company_id, sku_id, {}, lines, now=self._service.clock.now(), rulesets=self._service.rulesets
        )
        if compared.refused is not None:
            return {**answer, "refused": compared.refused}
        after = compared.after
        return {**answer, "grade_then": after and after.grade, "score_then": after and after.score}

    def _answer(self, answer: JsonObject) -> Found:
        return Found(
            as_of=self._service.clock.now(),
            sources=_SOURCES,
            next_step=_NEXT,
            answer=orjson.loads(orjson.dumps(answer)),
        )


def _change(line_id: str, fields: JsonObject) -> Strict:
    """Return the change of one line. Raise the tool's refusal where a field is none of a component's."""
    try:
        return ComponentChange.model_validate_json(orjson.dumps({**fields, "id": line_id}))
    except ValidationError as error:
        issue = issues_of(error)[0]
        raise refusal(issue.code, f"component_fields.{issue.field}: {issue.message}") from None


def _way(code: str, target: str, way: Way) -> JsonObject:
    """Return the grade now, the facts that are asked for, and changes that would reach the target."""
    trace, now = way.trace, way.now
    return {
        "sku_code": code,
        "grade_now": now.grade,
        "score_now": now.score,
        "provisional": now.provisional,
        "reason": trace["reason"],
        "facts_missing": trace["missing"][:_MOST_FACTS],
        "facts_that_could_change_it": trace["open"][:_MOST_FACTS],
        "target_grade": target,
        "changes_that_reach_it": [
            {
                "changes": [
                    {**step._asdict(), "send": {"id": step.component_id, step.field: step.then}} for step in each.steps
                ],
                "grade": each.grade,
                "score": each.score,
            }
            for each in way.reached
        ],
        "note": "Changes of the packaging itself are tried one field at a time, by the rules alone; whether they are "
        "feasible is for a person to say. Facts are what is not recorded yet.",
    }
