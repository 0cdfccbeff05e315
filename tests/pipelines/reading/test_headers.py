"""Headers: every field in three languages, mappings, and what is refused or ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.columns import recognise
from pipelines.reading.grid import ReadingRefused, fields_of
from schemas import words
from schemas.fields import COMPONENT, SKU
from tests.pipelines.reading.writing import delimited, read, values


def refusal(data: bytes, mapping: dict[str, object] | None = None) -> tuple[str, str | None, str]:
    with pytest.raises(ReadingRefused) as refused:
        read(data, mapping)
    issue = refused.value.issues[0]
    return issue.code, issue.field, issue.message


@pytest.mark.parametrize(("table", "fields"), [("sku", SKU), ("component", COMPONENT)])
@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_every_field_has_a_header_in_every_language(table: str, fields: dict[str, object], lang: str) -> None:
    listed = {row["field"] for row in words.table_rows("headers.csv") if row["table"] == table and row["lang"] == lang}
    assert {name for name in fields if name not in ("substances", "components")} <= listed


def test_every_listed_header_names_its_field() -> None:
    for row in words.table_rows("headers.csv"):
        if row["table"] == "spare":  # what stands for a key only where nothing better does: `test_senders.py`
            continue
        header = row["header"] if row["field"] != "annual_volume" else f"{row['header']} FR"
        header = f"Packaging 1 - {header}" if row["table"] == "group" else header
        column = recognise(header, 0, "component" if row["table"] == "component" else "sku")
        assert column is not None, row
        assert column.field.name == row["field"], row


def test_every_listed_code_is_in_its_vocabulary() -> None:
    from schemas.vocabularies import VOCABULARIES  # noqa: PLC0415

    for row in words.table_rows("words.csv"):
        assert row["code"] in VOCABULARIES.get(row["vocabulary"], (row["code"],)), row


def test_a_word_of_two_meanings_is_refused_on_loading() -> None:
    with pytest.raises(words.WordCollisionError, match="both weight_grams and name"):
        words.index([("sku", "weight_grams", "Poids"), ("sku", "name", "  POIDS. ")])


@given(st.text(max_size=20))
def test_folding_is_stable(text: str) -> None:
    assert words.fold(words.fold(text)) == words.fold(text)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("POIDS de l’emballage\n(g)", "weight_grams"), ("  Verpackungsgewicht [kg] ", "weight_grams"),
        ("Poids unitaire vide en gramme", "weight_grams"), ("weight_g", "weight_grams"),
        ("annual_volume_FR", "annual_volume_fr"), ("Annual volume US-CA 2027", "annual_volume_us_ca_2027"),
        ("annual_volume_gb_2026_h2", "annual_volume_gb_2026_h2"),
        ("Jahresmenge Deutschland 2026", "annual_volume_de_2026"),
        ("annual_volume_uk", "annual_volume_gb"), ("component_type", "component_type"),
        ("component_recycled_content_percent", "recycled_content_percent"),
        ("Poids net", None), ("Gewicht Netto g", None), ("Netto", None), ("annual_volume_fr_2026_h1", None),
        ("annual_volume_zz", None), ("EAN of outer case", None), ("substances", None), ("components", None),
    ],
)  # fmt: skip
def test_odd_headers(header: str, name: str | None) -> None:
    column = recognise(header, 0, "sku")
    assert (column and column.name) == name


def test_what_is_read_and_ignored_is_said() -> None:
    source = read(delimited([["Réf", "Libellé", "Netto", "Tare (kg)"], ["A", "a", 1, 2]]))[0].source
    assert source["columns"] == [
        {"field": "sku_code", "column": "A", "header": "Réf"},
        {"field": "name", "column": "B", "header": "Libellé"},
        {"field": "weight_grams", "column": "D", "header": "Tare (kg)"},
    ]
    assert source["ignored"] == [{"column": "C", "header": "Netto"}]


def test_two_columns_for_one_field_are_refused_unless_one_has_its_own_name() -> None:
    code, field, message = refusal(delimited([["sku_code", "name", "Weight", "Poids"], ["A", "a", 1, 2]]))
    assert (code, field) == ("ambiguous_column", "weight_grams")
    assert "“Weight” (C), “Poids” (D)" in message
    own = delimited([["sku_code", "name", "weight_grams", "Poids"], ["A", "a", 1, 2]])
    assert values(own)[0]["weight_grams"] == 1.0
    assert read(own)[0].source["ignored"] == [{"column": "D", "header": "Poids"}]


TABLE = delimited([["Export of 1.2.2026"], ["Key", "Label", "Total", "Weight"], ["A", "a", "1.234", "7"]])


def test_a_mapping_names_headers_or_letters() -> None:
    mapping = {"columns": {"sku_code": "key", "name": "B", "weight_grams": "Total"}, "header_row": 2, "decimal": ","}
    assert values(TABLE, mapping) == [{"sku_code": "A", "name": "a", "weight_grams": 1234.0}]


@pytest.mark.parametrize(
    "mapping",
    [
        {"columns": {"sku_code": "Nothing"}}, {"columns": {"colour_of_the_sky": "Key"}}, {"columns": []}, {"rows": 1},
        {"columns": {"sku_code": "A", "SKU code": "B"}}, {"header_row": 99}, {"header_row": "2"}, {"decimal": ";"},
        {"layout": "sideways"}, {"sheet": 1},
    ],
)  # fmt: skip
def test_a_mapping_that_fits_nothing_is_refused(mapping: dict[str, object]) -> None:
    assert refusal(TABLE, mapping)[0] == "invalid_mapping"


def test_a_missing_column_says_which_headers_were_seen_and_what_to_do() -> None:
    code, field, message = refusal(delimited([["Clé", "Libellé"], ["A", "a"]]))
    assert (code, field) == ("missing_column", "sku_code")
    assert "A “Clé”" in message
    assert 'mapping={"columns": {"sku_code": "A"}}' in message


def test_both_years_of_one_market_in_a_row_are_a_fault() -> None:
    volumes = ["annual_volume_fr", "annual_volume_fr_2026", "annual_volume_gb_2026_h1"]
    table = [
        ["sku_code", "name", "volume_year", *volumes],
        ["A", "a", 2025, 1, 2, ""],
        ["B", "b", 2026, 1, 2, ""],
        ["C", "c", "", "null", "", 5],
    ]
    _, rows = read(delimited(table))
    assert rows.values["volumes"].to_list() == [
        '{"FR/2025/0":1,"FR/2026/0":2}',
        '{"FR/2026/0":null,"GB/2026/1":5}',
    ]
    assert rows.errors.select("line", "field", "code").rows() == [(3, "annual_volume_fr_2026", "duplicate_row")]
    assert rows.errors["message"].to_list() == ["annual_volume_fr_2026 gives units that annual_volume_fr gives too."]


def test_all_fields_are_columns() -> None:
    assert set(SKU) - {"substances", "components"} <= set(fields_of("sku"))


def test_a_volume_column_counts_for_the_market_that_the_catalogue_serves():
    table = [
        ["sku_code", "name", "annual_volume_be_vlg_2026", "annual_volume_us_ca_2026", "annual_volume_br_2026"],
        ["A", "Bottle", "7", "8", ""],
        ["B", "Bottle", "1", "", "9"],
        ["C", "Bottle", "", "", "null"],
    ]
    upload, rows = read(delimited(table))
    assert [column["field"] for column in upload.source["columns"]] == table[0]
    assert rows.values["volumes"].to_list() == ['{"BE/2026/0":7,"US-CA/2026/0":8}']
    places = ("line", "field", "column", "value", "code")
    assert rows.errors.select(places).rows() == [
        (3, "annual_volume_br_2026", "E", "9", "unknown_market"),
        (4, "annual_volume_br_2026", "E", "null", "unknown_market"),
    ]


def test_two_columns_that_count_for_one_market_meet():
    regions = ["annual_volume_be_vlg", "annual_volume_be_wal", "annual_volume_be_2025"]
    table = [["sku_code", "name", *regions], ["A", "Bottle", "1", "2", ""], ["B", "Bottle", "1", "", "3"]]
    _, rows = read(delimited(table))
    assert rows.errors.select("line", "field", "code").rows() == [(2, "annual_volume_be_wal", "duplicate_row")]
    [message] = rows.errors["message"]
    assert message.startswith(
        "annual_volume_be_wal gives units that annual_volume_be_vlg gives too: both count for BE,"
    )
    assert rows.values["volumes"].to_list() == ['{"BE/2025/0":3,"BE/2026/0":1}']


def test_a_file_of_markets_that_no_one_serves_has_no_volumes():
    _, rows = read(delimited([["sku_code", "name", "annual_volume_br"], ["A", "Bottle", ""], ["B", "Bottle", "1"]]))
    assert rows.values["volumes"].to_list() == [None]
    assert rows.errors["code"].to_list() == ["unknown_market"]


@pytest.mark.parametrize("header_at", [0, 30, 38])
def test_a_wide_header_is_found_below_thousands_of_cells(header_at: int) -> None:
    wide = 190  # 7 410 cells are above the last of these
    above = [[f"remark {line} {at}" for at in range(wide)] for line in range(header_at)]
    header = ["SKU", "Name", "Packaging weight (g)", *(f"Attribute {at}" for at in range(wide - 3))]
    values = ["A", "a", "12", *("x" for _ in range(wide - 3))]
    _, rows = read(delimited([*above, header, values]))
    assert rows.values.select("sku_code", "weight_grams").rows() == [("A", 12)]


def test_a_delimiter_is_judged_by_headers_behind_many_others() -> None:
    lines = [";".join([*(f"Attribute {at}, a" for at in range(60)), "SKU", "Name"])]
    lines += [";".join([*("1, 2" for _ in range(60)), f"A{line}", "a"]) for line in range(3)]
    upload, rows = read("\n".join(lines).encode())
    assert (upload.source["delimiter"], rows.values["sku_code"].to_list()) == (";", ["A0", "A1", "A2"])
