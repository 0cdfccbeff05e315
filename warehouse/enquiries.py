"""Stores the table of an enquiry: a row for all parts that are alike, and what its supplier has filled in so far.

Parts are alike where every field is the same but their place in the SKU. A row is asked once and answered for all of
its parts. Items are made, and their answers found, in a few statements, however many there are. The enquiries
themselves and their links are in `warehouse.suppliers`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, NamedTuple
from uuid import UUID

import orjson
from psycopg.rows import class_row
from sqlalchemy import JSON, Boolean, Column, DateTime, Integer, PrimaryKeyConstraint, Table, Text, Uuid

from schemas.json_values import JsonObject
from schemas.skus.types import PartFacts, SupplierAnswer
from schemas.suppliers import MAX_ITEMS
from warehouse.base import company, metadata
from warehouse.operate.sessions import Connection
from warehouse.skus import queries as skus

supplier_rows = Table(
    "supplier_rows",
    metadata,
    company(),
    Column("enquiry_id", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("part", JSON, nullable=False, comment="what its parts have in common, as the record had it"),
    Column("parts", Integer, nullable=False, comment="how many parts it is asked for"),
    Column("answer", JSON, comment="what the supplier has filled in so far"),
    Column("is_confirmed", Boolean, nullable=False, comment="whether the supplier says that it is right"),
    Column("note", Text, comment="what the supplier was told when an answer of it was rejected"),
    Column("saved_at", DateTime(timezone=True)),
    PrimaryKeyConstraint("enquiry_id", "number"),
)

_ALIKE: Final = """
lines AS (
    SELECT skus.id AS sku_id, skus.sku_code, line.value AS line, line.ordinality AS place
    FROM skus CROSS JOIN LATERAL json_array_elements(skus.components) WITH ORDINALITY AS line(value, ordinality)
    WHERE skus.sku_code = ANY(%(codes)s::text[])
), own_lines AS (
    SELECT * FROM lines WHERE line ->> 'supplier_id' IS NULL OR line ->> 'supplier_id' IN (
        SELECT named.id::text FROM suppliers AS named WHERE coalesce(named.merged_into, named.id) IN (
            SELECT coalesce(merged_into, id) FROM suppliers WHERE lower(name) = lower(%(supplier_name)s::text)))
)"""
"""The lines of the SKUs, and those of them that name no other supplier of the library."""
_COUNTED: Final = f"""
WITH {_ALIKE}
SELECT code, EXISTS (SELECT FROM skus WHERE sku_code = code), EXISTS (SELECT FROM lines WHERE sku_code = code)
FROM unnest(%(codes)s::text[]) AS code WHERE code NOT IN (SELECT sku_code FROM own_lines)"""
_ADD: Final = f"""
WITH {_ALIKE}, numbered AS MATERIALIZED (
    SELECT own.*, dense_rank() OVER (
        ORDER BY part ->> 'component_type', part ->> 'material_family', part)::integer AS number
    FROM (SELECT *, line::jsonb - '{{id,position_in_sku,supplier_id}}'::text[] AS part FROM own_lines) AS own
), added AS (
    INSERT INTO supplier_rows (company_id, enquiry_id, number, part, parts, is_confirmed)
    SELECT %(company_id)s, %(enquiry_id)s, number, (array_agg(part))[1]::json, count(*), false
    FROM numbered GROUP BY number
)
SELECT sku_id, array_agg((line ->> 'id')::uuid ORDER BY place), array_agg(number ORDER BY place),
    json_object_agg(line ->> 'id', json_build_object(
        'component_type', line -> 'component_type', 'material_family', line -> 'material_family',
        'polymer_or_grade', line -> 'polymer_or_grade', 'position_in_sku', line -> 'position_in_sku',
        'weight_g', line -> 'weight_g'))
FROM numbered GROUP BY sku_id, sku_code ORDER BY sku_code COLLATE "C" """
_ITEMS: Final = """
INSERT INTO supplier_requests
    (id, company_id, sku_id, component_ids, row_numbers, supplier_name, token_hash, state, created_at, updated_at,
    enquiry_id, expires_at, asked)
SELECT item.id, %(company_id)s, item.sku_id, item.component_ids, item.row_numbers, %(supplier_name)s,
    decode(item.digest, 'hex'), 'open', %(at)s, %(at)s, %(enquiry_id)s, %(expires_at)s, item.asked
FROM json_to_recordset(%(items)s::json) AS item(
    id uuid, sku_id uuid, component_ids uuid[], row_numbers integer[], digest text, asked json)"""


class Unaskable(NamedTuple):
    """A code that nothing can be asked about: whether it is of a SKU, and whether that has parts, all of others."""

    code: str
    is_there: bool
    has_parts: bool


class Item(NamedTuple):
    """A SKU to be asked about: its lines, the row that each is in, and what they are now, by id."""

    sku_id: UUID
    component_ids: list[UUID]
    row_numbers: list[int]
    asked: dict[str, PartFacts]


def unaskable(conn: Connection, codes: Sequence[str], supplier_name: str) -> list[Unaskable]:
    """Return the codes whose SKU has no part that this supplier can be asked about."""
    parameters = {"codes": list(codes), "supplier_name": supplier_name}
    return [Unaskable(*row) for row in conn.execute(_COUNTED, parameters)]


def add_rows(
    conn: Connection, company_id: UUID, enquiry_id: UUID, *, codes: Sequence[str], supplier_name: str
) -> list[Item]:
    """Store the rows of an enquiry about these SKUs, and return its items, which `add_items` stores."""
    parameters = {"company_id": company_id, "enquiry_id": enquiry_id, "codes": list(codes)}
    return [Item(*row) for row in conn.execute(_ADD, parameters | {"supplier_name": supplier_name})]


def add_items(conn: Connection, enquiry: Mapping[str, object], items: Sequence[tuple[UUID, bytes, Item]]) -> None:
    """Store the requests of an enquiry, each with its id and the digest of its token."""
    listed = [{"id": str(request_id), "digest": digest.hex(), **item._asdict()} for request_id, digest, item in items]
    conn.execute(_ITEMS, {**enquiry, "items": orjson.dumps(listed).decode()})


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an enquiry: what its parts have in common, and what was filled in.

    `items` are names of some of its SKUs, `waiting` the number of those whose answer was not accepted yet.
    """

    number: int
    part: JsonObject  # fields of `schemas.skus.types.Component`, without nulls
    parts: int
    answer: SupplierAnswer | None
    is_confirmed: bool
    note: str | None
    items: list[str]
    waiting: int


_NAMED: Final = 3
_ROWS: Final = f"""
WITH uses AS (
    SELECT number, count(*) FILTER (WHERE state <> 'closed') AS waiting,
        (array_agg(sku_id ORDER BY id))[:{_NAMED}] AS ids
    FROM supplier_requests, unnest(row_numbers) AS number WHERE enquiry_id = %(id)s GROUP BY number
)
SELECT rows.number, part, parts, answer, is_confirmed, note, coalesce(uses.waiting, 0) AS waiting,
    ARRAY(SELECT sku.name FROM unnest(uses.ids) AS used CROSS JOIN LATERAL {skus.name_query("used")} AS sku) AS items
FROM (SELECT * FROM supplier_rows WHERE enquiry_id = %(id)s ORDER BY number LIMIT %(limit)s OFFSET %(offset)s) AS rows
LEFT JOIN uses ON uses.number = rows.number ORDER BY rows.number"""


def rows_of(conn: Connection, enquiry_id: UUID, *, limit: int | None = None, offset: int = 0) -> list[Row]:
    """Return the rows of an enquiry in their order; none of one from before there were rows."""
    parameters = {"id": enquiry_id, "limit": limit, "offset": offset}
    with conn.cursor(row_factory=class_row(Row)) as cursor:
        return cursor.execute(_ROWS, parameters).fetchall()


class Progress(NamedTuple):
    """How many rows an enquiry has, how many were saved, and how many were confirmed."""

    rows: int
    saved: int
    confirmed: int


def progress_of(conn: Connection, enquiry_id: UUID) -> Progress:
    """Return how far the table of an enquiry is filled in."""
    query = "SELECT count(*), count(saved_at), count(*) FILTER (WHERE is_confirmed) FROM supplier_rows"
    row = conn.execute(f"{query} WHERE enquiry_id = %s", [enquiry_id]).fetchone()
    assert row is not None, "a count is one row"
    return Progress(*row)


def open_for_supplier(conn: Connection, enquiry_id: UUID, *, at: datetime) -> None:
    """Record that the link was opened, the first time."""
    query = "UPDATE supplier_enquiries SET opened_at = %s WHERE id = %s AND opened_at IS NULL"
    conn.execute(query, [at, enquiry_id])


class Saved(NamedTuple):
    """What a supplier has filled in for a row, and whether it is confirmed."""

    number: int
    answer: SupplierAnswer
    is_confirmed: bool


def save_rows(conn: Connection, enquiry_id: UUID, rows: Sequence[Saved], *, at: datetime) -> int:
    """Store what was filled in, and return the number of rows of the enquiry among them."""
    query = """
UPDATE supplier_rows AS rows SET answer = saved.answer, is_confirmed = saved.is_confirmed, saved_at = %(at)s,
    note = CASE WHEN saved.is_confirmed THEN NULL ELSE note END
FROM json_to_recordset(%(rows)s::json) AS saved(number integer, answer json, is_confirmed boolean)
WHERE rows.enquiry_id = %(id)s AND rows.number = saved.number"""
    listed = orjson.dumps([row._asdict() for row in rows]).decode()
    return conn.execute(query, {"id": enquiry_id, "rows": listed, "at": at}).rowcount


def reopen_rows(conn: Connection, request_id: UUID, note: str | None) -> None:
    """Let the supplier look again at the rows of an item whose answer was rejected."""
    query = """
UPDATE supplier_rows AS rows SET is_confirmed = false, note = %s FROM supplier_requests AS requests
WHERE requests.id = %s AND rows.enquiry_id = requests.enquiry_id AND rows.number = ANY(requests.row_numbers)"""
    conn.execute(query, [note, request_id])


class Answered(NamedTuple):
    """An item of which every row is confirmed, and the answer that waits for review, if one does."""

    request_id: UUID
    sku_id: UUID
    component_ids: list[UUID]
    row_numbers: list[int]
    asked: dict[str, PartFacts]
    entry_id: UUID | None
    payload: JsonObject | None


_ANSWERED: Final = """
SELECT requests.id, requests.sku_id, requests.component_ids, requests.row_numbers, requests.asked, entry.id,
    entry.payload
FROM supplier_requests AS requests LEFT JOIN review_entries AS entry
    ON entry.request_id = requests.id AND entry.state = 'open'
WHERE requests.enquiry_id = %(id)s AND requests.state <> 'closed' AND requests.row_numbers <@ ARRAY(
    SELECT number FROM supplier_rows WHERE enquiry_id = %(id)s AND is_confirmed)
ORDER BY requests.id FOR UPDATE OF requests"""


def answered_items(conn: Connection, enquiry_id: UUID) -> list[Answered]:
    """Return the items that the confirmed rows answer and whose answer was not accepted, locked."""
    return [Answered(*row) for row in conn.execute(_ANSWERED, {"id": enquiry_id})]


def move_items(conn: Connection, request_ids: Sequence[UUID], state: str, *, at: datetime) -> None:
    """Put requests into another state."""
    query = "UPDATE supplier_requests SET state = %s, updated_at = %s WHERE id = ANY(%s)"
    conn.execute(query, [state, at, list(request_ids)])


def valid_months(conn: Connection, enquiry_id: UUID) -> int:
    """Return how many months an accepted answer of an enquiry holds."""
    row = conn.execute("SELECT coalesce(valid_months, 12) FROM supplier_enquiries WHERE id = %s", [enquiry_id])
    (months,) = row.fetchone() or (12,)
    return int(months)


_CHANGED: Final = """
SELECT asked.row_numbers, asked.component_ids, asked.asked, before.asked FROM supplier_requests AS asked
JOIN supplier_requests AS before ON before.sku_id = asked.sku_id AND before.enquiry_id = %(since)s
WHERE asked.enquiry_id = %(id)s AND asked.asked::text <> before.asked::text"""


def note_changes(conn: Connection, enquiry_id: UUID, *, since: UUID, sentence: Callable[[Sequence[str]], str]) -> None:
    """Note at each row of an enquiry which facts of its parts are others than when an earlier one asked."""
    changed: dict[int, dict[str, None]] = {}
    for numbers, line_ids, now, before in conn.execute(_CHANGED, {"id": enquiry_id, "since": since}):
        for number, line_id in zip(numbers, map(str, line_ids), strict=True):
            facts = [name for name, value in now[line_id].items() if value != before.get(line_id, {}).get(name)]
            if line_id in before and facts:
                changed.setdefault(number, {}).update(dict.fromkeys(facts))
    for number, facts_of_row in changed.items():
        query = "UPDATE supplier_rows SET note = %s WHERE enquiry_id = %s AND number = %s"
        conn.execute(query, [sentence(list(facts_of_row)), enquiry_id, number])


class Stage(NamedTuple):
    """How far an enquiry is: asked, opened, half, answered, in_review, accepted, stale or ended."""

    id: UUID
    stage: str
    created_at: datetime
    due_on: date | None
    rows: int
    confirmed: int
    items: int
    accepted: int
    accepted_at: datetime | None


_STAGES: Final = """
SELECT asked.id, CASE
        WHEN items.closed = items.total AND items.decided_at + make_interval(months => coalesce(asked.valid_months, 12))
            <= %(now)s THEN 'stale'
        WHEN items.closed = items.total THEN 'accepted'
        WHEN asked.withdrawn_at IS NOT NULL OR asked.expires_at <= %(now)s THEN 'ended'
        WHEN items.reviewed > 0 AND items.reviewed + items.closed = items.total THEN 'in_review'
        WHEN rows.total > 0 AND rows.confirmed = rows.total THEN 'answered'
        WHEN rows.saved > 0 OR items.reviewed + items.closed > 0 THEN 'half'
        WHEN asked.opened_at IS NOT NULL THEN 'opened' ELSE 'asked' END,
    asked.created_at, asked.due_on, rows.total, rows.confirmed, items.total, items.closed, items.decided_at
FROM supplier_enquiries AS asked
CROSS JOIN LATERAL (SELECT count(*) AS total, count(saved_at) AS saved,
        count(*) FILTER (WHERE is_confirmed) AS confirmed
    FROM supplier_rows WHERE enquiry_id = asked.id) AS rows
CROSS JOIN LATERAL (SELECT count(*) AS total, count(*) FILTER (WHERE state = 'closed') AS closed,
        count(*) FILTER (WHERE state = 'awaiting_review') AS reviewed,
        max(updated_at) FILTER (WHERE state = 'closed') AS decided_at
    FROM supplier_requests WHERE enquiry_id = asked.id) AS items
WHERE (%(name)s::text IS NULL OR lower(asked.supplier_name) = lower(%(name)s::text))
    AND (%(id)s::uuid IS NULL OR asked.id = %(id)s::uuid)
ORDER BY asked.created_at DESC, asked.id LIMIT 100"""


def stages(
    conn: Connection, now: datetime, *, supplier_name: str | None = None, enquiry_id: UUID | None = None
) -> list[Stage]:
    """Return how far the enquiries to a supplier are, or one of them, the newest first: 100 at most."""
    parameters = {"now": now, "name": supplier_name, "id": enquiry_id}
    return [Stage(*row) for row in conn.execute(_STAGES, parameters)]


class Worth(NamedTuple):
    """What a supplier of the library can tell: SKUs with a part that lacks a fact, and what hangs on them.

    `tonnes` are those of the SKUs in the last year that each has units of, `provisional` those of them whose grade is
    not final, `without` the number of parts that lack each fact.
    """

    supplier_name: str
    email: str | None
    skus: int
    provisional: int
    tonnes: float
    without: dict[str, int]


_LACKING: Final = """
lines AS (
    SELECT skus.id AS sku_id, skus.sku_code, skus.grade_provisional, line.value AS line, (
            SELECT coalesce(sum(units.value::bigint), 0) FROM json_each_text(skus.volumes) AS units
            WHERE split_part(units.key, '/', 2) = (
                SELECT max(split_part(key, '/', 2)) FROM json_object_keys(skus.volumes) AS key)
        ) * coalesce(skus.weight_grams, skus.components_weight_g, 0) / 1000000 AS tonnes
    FROM skus CROSS JOIN LATERAL json_array_elements(skus.components) AS line(value)
    WHERE line.value ->> 'supplier_id' IS NOT NULL
), lacking AS (
    SELECT kept.name, kept.email, lines.*,
        line ->> 'polymer_or_grade' IS NULL AS polymer_or_grade, line ->> 'colour' IS NULL AS colour,
        line ->> 'recycled_content_percent' IS NULL AS recycled_content_percent,
        coalesce(line #>> '{substances,pfas,status}', 'unknown') = 'unknown' AS pfas,
        coalesce(line #>> '{substances,heavy_metals,status}', 'unknown') = 'unknown' AS heavy_metals
    FROM lines JOIN suppliers AS named ON named.id = (line ->> 'supplier_id')::uuid
    JOIN suppliers AS kept ON kept.id = coalesce(named.merged_into, named.id)
)"""
_LACKS: Final = "polymer_or_grade OR colour OR recycled_content_percent OR pfas OR heavy_metals"
_FACTS: Final = ("polymer_or_grade", "colour", "recycled_content_percent", "pfas", "heavy_metals")
_COUNTS: Final = ", ".join(f"'{fact}', count(*) FILTER (WHERE {fact})" for fact in _FACTS)
_WORTH: Final = f"""
WITH {_LACKING}, of_skus AS (
    SELECT name, email, sku_id, grade_provisional, max(tonnes) AS tonnes FROM lacking WHERE {_LACKS} GROUP BY 1, 2, 3, 4
)
SELECT name, email, count(*), count(*) FILTER (WHERE grade_provisional), sum(tonnes)::double precision,
    (SELECT json_build_object({_COUNTS}) FROM lacking WHERE lacking.name = of_skus.name)
FROM of_skus GROUP BY name, email
ORDER BY sum(tonnes) FILTER (WHERE grade_provisional) DESC NULLS LAST, sum(tonnes) DESC, name LIMIT 100"""
_WORTH_CODES: Final = f"""
WITH {_LACKING} SELECT DISTINCT sku_code FROM lacking WHERE lower(name) = lower(%s) AND ({_LACKS})
ORDER BY sku_code LIMIT {MAX_ITEMS}"""


def worth_asking(conn: Connection) -> list[Worth]:
    """Return the suppliers of the library on whose answers most hangs, by tonnes, those not finally graded first."""
    return [Worth(*row) for row in conn.execute(_WORTH)]


def codes_worth_asking(conn: Connection, supplier_name: str) -> list[str]:
    """Return the codes of the SKUs with a part of this supplier that lacks a fact, as many as an enquiry can have."""
    return [code for (code,) in conn.execute(_WORTH_CODES, [supplier_name])]
