"""The worked examples of scope, through the function: tonnes, obligations and what is missing, field by field.

Through the front door they are `tests/api/test_declared_scope.py`.
"""

import pytest

from compliance.filings.document import Source, document
from tests.compliance.portfolios import rolled_up
from tests.compliance.scope_examples import EXAMPLES, differences

SOURCE = Source("company", "2026-11-22T00:00:00Z", "2026-11-22", "snapshot")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each["why"])
def test_a_worked_example_of_scope(example):
    figures = rolled_up(example["skus"])
    said = document(figures, example["market"], example["year"], example["half"] or 0, SOURCE)
    assert differences(example, said) == []
