"""The file of the United Kingdom: the worked examples, line by line."""

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from compliance import catalogue
from compliance.declarations.uk.lines import DRINKS, UK_SKU_COLUMNS, Statements, lines_of
from compliance.declarations.uk.producer import FileRefused, Producer, submission
from compliance.declarations.uk.ratings import RATINGS
from compliance.declarations.uk.rows import packaging_file, summed
from compliance.ruleset import load
from tests.compliance.portfolios import frames

EXAMPLES = json.loads((Path(__file__).parent / "data" / "uk_examples.json").read_text(encoding="utf-8"))


def filed(skus, *, year=2025, half=1, ram=(), drinks=(), **options):
    """The file of these SKUs, each rolled up as a block of its own."""
    producer = Producer(**{"organisation_id": "123456", **options})
    said = Statements(
        producer, year, half, pl.DataFrame(list(ram), schema=RATINGS),
        pl.DataFrame(list(drinks), schema=DRINKS, orient="row"),
    )  # fmt: skip
    blocks = (lines_of(portfolio([sku]), catalogue.pinned(), load(), said) for sku in skus)
    return packaging_file(summed(blocks), producer, submission(producer, year, half))


def portfolio(skus):
    facts = [{name: sku.get(name) for name in UK_SKU_COLUMNS} for sku in skus]
    return frames(skus)._replace(skus=pl.DataFrame(facts, schema=UK_SKU_COLUMNS))


def lines(file):
    return [",".join(row.values()) for row in file.rows]


def listed(file):
    return [tuple(row) for row in file.uncounted.select("sku_code", "units", "reason", "fields").rows()]


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "lines" in each], ids=lambda each: each["why"])
def test_worked_examples(example):
    options = {("household_type" if name == "type" else name): value for name, value in example["options"].items()}
    file = filed(example["skus"], year=example["year"], half=example["half"] or 0, ram=example["ram"], **options)
    assert lines(file) == example["lines"]
    assert listed(file) == [tuple(entry.values()) for entry in example["uncounted"]]
    assert file.difference_kg == Decimal(str(example["difference_kg"]))


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "refused" in each], ids=lambda each: each["why"])
def test_what_the_examples_refuse(example):
    with pytest.raises(FileRefused) as refused:
        filed(example["skus"], year=example["year"], half=example["half"] or 0, **example["options"])
    assert refused.value.numbers == [example["refused"]]
