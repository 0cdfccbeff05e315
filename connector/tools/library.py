"""Defines the tools that list records which items refer to: declarations of conformity and shared components."""

from typing import Annotated, Literal, cast

from anyio import to_thread
from pydantic import Field

from connector.principal import current_principal
from connector.service import Service
from connector.tools import kit
from connector.tools.kit import DEFAULT_LIMIT, Answer, Limit, Offset, Page, Tool, item_id
from schemas.conformity import DocOfItem
from schemas.library import LibraryComponent
from warehouse import conformity, library

Status = Literal["draft", "pending", "valid", "expired", "rejected"]


class Declarations(Answer):
    """A page of declarations, newest first."""

    declarations: list[DocOfItem]
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
        listing = conformity.page_with_items(
            self._service.clock.today(),
            limit,
            offset,
            status=status,
            ends_within_days=expires_within_days,
            sku_code=sku_code,
        )
        listed = await kit.page_of(self._service, current_principal().company_id, listing)
        page = Page.from_pagination(listed["pagination"], len(listed["data"]))
        return Declarations(
            as_of=self._service.clock.now(),
            sources=["The company's declarations in this service"],
            next_step=page.way_on("Call generate_doc_draft for an item that has no valid declaration."),
            declarations=listed["data"],
            page=page,
        )

    async def list_shared_components(self, limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> SharedComponents:
        """List the company's shared library components (caps, labels, bottles that several items use), by code.

        Use it to resolve a component_id, or to find the material, weight and supplier of a shared component.
        """
        listed = await kit.page_of(
            self._service, current_principal().company_id, library.page("library_component", limit, offset)
        )
        page = Page.from_pagination(listed["pagination"], len(listed["data"]))
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
