"""What one body may ask of the service: the work of a refusal is bounded, and so is its answer."""

import time

import orjson
import pytest

from schemas.issues import MAX_COMPONENTS, MAX_FAULTS, MAX_VALUES, Issue, first_hundred, more
from schemas.refusals import Refused
from schemas.skus.inputs import parse_sku, parse_volumes
from schemas.suppliers import parse_submission

BODY = 2 * 2**20
PART = {"component_type": "body", "material_family": "plastic"}


def refused(parse, body):
    begun = time.thread_time()  # another test's thread may still be at work
    with pytest.raises(Refused) as error:
        parse(body)
    issues = first_hundred(error.value.issues)
    return [issue.as_dict() for issue in issues], time.thread_time() - begun


def test_a_hundred_faults_are_listed_and_the_rest_is_counted():
    issues, _ = refused(parse_sku, {"sku_code": "A", "name": "n", **{f"f{n}": 1 for n in range(250)}})
    assert (len(issues), issues[-1]) == (MAX_FAULTS + 1, {"code": "more", "count": 150})
    rows, _ = refused(parse_volumes, [{"market": "FR", "year": 1, "units_placed": 1}] * 10_000)
    assert (len(rows), rows[-1]) == (MAX_FAULTS + 1, {"code": "more", "count": 9_900})
    assert rows[0]["row"] == 0
    assert first_hundred([*[Issue("required", "m")] * 101, more(7)])[-1].count == 8
    assert len(first_hundred([Issue("required", "m")] * 100)) == 100


@pytest.mark.parametrize(
    "bodies",
    [
        lambda: (parse_submission, {"consent": True, "response": {"components": [{"additives": ["x"] * 20_000}]}}),
        lambda: (parse_submission, {"consent": True, "response": {"components": [None] * 400_000}}),
        lambda: (parse_sku, {"sku_code": "A", "name": "n", "components": [PART] * 36_000}),
        lambda: (parse_sku, {"sku_code": "A", "name": "n", "markets": ["x"] * 500_000}),
        lambda: (parse_sku, {"sku_code": "A", "name": "n", "components": [{"additives": [""] * 1_000}] * 500}),
        lambda: (parse_sku, {"sku_code": "A", "name": "n", **{str(n): n for n in range(150_000)}}),
        lambda: (parse_sku, {"sku_code": "A", "name": "n", "weight_grams": 10**400}),
        lambda: (parse_sku, orjson.loads("[" * 200 + "]" * 200)),
        lambda: (parse_volumes, [[]] * 700_000),
    ],
)
def test_a_refusal_costs_less_than_half_a_second_of_work_and_answers_little(bodies):
    parse, body = bodies()
    issues, first = refused(parse, body)  # builds the model, too, where no test has used it yet
    _, second = refused(parse, body)
    assert len(issues) <= MAX_FAULTS + 1
    assert len(orjson.dumps(issues)) < 200_000
    assert min(first, second) < 0.5


def test_a_sku_has_at_most_so_many_components():
    assert len(parse_sku({"sku_code": "A", "name": "n", "components": [PART] * MAX_COMPONENTS})["components"]) == 500
    for number in (MAX_COMPONENTS + 1, 36_000):
        issues, _ = refused(parse_sku, {"sku_code": "A", "name": "n", "components": [PART] * number})
        assert [(issue["code"], issue["field"]) for issue in issues] == [("out_of_range", "components")]


def test_the_largest_records_that_are_meant_are_looked_at():
    full = {
        **PART,
        "substances": {
            name: {"status": "absent", "evidence": "e", "source": "test_report"} for name in ("pfas", "svhc", "bpa")
        },
        "additives": [],
    }
    assert MAX_VALUES > 2 * MAX_COMPONENTS * 40
    assert parse_sku({"sku_code": "A", "name": "n", "components": [full] * MAX_COMPONENTS})
