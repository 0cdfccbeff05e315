"""Models of the body of POST /skus/batch, and the reading of a row: a SKU, its volumes, the version it is made for."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic import Field as PydanticField

from schemas.issues import Issue
from schemas.models import (
    MAX_VOLUME_ROWS,
    SkuInput,
    Strict,
    VolumeRowInput,
    issue_of,
    parse_sku,
    parse_volumes,
    whole,
)
from schemas.refusals import Refused
from schemas.sku import SkuPatch, VolumeRow

MAX_BATCH: Final = 1000
"""Most SKUs of one batch (interface v1, Limits)."""


Archived: TypeAlias = Literal["return", "keep"]
"""What happens to an archived SKU that a batch or an import names: it comes back, or its row is rejected."""
_IF_VERSION: Final = "if_version"
_Version: TypeAlias = Annotated[int, PydanticField(strict=True, ge=0), BeforeValidator(whole)]
_VERSION: Final = TypeAdapter[int](_Version)


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
    if_version: Annotated[
        _Version | None,
        PydanticField(
            description="The version of the SKU that the row is made for; 0 where it must not exist yet. The row alone"
            " is rejected with `version_conflict` where another one is stored.",
            json_schema_extra={"x-stability": "preview"},
        ),
    ] = None


class SkuBatchInput(Strict):
    """Up to 1 000 SKUs, each accepted or rejected by itself."""

    skus: Annotated[list[SkuBatchRow], PydanticField(max_length=MAX_BATCH)]
    dry_run: bool = False
    archived: Annotated[
        Archived,
        PydanticField(
            description="Whether an archived SKU that a row names comes back, or the row is rejected with"
            " `sku_archived`.",
            json_schema_extra={"x-stability": "preview"},
        ),
    ] = "return"


class BatchRecord(NamedTuple):
    """One row of a batch: the given fields, its volumes and the version it is made for; None where it has none."""

    record: SkuPatch
    volumes: list[VolumeRow] | None
    if_version: int | None


def parse_batch_row(row: object) -> BatchRecord:
    """Return one row of a batch. Raise `Refused`."""
    if not isinstance(row, dict) or not row.keys() & {"volumes", _IF_VERSION}:
        return BatchRecord(parse_sku(row), None, None)
    issues: list[Issue] = []
    volumes, if_version = None, None
    try:
        record = parse_sku({name: value for name, value in row.items() if name not in ("volumes", _IF_VERSION)})
    except Refused as invalid:
        issues += invalid.issues
    try:
        volumes = parse_volumes(row["volumes"]) if "volumes" in row else None
    except Refused as invalid:
        issues += inside_volumes(invalid.issues)
    try:
        if_version = None if row.get(_IF_VERSION) is None else _VERSION.validate_python(row[_IF_VERSION])
    except ValidationError as error:
        issues += [replace(issue_of(fault), field=_IF_VERSION) for fault in error.errors(include_url=False)]
    if issues:
        raise Refused(issues)
    return BatchRecord(record, volumes, if_version)


def inside_volumes(issues: Iterable[Issue]) -> list[Issue]:
    """Return faults of rows of volumes as those of the field `volumes` that holds the rows."""
    return [replace(issue, row=None, field=_at_row(issue)) if issue.count is None else issue for issue in issues]


def _at_row(issue: Issue) -> str:
    place = "volumes" if issue.row is None else f"volumes[{issue.row}]"
    return f"{place}.{issue.field}" if issue.field else place
