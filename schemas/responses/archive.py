"""Models of the answers about archived SKUs and undone imports."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Grade, Identifier, Instant, Pagination


class ArchivedSku(Answer):
    """An archived SKU, as it was last."""

    id: Identifier
    sku_code: str
    name: str
    recyclability_grade: Grade
    archived_at: Instant


class ArchivedSkuListResponse(Answer):
    """A page of archived SKUs, the last archived first."""

    data: list[ArchivedSku]
    pagination: Pagination


class UndoCounts(Answer):
    """Number of SKUs that the import had written, by what became of them."""

    restored: Annotated[int, PydanticField(description="SKUs that were put back to the version before the import.")]
    archived: Annotated[
        int, PydanticField(description="SKUs that the import had created, now archived and without its units.")
    ]
    unchanged: Annotated[int, PydanticField(description="SKUs that already were as before the import.")]
    kept: Annotated[int, PydanticField(description="SKUs that were left as they are; `kept` of the answer says why.")]


class UndoKept(Answer):
    """A SKU that was left as it is."""

    sku_code: str
    code: Literal["changed_since", "archived_since", "pfas_food_contact_prohibited"]
    message: str


class ImportUndoResult(Answer):
    """What undoing an import did, or with `dry_run` would do."""

    dry_run: bool
    counts: UndoCounts
    kept: Annotated[
        list[UndoKept], PydanticField(description="SKUs that were left as they are; the first 100, by sku_code.")
    ]
