"""Removes objects that no row names: a crash left them between storing a file's bytes and committing its row.

An object is an orphan when it is older than `GRACE` and no row has its id. Its age is measured on the store's own clock
alone, which no setting of ours shifts, so that an upload under way is never taken for an old one. An upload that takes
longer than half of that is refused (`api.files`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

from pipelines.housekeeping.proceed import Proceed
from warehouse import sweeps
from warehouse.companies.queries import every_company
from warehouse.objects import Objects
from warehouse.sessions import Pool

GRACE: Final = timedelta(hours=1)
BATCH_OBJECTS: Final = 1_000
_TABLES: Final[dict[str, tuple[str, ...]]] = {
    "files": ("technical_files", "review_files"),
    "imports": ("imports",),
    "exports": ("exports",),
    "outputs": (),
}
"""Maps each folder of a company's objects to the tables whose ids occur in its keys.

`outputs` has figures that releases until 1.8 handed from step to step through the store: nothing reads them any more.
"""


@dataclass(slots=True)
class Swept:
    """The objects that a sweep looked at and removed."""

    companies: int = 0
    looked_at: int = 0
    removed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_TABLES, 0))
    """Removed objects by folder."""
    unfinished: int = 0
    """Uploads that were interrupted before their object existed."""


def remove_orphans(pool: Pool, objects: Objects, proceed: Proceed) -> Swept:
    """Remove every company's orphans."""
    swept, oldest = Swept(), objects.now() - GRACE
    for company_id in every_company(pool):
        for folder in _TABLES:
            for batch in _batches(objects, company_id, folder):
                proceed()
                orphans = _orphans(pool, company_id, folder, [key for key, at in batch if at < oldest])
                for key in orphans:
                    objects.delete(key)
                swept.looked_at += len(batch)
                swept.removed[folder] += len(orphans)
        swept.companies += 1
    swept.unfinished = objects.drop_unfinished(GRACE)
    return swept


def _batches(objects: Objects, company_id: UUID, folder: str) -> Iterator[list[tuple[str, datetime]]]:
    objects_stored = objects.stored(company_id, folder)
    while batch := list(islice(objects_stored, BATCH_OBJECTS)):
        yield batch


def _orphans(pool: Pool, company_id: UUID, folder: str, keys: list[str]) -> list[str]:
    ids = {key: _id_of(key) for key in keys}
    ids_to_find = sorted({identifier for identifier in ids.values() if identifier is not None})
    if not ids_to_find:
        return keys
    with pool.company(company_id) as conn:
        ids_found = set[UUID]().union(*(sweeps.ids_of_rows(conn, table, ids_to_find) for table in _TABLES[folder]))
    return [key for key, identifier in ids.items() if identifier not in ids_found]


def _id_of(key: str) -> UUID | None:
    """Return the record's id in `<company_id>/<folder>/<id>[/<part>]`; no record has any other name."""
    try:
        return UUID(key.split("/")[2])
    except ValueError:
        return None
