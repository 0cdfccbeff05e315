"""The same files over what an older release stored of them (`graphs.json`): every part keeps its id (decisions §13)."""

import json
from typing import Any

import psycopg
import pytest

from tests.pipelines.conftest import Desk
from tests.pipelines.identity.files import FILES
from tests.pipelines.identity.record import GRAPHS, PORTFOLIO, STORED

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(GRAPHS.read_text(encoding="utf-8"))
SENT_AGAIN = {layout: (name, again) for layout, (name, _, again) in FILES.items()}
SENT_AGAIN["the example"] = (PORTFOLIO.name, PORTFOLIO.read_bytes())


@pytest.mark.parametrize("layout", SENT_AGAIN)
def test_a_file_that_is_sent_again_after_the_upgrade_keeps_every_id(desk: Desk, layout: str) -> None:
    name, data = SENT_AGAIN[layout]
    assert desk.finish(desk.send(data, filename=name))
    codes = [code for code, graph in desk.rows(STORED) if graph]
    assert codes
    with psycopg.connect(desk.database.owner_url) as owner:  # as the older release left it
        for code in codes:
            row = (json.dumps(RECORDED[code], ensure_ascii=False, separators=(",", ":")), desk.company, code)
            owner.execute("UPDATE skus SET components = %s::json WHERE company_id = %s AND sku_code = %s", row)
    again = desk.send(data, filename=name)
    assert desk.finish(again)
    assert desk.poll(again)["counts"]["unchanged"] >= len(codes)
    ids = {code: [line["id"] for line in json.loads(graph)] for code, graph in desk.rows(STORED) if graph}
    assert ids == {code: [line["id"] for line in RECORDED[code]] for code in codes}


def test_the_record_is_of_parts_that_are_hard_to_tell_apart() -> None:
    lines = {code: [(line["component_type"], line["material_family"]) for line in RECORDED[code]] for code in RECORDED}
    assert len(lines["S-3"]) > len(set(lines["S-3"]))
    assert len(lines["W-2"]) > len(set(lines["W-2"]))
    assert not any("weight_g" in line for line in RECORDED["S-4"])
