"""Defines the tools that list records which items refer to: declarations of conformity and shared components."""

from typing import Annotated, Final, Literal, cast
from uuid import UUID

from anyio import to_thread
from pydantic import Field

from connector.principal import current_principal
from connector.service import Service
from connector.tools import kit
from connector.tools.kit import DEFAULT_LIMIT, Answer, Limit, Offset, Page, Stated, Tool, record_id
from schemas import texts
from schemas.actors import Actor
from schemas.json_values import JsonObject
from warehouse import conformity, files, library
from warehouse.operate.sessions import Connection

Status = Literal["draft", "pending", "valid", "expired", "rejected"]


class Declarations(Answer):
    """A page of declarations, newest first."""

    declarations: list[Stated]
    page: Page


class SharedComponents(Answer):
    """A page of shared components, by code."""

    components: list[Stated]
    page: Page


_MOST_FILES: Final = 5
"""The most technical files of an item that are named, the newest; the others are counted."""
_OF_FILE: Final = ("type", "filename", "reference", "issuer", "issued_on", "expires_on", "created_at")


def newest_files(conn: Connection, actor: Actor, sku_id: UUID) -> JsonObject:  # noqa: ARG001  (as all members have it)
    """Return the number of an item's technical files, and the newest."""
    page = files.page(sku_id, _MOST_FILES, 0).read(conn)
    newest = [{name: value for name, value in file.items() if name in _OF_FILE} for file in page["data"]]
    return {"total": page["pagination"]["total"], "newest": newest}


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
        """List Declarations of Conformity (DoC) with the code and name of each item, newest first.

        Which are valid, drafts, or end in the next days. To prepare one use generate_doc_draft; for what was filed to a
        register list_filed_declarations.
        """
        if sku_code is not None:
            sku_code = await to_thread.run_sync(self._code_of, sku_code)
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
            declarations=cast(list[JsonObject], listed["data"]),
            page=page,
        )

    async def list_shared_components(self, limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> SharedComponents:
        """List shared components (caps, labels that several items use) with material, weight, supplier."""
        listed = await kit.page_of(
            self._service, current_principal().company_id, library.page("library_component", limit, offset)
        )
        page = Page.from_pagination(listed["pagination"], len(listed["data"]))
        components = cast(list[JsonObject], listed["data"])
        names = await to_thread.run_sync(kit.names_in, self._service, components)
        return SharedComponents(
            as_of=self._service.clock.now(),
            sources=["The company's component library in this service"],
            next_step=page.way_on("Call get_packaging_item for an item that uses one of them."),
            components=[{**row, "supplier_name": names.get(str(row["supplier_id"]))} for row in components],
            page=page,
        )

    def _code_of(self, sku_code: str) -> str:
        """Return the code of an item, archived or not, as it is stored. Raise the tool's refusal of none."""
        with self._service.writes.company(current_principal().company_id) as conn:
            record_id(conn, None, sku_code)
        return texts.code(sku_code)
