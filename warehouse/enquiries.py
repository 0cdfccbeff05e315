"""Stores the table of an enquiry: a row for all parts that are alike, and what its supplier has filled in so far.

Parts are alike where every field is the same but their place in the SKU. A row is asked once and answered for all of
its parts. Items are made, and their answers found, in a few statements, however many there are. The enquiries
themselves and their links are in `warehouse.suppliers`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, NamedTuple
from uuid import UUID

import orjson
from psycopg.rows import class_row
from sqlalchemy import JSON, Boolean, Column, DateTime, Integer, PrimaryKeyConstraint, Table, Text, Uuid

from schemas.json_values import JsonObject
from schemas.skus.types import PartFacts, SupplierAnswer
from schemas.suppliers import DESIGN, FIRST, MAX_ITEMS
from warehouse.base import company, metadata
from warehouse.operate.sessions import Connection
from warehouse.skus import queries as skus
from warehouse.skus.history import GRAPH_AT

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
    Column("article", Text, comment="the supplier's article number of its parts"),
    PrimaryKeyConstraint("enquiry_id", "number"),
)

IS_GONE: Final = f"""(NOT EXISTS (SELECT FROM skus
        WHERE skus.id = requests.sku_id AND skus.updated_at < requests.created_at - interval '1 hour')
    AND NOT EXISTS (SELECT FROM json_array_elements({skus.graph_query("requests.sku_id")}) AS line
        WHERE (line ->> 'id')::uuid = part.line_id))"""
"""Whether the SKU of `requests` has its `part` no longer. An archived SKU has the parts with which it rests.

A graph costs ten times as much to read as to see that nobody has written it since; no write takes an hour.
"""
GONE_PARTS: Final = f"""(
    SELECT coalesce(json_agg(json_build_object(
        'component_id', part.line_id, 'was', requests.asked -> part.line_id::text) ORDER BY part.place), '[]')
    FROM unnest(requests.component_ids) WITH ORDINALITY AS part(line_id, place) WHERE {IS_GONE}) AS gone_parts"""
"""The column of the parts of `requests` that are gone (`schemas.suppliers.GonePart`), for every door."""
IS_ASKED: Final = f"(requests.state = 'closed' OR requests.withdrawn_at IS NULL AND NOT {IS_GONE})"
"""Whether the `part` of `requests` was answered, or can be."""
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
        ORDER BY part ->> 'component_type', part ->> 'material_family', part, article)::integer AS number
    FROM (SELECT own_lines.*, line::jsonb - '{{id,position_in_sku,supplier_id}}'::text[] AS part, article
        FROM own_lines LEFT JOIN supplier_articles AS sold ON sold.component_id = (line ->> 'id')::uuid
            AND sold.supplier = lower(%(supplier_name)s::text)) AS own
), added AS (
    INSERT INTO supplier_rows (company_id, enquiry_id, number, part, parts, is_confirmed, article)
    SELECT %(company_id)s, %(enquiry_id)s, number, (array_agg(part))[1]::json, count(*), false, max(article)
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

    `items` are names of some of its SKUs, `waiting` the number of those whose answer is awaited or not accepted yet,
    `gone` names of some of these that have the part no longer: they are not asked about it any more. `accepted` says
    whether an answer of it was.
    """

    number: int
    part: JsonObject  # fields of `schemas.skus.types.Component`, without nulls
    parts: int
    answer: SupplierAnswer | None
    is_confirmed: bool
    note: str | None
    items: list[str]
    waiting: int
    accepted: bool
    gone: list[str]
    article: str | None


_NAMED: Final = 3
_ROWS: Final = f"""
WITH shown AS (
    SELECT * FROM supplier_rows WHERE enquiry_id = %(id)s ORDER BY number LIMIT %(limit)s OFFSET %(offset)s
), gone AS (
    SELECT part.number, (array_agg(DISTINCT requests.sku_id))[:{_NAMED}] AS ids
    FROM supplier_requests AS requests CROSS JOIN LATERAL unnest(component_ids, row_numbers) AS part(line_id, number)
    WHERE requests.enquiry_id = %(id)s AND requests.state <> 'closed' AND requests.withdrawn_at IS NULL
        AND part.number IN (SELECT number FROM shown) AND {IS_GONE} GROUP BY part.number
), uses AS (
    SELECT number, count(*) FILTER (WHERE state <> 'closed' AND withdrawn_at IS NULL) AS waiting,
        bool_or(state = 'closed') AS accepted,
        (array_agg(sku_id ORDER BY id))[:{_NAMED}] AS ids
    FROM supplier_requests, unnest(row_numbers) AS number WHERE enquiry_id = %(id)s GROUP BY number
)
SELECT rows.number, part, parts, answer, is_confirmed, note, article, coalesce(uses.waiting, 0) AS waiting,
    coalesce(uses.accepted, false) AS accepted,
    ARRAY(SELECT sku.name FROM unnest(uses.ids) AS used CROSS JOIN LATERAL {skus.name_query("used")} AS sku) AS items,
    ARRAY(SELECT sku.name FROM unnest(gone.ids) AS used CROSS JOIN LATERAL {skus.name_query("used")} AS sku) AS gone
FROM shown AS rows LEFT JOIN uses ON uses.number = rows.number LEFT JOIN gone ON gone.number = rows.number
ORDER BY rows.number"""


def rows_of(conn: Connection, enquiry_id: UUID, *, limit: int | None = None, offset: int = 0) -> list[Row]:
    """Return the rows of an enquiry in their order; none of one from before there were rows."""
    parameters = {"id": enquiry_id, "limit": limit, "offset": offset}
    with conn.cursor(row_factory=class_row(Row)) as cursor:
        return cursor.execute(_ROWS, parameters).fetchall()


class Progress(NamedTuple):
    """How many rows an enquiry has, how many are `asked` or were answered, and of these were saved and confirmed.

    A row is not asked any more where every item has lost its part, or its link.
    """

    rows: int
    asked: int
    saved: int
    confirmed: int


_ASKED: Final = f"""
SELECT count(*) AS total, count(saved_at) AS saved, count(*) FILTER (WHERE is_confirmed) AS confirmed
FROM supplier_rows WHERE enquiry_id = {{enquiry}} AND number IN (
    SELECT part.number FROM supplier_requests AS requests
    CROSS JOIN LATERAL unnest(component_ids, row_numbers) AS part(line_id, number)
    WHERE requests.enquiry_id = {{enquiry}} AND {IS_ASKED})"""


def progress_of(conn: Connection, enquiry_id: UUID) -> Progress:
    """Return how far the table of an enquiry is filled in."""
    query = f"SELECT (SELECT count(*) FROM supplier_rows WHERE enquiry_id = %(id)s), asked.* FROM ({_ASKED}) AS asked"
    row = conn.execute(query.format(enquiry="%(id)s"), {"id": enquiry_id}).fetchone()
    assert row is not None, "a count is one row"
    return Progress(*row)


def open_for_supplier(conn: Connection, enquiry_id: UUID, *, at: datetime) -> None:
    """Record that the link was opened, the first time."""
    query = "UPDATE supplier_enquiries SET opened_at = %s WHERE id = %s AND opened_at IS NULL"
    conn.execute(query, [at, enquiry_id])


class Saved(NamedTuple):
    """What a supplier has filled in for a row, whether it is confirmed, and the article number of its parts."""

    number: int
    answer: SupplierAnswer
    is_confirmed: bool
    article: str | None


def save_rows(conn: Connection, enquiry_id: UUID, rows: Sequence[Saved], *, at: datetime) -> int:
    """Store what was filled in, and return the number of rows of the enquiry among them."""
    query = """
UPDATE supplier_rows AS rows SET answer = saved.answer, is_confirmed = saved.is_confirmed, saved_at = %(at)s,
    article = saved.article, note = CASE WHEN saved.is_confirmed THEN NULL ELSE note END
FROM json_to_recordset(%(rows)s::json) AS saved(number integer, answer json, is_confirmed boolean, article text)
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
    """An item of which every row of a part that it still has is confirmed, and the answer that waits for review."""

    request_id: UUID
    sku_id: UUID
    component_ids: list[UUID]
    row_numbers: list[int]
    asked: dict[str, PartFacts]
    entry_id: UUID | None
    payload: JsonObject | None


_ANSWERED: Final = f"""
WITH confirmed AS (
    SELECT coalesce(array_agg(number), '{{}}') AS numbers FROM supplier_rows WHERE enquiry_id = %(id)s AND is_confirmed)
SELECT requests.id, requests.sku_id, requests.component_ids, requests.row_numbers, requests.asked, entry.id,
    entry.payload
FROM supplier_requests AS requests CROSS JOIN confirmed LEFT JOIN review_entries AS entry
    ON entry.request_id = requests.id AND entry.state = 'open'
WHERE requests.enquiry_id = %(id)s AND requests.state <> 'closed' AND requests.withdrawn_at IS NULL AND (
    requests.row_numbers <@ confirmed.numbers
    OR requests.row_numbers && confirmed.numbers AND NOT EXISTS (
        SELECT FROM unnest(component_ids, row_numbers) AS part(line_id, number)
        WHERE part.number <> ALL (confirmed.numbers) AND NOT {IS_GONE}))
ORDER BY requests.id FOR UPDATE OF requests"""


def answered_items(conn: Connection, enquiry_id: UUID) -> list[Answered]:
    """Return the items that the confirmed rows answer and whose answer was not accepted, locked."""
    return [Answered(*row) for row in conn.execute(_ANSWERED, {"id": enquiry_id})]


def await_review(conn: Connection, request_ids: Sequence[UUID], at: datetime) -> None:
    """Note that answers to these requests wait for review."""
    query = "UPDATE supplier_requests SET state = 'awaiting_review', updated_at = %s WHERE id = ANY(%s)"
    conn.execute(query, [at, list(request_ids)])


class Terms(NamedTuple):
    """What a company chose for an enquiry, and who did.

    For how many months an accepted answer holds, whether it is asked again by itself, and the days of its reminders.
    """

    valid_months: int
    asks_again: bool
    reminder_days: list[int]
    asked_by: UUID | None


def terms_of(conn: Connection, enquiry_id: UUID) -> Terms:
    """Return the terms of an enquiry of the session's company."""
    query = """
SELECT coalesce(valid_months, 12), coalesce(asks_again, false), coalesce(reminder_days, '{-3,1}'), asked_by
FROM supplier_enquiries WHERE id = %s"""
    row = conn.execute(query, [enquiry_id]).fetchone()
    assert row is not None, "it was found"
    return Terms(*row)


_SPECIFIED: Final = ("component_type", *FIRST, *DESIGN)
"""The fields of a part whose change asks again; of substances, only the supplier's answer tells."""
_GRAPH_THEN: Final = GRAPH_AT.format(sku="requests.sku_id", until="<= entry.decided_at")
_LAPSED: Final = f"""
SELECT asked.id, asked.supplier_name, coalesce(asked.asks_again, false)
        AND requests.last_withdrawn_at > entry.decided_at IS NOT TRUE
        AND (requests.last_asked_at <= entry.decided_at OR requests.last_asked_at + terms.validity <= %(now)s)
        AS asks_again,
    sku.sku_code, requests.updated_at + terms.validity <= %(now)s AS is_old, changed.parts
FROM (SELECT *, max(created_at) OVER of_part AS last_asked_at, max(withdrawn_at) OVER of_part AS last_withdrawn_at,
        max(created_at) FILTER (WHERE state = 'closed'
            OR withdrawn_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s)) OVER of_part AS settled_at
    FROM supplier_requests WINDOW of_part AS (PARTITION BY sku_id, lower(supplier_name))) AS requests
JOIN supplier_enquiries AS asked ON asked.id = requests.enquiry_id
CROSS JOIN LATERAL (SELECT make_interval(months => coalesce(asked.valid_months, 12)) AS validity) AS terms
JOIN LATERAL (SELECT max(decided_at) AS decided_at FROM review_entries
    WHERE request_id = requests.id AND state = 'accepted') AS entry ON entry.decided_at IS NOT NULL
JOIN skus AS sku ON sku.id = requests.sku_id
CROSS JOIN LATERAL (
    SELECT coalesce(json_object_agg(line ->> 'id', fields) FILTER (WHERE fields <> '{{}}'), '{{}}') AS parts FROM (
        SELECT line, ARRAY(SELECT field FROM unnest(%(fields)s::text[]) AS field
            WHERE nullif(line -> field, 'null') IS DISTINCT FROM nullif(before -> field, 'null')) AS fields
        FROM jsonb_array_elements(sku.components::jsonb) AS line
        JOIN jsonb_array_elements(({_GRAPH_THEN})::jsonb) AS before ON before ->> 'id' = line ->> 'id'
        WHERE sku.updated_at > entry.decided_at AND (line ->> 'id')::uuid = ANY(requests.component_ids)
        OFFSET 0) AS part
    ) AS changed
WHERE (%(id)s::uuid IS NULL OR asked.id = %(id)s::uuid)
    AND requests.state = 'closed' AND requests.settled_at <= requests.created_at
    AND (changed.parts::text <> '{{}}' OR requests.updated_at + terms.validity <= %(now)s)
ORDER BY asked.created_at, asked.id, sku.sku_code COLLATE "C" """


class Lapsed(NamedTuple):
    """A SKU whose accepted answer holds no longer, and of which the supplier's answer is not awaited.

    `asks_again` says that it is due to be asked again by itself: its enquiry wants that, the supplier was not asked in
    vain since, within the time for which an answer holds, and nobody has withdrawn such a link. `is_old` says that the
    answer's time is over, `changed` which fields of its parts are others than when it was accepted, by the id of the
    part.
    """

    enquiry_id: UUID
    supplier_name: str
    asks_again: bool
    sku_code: str
    is_old: bool
    changed: dict[str, list[str]]


def lapsed(conn: Connection, now: datetime, enquiry_id: UUID) -> list[Lapsed]:
    """Return what should be asked again of an enquiry, by code."""
    parameters = {"now": now, "id": enquiry_id, "fields": list(_SPECIFIED)}
    return [Lapsed(*row) for row in conn.execute(_LAPSED, parameters)]


class LapsedEnquiry(NamedTuple):
    """An enquiry with answers that hold no longer: how many SKUs have changed parts, how many answers are old."""

    id: UUID
    supplier_name: str
    asks_again: bool
    changed: int
    old: int


_LAPSED_ENQUIRIES: Final = f"""
SELECT id, supplier_name, bool_or(asks_again), count(*) FILTER (WHERE parts::text <> '{{}}'),
    count(*) FILTER (WHERE is_old)
FROM ({_LAPSED}) AS lapsed GROUP BY id, supplier_name ORDER BY id"""


def lapsed_enquiries(conn: Connection, now: datetime) -> list[LapsedEnquiry]:
    """Return the enquiries of which something should be asked again, the oldest first."""
    parameters = {"now": now, "id": None, "fields": list(_SPECIFIED)}
    return [LapsedEnquiry(*row) for row in conn.execute(_LAPSED_ENQUIRIES, parameters)]


_NOTE: Final = """
UPDATE supplier_rows AS rows SET note = noted.sentence
FROM (SELECT DISTINCT ON (number) number, sentence FROM supplier_requests AS requests
    CROSS JOIN LATERAL unnest(component_ids, row_numbers) AS part(line_id, number)
    JOIN json_each_text(%(sentences)s::json) AS noted(line_id, sentence) ON noted.line_id = part.line_id::text
    WHERE requests.enquiry_id = %(id)s ORDER BY number, sentence DESC) AS noted
WHERE rows.enquiry_id = %(id)s AND rows.number = noted.number"""


def note_parts(conn: Connection, enquiry_id: UUID, sentences: Mapping[str, str]) -> None:
    """Note a sentence at the row of each of these parts of an enquiry."""
    conn.execute(_NOTE, {"id": enquiry_id, "sentences": orjson.dumps(sentences).decode()})


class Stage(NamedTuple):
    """How far an enquiry is: asked, opened, half, answered, in_review, accepted, stale or ended.

    Of its `items` those that the company has withdrawn by themselves count no more.
    """

    id: UUID
    stage: str
    created_at: datetime
    due_on: date | None
    rows: int
    confirmed: int
    items: int
    accepted: int


_STAGES: Final = f"""
SELECT asked.id, CASE
        WHEN items.closed = items.total AND items.total > 0 THEN 'accepted'
        WHEN asked.withdrawn_at IS NOT NULL OR asked.expires_at <= %(now)s OR items.total = 0 THEN 'ended'
        WHEN items.reviewed > 0 AND items.reviewed + items.closed = items.total THEN 'in_review'
        WHEN rows.total > 0 AND rows.confirmed = rows.total THEN 'answered'
        WHEN rows.saved > 0 OR items.reviewed + items.closed > 0 THEN 'half'
        WHEN asked.opened_at IS NOT NULL THEN 'opened' ELSE 'asked' END,
    asked.created_at, asked.due_on, rows.total, rows.confirmed, items.total, items.closed
FROM supplier_enquiries AS asked
CROSS JOIN LATERAL ({_ASKED.format(enquiry="asked.id")}) AS rows
CROSS JOIN LATERAL (SELECT count(*) AS total, count(*) FILTER (WHERE state = 'closed') AS closed,
        count(*) FILTER (WHERE state = 'awaiting_review') AS reviewed
    FROM supplier_requests WHERE enquiry_id = asked.id
        AND (state <> 'open' OR withdrawn_at IS NOT DISTINCT FROM asked.withdrawn_at)) AS items
WHERE (%(name)s::text IS NULL OR lower(asked.supplier_name) = lower(%(name)s::text))
    AND (%(id)s::uuid IS NULL OR asked.id = %(id)s::uuid)
ORDER BY asked.created_at DESC, asked.id LIMIT 100"""


def stages(
    conn: Connection,
    now: datetime,
    stale: Collection[UUID],
    *,
    supplier_name: str | None = None,
    enquiry_id: UUID | None = None,
) -> list[Stage]:
    """Return how far the enquiries to a supplier are, or one of them, the newest first: 100 at most.

    Of those that nothing is awaited of some are `stale`: an answer of theirs is too old.
    """
    parameters = {"now": now, "name": supplier_name, "id": enquiry_id}
    found = [Stage(*row) for row in conn.execute(_STAGES, parameters)]
    over = ("accepted", "ended")
    return [stage._replace(stage="stale") if stage.stage in over and stage.id in stale else stage for stage in found]


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


_TONNES: Final = f"""(
        SELECT coalesce(sum(units.value::bigint), 0) FROM json_each_text(skus.volumes) AS units
        WHERE split_part(units.key, '/', 2) = (
            SELECT max(split_part(key, '/', 2)) FROM json_object_keys(skus.volumes) AS key)
    ) * coalesce({skus.UNIT_GRAMS}, 0) / 1000000"""
"""Tonnes of a SKU in the last year that it has units of."""
_LACKING: Final = f"""
lines AS (
    SELECT skus.id AS sku_id, skus.sku_code, skus.grade_provisional, line.value AS line, {_TONNES} AS tonnes
    FROM skus CROSS JOIN LATERAL json_array_elements(skus.components) AS line(value)
    WHERE line.value ->> 'supplier_id' IS NOT NULL
), lacking AS (
    SELECT kept.name, kept.email, lines.*,
        line ->> 'polymer_or_grade' IS NULL AS polymer_or_grade, line ->> 'colour' IS NULL AS colour,
        line ->> 'recycled_content_percent' IS NULL AS recycled_content_percent,
        coalesce(line #>> '{{substances,pfas,status}}', 'unknown') = 'unknown' AS pfas,
        coalesce(line #>> '{{substances,heavy_metals,status}}', 'unknown') = 'unknown' AS heavy_metals
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


_HANGING: Final = f"""
WITH {_ALIKE}
SELECT own.sku_code, ({_TONNES})::double precision, array_agg(own.line ->> 'id')
FROM own_lines AS own JOIN skus ON skus.id = own.sku_id GROUP BY own.sku_code, skus.id"""


class Askable(NamedTuple):
    """A SKU that a supplier can be asked about: its tonnes in the last year with units, and the ids of those parts."""

    sku_code: str
    tonnes: float
    line_ids: list[str]


def askable(conn: Connection, codes: Sequence[str], supplier_name: str) -> dict[str, Askable]:
    """Return the SKUs of these codes of which an enquiry to the supplier would ask about parts, by code."""
    rows = conn.execute(_HANGING, {"codes": list(codes), "supplier_name": supplier_name})
    return {row[0]: Askable(*row) for row in rows}
