"""Components side by side, through a whole run: what is stored, and where a fault of the write path is reported."""

from uuid import uuid4

from tests.pipelines.conftest import Desk

HEAD = (
    "sku_code;name;component_1_material_family;component_1_weight_g;"
    "component_2_material_family;component_2_weight_g;component_2_supplier_id"
)


def test_groups_are_stored_as_graphs_and_each_rejected_sku_counts_once(desk: Desk) -> None:
    lines = [
        HEAD,
        "Beispiel;Glas;glass;1;;;",
        *[f"W-{at};jar;glass;{at},5;metal;5;" for at in range(1, 8)],
        "X-1;jar;stone;x;;;",
        f"X-2;jar;glass;1;metal;5;{uuid4()}",
        "W-1;again;glass;1;;;",
        "Summe;;;;;99;",
    ]
    import_id = desk.send("\n".join(lines))
    assert desk.finish(import_id)
    ended = desk.poll(import_id)
    assert (ended["status"], ended["source"]["layout"]) == ("completed", "wide")
    assert ended["counts"] == {"total": 10, "created": 7, "updated": 0, "unchanged": 0, "rejected": 3}
    assert ended["progress"] == {"done": 10, "total": 10}
    assert [(fault["line"], fault["field"], fault["column"], fault["code"]) for fault in ended["errors"]] == [
        (10, "component_1_material_family", "C", "not_in_vocabulary"),
        (10, "component_1_weight_g", "D", "invalid_number"),
        (11, "components[1].supplier_id", None, "unknown_reference"),
        (12, "sku_code", "A", "duplicate_sku_code"),
    ]
    stored = desk.rows("SELECT count(*) FROM skus WHERE company_id = %s AND json_array_length(components) = 2")
    assert stored == [(7,)]
    again = desk.send("\n".join(lines))
    assert desk.finish(again)
    assert desk.poll(again)["counts"] == {"total": 10, "created": 0, "updated": 0, "unchanged": 7, "rejected": 3}


def test_merged_cells_in_chunks_of_three_leave_no_component_behind(desk: Desk) -> None:
    lines = ["Code;Libellé;Matériau;Poids (g)"]
    for at in range(8):
        lines += [f"L-{at};jar;Verre;{at + 1}", ";;Métal;5", ";;Papier;1"]
    import_id = desk.send("\n".join(lines))
    assert desk.finish(import_id)
    ended = desk.poll(import_id)
    assert (ended["counts"]["created"], ended["source"]["layout"], ended["errors"]) == (8, "long", [])
    stored = desk.rows("SELECT count(*) FROM skus WHERE company_id = %s AND json_array_length(components) = 3")
    assert stored == [(8,)]
