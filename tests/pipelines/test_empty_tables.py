"""Tables, columns and cells that are there and empty: refused before the 202, or an import that completes."""

from collections.abc import Sequence

import pytest

from pipelines.steps.reading import ReadingRefused
from tests.pipelines.conftest import Desk
from tests.pipelines.reading.writing import workbook

SKUS = ["sku_code", "name", "material", "weight_grams", "markets"]
PARTS = ["sku_code", "component_type", "material_family", "weight_g", "position_in_sku"]
SKU = ["A-1", "Bottle", "plastic", 20, "FR"]
PART = ["A-1", "body", "plastic", 18, 1]
Rows = Sequence[Sequence[object]]


def only(row: Sequence[object], *kept: int) -> list[object]:
    """A row of which only some cells are filled."""
    return [cell if at in kept else None for at, cell in enumerate(row)]


FILLED: dict[str, Rows] = {
    "nothing": [],
    "white space": [["  ", "\t", " ", "\u00a0", None]],
    "a total": [["Total", None, None, 38]],
    "an example": [["EXAMPLE-001", *SKU[1:]]],
    "a code": [only(SKU, 0)],
    "the last column": [only(SKU, 4)],
    "a row": [SKU],
}
GRAPHS: dict[str, Rows] = {
    "nothing": [],
    "white space": [["  ", "\t", " ", "\u00a0", None]],
    "a total": [["Total", None, None, 38]],
    "an example": [["EXAMPLE-001", *PART[1:]]],
    "a code": [only(PART, 0)],
    "the position": [only(PART, 4)],
    "a type": [only(PART, 1)],
    "a row": [PART],
}


def ends(desk: Desk, data: bytes, filename: str = "portfolio.xlsx") -> str:
    """How an import of a file ends: refused before the answer, or the status of its run, tried once."""
    try:
        import_id = desk.send(data, filename=filename)
    except ReadingRefused as refused:
        assert refused.issues
        return "refused"
    desk.run(import_id)
    ended = desk.poll(import_id)
    assert ended["progress"]["done"] == ended["progress"]["total"], ended
    return str(ended["status"])


@pytest.mark.parametrize("graph", GRAPHS)
def test_whatever_stands_below_the_headers_is_refused_or_completed(desk: Desk, graph: str) -> None:
    found = {
        filled: ends(desk, workbook({"SKUs": [SKUS, *rows], "components": [PARTS, *GRAPHS[graph]]}))
        for filled, rows in FILLED.items()
    }
    assert set(found.values()) <= {"refused", "completed"}, found
    assert found["a row"] == "completed"
