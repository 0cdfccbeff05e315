"""The published codes of design attributes and formats are those that the rules of every rule-set speak of."""

import csv
from collections import defaultdict

import pytest

from compliance import ruleset
from compliance.tables import RULES
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.vocabularies import VOCABULARIES

SINGULAR = {"additives": "additive"}
FIELDS = ("colour", "attachment", "adhesive_type", "ink_type", "coating_type", "additives")


@pytest.mark.parametrize("version", ruleset.versions())
def test_design_attributes_are_the_rule_sets(version: str):
    values = defaultdict(list)
    with (RULES / version / "attributes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values[row["field"]].append(row["value"])
    for field in FIELDS:
        assert set(VOCABULARIES[SINGULAR.get(field, field)]) == set(values[field])


@pytest.mark.parametrize("version", ruleset.versions())
def test_format_keys_are_the_rule_sets(version: str):
    with (RULES / version / "formats.csv").open(encoding="utf-8", newline="") as file:
        assert {row["key"] for row in csv.DictReader(file)} <= set(VOCABULARIES["packaging_format_key"])


def test_every_field_with_a_vocabulary_has_one_of_ours():
    named = [field.vocabulary for field in (*SKU_FIELDS, *COMPONENT_FIELDS) if field.vocabulary]
    assert set(named) <= set(VOCABULARIES)
