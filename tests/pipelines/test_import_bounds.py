"""What bounds a SKU bounds it in a file too, and what a report quotes can be read in a terminal."""

HEADER = "sku_code,component_type,material_family,weight_g\n"


def test_a_sku_of_a_file_has_at_most_five_hundred_components(desk, workbook):
    parts = [["A", "body", "plastic", 1]] * 501 + [["B", "body", "plastic", 1]] * 500
    sheets = {
        "SKUs": [["sku_code", "name"], ["A", "a"], ["B", "b"]],
        "components": [["sku_code", "component_type", "material_family", "weight_g"], *parts],
    }
    sent = desk.send(workbook(**sheets), filename="parts.xlsx")
    assert desk.finish(sent)
    report = desk.poll(sent)
    assert report["counts"] == {"total": 2, "created": 1, "updated": 0, "unchanged": 0, "rejected": 1}
    assert [(error["sku_code"], error["code"]) for error in report["errors"]] == [("A", "out_of_range")]


def test_control_characters_of_a_cell_are_refused_and_come_back_as_their_pictures(desk):
    sent = desk.send("sku_code,name\nA\u200b1,Bottle\x1b[31m\nA\u00ad2,Caf\u0065\u0301\n")
    assert desk.finish(sent)
    [error] = desk.poll(sent)["errors"]
    assert (error["sku_code"], error["field"], error["code"]) == ("A1", "name", "invalid_format")
    assert error["value"] == "Bottle\u241b[31m"
    assert desk.rows("SELECT sku_code, name FROM skus WHERE company_id = %s") == [("A2", "Café")]
