"""Tables, columns and cells that are there and empty: refused before the 202, or an import that completes."""

from collections.abc import Sequence

import pytest

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.workbook.cells import Workbook
from schemas.messages import LANGUAGES
from services.imports.workbook import template
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


def ends(desk: Desk, data: bytes, *, mapping: dict[str, object] | None = None) -> str:
    """How an import of a file ends: refused before the answer, or the status of its run, tried once."""
    try:
        import_id = desk.send(data, filename="portfolio.xlsx", mapping=mapping)
    except ReadingRefused:
        return "refused"
    desk.finish(import_id)
    ended = desk.poll(import_id)
    assert ended["progress"]["done"] == ended["progress"]["total"], ended
    return str(ended["status"])


@pytest.mark.long
@pytest.mark.parametrize("graph", GRAPHS)
def test_whatever_stands_below_the_headers_is_refused_or_completed(desk: Desk, graph: str) -> None:
    found = {
        filled: ends(desk, workbook({"SKUs": [SKUS, *rows], "components": [PARTS, *GRAPHS[graph]]}))
        for filled, rows in FILLED.items()
    }
    assert set(found.values()) <= {"refused", "completed"}, found
    assert found["a row"] == "completed"


def left_as_it_came(lang: str) -> dict[str, list[list[str | None]]]:
    """The visible sheets of the template, with their example, as rows."""
    book = Workbook(template(lang))
    tops = {sheet.name: book.top(sheet, 40) for sheet in book.sheets if not sheet.hidden}
    return {name: [top.row(at) for at in range(top.cells.height)] for name, top in tops.items()}


@pytest.mark.long
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_template_is_taken_however_little_of_it_is_filled_in(desk: Desk, lang: str) -> None:
    (skus, main), (components, parts) = left_as_it_came(lang).items()
    sku, part = ["A-1", "Bottle"], ["A-1", "body", "plastic"]
    filled = {"left": main[1:], "row": [*main[1:], sku]}
    graphs = {"left": parts[1:], "headers": [], "type": [[None, "body"]], "row": [*parts[1:], part]}
    found = {
        (of_skus, of_parts): ends(desk, workbook({skus: [main[0], *rows], components: [parts[0], *lines]}))
        for of_skus, rows in filled.items()
        for of_parts, lines in graphs.items()
    }
    assert set(found.values()) == {"refused", "completed"}, found
    assert {of for of, end in found.items() if end == "refused"} == {
        ("left", "left"),
        ("left", "headers"),
    }


@pytest.mark.parametrize("lang", LANGUAGES)
def test_one_filled_column_of_the_template_is_enough_to_complete(desk: Desk, lang: str) -> None:
    """Each column alone beside the keys, with a cell that no field takes: a rejected row is no failed import."""
    (skus, main), (components, parts) = left_as_it_came(lang).items()
    width, depth = len(main[0]), len(parts[0])
    rows = [["A-1", "Bottle"], *([None] * at + ["?"] for at in range(width))]
    lines = [["A-1", "body", "plastic"], *([None] * at + ["?"] for at in range(depth))]
    assert ends(desk, workbook({skus: [main[0], *rows], components: [parts[0], *lines]})) == "completed"


def test_a_mapping_to_a_sheet_of_headers_is_refused_or_completed(desk: Desk) -> None:
    book = workbook({"SKUs": [SKUS, SKU], "Leer": [SKUS], "Teile": [PARTS]})
    assert ends(desk, book, mapping={"components": {"sheet": "Teile"}}) == "completed"
    assert ends(desk, book, mapping={"sheet": "Leer"}) == "refused"
    assert ends(desk, book, mapping={"sheet": "Leer", "components": {"sheet": "Teile"}}) == "refused"


def test_components_of_held_skus_need_no_row_of_theirs(desk: Desk) -> None:
    assert ends(desk, workbook({"SKUs": [SKUS, SKU]})) == "completed"
    book = workbook({"Artikel": [SKUS], "Teile": [PARTS, PART]})
    assert ends(desk, book, mapping={"components": {"sheet": "Teile"}}) == "completed"
    assert desk.rows("SELECT json_array_length(components) FROM skus WHERE company_id = %s") == [(1,)]
