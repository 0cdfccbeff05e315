"""What list and detail show of a SKU: their columns, its coverage by DoCs, and when that changed; and its detail.

`today` is the UTC day of the service's clock, never the database's.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final, NamedTuple, TypedDict, cast
from uuid import UUID

from compliance.grading import GRADED_INPUTS
from schemas.skus.types import SkuFields
from warehouse.audit.visible import LATE
from warehouse.operate.sessions import Connection
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS, resting, select_list, skus

COVERAGE: Final = """CASE
    WHEN bool_or(docs.status = 'valid' AND coalesce(docs.issued_on <= %(today)s::date, true)
                 AND coalesce(docs.expires_on >= %(today)s::date, true)) THEN 'valid'
    WHEN bool_or(docs.status = 'expired'
                 OR docs.status = 'valid' AND docs.expires_on < %(today)s::date) THEN 'expired'
    WHEN bool_or(docs.status IN ('draft', 'pending')) THEN 'draft'
    ELSE 'missing' END"""
"""What some rows of `docs` together give to their SKU on a day (decisions §3)."""

DOC_STATUS: Final = f"(SELECT {COVERAGE} FROM docs WHERE docs.sku_id = skus.id)"
"""Coverage of a row of `skus` by its DoCs."""

UNIT_GRAMS: Final = """CASE WHEN skus.components_weight_g IS NOT NULL THEN skus.components_weight_g
    WHEN coalesce(skus.components::text, '[]') = '[]' THEN skus.weight_grams END"""
"""What one unit weighs wherever tonnes are counted: its parts that have a weight, the item itself without parts."""

_MIDNIGHT: Final = "({day})::timestamp AT TIME ZONE 'UTC'"
_BEGAN: Final = f"({_MIDNIGHT.format(day='docs.issued_on')})"
_ENDED: Final = f"({_MIDNIGHT.format(day='docs.expires_on + 1')})"
DOC_CHANGED: Final = f"""greatest(
    docs.updated_at,
    CASE WHEN docs.status = 'valid' AND docs.issued_on <= %(today)s::date THEN {_BEGAN} END,
    CASE WHEN docs.status = 'valid' AND docs.expires_on < %(today)s::date THEN {_ENDED} END)"""
"""When a row of `docs` last changed what it gives to its SKU, by a write or by the passing of a day."""

UPDATED_AT: Final = f"""greatest(
    skus.updated_at, (SELECT max({DOC_CHANGED}) FROM docs WHERE docs.sku_id = skus.id))"""
"""When a row of `skus` last changed as it is listed: its own fields, or its coverage."""

COVERED: Final = f"""
    CROSS JOIN LATERAL (
        SELECT {COVERAGE} AS doc_status, max({DOC_CHANGED}) AS covered_at FROM docs WHERE docs.sku_id = skus.id
    ) AS covered"""

COVERED_ALL: Final = f"""
LEFT JOIN (
    SELECT sku_id, {COVERAGE} AS doc_status, max({DOC_CHANGED}) AS covered_at FROM docs GROUP BY sku_id
) AS covered ON covered.sku_id = skus.id"""
"""The same for a statement that reads many SKUs; `doc_status` is null where a SKU has no DoC."""

LIST_ITEM: Final = """
    id, sku_code, name, description, material, material_subtype,
    coalesce(weight_grams, components_weight_g) AS weight_grams,
    CASE WHEN weight_grams IS NOT NULL THEN 'declared' WHEN components_weight_g IS NOT NULL THEN 'components' END
        AS weight_source,
    recyclability_grade, recyclability_score, recycled_content_percent, food_contact, product_category, markets,
    doc_status,
    packaging_level, packaging_format, gtin, ppwr_role, brand_id, manufacturing_site_id, packing_site_id,
    created_at, greatest(updated_at, covered_at) AS updated_at, version"""
"""SkuListItem in the order of the contract, then its version, out of a row of `skus` and its coverage."""


def name_query(sku_id: str) -> str:
    """Return the query of code and name of the SKU of an id, an SQL expression, whether it is archived or not.

    For a lateral join of a page's few rows: Postgres may estimate that reading all SKUs is cheaper.
    """
    return f"""(
        SELECT sku_code, name FROM skus WHERE skus.id = {sku_id}
        UNION ALL SELECT rests.sku_code, last.name FROM {resting()} WHERE rests.sku_id = {sku_id} LIMIT 1)"""


def graph_query(sku_id: str) -> str:
    """Return the query of the components of the SKU of an id, an SQL expression: if archived, as which it rests."""
    return f"""(
        SELECT components FROM skus WHERE skus.id = {sku_id}
        UNION ALL SELECT last.components FROM {resting()} WHERE rests.sku_id = {sku_id} LIMIT 1)"""


def is_archived(sku_id: str) -> str:
    """Return the condition that the SKU of an id, an SQL expression, is archived."""
    return f"EXISTS (SELECT FROM archived_skus WHERE sku_id = {sku_id} AND returned_at IS NULL)"


def code_of(connection: Connection, sku_id: UUID) -> str | None:
    """Return the code of the session's company's SKU; None where it has none of that id."""
    row = connection.execute("SELECT sku_code FROM skus WHERE id = %s", [sku_id]).fetchone()
    return None if row is None else str(row[0])


def codes_of_today(connection: Connection, codes: Sequence[str]) -> dict[str, str]:
    """Return those of these codes that renamed SKUs had before, each with the code that its SKU has now."""
    query = f"""
SELECT former.sku_code, sku.sku_code FROM former_codes AS former
JOIN LATERAL {name_query("former.sku_id")} AS sku ON true WHERE former.sku_code = ANY(%s)"""
    return dict(connection.execute(query, [list(codes)]).fetchall())


def former_codes_of(connection: Connection, sku_id: UUID) -> list[str]:
    """Return the codes that a SKU of the session's company had before and that nobody freed, sorted."""
    query = "SELECT sku_code FROM former_codes WHERE sku_id = %s ORDER BY sku_code"
    return [code for (code,) in connection.execute(query, [sku_id])]


def keep_code(connection: Connection, company_id: UUID, sku_id: UUID, code: str, at: datetime) -> None:
    """Keep a code that a SKU of the session's company has until now."""
    connection.execute("INSERT INTO former_codes VALUES (%s, %s, %s, %s)", [company_id, code, sku_id, at])


def free_code(connection: Connection, sku_id: UUID, code: str) -> bool:
    """Free a former code of a SKU of the session's company; return whether it was one."""
    query = "DELETE FROM former_codes WHERE sku_id = %s AND sku_code = %s"
    return connection.execute(query, [sku_id, code]).rowcount > 0


def names_of(connection: Connection, ids: Sequence[UUID]) -> dict[str, tuple[str, str]]:
    """Return code and name of each of these SKUs of the session's company by its id, archived ones too."""
    query = f"""
SELECT wanted.id::text, sku.sku_code, sku.name FROM unnest(%s::uuid[]) AS wanted(id)
JOIN LATERAL {name_query("wanted.id")} AS sku ON true"""
    return {sku_id: (code, name) for sku_id, code, name in connection.execute(query, [list(ids)])}


def version_of(connection: Connection, sku_id: UUID) -> int | None:
    """Return the version of the session's company's SKU; None where it has none of that id."""
    row = connection.execute("SELECT version FROM skus WHERE id = %s", [sku_id]).fetchone()
    return None if row is None else int(row[0])


def id_of(connection: Connection, sku_code: str) -> UUID | None:
    """Return the id of the session's company's SKU; None where it has none of that code."""
    row = connection.execute("SELECT id FROM skus WHERE sku_code = %s", [sku_code]).fetchone()
    return None if row is None else row[0]


def count_of(connection: Connection, sku_codes: Sequence[str]) -> int:
    """How many of these codes the session's company holds."""
    row = connection.execute("SELECT count(*) FROM skus WHERE sku_code = ANY(%s)", [list(sku_codes)]).fetchone()
    return row[0] if row else 0


def provisional(connection: Connection, ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of some SKUs whose grade a fact that nobody gave could change."""
    rows = connection.execute("SELECT id FROM skus WHERE id = ANY(%s) AND grade_provisional", [list(ids)])
    return frozenset(sku_id for (sku_id,) in rows)


_SINCE: Final = "%(updated_since)s::timestamptz"
NAMED: Final = "(%(sku_codes)s::text[] IS NULL OR sku_code = ANY(%(sku_codes)s::text[]))"
_LATE_DOCS: Final = """
    SELECT entries.resource_id FROM late JOIN audit_entries AS entries
      ON entries.id BETWEEN late.first_entry AND late.first_entry + late.entries - 1
    WHERE entries.action LIKE 'doc.%%'"""
CHANGED: Final = f"""
    WITH late AS MATERIALIZED ({LATE})
    SELECT * FROM skus
    WHERE {NAMED} AND (
        updated_at >= {_SINCE} OR transaction_id = ANY(ARRAY(SELECT id FROM late))
        OR id = ANY(ARRAY(SELECT sku_id FROM docs WHERE {DOC_CHANGED} >= {_SINCE} OR id::text IN ({_LATE_DOCS}))))"""
"""The SKUs of which somebody who looked at the instant may not have seen how they are listed (decision 0033)."""


def existing_codes(connection: Connection, codes: Sequence[str]) -> set[str]:
    """Which of these sku_codes are SKUs of the session's company, archived ones among them."""
    rows = connection.execute(
        "SELECT sku_code FROM skus WHERE sku_code = ANY(%(codes)s) UNION ALL "
        "SELECT sku_code FROM archived_skus WHERE sku_code = ANY(%(codes)s) AND returned_at IS NULL",
        {"codes": list(codes)},
    )
    return {code for (code,) in rows}


COLUMNS: Final = ("id", *VALUE_COLUMNS, *DERIVED_COLUMNS, "created_at", "updated_at")
"""The columns of `skus` and `sku_versions` that are shown."""
SELECT: Final = select_list(COLUMNS)
"""The select list that gives them, out of rows named `skus`."""

GRADED_BEFORE: Final = "graded_before"
"""The column that says what the rule-set before gave, an `EarlierGrade` or null."""
NAMES: Final = (*COLUMNS, "version", "doc_status", GRADED_BEFORE)
"""The columns of a detail's row, in their order."""


def _facts(table: str) -> str:
    """Return what a grade follows from, in a form that can be compared: `json` has no equality."""
    return ", ".join(
        f"{table}.{name}::text" if str(skus.c[name].type) == "JSON" else f"{table}.{name}" for name in GRADED_INPUTS
    )


_DIFFER: Final = f"({_facts('before')}) IS DISTINCT FROM ({_facts('skus')})"
_EARLIER_GRADE: Final = f"""(
    SELECT CASE WHEN NOT ({_DIFFER}) THEN json_build_object(
        'ruleset_version', before.ruleset_version, 'grade', before.recyclability_grade,
        'score', before.recyclability_score) END
    FROM sku_versions AS before
    WHERE before.id = skus.id AND (before.ruleset_version <> skus.ruleset_version OR {_DIFFER})
    ORDER BY before.version DESC LIMIT 1)"""
"""Of a row of `skus`: the last version by another rule-set or of other facts, where its facts are the same."""

OF_THE_DAY: Final = f"{DOC_STATUS} AS doc_status, {_EARLIER_GRADE} AS {GRADED_BEFORE}"
"""What a row of `skus` has besides its own columns, on the day of the parameter `today`."""
DETAIL_CHANGED: Final = f"{UPDATED_AT} AS updated_at"
"""When a row of `skus` last changed as it is shown on that day; stands in the place of its own `updated_at`."""

SHOWN: Final = f"{SELECT.replace('skus.updated_at', DETAIL_CHANGED)}, skus.version, {OF_THE_DAY}"
"""The select list of `NAMES`, out of rows named `skus`, for the parameter `today`."""
_ONE: Final = f"SELECT {SHOWN} FROM skus WHERE"
BY_ID: Final = f"{_ONE} skus.id = %(id)s"
"""The detail of a SKU by its id, for the parameters `id` and `today`; no row for another company's."""
BY_CODE: Final = f"{_ONE} skus.sku_code = %(sku_code)s"
"""The same by its code, for the parameters `sku_code` and `today`."""

_WITH_MAKER: Final = f"""
SELECT {SHOWN}, companies.name, brands.name, brands.owner_name, sites.name, sites.city, sites.country
FROM skus JOIN companies ON companies.id = skus.company_id
LEFT JOIN brands ON brands.id = skus.brand_id LEFT JOIN sites ON sites.id = skus.manufacturing_site_id
WHERE skus.id = %(id)s"""


class EarlierGrade(TypedDict):
    """What the rule-set before gave to the same facts."""

    ruleset_version: str
    grade: str
    score: float | None


class StoredSku(SkuFields, total=False):
    """A SKU by `NAMES`: ids and JSON as text, arrays as Postgres writes them.

    A dry run's new SKU has no id and no instants; other queries give a part of the columns.
    """

    id: str | None
    markets: str | None
    use_contexts: str | None
    components: str | None
    volumes: str | None
    flag_facts: str | None
    pfas: str | None
    svhc: str | None
    bpa: str | None
    heavy_metals: str | None
    components_weight_g: float | None
    recyclability_grade: str
    recyclability_score: float | None
    grade_provisional: bool
    ruleset_version: str
    created_at: datetime | None
    updated_at: datetime | None
    version: int
    doc_status: str
    graded_before: EarlierGrade | None


class Maker(NamedTuple):
    """Who makes a packaging: the company, the SKU's brand with its owner, and its manufacturing site."""

    company_name: str
    brand_name: str | None
    owner_name: str | None
    site_name: str | None
    city: str | None
    country: str | None


def row_of(values: Sequence[object]) -> StoredSku:
    """Return the row whose values `BY_ID` or `BY_CODE` gave."""
    return cast(StoredSku, dict(zip(NAMES, values, strict=True)))


def find_sku(connection: Connection, sku_id: UUID | None, today: date) -> StoredSku | None:
    """Return the detail of the session's company's SKU; None where it has none of that id."""
    row = connection.execute(BY_ID, {"id": sku_id, "today": today}).fetchone()
    return None if row is None else row_of(row)


def with_maker(connection: Connection, sku_id: UUID, today: date) -> tuple[StoredSku, Maker] | None:
    """Return the same together with the names of who makes it."""
    row = connection.execute(_WITH_MAKER, {"id": sku_id, "today": today}).fetchone()
    return None if row is None else (row_of(row[: len(NAMES)]), Maker(*row[len(NAMES) :]))
