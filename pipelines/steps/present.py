"""A stored SKU as the API shows it: SkuDetailResponse.data, out of one row in the form that frames and queries share.

Text forms in, published forms out: array literals become arrays, JSON texts objects, legacy fields are read back from
the entries, the grade is explained by the rule-set version that made it. The list's items are made by the database.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

import orjson
import polars as pl

from compliance import annex_v, grading
from compliance.flag_texts import retold
from compliance.ruleset import RuleSet
from compliance.words import resolve_format
from pipelines.steps import components, substances, volumes
from pipelines.steps.patch import DTYPES, array_values
from schemas.fields import SKU_FIELDS
from schemas.sentences import ORIGINAL
from schemas.vocabularies import SUBSTANCES
from warehouse.queries.skus import DOC_STATUS, UPDATED_AT
from warehouse.tables.skus import DERIVED_COLUMNS, VALUE_COLUMNS

COLUMNS: Final = ("id", *VALUE_COLUMNS, *DERIVED_COLUMNS, "created_at", "updated_at")
SELECT: Final = ", ".join(f"skus.{name}::text" if DTYPES[name] == pl.String else f"skus.{name}" for name in COLUMNS)
"""The select list that gives `sku_detail` its row."""

OF_THE_DAY: Final = f"{SELECT.replace('skus.updated_at', UPDATED_AT)}, {DOC_STATUS} AS doc_status"
"""The same as it is listed on the day of the parameter `today`: with its DoCs' coverage, and when that changed."""
COLUMNS_OF_THE_DAY: Final = (*COLUMNS, "doc_status")

_KINDS: Final = frozenset({"text", "code", "number", "integer", "truth", "gtin", "uuid"})
_GRADE: Final = ("recyclability_grade", "recyclability_score")
_PLAIN: Final = tuple(field.name for field in SKU_FIELDS if field.kind in _KINDS and field.name in VALUE_COLUMNS)


def record(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as `compliance` takes it: values of their own types instead of text forms."""
    return {
        **{name: row[name] for name in _PLAIN},
        "markets": array_values(row["markets"]),
        "use_contexts": array_values(row["use_contexts"]) or [],
        "components": orjson.loads(row["components"]) if row["components"] else [],
        **{name: orjson.loads(row[name]) if row[name] else None for name in SUBSTANCES},
    }


def fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is held in one row and graded from it, under the names of SkuDetailResponse; what is explained, not."""
    return _fields(row, record(row))


def _fields(row: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
    weight = row["weight_grams"]
    return {
        **{name: held[name] for name in _PLAIN},
        "weight_grams": row["components_weight_g"] if weight is None else weight,
        **{name: row[name] for name in _GRADE},
        "markets": held["markets"],
        "use_contexts": held["use_contexts"],
        "substances": {name: substances.published(held[name]) for name in SUBSTANCES},
        **{substances.LEGACY[name]: substances.legacy_of(name, held[name]) for name in SUBSTANCES},
        "substances_source": None,
        "volumes": volumes.published(row["volumes"]),
        "components": [components.published(line) for line in held["components"]],
    }


def sku_detail(
    row: Mapping[str, Any], held: Mapping[str, Any], *, rules: RuleSet, graded_by: RuleSet, doc_status: str,
    today: date, lang: str = ORIGINAL,
) -> dict[str, Any]:  # fmt: skip
    """SkuDetailResponse.data of one row and its `record`; a dry run's new SKU has neither `id` nor instants.

    `rules` is the rule-set of the day, and `today` the UTC day by which a format ban is in force; the grade is
    explained by the rule-set of its version, `graded_by`. Sentences are in a language of `schemas.labels.LANGUAGES`.
    """
    return {
        "id": row["id"],
        **_fields(row, held),
        "doc_status": doc_status,
        "packaging_format_key": _format_key(row["packaging_format"], rules),
        "compliance": {
            **{name: row[name] for name in _GRADE},
            "doc_status": doc_status,
            "annex_v_flags": [
                {**flag, "reason": retold(str(flag["code"]), str(flag["reason"]), rules, lang)}
                for flag in annex_v.flags(held, rules, today=today)
            ],
            "grade_trace": grading.explain_row(
                tuple(row[name] for name in grading.GRADED_INPUTS), held, graded_by, day=rules, lang=lang
            ),
        },
        "created_at": instant(row["created_at"]),
        "updated_at": instant(row["updated_at"]),
    }


def _format_key(text: str | None, rules: RuleSet) -> str | None:
    known = resolve_format(text, rules) if text else None
    return known.key if known else None


def instant(at: str | None) -> str | None:
    """RFC 3339 in UTC with Z, out of the database's text."""
    return None if at is None else datetime.fromisoformat(at).astimezone(UTC).isoformat().replace("+00:00", "Z")
