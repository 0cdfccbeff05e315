"""The published schema of a supplier's response: JSON Schema 2020-12 that says what the model accepts."""

import csv
import hashlib
import json
from datetime import date

import pytest
from jsonschema_rs import Draft202012Validator, meta
from pydantic import ValidationError

from schemas import suppliers
from schemas.fields import COMPONENT

PATH = "/api/v1/schemas/supplier-data-response"
SCHEMA = suppliers.published("https://example.org/schema")
FULL = {
    "components": [{
        "component_id": "019a0000-0000-7000-8000-0000000000e1", "material_family": "plastic", "polymer_or_grade": "PP",
        "weight_g": 1.9, "colour": "natural", "recycled_content_percent": 30, "additives": ["titanium_dioxide"],
        "substances": {"pfas": {"status": "absent", "source": "test_report", "evidence": "R-1"}}, "separable": None,
    }],
    "contact": "quality@example.org",
    "comment": None,
}  # fmt: skip


def _accepted(body):
    """What the model and the schema say, which must be the same."""
    by_schema = Draft202012Validator(SCHEMA).is_valid(body)
    try:
        suppliers.SupplierDataResponse.model_validate(body)
    except ValidationError:
        by_model = False
    else:
        by_model = True
    assert by_schema == by_model
    return by_model


def test_it_is_served_to_anyone_versioned_and_dated(http):
    answer = http.get(PATH)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    schema = answer.json()
    meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(PATH)
    assert schema["$id"].startswith("http")
    assert schema == {**SCHEMA, "$id": schema["$id"]}
    assert date.fromisoformat(schema["date"])
    assert http.post(PATH).status_code == 405


def test_it_is_kept_and_asked_for_again_by_its_tag(http):
    tag = http.get(PATH).headers["ETag"]
    for held in (tag, f'"other", W/{tag}', "*"):
        again = http.get(PATH, headers={"If-None-Match": held})
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
        assert again.headers["Cache-Control"] == "public, max-age=3600"
    assert http.get(PATH, headers={"If-None-Match": '"other"'}).status_code == 200


def test_it_takes_the_fields_of_a_component_but_its_type_all_optional():
    component = SCHEMA["$defs"]["SupplierComponentInput"]
    assert list(component["properties"]) == [name for name in COMPONENT if name != "component_type"]
    assert set(SCHEMA["properties"]) == {"components", "contact", "comment"}
    for schema in (SCHEMA, component):
        assert schema["additionalProperties"] is False
        assert "required" not in schema
    assert _accepted({})
    assert _accepted(FULL)
    assert _accepted({"components": [{}]})


@pytest.mark.parametrize(
    "body",
    [
        [], {"component": []}, {"components": {}}, {"components": [{"component_type": "cap"}]}, {"contact": {}},
        {"components": [{"weight_g": -1}]}, {"components": [{"colour": "beige"}]}, {"comment": "x" * 2001},
        {"components": [{"substances": {"lead": None}}]}, {"components": [{"recycled_content_percent": 101}]},
        {"components": [{"weight_g": "2"}]}, {"components": [{"substances": {"pfas": {}}}]},
    ],
    ids=str,
)  # fmt: skip
def test_what_the_model_refuses_the_schema_refuses(body):
    assert not _accepted(body)


def test_what_is_accepted_does_not_change_under_a_published_version():
    """Another digest needs another row: a new version with its day, and what changed."""

    def bare(node):
        if isinstance(node, dict):
            return {name: bare(value) for name, value in node.items() if name not in ("description", "title")}
        return [bare(each) for each in node] if isinstance(node, list) else node

    with suppliers.VERSIONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    accepts = {name: bare(SCHEMA[name]) for name in ("$defs", "properties", "additionalProperties")}
    digest = hashlib.sha256(json.dumps(accepts, sort_keys=True).encode()).hexdigest()
    assert rows[-1]["sha256"] == digest
    assert len({row["version"] for row in rows}) == len(rows)
    assert [row["date"] for row in rows] == sorted(row["date"] for row in rows)
