"""Sums up by SKU what its technical files are evidence of, and reads what decides which articles concern it."""

from collections.abc import Sequence
from datetime import date
from typing import Any, Final, NamedTuple  # Any: the JSON of a row
from uuid import UUID

import orjson

from compliance.rollup.parts import WEIGHTLESS
from warehouse.marks import PLACE
from warehouse.operate.sessions import Connection

_RIDERS: Final = ", ".join(f"'{kind}'" for kind in WEIGHTLESS)
_NEVER_PLASTIC: Final = "'paper', 'glass', 'metal', 'wood', 'textile'"
_HELD: Final = f"""
WITH proofs AS MATERIALIZED (
    SELECT sku_id, need, coalesce(expires_on, 'infinity'::date) AS ends, component_ids
    FROM technical_files JOIN unnest(%(types)s::text[], %(needs)s::text[]) AS proving(type, need) USING (type)
    WHERE %(ids)s::uuid[] IS NULL OR sku_id = ANY(%(ids)s)),
of_need AS (
    SELECT sku_id, need, max(ends) AS last, max(ends) FILTER (WHERE component_ids IS NULL) AS whole,
        bool_or(component_ids IS NOT NULL) AS by_part FROM proofs GROUP BY 1, 2),
of_parts AS (
    SELECT sku_id, need, min(until) AS until FROM (
        SELECT of_need.sku_id, of_need.need, part.id, max(coalesce(ends, '-infinity')) AS until
        FROM of_need JOIN skus ON skus.id = of_need.sku_id
        CROSS JOIN json_to_recordset(skus.components) AS part(id uuid, component_type text, material_family text)
        LEFT JOIN proofs ON proofs.sku_id = of_need.sku_id AND proofs.need = of_need.need
            AND (component_ids IS NULL OR part.id = ANY(component_ids))
        WHERE by_part AND (of_need.need <> 'recycled' OR component_type NOT IN ({_RIDERS}) AND (
            material_family IS NULL OR material_family NOT IN ({_NEVER_PLASTIC})))
        GROUP BY 1, 2, 3) AS part GROUP BY 1, 2),
held AS (
    SELECT sku_id, json_object_agg(need, CASE WHEN until > %(soon)s::date THEN 'held'
        WHEN until >= %(today)s::date THEN 'ends' WHEN last >= %(today)s::date THEN 'partial' ELSE 'ended' END
        ORDER BY need)::text AS held
    FROM (SELECT sku_id, need, last, CASE WHEN by_part THEN coalesce(of_parts.until, whole) ELSE whole END AS until
        FROM of_need LEFT JOIN of_parts USING (sku_id, need)) AS one GROUP BY 1)
"""
"""What the files of each need of a SKU are together; a file of some parts is evidence of these alone."""
_BODY: Final = """(
    SELECT max(material_family) FROM json_to_recordset(components) AS part(component_type text, material_family text)
    WHERE component_type = 'body')"""
_GRAMS: Final = """nullif(nullif(split_part(split_part(split_part(split_part(components::text,
    '"material_family":"plastic"', 2), '}', 1), '"weight_g":', 2), ',', 1), ''), 'null')::float8"""
"""The weight of the first part of plastic, null where it has none, without a parse of the graph."""
_PLASTIC: Final = f"""CASE
    WHEN components IS NULL THEN CASE WHEN material = 'plastic' THEN 'yes'
        WHEN material IN ({_NEVER_PLASTIC}) AND material_subtype IS NULL THEN 'no' ELSE 'unknown' END
    WHEN material = 'plastic' AND (components::text LIKE '%%"body","material_family":"plastic"%%'
        OR components::text LIKE '%%"body","position_in_sku":_,"material_family":"plastic"%%')
        AND coalesce({_GRAMS} * 20 >= components_weight_g, true) THEN 'yes'
    ELSE (SELECT CASE WHEN NOT coalesce(bool_or(is_part), false) THEN 'unknown'
            WHEN bool_and(is_plastic) AND count(*) <= 20
                OR count(grams) = count(*) AND 20 * max(grams) FILTER (WHERE is_plastic) >= sum(grams)
                THEN 'yes'
            WHEN bool_or(is_part AND (family IS NULL OR family IN ('composite', 'bio_based', 'other'))) THEN 'unknown'
            WHEN NOT bool_or(is_plastic) THEN 'no'
            WHEN count(grams) = count(*) THEN 'small' ELSE 'unweighed' END
        FROM json_to_recordset(components) AS part(component_type text, material_family text, weight_g numeric)
            CROSS JOIN LATERAL (SELECT material_family AS family, weight_g AS grams,
                component_type NOT IN ({_RIDERS}) AS is_part) AS short
            CROSS JOIN LATERAL (SELECT is_part AND coalesce(family = 'plastic', false) AS is_plastic) AS judged
        WHERE is_part OR grams IS NOT NULL) END
"""
"""Whether a SKU has a plastic part of 5 %% of its weight (Article 7(5)(b)), as `compliance.evidence.Facts` has it.

One that is mainly plastic, as its body is, has, unless its first plastic part is lighter than that: its graph is not
read, which costs most. One without parts is of its material, unless words beside it may name more. Of twenty plastic
parts one has a twentieth of the weight. What prints and glues is no part (Article 3(1)(52)); its weight, where one is
recorded, is of the whole.
"""
_FACTS: Final = f"""json_build_array(food_contact, reusable, reuse_deposit_system, packaging_level, packaging_format,
    coalesce(use_contexts, '{{}}'), coalesce(material, {_BODY}), {_PLASTIC}, {PLACE})::text"""
"""What decides which articles concern a SKU, in the order of `compliance.evidence.Facts`."""
_OF_SKU: Final = f"""
SELECT id, sku_code, name, coalesce(held, '{{}}') AS held, {_FACTS} AS facts
FROM skus LEFT JOIN held ON held.sku_id = skus.id"""
_GROUPS: Final = f"{_HELD} SELECT facts, held, count(*) FROM ({_OF_SKU} OFFSET 0) AS packed GROUP BY facts, held"
_SOME: Final = f"""{_HELD}
SELECT id::text, sku_code, name, facts, held FROM (
    {_OF_SKU} WHERE %(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s) ORDER BY sku_code OFFSET 0) AS packed
WHERE %(alike)s::json IS NULL OR facts || held IN (SELECT json_array_elements_text(%(alike)s::json))
LIMIT %(limit)s OFFSET %(offset)s"""
"""By code, one after the other, so that a page looks at no more SKUs than it needs."""
_BY_CODE: Final = "SELECT id FROM skus ORDER BY sku_code LIMIT %s OFFSET %s"
_EVERY: Final = """
SELECT id::text, type, filename, sha256, size_bytes, reference, issuer, issued_on::text, expires_on::text,
    component_ids::text[] FROM technical_files WHERE sku_id = %s ORDER BY type, created_at, id"""


class Proving(NamedTuple):
    """What SKUs are summed up by: types of files that show a need, and the need of each; days; and places.

    `soon` is the last day of what ends soon; units in the `places` count from `first_year` on.
    """

    types: list[str]
    needs: list[str]
    today: date
    soon: str
    places: Sequence[str]
    first_year: int


class ProvedSku(NamedTuple):
    """A SKU with the JSON of its facts (`compliance.evidence.Facts`) and of what is held of each need."""

    id: str
    sku_code: str
    name: str
    facts: str
    held: str


def groups(conn: Connection, proving: Proving) -> list[tuple[str, str, int]]:
    """Return the facts and what is held of the company's SKUs, with the number of SKUs alike."""
    return conn.execute(_GROUPS, {**proving._asdict(), "ids": None}).fetchall()


def skus(
    conn: Connection,
    proving: Proving,
    *,
    ids: list[UUID] | None = None,
    alike: list[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[ProvedSku]:
    """Return SKUs by code: some, those of some groups (facts and what is held as one text), or all."""
    texts = None if alike is None else orjson.dumps(alike).decode()  # an array costs more than the statement
    values = {"ids": ids, "alike": texts, "limit": limit, "offset": offset}
    return [ProvedSku(*row) for row in conn.execute(_SOME, {**proving._asdict(), **values})]


def ids_by_code(conn: Connection, limit: int, offset: int) -> list[UUID]:
    """Return the ids of a page of the company's SKUs by code."""
    return [id_ for (id_,) in conn.execute(_BY_CODE, [limit, offset])]


def every(conn: Connection, sku_id: UUID) -> list[dict[str, Any]]:
    """Return all files of a SKU by type, the oldest first, with the parts that each is of."""
    names = ("id", "type", "filename", "sha256", "size_bytes", "reference", "issuer", "issued_on", "expires_on")
    return [dict(zip((*names, "component_ids"), row, strict=True)) for row in conn.execute(_EVERY, [sku_id])]
