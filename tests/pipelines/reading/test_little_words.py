"""Little words of a language that are a country's code too: `de` in `Ventas de 2025` is no Germany."""

import pytest

from pipelines.reading.columns import open_column, recognise, units_of_rows
from tests.pipelines.reading.writing import delimited, read


@pytest.mark.parametrize(
    "header",
    [
        "Ventas de 2025", "Unidades vendidas de 2025", "Ventas el 2025", "Unidades puestas en el mercado 2025",
        "Quantité de pièces 2025", "Volume de ventes 2025", "Ventes de 2025", "Vendas do ano 2025",
        "Quantità immesse al consumo 2025", "Menge im Jahr 2025", "Absatz ca. 2025", "Verkoop de 2025",
    ],
)  # fmt: skip
def test_a_little_word_is_no_market(header: str) -> None:
    assert recognise(header, 0, "sku") is None
    assert open_column(header, 0, "sku") is None
    units = units_of_rows(header, 0)
    assert units is not None
    assert (units.name, units.market) == ("annual_volume_2025", None)


@pytest.mark.parametrize(
    ("header", "market"),
    [
        ("Ventas DE 2025", "DE"), ("Ventes de 2025 (FR)", "FR"), ("Ventes FR de 2025", "FR"), ("ventas_de_2025", "DE"),
        ("annual_volume_de_2025", "DE"), ("Volumen anual de España 2025", "ES"), ("ABSATZ DE 2025", "DE"),
        ("absatz de 2025", "DE"), ("sales de 2025", "DE"), ("Ventas (de) 2025", "DE"), ("Ventes SE 2025", "SE"),
        ("Menge LT 2025", "LT"), ("Units placed on the market in DE 2025", "DE"),
    ],
)  # fmt: skip
def test_a_code_in_capitals_or_of_another_language_is_a_market(header: str, market: str) -> None:
    column = recognise(header, 0, "sku")
    assert column is not None
    assert (column.market, column.year) == (market, 2025)


def test_where_all_letters_are_capitals_it_is_asked() -> None:
    column = open_column("VENTAS DE 2025", 0, "sku")
    assert recognise("VENTAS DE 2025", 0, "sku") is None
    assert column is not None
    assert (column.name, column.open) == ("annual_volume_de_2025", "de")


def test_units_without_a_market_are_asked_about_with_every_market() -> None:
    table = [["Código", "Descripción", "Unidades puestas en el mercado 2025"], ["E-1", "Aceite", "1.250.000"]]
    upload, typed = read(delimited(table, ";"))
    [about] = upload.source["asked"]
    assert {"annual_volume_es_2025", "annual_volume_gr_2025"} < set(about["could_be"])
    assert "volumes" not in typed.values.columns
