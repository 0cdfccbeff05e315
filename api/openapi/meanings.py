"""Describes fields whose model has no description: reads `meanings.csv`, by schema and field, `*` for any schema."""

import csv
from functools import cache
from importlib.resources import files

from schemas.json_values import JsonObject


def add(document: JsonObject) -> None:
    """Describe every field of the schemas that has no description yet."""
    for name, schema in document["components"]["schemas"].items():
        for field, published in schema.get("properties", {}).items():
            meaning = table().get((name, field)) or table().get(("*", field))
            if meaning:
                published.setdefault("description", meaning)


@cache
def table() -> dict[tuple[str, str], str]:
    """Return the meanings by schema and field."""
    rows = csv.DictReader((files("api.openapi") / "meanings.csv").read_text(encoding="utf-8").splitlines())
    return {(row["schema"], row["field"]): row["meaning"] for row in rows}
