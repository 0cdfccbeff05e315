"""Models of the body of POST /skus/batch, and the reading of a row: a SKU, and its volumes where it has some."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field as PydanticField

from schemas.issues import Issue
from schemas.models import MAX_VOLUME_ROWS, Invalid, SkuInput, Strict, VolumeRowInput, parse_sku, parse_volumes
from schemas.sku import SkuPatch, VolumeRow

MAX_BATCH: Final = 1000
"""Most SKUs of one batch (interface v1, Limits)."""


class SkuBatchRow(SkuInput):  # type: ignore[valid-type, misc]  # made of the field table
    """A SKU of a batch: as a caller writes it alone, and its units placed with it."""

    volumes: Annotated[
        list[VolumeRowInput],
        PydanticField(
            default_factory=list,
            max_length=MAX_VOLUME_ROWS,
            description="Upserted by market, year and half, as PUT /skus/{id}/volumes does; an omitted row stays.",
            json_schema_extra={"x-stability": "preview"},
        ),
    ]


class SkuBatchInput(Strict):
    """Up to 1 000 SKUs, each accepted or rejected by itself."""

    skus: Annotated[list[SkuBatchRow], PydanticField(max_length=MAX_BATCH)]
    dry_run: bool = False


def parse_batch_row(row: object) -> tuple[SkuPatch, list[VolumeRow] | None]:
    """Return one row of a batch: the given fields, and its volumes, None where it has none. Raise `Invalid`."""
    if not isinstance(row, dict) or "volumes" not in row:
        return parse_sku(row), None
    issues: list[Issue] = []
    try:
        record = parse_sku({name: value for name, value in row.items() if name != "volumes"})
    except Invalid as invalid:
        issues += invalid.issues
    try:
        volumes = parse_volumes(row["volumes"])
    except Invalid as invalid:
        issues += inside_volumes(invalid.issues)
    if issues:
        raise Invalid(issues)
    return record, volumes


def inside_volumes(issues: Iterable[Issue]) -> list[Issue]:
    """Return faults of rows of volumes as those of the field `volumes` that holds the rows."""
    return [replace(issue, row=None, field=_at_row(issue)) if issue.count is None else issue for issue in issues]


def _at_row(issue: Issue) -> str:
    place = "volumes" if issue.row is None else f"volumes[{issue.row}]"
    return f"{place}.{issue.field}" if issue.field else place
