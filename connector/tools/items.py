"""Defines the tools of packaging items: the list, and one item with its components and the reasons of its grade."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Final

import orjson
from anyio import to_thread
from pydantic import BaseModel, Field

from compliance.standards import unread
from connector.principal import current_principal
from connector.service import Service
from connector.tools import reading, searches
from connector.tools.answer import Answer, Page, Tool, instant, refusal
from connector.tools.arguments import (
    DEFAULT_LIMIT,
    UNKNOWN_ITEM,
    FittingLimit,
    ItemId,
    Limit,
    Offset,
    SkuCode,
    require_one,
    uuid_of,
)
from connector.tools.windows import cut_to_window
from pipelines.writing import present
from schemas import texts
from schemas.json_values import JsonMapping, JsonObject
from schemas.refusals import Refused
from services import item_search
from services.item_search import Place
from warehouse.sessions import Connection
from warehouse.skus import detail, queries

_SHOWN: Final = (
    "id",
    "sku_code",
    "name",
    "material",
    "weight_grams",
    "recyclability_grade",
    "recyclability_score",
    "doc_status",
    "markets",
    "packaging_level",
    "packaging_format",
    "food_contact",
    "updated_at",
)
SHORT: Final = 8_000
"""Characters of an answer whose size was not asked for."""
_SIZES: Final = (DEFAULT_LIMIT, 14, 10, 7, 5, 3, 2, 1)
"""How many of each list of an item are shown: the most of these with which the answer is short, at least one."""
_SOURCE: Final = "The company's own packaging records in this service"
_GRADES: Final = "Grades: Regulation (EU) 2025/40, Annex II; indicative until the delegated acts, due 1 January 2028"


class Item(BaseModel):
    """A packaging item in a list."""

    id: str
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
    updated_at: str


class Items(Answer):
    """A page of packaging items, newest first."""

    items: list[Item]
    page: Page


class ItemDetail(Answer):
    """One packaging item as it is stored."""

    item: Annotated[JsonObject, Field(description="All fields of SkuDetailResponse.data of the REST interface.")]
    page: Annotated[Page, Field(description="Where these components, volumes and reasons lie in all there are.")]


def _item(listed: JsonMapping, provisional: Collection[str]) -> Item:
    return Item(**{name: listed[name] for name in _SHOWN}, grade_provisional=listed["id"] in provisional)


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
        search: searches.Words = None,
        market: searches.InMarket = None,
        grade: searches.OfGrade = None,
        doc_status: searches.HasDoc = None,
        gap: searches.WithGap = None,
        flag: searches.WithFlag = None,
        supplier: searches.OfSupplier = None,
        material: searches.OfMaterial = None,
        component: searches.UsesComponent = None,
        limit: Limit = DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> Items:
        """List or search the company's packaging items (SKUs), newest first: code, name, grade, weight, markets, DoC.

        Filters narrow it, and page.total counts what fits: items with PVC (material), of one supplier, that use a
        shared component or cap, with a gap (plastic parts without their polymer: polymer_missing), with a format ban.
        """
        asked = partial(
            searches.asked,
            search=search,
            market=market,
            grade=grade,
            doc_status=doc_status,
            gap=gap,
            flag=flag,
            supplier=supplier,
            material=material,
            component=component,
        )
        return await to_thread.run_sync(self._list, asked, limit, offset)

    def _list(self, asked: Callable[[Connection], searches.Asked], limit: int, offset: int) -> Items:
        service, company_id = self._service, current_principal().company_id
        place = Place(service.writes, service.clock, service.rulesets, service.settings.data_dir, company_id)
        with service.writes.company(company_id) as conn:
            wanted = asked(conn)
        try:
            found = orjson.loads(item_search.page(place, wanted.search, wanted.finding, limit=limit, offset=offset))
        except Refused as refused:
            [issue] = refused.issues
            raise refusal(issue.code, f"{issue.field}: {issue.message}") from None
        with service.writes.company(company_id) as conn:
            provisional = queries.provisional(conn, [item["id"] for item in found["data"]])
        page = Page.of(found["pagination"], len(found["data"]))
        snapshot_at = found.get("findings_as_of")
        return Items(
            as_of=snapshot_at or instant(service.clock.now()),
            sources=[_SOURCE, _GRADES],
            next_step=page.way_on("Call get_packaging_item with a sku_code for one item's details."),
            items=[_item(item, provisional) for item in found["data"]],
            page=page,
        )

    async def get_packaging_item(
        self,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002  (the contract's name)
        limit: FittingLimit = None,
        offset: Offset = 0,
    ) -> ItemDetail:
        """Get one packaging item by sku_code or id: components, weights, substances, volumes, DoC status, format bans.

        Also why it has its recyclability grade: compliance.grade_trace names the rules, what is missing, open and
        assumed; compliance.schemes what others, such as the UK's RAM, would rate it. Use it for any question about a
        single item; limit and offset page one of very many parts.
        """
        require_one(id, sku_code)
        today = self._service.clock.today()
        by_id = {"id": uuid_of(id)} if id is not None else None
        query, named = (detail.BY_ID, by_id) if by_id else (detail.BY_CODE, {"sku_code": texts.code(str(sku_code))})
        found = await reading.row(self._service, current_principal().company_id, query, {**named, "today": today})
        if found is None:
            raise refusal("not_found", UNKNOWN_ITEM)
        row = detail.row_of(found)
        item, rules = await present.sku_detail_on_loop(row, self._service.rules_for, today=today)
        stream = item["compliance"]["grade_trace"]["stream"]
        whole, sources = orjson.loads(orjson.dumps(item)), [_SOURCE, _GRADES, *unread(stream, rules)]
        for size in _SIZES if limit is None else (limit,):
            shown, page = cut_to_window(whole, size, offset)
            answer = ItemDetail(
                as_of=instant(self._service.clock.now()),
                sources=sources,
                next_step=page.way_on(
                    "Call check_missing_data with this sku_code for what is missing, the worst first."
                ),
                item={**shown},
                page=page,
            )
            if len(orjson.dumps(answer.model_dump())) <= SHORT:
                break
        return answer
