"""Stores a company's own words: by field, the value that a text in its files means. Every import reads them."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple, cast
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Json
from sqlalchemy import JSON, Column, PrimaryKeyConstraint, Table, Text, Uuid
from sqlalchemy import text as sql_text

from schemas.imports.types import KeptMapping, OwnWord
from schemas.words import fold
from warehouse import pages
from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing

import_mappings = Table(
    "import_mappings",
    metadata,
    company(),
    Column("id", Uuid, nullable=False, server_default=sql_text("gen_random_uuid()")),
    Column("name", Text, nullable=False),
    Column("mapping", JSON, nullable=False, comment="as the caller sent it with the name last"),
    instant("updated_at"),
    PrimaryKeyConstraint("company_id", "name"),
)

own_words = Table(
    "own_words",
    metadata,
    company(),
    Column("field", Text, nullable=False),
    Column("folded", Text, nullable=False, comment="the text without the differences that readers ignore"),
    Column("text", Text, nullable=False),
    Column("value", JSON, nullable=False, comment="as in a mapping; JSON null for an empty cell"),
    instant("updated_at"),
    PrimaryKeyConstraint("company_id", "field", "folded"),
)

_ALL: Final = "SELECT field, text, value FROM own_words ORDER BY field, folded"
_BEFORE: Final = "SELECT value FROM own_words WHERE field = %s AND folded = %s FOR UPDATE"
_KEEP: Final = (
    "INSERT INTO own_words (company_id, field, folded, text, value, updated_at) VALUES (%s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (company_id, field, folded) "
    "DO UPDATE SET text = excluded.text, value = excluded.value, updated_at = excluded.updated_at"
)
_REMOVE: Final = "DELETE FROM own_words WHERE field = %s AND folded = %s"
_NAMES: Final = """
SELECT 'brands', name, coalesce(merged_into, id)::text FROM brands
UNION ALL SELECT 'sites', name, coalesce(merged_into, id)::text FROM sites
UNION ALL SELECT 'suppliers', name, coalesce(merged_into, id)::text FROM suppliers
UNION ALL SELECT 'library_components', unnest(ARRAY[code, name]), id::text FROM library_components"""
_FIELDS_OF: Final = {
    "brands": ("brand_id",),
    "sites": ("manufacturing_site_id", "packing_site_id"),
    "suppliers": ("supplier_id",),
    "library_components": ("component_id",),
}
"""The fields of a file that refer to each kind of record."""


class Word(NamedTuple):
    """A word to store: a text in the company's files and the value that it means; None is an empty cell."""

    field: str
    folded: str
    text: str
    value: object


def load(conn: Connection) -> dict[str, dict[str, object]]:
    """Return all words of the session's company, by field."""
    words: dict[str, dict[str, object]] = {}
    for field, text, value in conn.execute(_ALL):
        words.setdefault(field, {})[text] = value
    return words


def for_reading(conn: Connection) -> dict[str, dict[str, object]]:
    """Return what a file's texts mean in the session's company, by field: its own words, and the names of its records.

    A brand, a site, a supplier and a shared component are named in a file as people name them (decisions §13). A name
    that several records have, as names are compared, means none of them, and stands for itself; the company's own words
    come first.
    """
    ids: dict[tuple[str, str], set[str]] = {}
    records: dict[str, dict[str, object]] = {}
    for table, name, record_id in conn.execute(_NAMES):
        ids.setdefault((table, fold(name)), set()).add(record_id)
        for field in _FIELDS_OF[table]:
            records.setdefault(field, {})[name] = record_id
    for table, fields in _FIELDS_OF.items():
        for field in fields:
            names = records.get(field, {})
            records[field] = {name: id_ if len(ids[table, fold(name)]) == 1 else name for name, id_ in names.items()}
    own = load(conn)
    return {field: {**records.get(field, {}), **own.get(field, {})} for field in {**records, **own}}


def count(conn: Connection) -> int:
    """Return how many words the session's company has."""
    (number,) = conn.execute("SELECT count(*) FROM own_words").fetchone() or (0,)
    return int(number)


def page(limit: int, offset: int) -> Listing[OwnWord]:
    """Return the question for a page of the company's words, sorted by field and word."""
    item, order = "field, text, value, updated_at", 'field, folded COLLATE "C"'
    return pages.listing(item, "own_words", order=order, limit=limit, offset=offset)


def keep(conn: Connection, company_id: UUID, words: Iterable[Word], now: datetime) -> Mapping[str, object]:
    """Store words; an earlier value of the same word is replaced. Return the values before, by `field: text`."""
    before: dict[str, object] = {}
    for word in words:
        if (row := conn.execute(_BEFORE, (word.field, word.folded)).fetchone()) is not None:
            before[f"{word.field}: {word.text}"] = row[0]
        conn.execute(_KEEP, (company_id, word.field, word.folded, word.text, json.dumps(word.value), now))
    return before


def remove(conn: Connection, words: Iterable[tuple[str, str]]) -> Mapping[str, object]:
    """Remove words, each a field and a folded text. Return the values that they had, by `field: text`."""
    before: dict[str, object] = {}
    for field, folded in words:
        if (row := conn.execute(_BEFORE, (field, folded)).fetchone()) is not None:
            before[f"{field}: {folded}"] = row[0]
            conn.execute(_REMOVE, (field, folded))
    return before


_KEEP_MAPPING: Final = (
    "INSERT INTO import_mappings (company_id, name, mapping, updated_at) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (company_id, name) DO UPDATE SET mapping = excluded.mapping, updated_at = excluded.updated_at"
)
_RECALL: Final = "SELECT mapping FROM import_mappings WHERE company_id = %s AND name = %s"
_KEPT: Final = "id, name, mapping, updated_at"
_FIND: Final = f"SELECT {_KEPT} FROM import_mappings WHERE id = %s FOR UPDATE"
_MAPPING_NAMES: Final = "SELECT name FROM import_mappings WHERE company_id = %s ORDER BY updated_at DESC, name LIMIT %s"


def keep_mapping(conn: Connection, company_id: UUID, name: str, mapping: Mapping[str, object], now: datetime) -> None:
    """Store a mapping under a name, in the caller's transaction; replaces an earlier one of that name."""
    conn.execute(_KEEP_MAPPING, (company_id, name, Json(dict(mapping)), now))


def recall(conn: Connection, company_id: UUID, name: str) -> dict[str, object] | None:
    """Return the mapping that the company keeps under a name, or None."""
    row = conn.execute(_RECALL, (company_id, name)).fetchone()
    return None if row is None else dict(row[0])


def names(conn: Connection, company_id: UUID, most: int) -> list[str]:
    """Return the names of a company's mappings, the last kept first."""
    return [str(row[0]) for row in conn.execute(_MAPPING_NAMES, (company_id, most))]


def page_of_mappings(limit: int, offset: int = 0) -> Listing[KeptMapping]:
    """Return the question for a page of the company's mappings, the last kept first."""
    return pages.listing(_KEPT, "import_mappings", order="updated_at DESC, id", limit=limit, offset=offset)


def find(conn: Connection, mapping_id: UUID) -> KeptMapping | None:
    """Return and lock a mapping of the session's company."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return cast(KeptMapping | None, cursor.execute(_FIND, (mapping_id,)).fetchone())


def remove_mapping(conn: Connection, mapping_id: UUID) -> None:
    """Remove a mapping of the session's company."""
    conn.execute("DELETE FROM import_mappings WHERE id = %s", (mapping_id,))
