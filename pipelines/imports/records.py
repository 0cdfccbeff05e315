"""Makes the suppliers, brands and sites that a file names and no record has, where its mapping says so (`create`).

The reader has chosen their ids (`pipelines.reading.new_names`), which stand among the words of the import's source. A
record is made with the first chunk that refers to it, in the same transaction, with its entry in the ledger.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from pipelines.imports.work import Work
from pipelines.reading.new_names import CREATED
from pipelines.writing.patch import Patch
from warehouse.audit import ledger
from warehouse.library import queries as library
from warehouse.sessions import Connection

_ROLES: Final = {"manufacturing_site_id": ["manufacturing"], "packing_site_id": ["packing"]}


class _Named(NamedTuple):
    """A name of the file, the id that its cells were given, and the record that it may be."""

    id: str
    name: str
    resource: str
    roles: list[str]


def make_records(conn: Connection, work: Work, patch: Patch, now: datetime) -> None:
    """Make the records that the patch refers to and that the company lacks, in the caller's transaction.

    A name that a record has meanwhile makes none: its rows name an id of nobody then, and are rejected.
    """
    texts = [text for name in patch.values.names for text in (patch.values[name] if _refers(name) else ())]
    cells, graphs = set(texts), "".join(text for text in texts if text and text.startswith("["))
    for each in _named(work):
        if each.id not in cells and each.id not in graphs:
            continue
        if library.holds(conn, each.resource, UUID(each.id)) or library.named(conn, each.resource, each.name):
            continue
        values = {"name": each.name} | ({"roles": each.roles} if each.roles else {})
        library.add(conn, each.resource, work.company_id, UUID(each.id), values=values, at=now)
        ledger.enter(
            conn,
            work.company_id,
            f"{each.resource}.created",
            UUID(each.id),
            origin=work.origin,
            now=now,
            before=None,
            after=values,
        )


def _refers(column: str) -> bool:
    return column in CREATED or column == "components"


def _named(work: Work) -> Iterator[_Named]:
    """Yield each record that the file's words refer to, once; a site has the roles of all columns that name it."""
    parts = work.source["components"]
    found: dict[str, _Named] = {}
    for words in (work.source.get("words", {}), parts.get("words", {}) if parts else {}):
        for field, names in words.items():
            own = field.removeprefix("component_")
            if (resource := CREATED.get(own)) is None:
                continue
            for name, record_id in names.items():
                each = found.setdefault(str(record_id), _Named(str(record_id), name, resource, []))
                each.roles.extend(role for role in _ROLES.get(own, ()) if role not in each.roles)
    yield from found.values()
