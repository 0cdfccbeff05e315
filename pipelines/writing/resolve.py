"""Resolves the references of a patch: ids of the company's own records, library components, market subdivisions.

An id of another company is refused like one that does not exist (decisions §2): row-level security hides it. There is
one query per table for all rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pipelines.writing import components
from pipelines.writing.patch import Patch, RowIssue, array_literal, array_values
from schemas import normalise
from schemas.fields import SKU_FIELDS
from schemas.issues import Issue
from schemas.messages import Message
from schemas.sku import LibraryPart
from warehouse.catalogue import queries as catalogue
from warehouse.library import queries as library
from warehouse.sessions import Connection

_REFERENCES: Final = {field.name: field.references for field in SKU_FIELDS if field.references}

Library = Mapping[str, LibraryPart]


@dataclass(frozen=True, slots=True)
class _Mention:
    row: int
    table: str
    id: str
    field: str


def resolve(conn: Connection, patch: Patch) -> tuple[Patch, Library, list[RowIssue]]:
    """Return the patch with markets as the catalogue serves them, its library components, and the faults."""
    mentions = list(_mentions(patch))
    ids_by_table: dict[str, set[str]] = defaultdict(set)
    for mention in mentions:
        ids_by_table[mention.table].add(mention.id)
    known = {table: library.referred_to(conn, table, ids) for table, ids in ids_by_table.items()}
    issues = [
        RowIssue(
            m.row,
            Issue(
                "unknown_reference", Message("{id} is not one of the company's {list}.", id=m.id, list=m.table), m.field
            ),
        )
        for m in mentions
        if m.id not in known[m.table]
    ]
    return _fold_markets(conn, patch), known.get("library_components", {}), issues


def _mentions(patch: Patch) -> Iterable[_Mention]:
    for name, table in _REFERENCES.items():
        if name in patch.values:
            named = zip(patch.values["row"], patch.values[name], strict=True)
            yield from (_Mention(row, str(table), identity, name) for row, identity in named if identity is not None)
    if "components" in patch.values:
        for row, draft in zip(patch.values["row"], patch.values["components"], strict=True):
            yield from (_Mention(row, *mention) for mention in components.references(draft))


def _fold_markets(conn: Connection, patch: Patch) -> Patch:
    if "markets" not in patch.values:
        return patch
    folded = folded_markets(conn, patch.values["markets"])
    markets = [folded.get(literal, literal) for literal in patch.values["markets"]]
    return Patch(patch.values.with_columns({"markets": markets}), patch.given) if folded else patch


def folded_markets(conn: Connection, literals: Iterable[str | None]) -> dict[str | None, str | None]:
    """Return for each array literal that names a subdivision the one to store; most patches name none.

    A subdivision that the catalogue does not serve is stored as its parent.
    """
    with_parts = {literal for literal in literals if literal and "-" in literal}
    if not with_parts:
        return {}
    served = catalogue.served_subdivisions(conn)
    return {old: array_literal(normalise.markets(array_values(old) or [], served)) for old in with_parts}
