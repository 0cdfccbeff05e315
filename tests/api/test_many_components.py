"""A SKU of very many components is explained in a thread: who asks for something else meanwhile does not wait."""

import asyncio

from compliance import grading
from tests.api.people import signed_in

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
CAP = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "separable": True}


def test_no_way_to_a_long_sku_explains_it_on_the_loop_that_answers_others(caller, pool, monkeypatch):
    on_the_loop, explain_row = [], grading.explain_row

    def noted(*given, **named):
        on_the_loop.append(asyncio._get_running_loop() is not None)
        return explain_row(*given, **named)

    monkeypatch.setattr(grading, "explain_row", noted)
    caps = [{**CAP, "weight_g": 1 + place / 1000} for place in range(499)]
    sku = caller.made(sku_code="LONG", name="Long", packaging_format="bottle", components=[BODY, *caps])["id"]
    assert len(caller.get(f"/skus/{sku}").json()["data"]["components"]) == 500
    browser = signed_in(caller, pool)
    assert browser.get(f"/items/{sku}").status_code == 200
    assert len(on_the_loop) >= 3, "written, read, and shown on its page"
    assert not any(on_the_loop)
