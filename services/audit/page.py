"""Builds a page of the audit ledger (decisions §2); `warehouse.audit.entries` has the query.

Entries about a SKU contain no values. Their changes are the difference of two row versions, in the fields of
SkuDetailResponse.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from pipelines.writing import present
from warehouse.audit import entries
from warehouse.audit.entries import Entry
from warehouse.skus.detail import COLUMNS, StoredSku

_COPIED: Final = ("reason", "ip", "user_agent", "correlation_id")


class Difference(NamedTuple):
    """The fields that differ, before and after; of a new SKU those that have a value, and None before."""

    before: dict[str, object] | None
    after: dict[str, object]


def audit_page(page: str, limit: int, offset: int) -> dict[str, object]:
    """Return AuditLogResponse of a page that a statement of `entries.page` found."""
    found = entries.read_page(page)
    return {
        "data": [_entry(entry) for entry in found.entries],
        "pagination": {"limit": limit, "offset": offset, "total": found.total},
    }


def _entry(entry: Entry) -> dict[str, object]:
    before, after = entry.before, entry.after
    if entry.version_after is not None:
        before, after = difference(entry.version_before, entry.version_after)
    return {
        "id": str(entry.id),
        "at": present.instant(entry.at),
        "actor": {"type": entry.actor_type, "id": entry.actor_id, "name": entry.actor_name},
        "action": entry.action,
        "resource_type": entry.action.partition(".")[0],
        "resource_id": entry.resource_id,
        "before": before,
        "after": after,
        **{name: getattr(entry, name) for name in _COPIED},
    }


def difference(old: Sequence[object] | None, new: Sequence[object]) -> Difference:
    """Return the difference of two row versions, each a sequence of the values of `COLUMNS`."""
    new_fields = _fields(new)
    old_fields = _NOTHING if old is None else _fields(old)
    changed = [name for name in new_fields if new_fields[name] != old_fields[name]]
    before = None if old is None else {name: old_fields[name] for name in changed}
    return Difference(before, {name: new_fields[name] for name in changed})


def difference_of_rows(old: StoredSku, new: StoredSku) -> Difference:
    """Return the same of two rows by `COLUMNS`."""
    return difference([old[name] for name in COLUMNS], [new[name] for name in COLUMNS])  # type: ignore[literal-required]


def _fields(values: Sequence[object]) -> dict[str, object]:
    return present.fields(cast(StoredSku, dict(zip(COLUMNS, values, strict=True))))


_NOTHING: Final = _fields([None] * len(COLUMNS))
