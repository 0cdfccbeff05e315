"""A count of packagings beside the weight of one: what an item has is asked about."""

import pytest

from tests.pipelines.reading.writing import Table, delimited, read, values


def table(header: str, *counts: str) -> Table:
    rows = [[f"A-{at}", "Yoghurt", "PS", "5", count] for at, count in enumerate(counts)]
    return [["SKU", "Name", "Packaging material", "Packaging weight (g)", header], *rows]


@pytest.mark.parametrize(
    "header",
    [
        "Nombre d'unités d'emballage", "Nombre d'emballages par UVC", "Aantal verpakkingen", "Anzahl Verpackungen",
        "Number of packagings per item", "Numero di imballaggi", "Número de envases", "Liczba opakowań", "Počet obalů",
        "Antal förpackningar",
    ],
)  # fmt: skip
def test_a_count_of_packagings_beside_a_weight_is_asked_about(header: str) -> None:
    data = delimited(table(header, "4", "1"))
    (about,) = read(data)[0].source["asked"]
    assert (about["kind"], about["header"], about["answer"]) == ("quantity", header, {"quantity": {"E": "multiply"}})
    assert all(row.get("weight_grams") is None for row in values(data))
    assert [row["weight_grams"] for row in values(data, about["answer"])] == [20, 5]
    assert [row["weight_grams"] for row in values(data, {"quantity": {"E": "ignore"}})] == [5, 5]


@pytest.mark.parametrize("header", ["Nombre d'emballages par UVC", "Anzahl Verpackungen"])
def test_one_packaging_each_leaves_the_weight_read(header: str) -> None:
    data = delimited(table(header, "1", "1"))
    assert (read(data)[0].source["asked"], [row["weight_grams"] for row in values(data)]) == ([], [5, 5])


@pytest.mark.parametrize(
    "header", ["Stück je VE", "UVC par carton", "Anzahl je Verpackung", "Packaging quantity", "Numéro d'emballage"]
)
def test_pieces_in_a_packaging_are_no_count_of_it(header: str) -> None:
    data = delimited(table(header, "4", "1"))
    assert [row["weight_grams"] for row in values(data)] == [5, 5]
