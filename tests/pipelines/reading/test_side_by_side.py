"""Units of quarters or months side by side: those of a whole year are added up, others are asked about."""

import json

import pytest

from api.imports.columns_pages import chosen_answers, open_questions
from pipelines.reading.questions import answer_with
from tests.pipelines.reading.writing import Table, delimited, faults, read, workbook

QUARTERS = ["Q1 2025", "Q2 2025", "Q3 2025", "Q4 2025"]
MONTHS = ["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]
MOIS = ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."]


def volumes(table: Table, mapping: dict[str, object] | None = None) -> list[dict[str, int] | None]:
    typed = read(delimited(table, ";"), mapping)[1].values
    texts = typed["volumes"] if "volumes" in typed.columns else [None] * typed.height
    return [None if text is None else json.loads(text) for text in texts]


@pytest.mark.parametrize(
    ("headers", "units"),
    [
        ([f"Absatz DE {quarter}" for quarter in QUARTERS], [10, 20, "", 1040]),
        ([f"DE {quarter}" for quarter in QUARTERS], [0, 0, 0, 1070]),
        ([f"Ventes DE T{at} 2025" for at in range(1, 5)], [500, 500, 35, 35]),
        ([f"Absatz DE {at}. Quartal 2025" for at in range(1, 5)], [500, 500, 35, 35]),
        ([f"Absatz DE {month} 2025" for month in MONTHS], [100] * 10 + [70, ""]),
        ([f"Ventes DE {mois} 2025" for mois in MOIS], [100] * 10 + [70, 0]),
        ([f"Sales DE 2025-{at:02}" for at in range(1, 13)], [100] * 10 + [70, 0]),
    ],
)
def test_units_of_all_parts_of_a_year_are_added_up(headers: list[str], units: list[object]) -> None:
    data = [["SKU", "Name", *headers], ["A-1", "Saft", *units], ["A-2", "Saft", *[""] * len(units)]]
    more = ["A-3", "Saft", *[1] * len(units)]
    assert volumes([*data, more]) == [{"DE/2025/0": 1070}, None, {"DE/2025/0": len(units)}]
    source = read(workbook({"S": [*data, more]}))[0].source
    assert (source["asked"], source["ignored"], len(source["columns"])) == ([], [], 2 + len(headers))


def test_each_row_may_name_the_market_of_its_quarters() -> None:
    head = ["SKU", "Name", "Country", *(f"Sales {quarter}" for quarter in QUARTERS)]
    rows = [["A-1", "Saft", "DE", 1, 2, 3, 4], ["A-1", "Saft", "FR", 5, 5, "", 5]]
    assert volumes([head, *rows]) == [{"DE/2025/0": 10, "FR/2025/0": 15}]


def test_a_title_says_the_year_of_its_months() -> None:
    head = ["SKU", "Name", *(f"Absatz DE {month}" for month in MONTHS)]
    assert volumes([["Absatz 2025"], head, ["A-1", "Saft", *[10] * 12]]) == [{"DE/2025/0": 120}]


def test_where_a_column_gives_the_year_its_parts_are_ignored() -> None:
    head = ["SKU", "Name", "Absatz DE 2025", *(f"DE {quarter}" for quarter in QUARTERS)]
    table = [head, ["A-1", "Saft", 100, 10, 20, 30, 40]]
    assert volumes(table) == [{"DE/2025/0": 100}]
    assert [entry["column"] for entry in read(delimited(table))[0].source["ignored"]] == ["D", "E", "F", "G"]


@pytest.mark.parametrize(
    ("head", "units"),
    [
        ([f"Absatz DE {quarter}" for quarter in QUARTERS[:3]], [10, 20, 30]),
        ([f"Absatz DE {quarter}" for quarter in QUARTERS], [10, 20, 30, ""]),
        (QUARTERS, [10, 20, 30, 40]),
    ],
    ids=["one is missing", "one is not there yet", "nothing says what they count"],
)
def test_other_parts_of_a_year_are_asked_about_at_once_and_the_answer_counts_them(
    head: list[str], units: list[object]
) -> None:
    table = [["SKU", "Name", *head], ["A-1", "Saft", *units]]
    upload, typed = read(delimited(table, ";"))
    [about] = upload.source["asked"]
    assert "volumes" not in typed.values.columns
    assert (about["kind"], upload.source["ignored"]) == ("column", [])
    choice = about["could_be"][-1] if about["could_be"][0] == "AT" else about["could_be"][0]
    total = sum(number for number in units if isinstance(number, int))
    market = choice if len(choice) == 2 else "DE"
    assert volumes(table, answer_with(about, choice)) == [{f"{market}/2025/0": total}]


def test_pages_ask_in_words_and_send_the_whole_answer() -> None:
    table = [["SKU", "Name", *(f"Absatz DE {quarter}" for quarter in QUARTERS[:3])], ["A-1", "Saft", 10, 20, 30]]
    source = read(delimited(table))[0].source
    for lang in ("en", "fr", "de"):
        [question] = open_questions(source, lang, beside_columns=True)
        [(choice, words)] = question.choices
        assert words != choice
        assert chosen_answers(source, {question.input: choice}) == source["asked"][0]["answer"]


def test_a_fault_in_a_part_rejects_its_row() -> None:
    table = [["SKU", "Name", *(f"DE {quarter}" for quarter in QUARTERS)], ["A-1", "Saft", 1, 2, 3, 4]]
    assert faults(delimited([*table, ["A-2", "Saft", 1, "x", 3, 4], ["A-3", "Saft", 1, 1, 1, 1]])) == [
        (3, "annual_volume_de_2025_q2", "invalid_number")
    ]


def test_a_quarter_of_a_row_is_no_year() -> None:
    head = ["SKU", "Land", "Absatz 2025", "volume_half"]
    assert faults(delimited([head, ["A-1", "GB", 5, "Q1"], ["A-1", "GB", 5, "H1"]]))[0][2] == "invalid_format"


def test_halves_of_a_market_that_is_declared_by_the_year_are_added_up() -> None:
    head = ["SKU", "Name", "DE H1 2026", "DE H2 2026", "Absatz FR 1. Halbjahr 2026", "Absatz FR 2. Halbjahr 2026"]
    table = [[*head, "GB H1 2026"], ["A-1", "Saft", 100, 200, 5, 6, 7]]
    upload, rows = read(delimited(table))
    assert (upload.source["ignored"], upload.source["asked"]) == ([], [])
    assert json.loads(rows.values["volumes"][0]) == {"DE/2026/0": 300, "FR/2026/0": 11, "GB/2026/1": 7}


def test_a_half_alone_is_asked_about_and_a_year_stands_above_halves() -> None:
    source = read(delimited([["SKU", "Name", "Absatz IT H1 2026"], ["A-1", "Saft", 9]]))[0].source
    assert [about["answer"] for about in source["asked"]] == [{"columns": {"annual_volume_it_2026_h1": "C"}}]
    head = ["SKU", "Name", "DE H1 2025", "DE H2 2025", "DE 2025", "FR H1 2025", "FR H2 2025", "FR Q1 2025"]
    rows = read(delimited([head, ["A-1", "Saft", 1, 2, 4, 5, 6, 3]]))[1]
    assert json.loads(rows.values["volumes"][0]) == {"DE/2025/0": 4, "FR/2025/0": 11}


def test_a_market_beside_states_may_be_a_state() -> None:
    head = ["SKU", "Name", "Units Sold CA 2025", "Units Sold NY 2025"]
    source = read(delimited([head, ["A-1", "Soap", 120, 34]]))[0].source
    [about] = source["asked"]
    assert (about["header"], about["could_be"]) == (head[2], ["annual_volume_ca_2025", "annual_volume_us_ca_2025"])
    assert [column["field"] for column in source["columns"]] == ["sku_code", "name"]
    alone = read(delimited([["SKU", "Name", "CA 2025", "DE 2025"], ["A-1", "Soap", 120, 34]]))[1]
    assert json.loads(alone.values["volumes"][0]) == {"CA/2025/0": 120, "DE/2025/0": 34}
