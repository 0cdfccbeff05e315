"""Defines the three tables of a snapshot: their columns with types, and their queries to Postgres.

Names, types and units are those of `compliance.rollup.portfolio`, with the columns that overview, readiness and missing
data read besides. Weights are in grams, shares in percent.

Archived SKUs with units are among the rows, because what was placed on a market stays placed (decisions §13): figures
read all rows, and `warehouse.analytics.reader` leaves those that are `archived` out of everything else.
"""

from typing import Final

import polars as pl

from compliance.rollup.portfolio import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS
from schemas.vocabularies import SUBSTANCES
from warehouse.skus.queries import COVERAGE, DOC_CHANGED
from warehouse.skus.tables import STORED_COLUMNS

ARCHIVED: Final = "archived"
"""The column of all three tables that marks the rows of archived SKUs, which only figures read."""
FLAG: Final = pl.Struct({"code": pl.String(), "certainty": pl.String(), "applies_from": pl.Date(), "text": pl.String()})
"""A format ban that the SKU meets or may meet, in the words of the active rules (`compliance.annex_v`)."""
STATUSES: Final = {f"{substance}_status": pl.String() for substance in SUBSTANCES}

SKUS: Final = pl.Schema(
    {
        "id": pl.String(),
        **SKU_COLUMNS,
        "name": pl.String(),
        "components_weight_g": pl.Float64(),
        "recycled_content_percent": pl.Float64(),
        "food_contact": pl.Boolean(),
        "gtin": pl.String(),
        "ppwr_role": pl.String(),
        "markets": pl.List(pl.String()),
        "markets_in_effect": pl.List(pl.String()),
        "minimisation_assessed": pl.Boolean(),
        **STATUSES,
        "recyclability_grade": pl.String(),
        "recyclability_score": pl.Float64(),
        "grade_provisional": pl.Boolean(),
        "ruleset_version": pl.String(),
        "doc_status": pl.String(),
        "flags": pl.List(FLAG),
        "rules": pl.List(pl.String()),
        "import_id": pl.String(),
        "updated_at": pl.Datetime("us", "UTC"),
    }
)
COMPONENTS: Final = pl.Schema(
    {
        "id": pl.String(),
        **COMPONENT_COLUMNS,
        ARCHIVED: pl.Boolean(),
        "recycled_content_percent": pl.Float64(),
        "thickness_um": pl.Float64(),
        **STATUSES,
    }
)
VOLUMES: Final = pl.Schema({**VOLUME_COLUMNS, ARCHIVED: pl.Boolean()})

_OF_SKUS: Final = ", ".join(f"{{source}}.{column.name}" for column in STORED_COLUMNS)
_HELD: Final = f"""(
    SELECT {_OF_SKUS.format(source="held")}, false AS archived FROM skus AS held
    UNION ALL
    SELECT {_OF_SKUS.format(source="last")}, true FROM archived_skus AS rests
    JOIN sku_versions AS last ON last.id = rests.sku_id AND last.version = rests.version
    WHERE rests.returned_at IS NULL AND last.volumes IS NOT NULL
) AS skus"""
"""The SKUs of the session's company, and those of its archived ones of which units were placed on a market."""
ROWS: Final = f"""
SELECT skus.id, sku_code, material, material_subtype, weight_grams, packaging_format, reusable,
       reuse_deposit_system, name, components_weight_g, recycled_content_percent, food_contact, gtin,
       packaging_level, ppwr_role,
       array_to_json(markets) AS markets, array_to_json(use_contexts) AS use_contexts, minimisation_assessed,
       {", ".join(f"{substance} ->> 'status' AS {substance}_status" for substance in SUBSTANCES)},
       recyclability_grade, recyclability_score, grade_provisional, ruleset_version,
       coalesce(covered.doc_status, 'missing') AS doc_status, import_id,
       (extract(epoch FROM greatest(updated_at, covered_at)) * 1000000)::bigint AS updated_at, components, volumes,
       svhc, archived
FROM {_HELD}
LEFT JOIN (
    SELECT sku_id, {COVERAGE} AS doc_status, max({DOC_CHANGED}) AS covered_at FROM docs GROUP BY sku_id
) AS covered ON covered.sku_id = skus.id"""
"""Those SKUs on the UTC day `today`, each with its graph and volumes as they are stored."""
NAMED_ROWS: Final = f"{ROWS} WHERE skus.id = ANY(%(ids)s::uuid[])"
"""Those of them with the `ids`."""

COUNTED: Final = "SELECT links, coalesce(encode(chain_hash, 'hex'), ''), skus FROM company_counters"
"""The last link of the session's company's audit chain, its hash, and the number of SKUs; no row for no company."""
HOLDS_UNTIL: Final = """
SELECT least(
    min(issued_on) FILTER (WHERE issued_on > %(today)s), min(expires_on + 1) FILTER (WHERE expires_on >= %(today)s)
)
FROM docs WHERE status = 'valid'"""
"""The first day on which a DoC begins or ceases to be valid without any write; null where there is none."""
