"""Models of answers about declarations of conformity from draft to withdrawal."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Day, Identifier, Instant, Pagination

Language = Literal["en", "fr", "de"]


class DocPoint(Answer):
    """One point of Annex VIII of Regulation (EU) 2025/40 in a draft."""

    key: Annotated[
        str, PydanticField(description="Name of the point: its text is sent under it when the draft is issued.")
    ]
    number: Annotated[int, PydanticField(description="Number of the point in the Annex.")]
    heading: Annotated[str, PydanticField(description="Heading of the point, in the language of the draft.")]
    lines: Annotated[list[str], PydanticField(description="What the records say on the point.")]
    open: Annotated[bool, PydanticField(description="Whether the point needs a text before the draft can be issued.")]
    source: str


class DocDraft(Answer):
    """A draft of a declaration of conformity; nothing is issued or signed by it."""

    id: Annotated[Identifier | None, PydanticField(description="The draft's id; null for what a dry run would file.")]
    sku_id: Annotated[Identifier | None, PydanticField(description="The SKU that it is about.")]
    sku_code: Annotated[str | None, PydanticField(description="Code of that SKU.")]
    state: Annotated[
        Literal["open", "issued", "rejected"],
        PydanticField(description="State of the draft: open until a person decides."),
    ]
    doc_id: Annotated[Identifier | None, PydanticField(description="The declaration that was issued from the draft.")]
    drafted_by: Annotated[str | None, PydanticField(description="Name of the key, person or application.")]
    drafted_at: Annotated[Instant, PydanticField(description="When the records were read.")]
    reference: str
    lang: Annotated[Language, PydanticField(description="Language of the draft and of the first document.")]
    languages: Annotated[list[Language], PydanticField(description="Languages in which it can be issued.")]
    renews: Annotated[Identifier | None, PydanticField(description="The declaration that this one would renew.")]
    open_points: Annotated[int, PydanticField(description="Number of points that need a text before it can be issued.")]
    points: Annotated[list[DocPoint], PydanticField(description="All points but the signature, in their order.")]


class DocDraftListResponse(Answer):
    """A page of the drafts that wait, newest first."""

    data: Annotated[list[DocDraft], PydanticField(description="The drafts of the page.")]
    pagination: Pagination


class DocDraftResponse(Answer):
    """One draft."""

    data: Annotated[DocDraft, PydanticField(description="The draft.")]


class DocDraftResult(Answer):
    """The draft that was filed, or with `dry_run` would be."""

    dry_run: bool
    data: Annotated[DocDraft, PydanticField(description="The draft.")]


class Doc(Answer):
    """A declaration of conformity, with its item, its documents, and what became of it."""

    id: Annotated[
        Identifier | None, PydanticField(description="The declaration's id; null for what a dry run would issue.")
    ]
    sku_id: Annotated[
        Identifier | None, PydanticField(description="The SKU that the declaration covers, where it is about one.")
    ]
    sku_code: Annotated[str | None, PydanticField(description="Code of that SKU.")]
    sku_name: Annotated[str | None, PydanticField(description="Name of that SKU.")]
    reference: Annotated[str | None, PydanticField(description="The company's reference of the document.")]
    supplier_name: Annotated[str | None, PydanticField(description="Who issued it, where a supplier did.")]
    state: Annotated[
        Literal["draft", "pending", "valid", "expired", "rejected", "withdrawn"],
        PydanticField(
            description="State on the UTC day of the request. `GET /docs` shows a withdrawn declaration as rejected."
        ),
    ]
    issued_on: Day | None
    expires_on: Annotated[Day | None, PydanticField(description="Last day of the declaration.")]
    days_left: Annotated[int | None, PydanticField(description="Days to its last day; negative after it.")]
    languages: Annotated[
        list[Language], PydanticField(description="Languages of its PDFs; empty if it was not issued here.")
    ]
    renews: Annotated[Identifier | None, PydanticField(description="The earlier declaration, which this one renews.")]
    renewed_by: Annotated[Identifier | None, PydanticField(description="The valid declaration that renews this one.")]
    withdrawn_at: Annotated[Instant | None, PydanticField(description="When it was withdrawn; null where it was not.")]
    withdrawn_reason: Annotated[str | None, PydanticField(description="The reason for which a person withdrew it.")]
    created_at: Instant
    updated_at: Instant


class DocSearchResponse(Answer):
    """A page of declarations: newest first, or with `ends_within` the first to end first."""

    data: Annotated[list[Doc], PydanticField(description="The declarations of the page.")]
    pagination: Pagination


class DocResponse(Answer):
    """One declaration."""

    data: Annotated[Doc, PydanticField(description="The declaration.")]


class DocResult(Answer):
    """The declaration after the write, or with `dry_run` as it would be."""

    dry_run: bool
    data: Annotated[Doc, PydanticField(description="The declaration.")]
