"""Weights that are a gross less a net one, and sub-totals named by their word and their group."""

from tests.pipelines.reading.writing import delimited, read, values

ROWS = [["1000", "Bicycle", "14.0", "12.5", "1.5"], ["1001", "Helmet", "0.55", "0.4", "0.15"]]


def test_a_packaging_weight_that_is_gross_less_net_is_no_gram_by_itself() -> None:
    data = delimited([["No.", "Description", "Gross weight", "Net weight", "Packaging weight"], *ROWS])
    (about,) = read(data)[0].source["asked"]
    assert (about["kind"], about["could_be"], about["answer"]) == (
        "unit", ["kg", "g"], {"units": {"weight_grams": "kg"}},
    )  # fmt: skip
    assert all(row.get("weight_grams") is None for row in values(data))
    assert [row["weight_grams"] for row in values(data, about["answer"])] == [1500, 150]


def test_it_has_the_unit_of_the_weights_that_it_lies_between() -> None:
    data = delimited([["No.", "Description", "Gross weight (kg)", "Net weight (kg)", "Packaging weight"], *ROWS])
    assert (read(data)[0].source["asked"], [row["weight_grams"] for row in values(data)]) == ([], [1500, 150])


def test_a_packaging_weight_that_is_no_such_difference_is_in_grams() -> None:
    rows = [[*row[:4], weight] for row, weight in zip(ROWS, ("850", "60"), strict=True)]
    data = delimited([["No.", "Description", "Gross weight", "Net weight", "Packaging weight"], *rows])
    assert (read(data)[0].source["asked"], [row["weight_grams"] for row in values(data)]) == ([], [850, 60])


def test_a_subtotal_of_a_group_is_a_total_even_of_one_line() -> None:
    table = [
        ["Artikelnummer", "Bezeichnung", "Verpackungsgewicht (g)"],
        ["A-1", "Saft", "400"], ["A-2", "Wein", "500"], ["Zwischensumme Glas", "", "900"],
        ["A-3", "Joghurt", "12"], ["Zwischensumme Kunststoff", "", "12"], ["Razem", "", "912"],
    ]  # fmt: skip
    assert [row["sku_code"] for row in values(delimited(table))] == ["A-1", "A-2", "A-3"]
    assert [entry["line"] for entry in read(delimited(table))[0].source["skipped"]] == [4, 6, 7]


def test_a_name_that_begins_with_the_word_is_no_total() -> None:
    table = [["SKU", "Name", "Packaging weight (g)"], ["TOTAL-OIL", "Total Quartz oil", "40"], ["A-2", "Gel", "9"]]
    assert [row["sku_code"] for row in values(delimited(table))] == ["TOTAL-OIL", "A-2"]
