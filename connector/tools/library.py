"""Defines the tools that list records which items refer to: declarations of conformity and shared components."""

from typing import Annotated, Literal, cast

import orjson
from anyio import to_thread
from pydantic import BaseModel, Field

from connector.principal import current_principal
from connector.service import Service
from connector.tools import kit
from connector.tools.kit import DEFAULT_LIMIT, Answer, Limit, Offset, Page, Tool, item_id
from schemas.json_values import JsonObject
from schemas.library import LibraryComponent
from warehouse import conformity, library

Status = Literal["draft", "pending", "valid", "expired", "rejected"]


class Declaration(BaseModel):
    """What is known of a declaration of conformity; its contents are not served."""

    id: str
    sku_id: Annotated[str | None, Field(description="The packaging item it covers, when scoped to one.")]
    sku_code: str | None
    sku_name: str | None
    reference: str | None
    supplier_name: str | None
    status: Annotated[str, Field(description="draft, pending, valid, expired or rejected, as of today (UTC).")]
    issued_on: str | None
    expires_on: Annotated[str | None, Field(description="Its last day.")]
    created_at: str
    updated_at: str


class Declarations(Answer):
    """A page of declarations, newest first."""

    declarations: list[Declaration]
    page: Page


class SharedComponents(Answer):
    """A page of shared components, by code."""

    components: list[LibraryComponent]
    page: Page


class RecordTools:
    """The tools of records; each list is one statement in Postgres."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def tools(self) -> list[Tool]:
        """Return the tools with their titles."""
        return [
            Tool(self.list_declarations, "List declarations of conformity"),
            Tool(self.list_shared_components, "List shared components"),
        ]

    async def list_declarations(
        self,
        status: Annotated[Status | None, Field(description="As of today.")] = None,
        expires_within_days: Annotated[
            int | None, Field(description="Only valid ones that end within so many days.", ge=0, le=3660)
        ] = None,
        sku_code: Annotated[str | None, Field(description="Only of this item.")] = None,
        limit: Limit = DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> Declarations:
        """List the company's Declarations of Conformity (DoC) with the code and name of each item, newest first.

        Use it for which are valid, drafts, or end (expire) in the next days. To prepare one use generate_doc_draft;
        for declarations to a scheme or register list_filed_declarations.
        """
        if sku_code is not None:
            await to_thread.run_sync(self._require_item, sku_code)
        asked = {"status": status, "days": expires_within_days, "sku_code": sku_code}
        found = await self._page(conformity.found(limit, offset), {**asked, "today": self._service.clock.today()})
        page = Page.of(found["pagination"], len(found["data"]))
        return Declarations(
            as_of=self._service.clock.now(),
            sources=["The company's declarations in this service"],
            next_step=page.way_on("Call generate_doc_draft for an item that has no valid declaration."),
            declarations=[Declaration(**item) for item in found["data"]],
            page=page,
        )

    async def list_shared_components(self, limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> SharedComponents:
        """List the company's shared library components (caps, labels, bottles that several items use), by code.

        Use it to resolve a component_id, or to find the material, weight and supplier of a shared component. The
        components of one packaging item are in get_packaging_item.
        """
        listed = await kit.page_of(
            self._service, current_principal().company_id, library.page("library_component", limit, offset)
        )
        page = Page.of(listed["pagination"], len(listed["data"]))
        return SharedComponents(
            as_of=self._service.clock.now(),
            sources=["The company's component library in this service"],
            next_step=page.way_on("Call get_packaging_item for an item that uses one of them."),
            components=cast(list[LibraryComponent], listed["data"]),
            page=page,
        )

    def _require_item(self, sku_code: str) -> None:
        """Raise the tool's refusal where the company has no such item."""
        with self._service.writes.company(current_principal().company_id) as conn:
            item_id(conn, None, sku_code)

    async def _page(self, query: str, parameters: dict[str, object]) -> JsonObject:
        row = await kit.row(self._service, current_principal().company_id, query, parameters)
        assert row is not None, "a page is one row"
        found: dict[str, object] = orjson.loads(row[0])
        return found
