"""Warnings of a file's rows are those of each record by itself, whatever rows have in common."""

from itertools import product
from typing import Any, cast

import orjson

from compliance import ruleset
from pipelines.writing.json_fields import array_values
from pipelines.writing.patch import Patch, Prepared, RowIssue
from pipelines.writing.refuse import warnings_of, warnings_of_record
from schemas.skus.types import Sku
from warehouse.skus.tables import Table

RULES = ruleset.load()
PART = '[{"component_type":"body","material_family":"glass","polymer_or_grade":"PET","weight_g":2.0}]'
CHOICES: dict[str, list[Any]] = {
    "components_weight_g": [None, 2.0],
    "weight_grams": [None, 2.0, 900_000.0],
    "packaging_format": ["bottle"],
    "packaging_level": [None, "sales"],
    "material": [None, "plastic", "glass"],
    "material_subtype": [None, "PET", "unobtainium"],
    "markets": [None, "{}", "{FR}", "{DE,FR}"],
    "components": [None, "[]", PART],
    "volumes": [None, '{"FR/2026/0":5}', '{"DE/2026/0":null,"ES/2026/1":3,"FR/2026/0":5}'],
}


def test_rows_are_warned_of_as_each_record_is() -> None:
    rows = [dict(zip(CHOICES, values, strict=True)) for values in product(*CHOICES.values())]
    columns = {name: [row[name] for row in rows] for name in CHOICES}
    numbers, volumes = list(range(len(rows))), columns.pop("volumes")
    patch = Patch(Table({"row": numbers, "volumes": volumes}), Table({"volumes": [True] * len(rows)}))
    written = Prepared(patch, Table({"row": numbers, **columns}), [], {}, {}, RULES, {})
    expected = [
        RowIssue(number, issue)
        for number, row in enumerate(rows)
        for issue in warnings_of_record(_record(row), row["components_weight_g"], row["volumes"], RULES)
    ]
    assert list(warnings_of(written)) == expected
    assert {issue.code for _, issue in expected} == {
        *("weight_mismatch", "unlikely_value", "polymer_unresolved", "material_conflict", "market_not_named")
    }


def _record(row: dict[str, Any]) -> Sku:
    lists = {"markets": array_values(row["markets"]), "components": orjson.loads(row["components"] or "[]")}
    return cast(Sku, {**row, **lists})
