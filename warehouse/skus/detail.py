"""Selects one SKU as its detail shows it: every stored column, what its DoCs give on a day, and its earlier grade.

What belongs here: the one query of a SKU's detail and the parts that other queries of whole SKUs share with it. What
does not: how the row becomes an answer (`pipelines.writing.present`), and pages of SKUs (`queries`).

`today` is the UTC day of the service's clock, never the database's.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final, NamedTuple, cast
from uuid import UUID

from compliance.grading import GRADED_INPUTS
from schemas.sku import SkuFields
from warehouse.sessions import Connection
from warehouse.skus.columns import select_list
from warehouse.skus.queries import DOC_STATUS, UPDATED_AT
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS, skus

COLUMNS: Final = ("id", *VALUE_COLUMNS, *DERIVED_COLUMNS, "created_at", "updated_at")
"""The columns of `skus` and `sku_versions` that are shown."""
SELECT: Final = select_list(COLUMNS)
"""The select list that gives them, out of rows named `skus`."""

GRADED_BEFORE: Final = "graded_before"
"""The column that says what the rule-set before gave: JSON text of version, grade and score, or null."""
NAMES: Final = (*COLUMNS, "version", "doc_status", GRADED_BEFORE)
"""The columns of a detail's row, in their order."""


def _facts(table: str) -> str:
    """What a grade follows from, in a form that can be compared: `json` has no equality."""
    return ", ".join(
        f"{table}.{name}::text" if str(skus.c[name].type) == "JSON" else f"{table}.{name}" for name in GRADED_INPUTS
    )


_DIFFER: Final = f"({_facts('before')}) IS DISTINCT FROM ({_facts('skus')})"
_EARLIER_GRADE: Final = f"""(
    SELECT CASE WHEN NOT ({_DIFFER}) THEN json_build_object(
        'ruleset_version', before.ruleset_version, 'grade', before.recyclability_grade,
        'score', before.recyclability_score)::text END
    FROM sku_versions AS before
    WHERE before.id = skus.id AND (before.ruleset_version <> skus.ruleset_version OR {_DIFFER})
    ORDER BY before.version DESC LIMIT 1)"""
"""Of a row of `skus`: the last version by another rule-set or of other facts, where its facts are the same."""

OF_THE_DAY: Final = f"{DOC_STATUS} AS doc_status, {_EARLIER_GRADE} AS {GRADED_BEFORE}"
"""What a row of `skus` has besides its own columns, on the day of the parameter `today`."""
CHANGED: Final = f"{UPDATED_AT}::text AS updated_at"
"""When a row of `skus` last changed as it is shown on that day; stands in the place of its own `updated_at`."""

SHOWN: Final = f"{SELECT.replace('skus.updated_at::text', CHANGED)}, skus.version, {OF_THE_DAY}"
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


class StoredSku(SkuFields, total=False):
    """A SKU by `NAMES`: ids, instants and JSON as text, arrays as Postgres writes them.

    A dry run's new SKU has no id and no instants; other queries give a part of the columns.
    """

    id: str | None
    markets: str | None
    use_contexts: str | None
    components: str | None
    volumes: str | None
    pfas: str | None
    svhc: str | None
    bpa: str | None
    heavy_metals: str | None
    components_weight_g: float | None
    recyclability_grade: str
    recyclability_score: float | None
    grade_provisional: bool
    ruleset_version: str
    created_at: str | None
    updated_at: str | None
    version: int
    doc_status: str
    graded_before: str | None


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


def of(connection: Connection, sku_id: UUID | None, today: date) -> StoredSku | None:
    """The detail of the session's company's SKU; None where it has none of that id."""
    found = connection.execute(BY_ID, {"id": sku_id, "today": today}).fetchone()
    return None if found is None else row_of(found)


def with_maker(connection: Connection, sku_id: UUID, today: date) -> tuple[StoredSku, Maker] | None:
    """The same together with the names of who makes it."""
    found = connection.execute(_WITH_MAKER, {"id": sku_id, "today": today}).fetchone()
    return None if found is None else (row_of(found[: len(NAMES)]), Maker(*found[len(NAMES) :]))
