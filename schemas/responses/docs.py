"""Models of the list of Declarations of Conformity: metadata only."""

from typing import Annotated, Any  # Any: an annotation made from a vocabulary

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Day, Identifier, Instant, Pagination, code

RecordStatus: Any = code("doc_record_status")


class DocListItem(Answer):
    """Metadata of a DoC, never its contents or an address to download them from."""

    id: Identifier
    sku_id: Annotated[
        Identifier | None, PydanticField(description="The SKU that the declaration covers, where it is about one.")
    ]
    reference: Annotated[str | None, PydanticField(description="The company's reference of the document.")]
    supplier_name: str | None
    status: Annotated[
        RecordStatus | None,
        PydanticField(
            description="Status on the UTC day of the request: a valid DoC past its `expires_on` reads `expired`."
        ),
    ]
    issued_on: Day | None
    expires_on: Annotated[Day | None, PydanticField(description="Last day of the declaration.")]
    created_at: Instant
    updated_at: Instant


class DocListResponse(Answer):
    """A page of DoCs, newest first."""

    data: list[DocListItem]
    pagination: Pagination
