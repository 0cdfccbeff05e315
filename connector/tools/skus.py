"""Defines the tools of packaging items: the list, one item with the reasons of its grade, and trials without filing."""

from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal, NamedTuple, cast  # Any: annotations made from vocabularies
from uuid import UUID

import orjson
from anyio import to_thread
from pydantic import BaseModel, Field, ValidationError, WithJsonSchema

from compliance import ruleset
from compliance.ruleset import unread
from compliance.words import nearest_materials, resolve_material
from connector.principal import current_principal
from connector.service import Service
from connector.tools import kit
from connector.tools.kit import (
    DEFAULT_LIMIT,
    SHORT,
    Answer,
    FittingLimit,
    Found,
    ItemId,
    Limit,
    Offset,
    Page,
    SkuCode,
    Stated,
    Tool,
    item_id,
    market_code,
    refusal,
    require_one,
    uuid_of,
)
from connector.tools.library import newest_files
from connector.tools.review import (
    ComponentChange,
    ComponentChanges,
    FreeChanges,
    check_together,
    effect,
    fields_of,
    lines_of,
)
from schemas import texts
from schemas.actors import Actor
from schemas.answers import Instant
from schemas.json_values import JsonObject
from schemas.refusals import Refused
from schemas.rules import GradeTrace, GradeUnit
from schemas.skus.inputs import Strict, issues_of
from schemas.skus.types import Component, SkuDetail, SkuListItem
from schemas.vocabularies import VOCABULARIES
from services import evidence, marks, roles
from services.skus import detail as detail_skus
from services.skus import listing, what_if
from services.skus.listing import Place
from services.skus.what_if import Way
from warehouse import library
from warehouse.figures.gaps import GAPS, Finding
from warehouse.operate.sessions import Connection
from warehouse.skus import queries, search
from warehouse.skus.search import MOST_WORDS, NEWEST, SORTS, Search


def cut_to_window(item: SkuDetail, limit: int, offset: int) -> tuple[SkuDetail, Page]:
    """Return SkuDetailResponse.data cut to a window, and the window's position in the longest of its lists."""
    end = offset + limit
    compliance = item["compliance"]
    trace = compliance["grade_trace"]
    schemes = compliance["schemes"]
    lists: tuple[Sized, ...] = (
        item["components"],
        item["volumes"],
        trace["missing"],
        trace["open"],
        trace["no_guideline_row"],
        trace["assumptions"],
        *(scheme["open"] for scheme in schemes),
    )
    total = max(map(len, lists))
    components = item["components"][offset:end]
    cut: GradeTrace = {
        **trace,
        "missing": trace["missing"][offset:end],
        "open": trace["open"][offset:end],
        "no_guideline_row": trace["no_guideline_row"][offset:end],
        "assumptions": trace["assumptions"][offset:end],
        "units": _units(trace["units"], components),
    }
    answer: SkuDetail = {
        **item,
        "components": components,
        "volumes": item["volumes"][offset:end],
        "compliance": {
            **compliance,
            "grade_trace": cut,
            "schemes": [{**scheme, "open": scheme["open"][offset:end]} for scheme in schemes],
        },
    }
    return answer, Page.from_pagination(
        {"limit": limit, "offset": offset, "total": total}, min(end, total) - min(offset, total)
    )


def _units(units: Sequence[GradeUnit], components: Sequence[Component]) -> list[GradeUnit]:
    """Return the units of these components, or that of an item without any, without other components in them."""
    ids_shown: set[str | None] = {None, *(component["id"] for component in components)}
    cut: list[GradeUnit] = [
        {
            **unit,
            "components": [part for part in unit["components"] if part["component_id"] in ids_shown],
            "component_ids": [component_id for component_id in unit["component_ids"] if component_id in ids_shown],
        }
        for unit in units
    ]
    return [unit for unit in cut if unit["components"]]


Grade: Any = Literal[tuple(VOCABULARIES["recyclability_grade"])]
Gap: Any = Literal[*GAPS, "heavy_metals", "pfas_food_contact", "bpa_food_contact"]
DocStatus: Any = Literal[tuple(VOCABULARIES["doc_status"])]

Words = Annotated[str | None, Field(description="Words of code, name, GTIN, format, category, brand or supplier.")]
InMarket = Annotated[str | None, Field(description="Name or code, such as FR.")]
OfGrade = Annotated[Grade | None, Field(description="Grade.")]
WithGap = Annotated[Gap | None, Field(description="What is not recorded, or a limit that is exceeded.")]
WithFlag = Annotated[str | None, Field(description="Code of a format ban, as in compliance_overview.")]
OfSupplier = Annotated[str | None, Field(description="Name or id of a part's supplier; none: parts without one.")]
OfMaterial = Annotated[str | None, Field(description="Material or its grade: plastic, PVC, …")]
UsesComponent = Annotated[str | None, Field(description="Code, name or id of a shared component.")]
Reusable = Annotated[bool | None, Field(description="Reusable or not.")]
EmptySpace = Annotated[float | None, Field(description="More percent than this.")]
Sorted = Annotated[
    str | None,
    Field(description="sku_code, name, weight_grams, recyclability_score, …; - descends."),
]
HasDoc = Annotated[DocStatus | None, Field(description="Cover by a declaration of conformity.")]


class ListFilters(Strict):
    """The filters of the list besides market, material and grade."""

    search: Words = None
    doc_status: HasDoc = None
    gap: WithGap = None
    flag: WithFlag = None
    supplier: OfSupplier = None
    component: UsesComponent = None
    reusable: Reusable = None
    empty_space_above: EmptySpace = None


OtherFilters = Annotated[
    ListFilters | None,
    WithJsonSchema({"type": ["object", "null"]}),
    Field(description="Other filters of list_packaging_items: search, gap, …"),
]
_NEAREST: Final = 5


class Asked(NamedTuple):
    """The conditions on the records, and on what the snapshot found."""

    search: Search
    finding: Finding


class Named(NamedTuple):
    """A record of the library that an argument names."""

    id: str
    label: str


def asked_search(
    conn: Connection,
    *,
    search: str | None = None,
    market: str | None = None,
    grade: str | None = None,
    doc_status: str | None = None,
    gap: str | None = None,
    flag: str | None = None,
    supplier: str | None = None,
    material: str | None = None,
    component: str | None = None,
    reusable: bool | None = None,
    empty_space_above: float | None = None,
    sort: str | None = None,
) -> Asked:
    """Return the conditions in a session of the company. Raise the tool's refusal of one that cannot be read."""
    if sort is not None and sort not in SORTS:
        raise refusal("not_in_vocabulary", f"sort: the orders of the list are {', '.join(SORTS)}.")
    of_none = supplier is not None and supplier.casefold() == "none"
    words = tuple((search or "").split())
    if len(words) > MOST_WORDS:
        raise refusal("out_of_range", f"search: at most {MOST_WORDS} words are searched at once.")
    family, polymer = _material(material)
    ids = [
        record.id
        for text, kind in ((None if of_none else supplier, "supplier"), (component, "library_component"))
        if text
        for record in named_records(conn, kind, text)
    ]
    if supplier and component:
        raise refusal("invalid_body", "Send supplier or component, not both.")
    criteria = Search(
        words=words,
        market=None if market is None else market_code(conn, market),
        grade=grade,
        doc_status=doc_status,
        material=family,
        refers_to=ids or None,
        reusable=reusable,
        empty_space_above=empty_space_above,
        sort=sort or NEWEST,
    )
    return Asked(criteria, Finding(gap=gap, flag=flag, polymer=polymer, no_supplier=of_none))


@contextmanager
def refusing_filters() -> Iterator[None]:
    """Turn the refusal of a filter of the list into the tool's."""
    try:
        yield
    except Refused as refused:
        [issue] = refused.issues
        raise refusal(issue.code, f"{issue.field}: {issue.message}") from None


def named_records(conn: Connection, resource: str, text: str) -> Sequence[Named]:
    """Return the library's records that a text names: by id, by code or name, else by all of its words.

    Raises the tool's refusal where there is none.
    """
    if (record_id := uuid_of(text)) is not None:
        return [Named(str(library.resolved(conn, resource, record_id) or record_id), text)]
    every = library.labels(conn, resource)
    folded = text.casefold().strip()
    exact = [Named(id_, label) for id_, label, names in every if folded in names]
    words = folded.split()
    records = exact or [
        Named(id_, label) for id_, label, names in every if all(word in " ".join(names) for word in words)
    ]
    if not records:
        nearest = "; ".join(texts.in_quotes(label) for _, label, _ in every[:_NEAREST]) or "none"
        what = "supplier" if resource == "supplier" else "shared component"
        raise refusal(
            "not_found",
            f"No {what} of the library has {texts.in_quotes(text)} in its code or name. The first are: {nearest}.",
        )
    return records


def _material(text: str | None) -> tuple[str | None, str | None]:
    """Return the family, else the polymer or grade, that a text names."""
    if text is None:
        return None, None
    if text.casefold() in VOCABULARIES["material"]:
        return text.casefold(), None
    rules = ruleset.load()
    if (code := resolve_material(text, rules)) is None:
        nearest = ", ".join(nearest_materials(text, rules))
        raise refusal(
            "not_in_vocabulary", f"material: {texts.in_quotes(text)} is no known material; the nearest are: {nearest}."
        )
    return None, code


_SIZES: Final = (DEFAULT_LIMIT, 14, 10, 7, 5, 3, 2, 1)
"""How many of each list of an item are shown: the most of these with which the answer is short, at least one."""
_SOURCE: Final = "The company's own packaging records in this service"
MEMBERS: Final = {
    "roles": roles.of_item,
    "marks": marks.of_item,
    "evidence": evidence.of_item,
    "technical_files": newest_files,
}
"""What other subjects say in the answer about an item."""
_OF_ARCHIVED: Final = {"technical_files": MEMBERS["technical_files"]}
_MISSING: Final = "Call check_missing_data with this sku_code for what is missing, the worst first."
_ARCHIVED: Final = "It is archived: say so; list_changes has who archived it. A person brings it back on its page."
_GRADES: Final = "Grades: Regulation (EU) 2025/40, Annex II; indicative until the delegated acts, due 1 January 2028"


class Item(BaseModel):
    """A packaging item in a list."""

    id: UUID
    sku_code: str
    name: str
    material: str | None
    weight_grams: Annotated[float | None, Field(description="Total weight in grams.")]
    recyclability_grade: Annotated[str | None, Field(description="A, B, C, not_recyclable or not_assessed.")]
    recyclability_score: Annotated[float | None, Field(description="0 to 100.")]
    grade_provisional: Annotated[bool, Field(description="Whether a fact that is not given could change the grade.")]
    doc_status: Annotated[str, Field(description="Cover by a declaration of conformity today.")]
    markets: list[str] | None
    packaging_level: str | None
    packaging_format: str | None
    food_contact: bool | None
    updated_at: Instant


_Member: Any = Literal[tuple(Item.model_fields)]
_AS_NAMES: Final = WithJsonSchema({"type": ["array", "null"], "items": {"type": "string"}})
Shown: Any = Annotated[list[_Member] | None, _AS_NAMES, Field(description="Only these members.")]


class Items(Answer):
    """A page of packaging items, newest first."""

    items: Annotated[list[JsonObject], Field(description="Each an `Item`, without what is not recorded.")]
    page: Page


class ItemDetail(Answer):
    """One packaging item as it is stored."""

    item: Annotated[
        Stated,
        Field(
            description="The fields of REST's SkuDetailResponse.data that are not null, `roles`, `marks`, `names` and "
            "`technical_files`."
        ),
    ]
    page: Annotated[Page, Field(description="Where these components, volumes and reasons lie in all there are.")]


class ItemTools:
    """The tools of items, which read Postgres in the event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def tools(self) -> list[Tool]:
        """Return the tools with their titles."""
        return [
            Tool(self.list_packaging_items, "List packaging items"),
            Tool(self.get_packaging_item, "Get one packaging item"),
        ]

    async def list_packaging_items(
        self,
        *,
        search: Words = None,
        market: InMarket = None,
        grade: OfGrade = None,
        doc_status: HasDoc = None,
        gap: WithGap = None,
        flag: WithFlag = None,
        supplier: OfSupplier = None,
        material: OfMaterial = None,
        component: UsesComponent = None,
        reusable: Reusable = None,
        empty_space_above: EmptySpace = None,
        sort: Sorted = None,
        fields: Shown = None,
        limit: Limit = DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> Items:
        """List or search the company's packaging items (SKUs): code, name, grade, weight, markets, DoC.

        page.total counts what fits the filters, such as items with PVC (material), or plastic parts without polymer
        (gap=polymer_missing).
        """
        ask = partial(
            asked_search,
            search=search,
            market=market,
            grade=grade,
            doc_status=doc_status,
            gap=gap,
            flag=flag,
            supplier=supplier,
            material=material,
            component=component,
            reusable=reusable,
            empty_space_above=empty_space_above,
            sort=sort,
        )
        return await to_thread.run_sync(self._list, ask, fields, limit, offset)

    def _list(
        self, search: Callable[[Connection], Asked], fields: Sequence[str] | None, limit: int, offset: int
    ) -> Items:
        service, company_id = self._service, current_principal().company_id
        place = Place(service.writes, service.clock, service.rulesets, service.settings.data_dir, company_id)
        with service.writes.company(company_id) as conn:
            wanted = search(conn)
        with refusing_filters():
            answer = listing.page(place, wanted.search, wanted.finding, limit=limit, offset=offset)
        with service.writes.company(company_id) as conn:
            provisional = queries.provisional(conn, [item["id"] for item in answer["data"]])
        page = Page.from_pagination(answer["pagination"], len(answer["data"]))
        shown = None if fields is None else {"sku_code", *fields}
        snapshot_at: datetime | None = cast(JsonObject, answer).get("findings_as_of")
        items: Sequence[JsonObject] = cast(list[JsonObject], answer["data"])
        rows = [Item(**item, grade_provisional=item["id"] in provisional) for item in items]
        return Items(
            as_of=snapshot_at or service.clock.now(),
            sources=[_SOURCE, _GRADES],
            next_step=page.way_on("Call get_packaging_item with a sku_code for one item's details."),
            items=[row.model_dump(mode="json", exclude_none=True, include=shown) for row in rows],
            page=page,
        )

    async def get_packaging_item(
        self,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002  (the contract's name)
        limit: FittingLimit = None,
        offset: Offset = 0,
    ) -> ItemDetail:
        """Get one packaging item by sku_code or id: components, substances, volumes, DoC status, format bans, files.

        Also why it has its recyclability grade: compliance.grade_trace names the rules, what is missing, open and
        assumed; compliance.schemes what others, such as the UK's RAM, would rate it.
        """
        require_one(id, sku_code)
        today = self._service.clock.today()
        query = queries.BY_CODE if id is None else queries.BY_ID
        named = {"id": uuid_of(str(id)), "sku_code": texts.code(str(sku_code)), "today": today}
        record = await kit.row(self._service, current_principal().company_id, query, named)
        of_item, since = MEMBERS, dict[str, object]()
        if record is None:
            row, archived_at = await to_thread.run_sync(kit.archived_item, self._service, id, sku_code)
            of_item, since = _OF_ARCHIVED, {"archived_at": archived_at}
        else:
            row = queries.row_of(record)
        item, rules = await detail_skus.sku_detail_on_loop(row, self._service.rules_for, today=today)
        more = since | await to_thread.run_sync(kit.members, self._service, of_item, UUID(str(item["id"])))
        names = await to_thread.run_sync(kit.names_in, self._service, item)
        stream = item["compliance"]["grade_trace"]["stream"]
        sources = [_SOURCE, _GRADES, *unread(stream, rules)]
        for size in _SIZES if limit is None else (limit,):
            window, page = cut_to_window(item, size, offset)
            answer = ItemDetail(
                as_of=self._service.clock.now(),
                sources=sources,
                next_step=page.way_on(_ARCHIVED if since else _MISSING),
                item={**window, **more, "names": names},
                page=page,
            )
            if len(answer.model_dump_json()) <= SHORT:
                break
        return answer


Target = Annotated[Literal["A", "B", "C"] | None, Field(description="The grade to reach.")]
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
            Field(description="Fields to change in `component`."),
        ] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Found:
        """Try a change without filing it: what happens to the grade, or what would make an item grade A, B or C.

        For one item send target_grade, or changes; for a shared component or cap that many items use, component with
        component_fields. Also why an item has no grade and what to send.
        """
        if component is not None:
            if sku_code is not None or id is not None or changes is not None or component_changes:
                raise refusal("invalid_body", "With component send component_fields alone, without an item.")
            return self._of_component(component, component_fields or {}, limit, offset)
        fields, lines = fields_of(changes), lines_of(component_changes)
        service, actor = self._service, self._actor()
        with service.writes.company(actor.company_id) as conn:
            sku_id = item_id(conn, id, sku_code)
            code = str(queries.code_of(conn, sku_id))
            if not fields and not lines:
                way = what_if.way_to(conn, sku_id, target_grade or "B", today=actor.today, rulesets=service.rulesets)
                return self._answer(_way(code, target_grade or "B", way))
            check_together(fields, lines)
            compared = what_if.compared(conn, actor, sku_id, fields, lines, rulesets=service.rulesets)
        if compared.refused is not None:
            raise refusal("invalid_body", compared.refused)
        return self._answer({"sku_code": code, **effect(compared)})

    def _of_component(self, component: str, fields: JsonObject, limit: int, offset: int) -> Found:
        service, actor = self._service, self._actor()
        with service.writes.company(actor.company_id) as conn:
            records = named_records(conn, "library_component", component)
            ids = [record.id for record in records]
            holders = Search(refers_to=ids, sort="sku_code")
            page = search.page(holders, min(limit, _MOST_ITEMS), offset, actor.now).read(conn)
            items = [self._item(conn, actor, item, ids, fields) for item in page["data"]]
        total, end = page["pagination"]["total"], offset + len(items)
        tried = [item for item in items if "grade_then" in item]
        summary = {
            "tried": len(tried),
            "grade_changes": sum(item["grade_then"] != item["grade_now"] for item in tried),
            "score_changes": sum(item["score_then"] != item["score_now"] for item in tried),
            "refused": sum("refused" in item for item in items),
        }
        return self._answer(
            {
                "component": [record.label for record in records],
                "change": fields,
                "summary": summary,
                "items": items,
                "total": total,
                "next_offset": end if end < total else None,
            }
        )

    def _actor(self) -> Actor:
        who = current_principal()
        return Actor(who.company_id, who.origin, self._service.clock.now())

    def _item(
        self, conn: Connection, actor: Actor, item: SkuListItem, ids: list[str], fields: JsonObject
    ) -> JsonObject:
        """Return an item that uses the component, with its grade now and after the change."""
        answer: JsonObject = {
            "sku_code": item["sku_code"],
            "name": item["name"],
            "grade_now": item["recyclability_grade"],
            "score_now": item["recyclability_score"],
        }
        if not fields:
            return answer
        sku_id = item["id"]
        lines = lines_of([_change(str(line["id"]), fields) for line in what_if.lines_of(conn, sku_id, ids)])
        compared = what_if.compared(conn, actor, sku_id, {}, lines, rulesets=self._service.rulesets)
        if compared.refused is not None:
            return {**answer, "refused": compared.refused}
        after = compared.after
        return {**answer, "grade_then": after and after.grade, "score_then": after and after.score}

    def _answer(self, answer: JsonObject) -> Found:
        return Found(as_of=self._service.clock.now(), sources=_SOURCES, next_step=_NEXT, answer=answer)


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
                    {**step._asdict(), "send": {"id": step.component_id, step.field: step.then}} for step in score.steps
                ],
                "grade": score.grade,
                "score": score.score,
            }
            for score in way.reached
        ],
        "note": "Changes of the packaging itself are tried one field at a time, by the rules alone; whether they are "
        "feasible is for a person to say. Facts are what is not recorded yet.",
    }
