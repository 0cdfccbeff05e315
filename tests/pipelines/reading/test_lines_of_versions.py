"""Lines of several versions of a packaging, weights of all units, single metals: what is no value of one packaging."""

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import Table, delimited, faults, read, values

PARTS = ["SKU", "Name", "Component", "Material", "Weight (g)"]


def asked(table: Table) -> list[tuple[str, str | None, dict[str, object]]]:
    """The questions as (kind, column, answer)."""
    return [(about["kind"], about["column"], about["answer"]) for about in read(delimited(table))[0].source["asked"]]


@pytest.mark.parametrize(
    ("header", "first", "second"),
    [
        ("Version", "1", "2"),
        ("Alternative", "1", "2"),
        ("Werk", "1000", "2000"),
        ("Valid from", "01.01.2024", "01.01.2025"),
        ("Gültig ab", "2024-01-01", "2025-01-01"),
        ("Season", "summer", "winter"),
    ],
)
def test_parts_of_several_versions_are_not_added_up(header: str, first: str, second: str) -> None:
    table = [
        [*PARTS, header],
        ["A-1", "Jam", "Jar", "Glass", 180, first],
        ["A-1", "Jam", "Lid", "Steel", 8, first],
        ["A-1", "Jam", "Jar", "Glass", 170, second],
        ["A-1", "Jam", "Lid", "Steel", 8, second],
        ["B-1", "Honey", "Jar", "Glass", 240, first],
    ]
    rows = values(delimited(table))
    assert [row.get("components") is not None for row in rows] == [False, True]
    [(kind, column, answer)] = asked(table)
    assert (kind, column, answer) == ("quantity", "E", {"quantity": {"E": "ignore"}})
    assert str(values(delimited(table), answer)[0]["components"]).count("weight_g") == 4


def test_a_packaging_of_two_suppliers_weighs_as_much_as_one() -> None:
    table = [
        ["SKU", "Name", "Supplier", "Material", "Packaging weight (g)"],
        ["A-1", "Jam", "ACME", "Glass", 180],
        ["A-1", "Jam", "Bottles Ltd", "Glass", 175],
    ]
    [row] = values(delimited(table))
    assert {"components", "weight_grams"}.isdisjoint(name for name, held in row.items() if held is not None)
    assert [kind for kind, _, _ in asked(table)] == ["value", "quantity"]


@pytest.mark.parametrize(("header", "first", "second"), [("Pos", "20", "30"), ("Print", "front", "back")])
def test_two_labels_of_one_packaging_stay_two(header: str, first: str, second: str) -> None:
    table = [
        [*PARTS, header],
        ["A-1", "Jam", "Jar", "Glass", 180, "10"],
        ["A-1", "Jam", "Label", "Paper", 1, first],
        ["A-1", "Jam", "Label", "Paper", 1.5, second],
    ]
    assert str(values(delimited(table))[0]["components"]).count("label") == 2
    assert asked(table) == []


@pytest.mark.parametrize(
    "header", ["Total packaging weight (kg)", "Packaging weight (kg)", "Poids total emballage (kg)"]
)
def test_a_weight_of_all_units_sold_is_asked_about(header: str) -> None:
    head = ["SKU", "Name", "Units sold DE 2025", header]
    table = [head, ["A-1", "Jam", 12000, 2160], ["B-1", "Oil", 5000, 40]]
    assert [row.get("weight_grams") for row in values(delimited(table))] == [None, None]
    [(_, _, answer)] = asked(table)
    assert answer == {"columns": {"weight_grams": "D"}}
    assert values(delimited(table), answer)[0]["weight_grams"] == 2_160_000
    single = [head, ["A-1", "Jam", 12000, 0.18], ["B-1", "Drum", 2, 18]]
    assert asked(single) == []


def test_weights_of_materials_of_all_units_are_asked_about_together() -> None:
    table = [
        ["SKU", "Name", "Units sold DE 2025", "Glass (kg)", "Plastic (kg)"],
        ["A-1", "Jam", 12000, 2160, 96],
        ["B-1", "Oil", 5000, 1500, 40],
    ]
    assert all(row.get("components") is None for row in values(delimited(table)))
    [(_, _, answer)] = asked(table)
    assert answer == {"columns": {"glass_weight_g": "D", "plastic_weight_g": "E"}}


@pytest.mark.parametrize("header", ["Total packaging (g)", "Verpackung gesamt (g)", "Imballo totale [g]"])
def test_a_total_beside_materials_is_the_weight_of_the_packaging(header: str) -> None:
    head = ["SKU", "Name", "Glass (g)", "Plastic (g)", header]
    whole = [head, ["A-1", "Jar", 180, 12, 192], ["B-1", "Bag", "", 12, 12]]
    assert [(row.get("weight_grams"), "components" in row) for row in values(delimited(whole))] == [(None, True)] * 2
    assert asked(whole) == []
    of_one = [*whole, ["C-1", "Box", "", 10, 14]]
    assert [row["weight_grams"] for row in values(delimited(of_one))] == [192, 12, 14]
    less = [head, ["A-1", "Jar", 180, 12, 240], ["B-1", "Bag", "", 12, 30]]
    assert all(row.get("components") is None for row in values(delimited(less)))
    assert len(asked(less)) == 1


METALS = ["SKU", "Name", "Packaging weight (g)", "Lead (ppm)", "Cadmium (ppm)", "Mercury (ppm)", "Cr VI (ppm)"]


def test_the_four_heavy_metals_are_added_up() -> None:
    table = [METALS, ["A-1", "Jar", 180, 3, 1.5, 0.1, 0.025], ["B-1", "Bag", 5, "", "", "", ""]]
    assert [row["heavy_metals_sum_ppm"] for row in values(delimited(table))] == ["4.625", None]
    german = [
        ["Art.-Nr.", "Bezeichnung", "Blei mg/kg", "Kadmium mg/kg", "Quecksilber mg/kg", "Chrom(VI) mg/kg"],
        ["A-1", "Glas", "3", "1,5", "0,1", "0,025"],
    ]
    assert values(delimited(german, ";"))[0]["heavy_metals_sum_ppm"] == "4.625"


@pytest.mark.parametrize("cell", ["", "n.d.", "<", "<1-2"])
def test_a_sum_that_lacks_a_metal_is_a_fault(cell: str) -> None:
    others = [[f"B-{at}", "Jar", 180, 3, 1.5, 0.1, 1] for at in range(3)]
    table = [METALS, ["A-1", "Jar", 180, 3, 1.5, 0.1, cell], *others]
    assert [(line, field) for line, field, _ in faults(delimited(table))] == [(2, "heavy_metals_sum_ppm")]


def test_single_heavy_metals_are_asked_about() -> None:
    table = [METALS[:5], ["A-1", "Jar", 180, 3, 1.5]]
    assert asked(table) == [("column", None, {"columns": {"heavy_metals_sum_ppm": "D"}})]
    with_sum = [[*METALS, "Heavy metals sum (ppm)"], ["A-1", "Jar", 180, 3, 1, 0, 0, 4]]
    assert asked(with_sum) == []
    assert values(delimited(with_sum))[0]["heavy_metals_sum_ppm"] == "4"


def test_items_side_by_side_are_refused_with_how_to_turn_them() -> None:
    table = [
        ["Artikelnummer", "A-100", "A-200", "A-300"],
        ["Bezeichnung", "Jar", "Bag", "Can"],
        ["Verpackungsmaterial", "Glas", "PE", "Stahl"],
        ["Verpackungsgewicht (g)", 180, 12, 40],
    ]
    with pytest.raises(ReadingRefused, match="Transpose"):
        read(delimited(table))


def test_units_of_nations_are_not_those_of_the_kingdom() -> None:
    table = [["SKU", "Name", "England 2025", "Scotland 2025"], ["A-1", "Jam", 100, 20]]
    with pytest.raises(ReadingRefused) as refused:
        read(delimited(table))
    assert [issue.answer for issue in refused.value.issues] == [None]
