"""Defines the three tools that file something for a person to decide: each asks the user, and changes no record.

`services.review` stores and decides the filings; `asking` asks the user.
"""

from collections.abc import Callable
from typing import Annotated, Literal

from anyio import to_thread
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import Field

from connector.principal import current_principal
from connector.service import Service
from connector.tools import documents, proposals
from connector.tools.answer import DRAFTS, Tool
from connector.tools.arguments import ItemId, SkuCode
from connector.tools.asking import Confirmation, Filed, ToolContext, Unasked, Yes, ask_user, settled
from connector.tools.changes import ComponentChanges, SkuChanges
from schemas.models import Strict

Language = Annotated[Literal["en", "fr", "de"], Field(description="Language of the draft.")]


def tools(service: Service) -> list[Tool]:
    """Return the tools with their titles."""
    return [
        Tool(_doc_draft(service), "Draft a declaration of conformity", DRAFTS),
        Tool(_sku_update(service), "Propose an update of a packaging item", DRAFTS),
        Tool(_supplier_document(service), "Submit a supplier's document", DRAFTS),
    ]


def _doc_draft(service: Service) -> Callable[..., object]:
    def confirm(
        *,
        ctx: ToolContext,
        sku_code: str | None,
        id: str | None,  # noqa: A002  (the contract's name)
        reference: str | None,
        lang: Literal["en", "fr", "de"],
        confirmation: str | None,
    ) -> Elicit[Yes] | Unasked:
        _, question = proposals.doc_draft(
            service, current_principal(), sku_code=sku_code, id=id, reference=reference, lang=lang
        )
        return ask_user(ctx, question, confirmation)

    def generate_doc_draft(
        *,
        answer: Annotated[ElicitationResult[Yes], Resolve(confirm)],
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002
        reference: Annotated[str | None, Field(description="The company's reference for it.", max_length=200)] = None,
        lang: Language = "en",
        confirmation: Confirmation = None,
    ) -> Filed:
        """Draft an EU Declaration of Conformity (PPWR Annex VIII) for one packaging item, for a person to review.

        Each numbered point is filled from the records; what is missing is listed. The user is asked first. It is filed
        in the review queue: nothing is issued or signed.
        """
        filing, _ = proposals.doc_draft(
            service, current_principal(), sku_code=sku_code, id=id, reference=reference, lang=lang
        )
        return settled(service, current_principal(), filing, answer, confirmation)

    return generate_doc_draft


def _sku_update(service: Service) -> Callable[..., object]:
    def confirm(
        *,
        ctx: ToolContext,
        changes: Strict | None,
        component_changes: list[Strict] | None,
        sku_code: str | None,
        id: str | None,  # noqa: A002
        confirmation: str | None,
    ) -> Elicit[Yes] | Unasked:
        _, question = proposals.sku_update(
            service, current_principal(), sku_code, id, changes=changes, component_changes=component_changes
        )
        return ask_user(ctx, question, confirmation)

    def propose_sku_update(
        *,
        answer: Annotated[ElicitationResult[Yes], Resolve(confirm)],
        changes: Annotated[
            SkuChanges | None,
            Field(
                description="Only the fields to change, as in SkuInput; null clears a field, components replaces "
                "the whole graph: to change some use component_changes."
            ),
        ] = None,
        component_changes: ComponentChanges = None,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002  (the contract's name)
        confirmation: Confirmation = None,
    ) -> Filed:
        """Propose changes to one packaging item or one component: each field now and then, grade before and after.

        The user is asked first. It is filed in the review queue: the record changes only if a person accepts it there.
        Use it when the user wants to correct or complete an item; to only try a change use what_if.
        """
        filing, _ = proposals.sku_update(
            service, current_principal(), sku_code, id, changes=changes, component_changes=component_changes
        )
        return settled(service, current_principal(), filing, answer, confirmation)

    return propose_sku_update


def _supplier_document(service: Service) -> Callable[..., object]:
    async def confirm(
        *,
        ctx: ToolContext,
        document: documents.Document,
        sku_code: str | None,
        id: str | None,  # noqa: A002
        confirmation: str | None,
    ) -> Elicit[Yes] | Unasked:
        _, question = await documents.document(service, current_principal(), sku_code, id, document)
        return ask_user(ctx, question, confirmation)

    async def submit_supplier_document(
        *,
        answer: Annotated[ElicitationResult[Yes], Resolve(confirm)],
        document: Annotated[documents.Document, Field(description="The document: its type, name, bytes and dates.")],
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002
        confirmation: Confirmation = None,
    ) -> Filed:
        """File a document that a supplier sent (test report, certificate, declaration) for one packaging item.

        At most 1.5 MB. The user is asked first. It is filed in the review queue and becomes a technical file of the
        item only if a person accepts it.
        """
        filing, _ = await documents.document(service, current_principal(), sku_code, id, document)
        return await to_thread.run_sync(settled, service, current_principal(), filing, answer, confirmation)

    return submit_supplier_document
