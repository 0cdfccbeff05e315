"""A SKU of very many parts: what its answer costs grows with its parts, and equal parts tried together change nothing.

Work is counted in lines of Python that run, not in seconds: two runs count the same on every machine.
"""

import sys
from random import Random

import orjson
import pytest

from compliance.grading import explain, improvements
from compliance.ruleset import load
from compliance.schemes import settling
from services.skus import detail as detail_skus
from tests.compliance.packs import pack
from warehouse.skus import queries

RULES = load()
BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20.0}
KINDS = {
    "labels that stay": {"component_type": "label", "material_family": "plastic", "polymer_or_grade": "PP"},
    "sleeves of paper": {"component_type": "sleeve", "material_family": "paper", "polymer_or_grade": "PAP 21"},
    "caps that come off": {
        "component_type": "cap",
        "material_family": "plastic",
        "polymer_or_grade": "HDPE",
        "separable": True,
    },
    "caps of no known material": {"component_type": "cap", "material_family": "plastic", "separable": True},
    "adhesives": {"component_type": "adhesive", "material_family": "other"},
}


def row_of(kind, count, packaging_format):
    """A stored SKU of a body and so many parts, no two of one weight, of which every second says its colour."""
    parts = [
        {**KINDS[kind], "weight_g": 0.001 + place / 1e6, **({"colour": "transparent"} if place % 2 else {})}
        for place in range(count)
    ]
    graph = [{"id": f"p{place}", **part} for place, part in enumerate([BODY, *parts])]
    known = {"components": orjson.dumps(graph).decode(), "markets": "{GB}", "volumes": None}
    return dict.fromkeys(queries.NAMES) | known | {"packaging_format": packaging_format}


def lines_run(work):
    """How many lines of Python run while it works; a loop's body counts each time."""
    count, before = 0, sys.gettrace()

    def tracer(frame, event, _):
        nonlocal count
        frame.f_trace_lines = True
        count += event == "line"
        return tracer

    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("packaging_format", ["bottle", None])
@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_parts_cost_about_four_times_the_lines(kind, packaging_format, clock):
    def shown(count):
        row = row_of(kind, count, packaging_format)
        held = detail_skus.record(row)
        return lambda: detail_skus.sku_detail(row, (RULES, RULES, None), today=clock.today(), sku=held)

    few, many = shown(40), shown(160)
    few(), many()  # what is kept for the process is kept now
    assert lines_run(many) < 5.5 * lines_run(few)


def test_equal_parts_tried_together_give_the_open_facts_that_each_gives_alone(monkeypatch):
    compared = 0
    for number in range(300):
        record, draw = pack(number), Random(number)
        if lines := record.get("components"):
            graph = [*lines, *(dict(draw.choice(lines)) for _ in range(draw.choice([0, 3, 12])))]
            record = {**record, "components": [{**line, "id": str(place)} for place, line in enumerate(graph)]}
            traces = []
            for many in (0, len(graph) * 5):
                monkeypatch.setattr(improvements, "MANY", many)
                traces.append(explain(record, RULES))
            assert traces[0] == traces[1], number
            compared += bool(traces[0]["open"])
    assert compared > 50


def test_a_scheme_tries_pieces_of_one_kind_once_and_tells_each_of_them():
    row = row_of("caps that come off", 3, "bottle")
    [entry] = settling.published_schemes(detail_skus.record(row), RULES, 2026)
    asked = {}
    for fact in entry["open"]:
        asked.setdefault(fact["component_id"], []).append((fact["field"], tuple(fact["could_become"])))
    assert asked["p1"]
    assert asked["p1"] == asked["p3"]
    assert "colour" not in dict(asked.get("p2", ()))
