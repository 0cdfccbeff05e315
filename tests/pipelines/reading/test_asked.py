"""Weights and materials that may be the product's are asked about; what says packaging is read."""

import json

import pycountry
import pytest

from pipelines.reading.columns import recognise
from pipelines.reading.questions import answer_with
from schemas.vocabularies import VOCABULARIES
from tests.pipelines.reading.writing import Table, delimited, read, workbook


def asked(table: Table, mapping: dict[str, object] | None = None, sheet: str = "Sheet1") -> dict[str, list[str]]:
    """The columns asked about and the fields that they could be; the same in both formats."""
    found = []
    for data in (delimited(table), workbook({sheet: table})):
        source = read(data, mapping)[0].source
        found.append({column["header"]: column["could_be"] for column in source["asked"]})
        placed = {column["column"] for column in source["asked"]}
        assert placed.isdisjoint(column["column"] for column in [*source["columns"], *source["ignored"]])
    assert found[0] == found[1] or sheet != "Sheet1"
    return found[-1]


def table(*headers: str, row: tuple[object, ...] = ()) -> Table:
    return [["SKU", "Name", *headers], ["A", "a", *(row or [1] * len(headers))]]


FEED = ["product_id", "name", "length_cm", "width_cm", "height_cm", "weight_kg"]


def test_a_product_s_weight_is_asked_about_and_a_mapping_settles_it() -> None:
    rows: Table = [FEED, ["P1", "Chair", 40, 40, 90, 3.5]]
    assert asked(rows) == {"weight_kg": ["weight_grams"]}
    assert "weight_grams" not in read(delimited(rows))[1].values.columns
    told = {"columns": {"weight_grams": "weight_kg"}}
    assert asked(rows, told) == {}
    assert read(delimited(rows), told)[1].values["weight_grams"].to_list() == [3500]
    message = read(delimited(rows))[0].source["asked"][0]["message"]
    assert '{"columns": {"weight_grams": "F"}}' in message


@pytest.mark.parametrize("header", ["Weight", "Poids (g)", "Gewicht", "Unit weight", "Total weight (kg)", "Peso"])
def test_where_nothing_says_packaging_a_weight_is_asked_about(header: str) -> None:
    assert asked(table(header)) == {header: ["weight_grams"]}
    assert asked(table(header, "Material", row=(1, "glass"))) == {header: ["weight_grams"], "Material": ["material"]}


@pytest.mark.parametrize(
    "header",
    [
        "weight_grams",
        "weight_g",
        "Packaging weight",
        "Poids de l'emballage (g)",
        "Verpackungsgewicht (g)",
        "Tare (kg)",
        "Leergewicht",
        "Poids unitaire vide en gramme",
        "Primary packaging weight",
        "PKG_WEIGHT",
        "Tara",
    ],
)
def test_a_header_that_says_packaging_is_read(header: str) -> None:
    assert asked(table(header)) == {}
    assert "weight_grams" in read(delimited(table(header, "Length (cm)", "Price")))[1].values.columns


@pytest.mark.parametrize(
    ("header", "cell"),
    [
        ("Packaging type", "Bottle"),
        ("Packaging material", "glass"),
        ("Recycled content (%)", 30),
        ("Packaging level", "Primary"),
        ("Format", "Flasche"),
        ("Verpackungskosten", 3),
        ("Food contact", "yes"),
        ("packaging_level", "sales"),
        ("reuse_cycles_target", 3),
        ("pfas_status", "absent"),
    ],
)
def test_other_columns_that_say_packaging_say_it_of_the_weight(header: str, cell: object) -> None:
    assert asked(table("Weight", header, row=(1, cell))) == {}


@pytest.mark.parametrize(
    "header", ["length_cm", "Breite", "Hauteur (mm)", "Net weight", "Bruttogewicht", "Price", "Size"]
)
def test_the_product_s_measures_make_a_weight_doubtful_whatever_else_speaks_of_packaging(header: str) -> None:
    assert asked(table("Weight", header, "Packaging type", row=(1, 2, "Box"))) == {"Weight": ["weight_grams"]}
    assert asked(table("Material", header, row=("glass", 2))) == {"Material": ["material"]}
    assert asked(table("Material", header, "Packaging weight", row=("glass", 2, 1))) == {}


def test_titles_and_the_name_of_the_sheet_say_packaging() -> None:
    assert asked([["Verpackungsdaten 2026", "", ""], *table("Gewicht")]) == {}
    assert asked(table("Gewicht"), sheet="Emballages") == {}
    assert asked([["Stammdaten 2026", "", ""], *table("Gewicht")]) == {"Gewicht": ["weight_grams"]}


def test_promised_words_for_a_material_are_read_where_no_product_is_measured() -> None:
    for header in ("Material", "Matériau", "material"):
        assert read(delimited(table(header, row=("glass",))))[1].values["material"].to_list() == ["glass"]


def test_a_table_with_our_own_names_is_made_for_us() -> None:
    assert asked([["sku_code", "name", "Weight (g)"], ["A", "a", 1]]) == {}
    assert asked([["sku_code", "name", "Weight (g)", "length_cm"], ["A", "a", 1, 2]]) == {
        "Weight (g)": ["weight_grams"]
    }


def test_lines_and_columns_that_are_components_are_of_packaging() -> None:
    lines: Table = [["SKU", "Name", "Material", "Weight"], ["A", "a", "glass", 2], ["A", "a", "metal", 1]]
    assert asked(lines) == {}
    merged: Table = [["SKU", "Name", "Material", "Weight"], ["A", "a", "glass", 2], ["", "", "metal", 1]]
    assert asked(merged) == {}
    named: Table = [["SKU", "Name", "Component", "Material", "Weight", "Length"], ["A", "a", "Bottle", "glass", 2, 9]]
    assert asked(named) == {}
    assert asked(table("Material 1", "Weight 1", row=("glass", 2))) == {}


def test_beside_weights_of_parts_a_weight_is_the_packaging_s_where_it_is_their_sum() -> None:
    head = ("Glass (g)", "Paper (g)", "Total weight (g)")
    assert asked(table(*head, row=(200, 5, 205))) == {}
    assert read(delimited(table(*head, row=(200, 5, 205))))[1].values["weight_grams"].to_list() == [205]
    assert asked(table(*head, row=(200, 5, 950))) == {"Total weight (g)": ["weight_grams"]}


def test_a_parcel_s_weight_is_asked_about() -> None:
    assert asked(table("Package weight", "Packaging type", row=(1, "Box"))) == {"Package weight": ["weight_grams"]}


def test_a_unit_of_a_weight_that_is_not_read_is_not_read() -> None:
    source = read(delimited(table("Weight", "Unit", row=(1, "kg"))))[0].source
    assert [column["field"] for column in source["columns"]] == ["sku_code", "name"]
    assert source["ignored"] == [{"column": "D", "header": "Unit"}]
    told = read(delimited(table("Weight", "Unit", row=(1, "kg"))), {"columns": {"weight_grams": "C"}})
    assert told[1].values["weight_grams"].to_list() == [1000]


MATERIALS: list[tuple[list[object], str]] = [
    (["Poids verre (g)", "Poids papier (g)", "Poids cuir (g)"], "E"),
    (["Verp.-Gewicht Glas", "Verp.-Gewicht Leder", "Verp.-Gewicht Papier"], "D"),
    (["Glas", "Leder", "Papier"], "D"),
    (["Glass (kg)", "Paper (kg)", "Leather (kg)"], "E"),
    (["Material 1", "Weight 1", "Material 2", "Weight 2", "Weight 3"], "G"),
]


@pytest.mark.parametrize(("head", "place"), MATERIALS)
def test_a_weight_without_a_known_material_beside_others_is_a_fault_of_the_lines_that_give_it(
    head: list[object], place: str
) -> None:
    full = ["glass", 1, "paper", 2, 3] if head[0] == "Material 1" else [1, 2, 3]
    at = ord(place) - ord("C")
    rows: Table = [["SKU", "Name", *head], ["A", "a", *full], ["B", "b", *[*full[:at], "", *full[at + 1 :]]]]
    upload, typed = read(delimited(rows))
    assert typed.errors.select("line", "column", "code").rows() == [(2, place, "required")]
    message = typed.errors["message"][0]
    assert "total of the SKU would be too small" in message
    assert all(family in message for family in VOCABULARIES["material_family"])
    assert typed.values["sku_code"].to_list() == ["B"]
    mapping = json.loads(message.partition("mapping=")[2].partition("}}")[0] + "}}")
    told = read(delimited(rows), mapping)[1].values["components"][0]
    assert sum(part["weight_g"] for part in json.loads(told)) == (6000 if "(kg)" in str(head[0]) else 6)
    assert upload.source["layout"] in ("materials", "wide")


@pytest.mark.parametrize(
    "header",
    ["Poids net (g)", "Secondary packaging weight (g)", "Price", "Menge", "Bestand", "Artikel-Nr. 2"],
)
def test_what_is_no_weight_of_a_part_stays_beside_materials(header: str) -> None:
    upload, typed = read(delimited([["SKU", "Name", "Glas", "Papier", header], ["A", "a", 1, 2, 9]]))
    assert (typed.errors.rows(), upload.source["asked"]) == ([], [])


def test_an_unknown_word_right_of_bare_materials_is_asked_about() -> None:
    rows = table("Glas", "Papier", "Leder", row=(1, 2, 3))
    assert list(asked(rows)) == ["Leder"]
    [question] = read(delimited(rows))[0].source["asked"]
    assert not {"glass_weight_g", "paper_weight_g"} & set(question["could_be"])
    assert question["answer"] == answer_with(question, question["could_be"][0])
    for choice in question["could_be"]:
        told = read(delimited(rows), answer_with(question, choice))[1].values["components"][0]
        assert choice == f"{json.loads(told)[-1]['material_family']}_weight_g"
    graph = read(delimited(rows), {"columns": {"other_weight_g": "E"}})[1].values["components"][0]
    assert sum(part["weight_g"] for part in json.loads(graph)) == 6


@pytest.mark.parametrize(("header", "fits"), [("Leder", "other"), ("Metallle", "metal"), ("Hollz", "wood")])
def test_the_answer_is_the_material_that_fits_the_word_of_a_column_beside_materials(header: str, fits: str) -> None:
    [question] = read(delimited(table("Glas", "Papier", header, row=(1, 2, 3))))[0].source["asked"]
    assert question["answer"] == {"columns": {f"{fits}_weight_g": "E"}}


@pytest.mark.parametrize(
    ("weight", "count"),
    [
        ("Carton weight (g)", "Units per carton"),
        ("Gewicht Karton (g)", "Stück/Karton"),
        ("Poids carton (g)", "UVC par carton"),
    ],
)
def test_a_weight_of_a_case_that_items_are_counted_in_is_no_material_of_an_item(weight: str, count: str) -> None:
    rows = [["SKU", "Name", count, weight], ["A", "a", "12", "250"], ["B", "b", "6", "300"]]
    upload, typed = read(delimited(rows))
    [question] = upload.source["asked"]
    assert (question["header"], "components" in typed.values.columns) == (weight, False)
    answered = read(delimited(rows), question["answer"])[1].values["components"].to_list()
    assert [json.loads(parts)[0]["weight_g"] for parts in answered] == [250, 300]
    beside = [[*row, more] for row, more in zip(rows, ("Glas (g)", "5", "6"), strict=True)]
    assert not read(delimited(beside))[0].source["asked"], "one of several materials"


@pytest.mark.parametrize("header", ["Menge 2025 (Stk.)", "Jahresmenge", "Nb UVC mises en marché 2025", "Units 2025"])
def test_units_of_a_year_on_no_market_are_asked_about(header: str) -> None:
    rows = [["SKU", "Name", header], ["A", "a", "1200"], ["B", "b", "50"]]
    [question] = read(delimited(rows))[0].source["asked"]
    assert (question["kind"], question["header"]) == ("column", header)
    [in_france] = [name for name in question["could_be"] if name.startswith("annual_volume_fr")]
    volumes = read(delimited(rows), answer_with(question, in_france))[1].values["volumes"].to_list()
    assert [json.loads(of_row) for of_row in volumes] in (
        [{"FR/2025/0": 1200}, {"FR/2025/0": 50}],
        [{"FR/2026/0": 1200}, {"FR/2026/0": 50}],
    )
    assert not read(delimited([["SKU", "Name", "Menge"], *rows[1:]]))[0].source["asked"], "of no year"


def test_the_column_of_every_country_is_known_by_its_own_name() -> None:
    """GR is Greece and a unit, IN India and a small word, KG and MG countries and units."""
    codes = [country.alpha_2.lower() for country in pycountry.countries]
    names = [f"annual_volume_{code}{period}" for code in codes for period in ("", "_2025")]
    assert [name for name in names if (column := recognise(name, 0, "sku")) is None or column.name != name] == []
    written = {"Jahresmenge GR": "annual_volume_gr", "Absatz IN 2025": "annual_volume_in_2025"}
    assert {header: column.name for header in written if (column := recognise(header, 0, "sku"))} == written
    assert recognise("Sales in 2025", 0, "sku") is None


@pytest.mark.parametrize("header", ["Volume (ml)", "Volume [cl]", "Absatz KG", "Menge mg", "Verkauf in D"])
def test_a_unit_or_a_small_word_is_no_market(header: str) -> None:
    source = read(delimited([["SKU", "Name", header], ["A", "a", "500"]]))[0].source
    assert not [column for column in source["columns"] if column["field"].startswith("annual_volume")]
    assert not [question for question in source["asked"] if "annual_volume_" in str(question["answer"])]


@pytest.mark.parametrize(
    ("table", "volume"),
    [
        ([["Kód", "Název", "Materiál obalu", "Hmotnost obalu (g)", "Prodej CZ 2025 (ks)"]], "annual_volume_cz_2025"),
        (
            [["Kod produktu", "Nazwa", "Materiał opakowania", "Masa opakowania [g]", "Wprowadzone na rynek PL 2025"]],
            "annual_volume_pl_2025",
        ),
    ],
)
def test_czech_and_polish_tables_are_read(table: Table, volume: str) -> None:
    upload, typed = read(delimited([*table, ["C1", "Láhev", "PET", "25,5", "10 000"]], ";"))
    fields = [column["field"] for column in upload.source["columns"]]
    assert fields[:5] == ["sku_code", "name", "material", "weight_grams", volume]
    assert (typed.values["material"][0], typed.values["weight_grams"][0], upload.source["asked"]) == (
        "plastic",
        25.5,
        [],
    )


def test_a_sheet_of_components_under_another_name_is_asked_about() -> None:
    parts = [["Article No.", "Packaging component", "Material", "Weight [g]"], ["A-1", "Bottle", "PET", 30]]
    data = workbook({"Articles": [["Article No.", "Article name"], ["A-1", "Juice"]], "Packaging": parts})
    upload, rows = read(data)
    [about] = upload.source["asked"]
    assert (about["kind"], about["answer"]) == ("sheet", {"components": {"sheet": "Packaging"}})
    assert "components" not in rows.values.columns
    answered = read(data, about["answer"])
    assert answered[0].source["asked"] == []
    assert '"weight_g":30' in answered[1].values["components"][0]


def test_a_weight_whose_quantity_is_open_is_not_stored_of_a_line_alone_either() -> None:
    head = ["Référence", "Libellé", "Matériau emballage", "Poids unitaire emballage (g)", "Nombre d'unités d'emballage"]
    lines = [["R-1", "Confiture", "Verre", "210", "1"], ["R-1", "Confiture", "Acier", "8", "1"]]
    data = delimited(
        [head, *lines, ["R-2", "Compote", "Plastique", "14", "4"], ["R-3", "Miel", "Verre", "90", "1"]], ";"
    )
    upload, rows = read(data)
    assert [about["kind"] for about in upload.source["asked"]] == ["quantity"]
    assert rows.values.select("sku_code", "weight_grams").rows() == [("R-1", None), ("R-2", None), ("R-3", 90)]
    assert read(data, upload.source["asked"][0]["answer"])[1].values["weight_grams"].to_list() == [None, 56, 90]
