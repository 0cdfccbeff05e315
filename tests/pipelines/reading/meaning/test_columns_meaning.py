"""What stands around a number decides what it means: units, quantities, code lists, lines and keys (decisions §13).

The files beside this test have the right value in `cases.csv`. Each class of them is held by more tables than the file.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.words import family_of_detail
from schemas.imports.types import Asked
from schemas.words import code_lists
from tests.drawing import examples
from tests.pipelines.reading.writing import Table, delimited, read, workbook

FILES = Path(__file__).parent / "files"
Row = dict[str, Any]


def of(data: bytes, mapping: Mapping[str, object] | None = None) -> tuple[list[Row], list[Asked]]:
    """The rows that are stored, with their graphs, and what was asked."""
    upload, typed = read(data, mapping)
    rows = typed.values.drop("row", "line", "sheet").to_dicts()
    for row in rows:
        row["components"] = json.loads(row.get("components") or "[]")
    return [{k: v for k, v in row.items() if v not in (None, [])} for row in rows], upload.source["asked"]


def file(name: str) -> bytes:
    return (FILES / name).read_bytes()


def merged(*pieces: Mapping[str, Any]) -> dict[str, Any]:
    """Several pieces of mapping as one."""
    whole: dict[str, Any] = {}
    for piece in pieces:
        for key, value in piece.items():
            whole[key] = {**whole.get(key, {}), **value} if isinstance(value, dict) else value
    return whole


def answered(data: bytes, mapping: Mapping[str, Any] | None = None) -> list[Row]:
    """The rows once every question of the file has its first answer; nothing is asked then."""
    questions = of(data, mapping)[1]
    assert questions
    rows, left = of(data, merged(mapping or {}, *(question["answer"] for question in questions)))
    assert left == []
    return rows


def weights(rows: list[Row]) -> list[float | None]:
    return [row.get("weight_grams") for row in rows]


def graph(rows: list[Row], at: int = 0) -> list[float]:
    return [part["weight_g"] for part in rows[at].get("components", [])]


# ---- units ----


def test_a_unit_that_follows_no_number_is_asked_about_and_its_answer_settles_it() -> None:
    rows, [asked] = of(file("k03a_unit_of_measure.csv"))
    assert (asked["kind"], asked["column"], asked["text"]) == ("unit", "D", "KG")
    assert weights(rows) == [None, None]
    assert weights(answered(file("k03a_unit_of_measure.csv"))) == [25, 4.5]
    told = {"columns": {"weight_unit": "C"}}
    assert weights(of(file("k03a_unit_of_measure.csv"), told)[0]) == [25000, 4500]


@pytest.mark.parametrize(
    ("name", "grams"),
    [
        ("k03b_net_content_unit.csv", [25, 14]),
        ("k03d_price_unit.csv", [25, 4.5]),
        ("k03e_net_weight_unit.csv", [25, 4.5]),
    ],
)
def test_a_unit_behind_another_figure_is_that_one_s(name: str, grams: list[float]) -> None:
    rows, asked = of(file(name))
    assert (weights(rows), asked) == (grams, [])


@pytest.mark.parametrize("header", ["Unit", "Einheit", "UOM", "Mengeneinheit", "Unité", "Unidad"])
def test_units_of_quantity_beside_kg_are_no_units_of_a_weight(header: str) -> None:
    table: Table = [["SKU", "Name", header, "Packaging weight"], ["A", "a", "KG", 25], ["B", "b", "ST", 4]]
    assert weights(of(delimited(table))[0]) == [25, 4]
    grams: Table = [["SKU", "Name", header, "Packaging weight"], ["A", "a", "g", 25]]
    assert weights(of(delimited(grams))[0]) == [25]
    behind: Table = [["SKU", "Name", "Packaging weight", header], ["A", "a", 25, "KG"]]
    assert weights(of(delimited(behind))[0]) == [25000]


def test_a_weight_of_parts_with_an_open_unit_keeps_the_graph_back() -> None:
    head = ["SKU", "Name", "Component", "Component material", "Unit of measure", "Component weight"]
    table: Table = [head, ["A", "a", "body", "glass", "KG", 2], ["A", "a", "lid", "metal", "KG", 1]]
    rows, asked = of(delimited(table))
    assert ([question["kind"] for question in asked], rows) == (["unit"], [{"sku_code": "A", "name": "a"}])
    assert graph(answered(delimited(table))) == [2, 1]


@pytest.mark.parametrize(
    "table",
    [
        [["SKU", "Name", "Packaging weight (t)"], ["A", "a", "0.5"]],
        [["SKU", "Name", "Packaging weight", "Unit"], ["A", "a", "0.5", "TNE"]],
        [["Weights in tonnes", "", ""], ["SKU", "Name", "Packaging weight"], ["A", "a", "0.5"]],
    ],
)
def test_tonnes_are_no_weight_of_one_packaging(table: Table) -> None:
    rows, [asked] = of(delimited(table))
    assert (asked["kind"], weights(rows)) == ("unit", [None])
    assert weights(of(delimited(table), {"units": {"weight_grams": "kg"}})[0]) == [500]
    assert of(file("k04d_total_tonnes.csv"))[1][0]["kind"] == "unit"


# ---- quantities and totals ----


def test_totals_by_nation_and_period_are_divided_where_every_line_agrees() -> None:
    wrap = {"values": {"component_type": {"Wrap": "sleeve"}}}
    rows, asked = of(file("k04a_pom_long.csv"), wrap)
    assert (graph(rows), asked) == ([180, 20], [])
    skipped = read(file("k04a_pom_long.csv"), wrap)[0].source["skipped"]
    assert [line["line"] for line in skipped] == [4, 5]


NATIONS = ["SKU", "Name", "Component", "Material", "Nation", "Qty", "Weight_g", "Period"]


def test_totals_that_do_not_agree_refuse_the_file() -> None:
    table: Table = [
        NATIONS,
        ["A", "a", "Box", "paper", "ENG", 10, 1000, "2025-H1"],
        ["A", "a", "Box", "paper", "WAL", 10, 3000, "2025-H1"],
    ]
    with pytest.raises(ReadingRefused) as refused:
        read(delimited(table))
    [issue] = refused.value.issues
    assert (issue.kind, issue.answer) == ("quantity", {"quantity": {"F": "divide"}})
    _, typed = read(delimited(table), {"quantity": {"F": "divide"}})
    assert typed.errors.select("line", "code").rows() == [(3, "duplicate_row")]
    assert graph(of(delimited(table), {"quantity": {"F": "ignore"}})[0]) == [1000, 3000]


def test_lines_of_one_part_without_a_quantity_are_one_part_or_refused() -> None:
    head = ["SKU", "Name", "Component", "Material", "Nation", "Weight_g", "Market"]
    lines = [["A", "a", "Box", "paper", "ENG", 180, "GB"], ["A", "a", "Box", "paper", "WAL", 180, "IE"]]
    [row] = of(delimited([head, *lines]))[0]
    assert (graph([row]), row["markets"]) == ([180], "{GB,IE}")
    more = delimited([[*head[:-1]], lines[0][:-1], ["A", "a", "Box", "paper", "WAL", 900]])
    with pytest.raises(ReadingRefused) as refused:
        read(more)
    [issue] = refused.value.issues
    assert (issue.kind, issue.answer) == ("quantity", {"quantity": {"F": "ignore"}})
    assert graph(of(more, issue.answer)[0]) == [180, 900]


@pytest.mark.parametrize(("kg", "sold", "asked"), [(3, 100, ["quantity"]), (0.18, 12_000, ["column"])])
def test_a_quantity_beside_a_period_is_asked_about_where_the_weight_may_be_a_total(
    kg: float, sold: int, asked: list[str]
) -> None:
    table: Table = [["SKU", "Name", "Year", "Units sold", "Packaging weight (kg)"], ["A", "a", 2025, sold, kg]]
    rows, questions = of(delimited(table))
    assert [question["kind"] for question in questions] == asked
    assert weights(rows) == [None if "quantity" in asked else 180], "on which market they were sold is another question"


def test_a_weight_that_no_packaging_has_beside_a_quantity_is_asked_about() -> None:
    rows, [asked] = of(file("k04c_units_and_kg.csv"))
    assert (asked["kind"], asked["column"], weights(rows)) == ("quantity", "D", [None])
    assert weights(answered(file("k04c_units_and_kg.csv"))) == [150]


def test_a_plain_quantity_beside_a_likely_weight_says_nothing() -> None:
    table: Table = [["SKU", "Name", "Packaging weight (g)", "Quantity"], ["A", "a", 180, 12000]]
    assert of(delimited(table)) == ([{"sku_code": "A", "name": "a", "weight_grams": 180}], [])


def test_a_bare_quantity_of_parts_is_asked_about_and_its_graph_held_back() -> None:
    rows, [asked] = of(file("k10a_quantity.csv"))
    assert (asked["kind"], asked["answer"]) == ("quantity", {"quantity": {"F": "multiply"}})
    assert rows == [{"sku_code": "K10A-1", "name": "Six pack of water"}]
    assert graph(answered(file("k10a_quantity.csv"))) == [120, 30]
    assert graph(of(file("k10a_quantity.csv"), {"quantity": {"Quantity": "ignore"}})[0]) == [20, 30]


def test_only_the_graphs_with_an_open_quantity_are_held_back() -> None:
    head = ["sku_code", "name", "component_type", "material_family", "component_weight_g", "Menge"]
    table: Table = [head, ["A", "a", "body", "glass", 20, 6], ["B", "b", "body", "glass", 30, 1]]
    rows, [asked] = of(delimited(table))
    assert (asked["column"], graph(rows, 0), graph(rows, 1)) == ("F", [], [30])
    ones: Table = [head, ["A", "a", "body", "glass", 20, 1], ["B", "b", "body", "glass", 30, ""]]
    assert of(delimited(ones))[1] == []


PER = ["Qty per", "Quantity per unit", "BOM quantity", "Menge je Einheit", "Quantité par produit", "Qté par UVC"]
BARE = ["Quantity", "Qty", "Menge", "Stück", "Stückzahl", "Komponentenmenge", "Quantité", "Cantidad", "Aantal", "Pcs"]


@pytest.mark.parametrize("header", [*PER, *BARE])
@pytest.mark.parametrize("write", [delimited, lambda table: workbook({"S": table})])
def test_no_quantity_of_parts_is_ignored(header: str, write: Any) -> None:
    head = ["sku_code", "name", "component_type", "material_family", "component_weight_g", header]
    rows, asked = of(write([head, ["A", "a", "body", "glass", 20, 6], ["A", "a", "lid", "metal", 3, 1]]))
    assert graph(rows) in ([120, 3], [])
    assert (graph(rows) == []) == ([question["kind"] for question in asked] == ["quantity"])
    assert graph(rows) or header not in PER[:4]


def test_a_quantity_has_the_decimal_mark_of_the_file() -> None:
    head = ["sku_code", "name", "component_type", "material_family", "component_weight_g", "Menge je Packung"]
    table: Table = [head, ["A", "a", "body", "glass", "0,5", "2.500"], ["B", "b", "lid", "metal", "3,25", "2"]]
    rows, asked = of(delimited(table, ";"), {"quantity": {"F": "multiply"}})
    assert (graph(rows, 0), graph(rows, 1), asked) == ([1250], [6.5], [])


def test_a_quantity_in_the_components_sheet_is_answered_in_its_part_of_the_mapping() -> None:
    book = workbook(
        {
            "S": [["sku_code", "name"], ["A", "a"]],
            "components": [
                ["sku_code", "component_type", "material_family", "weight_g", "Quantity"],
                ["A", "body", "glass", 20, 6],
            ],
        }
    )
    rows, [asked] = of(book)
    assert (asked["answer"], graph(rows)) == ({"components": {"quantity": {"E": "multiply"}}}, [])
    assert graph(answered(book)) == [120]


# ---- code lists ----


def test_the_other_values_of_a_column_decide_which_list_speaks() -> None:
    rows, asked = of(file("k08a_uk_materials.csv"))
    assert [(row["material"], asked) for row in rows] == [(m, []) for m in ("paper", "metal", "paper", "plastic")]
    for name in ("k08b_uk_nations.csv", "k08d_northern_ireland.csv"):
        rows, asked = of(file(name))
        assert ({row["markets"] for row in rows}, asked) == ({"{GB}"}, [])


@pytest.mark.parametrize(
    ("field", "values", "could_be", "answer"),
    [
        ("Market", ["CA", "CO", "ME"], ["us_states", "iso"], ["{US-CA}", "{US-CO}", "{US-ME}"]),
        ("Market", ["NI", "SC"], ["uk_nations", "iso"], ["{GB}", "{GB}"]),
        ("Packaging material", ["PC", "AL"], ["uk_rpd", "ours"], ["paper", "metal"]),
        ("Packaging material", ["1", "20", "41"], ["97_129", "ours"], ["plastic", "paper", "metal"]),
    ],
)
def test_values_of_two_lists_are_asked_about(
    field: str, values: list[str], could_be: list[str], answer: list[str]
) -> None:
    table: Table = [["SKU", "Name", field], *[[f"S{at}", "n", value] for at, value in enumerate(values)]]
    rows, [asked] = of(delimited(table))
    assert (asked["kind"], asked["could_be"], asked["column"]) == ("list", could_be, "C")
    assert all(row.keys() == {"sku_code", "name"} for row in rows)
    name = "markets" if field == "Market" else "material"
    assert [row[name] for row in answered(delimited(table))] == answer


@pytest.mark.parametrize(
    ("header", "value", "read_as"),
    [
        ("US state", "CO", "{US-CO}"),
        ("Market", "WA", "{US-WA}"),
        ("Market", "Wales", "{GB}"),
        ("Market", "DE", "{DE}"),
        ("Market", "FR/DE", "{FR,DE}"),
        ("Market", "GER", "{DE}"),
        ("Market", "Polska", "{PL}"),
        ("Market", "Ελλάδα", "{GR}"),
        ("Market", "Magyarország / Česko", "{HU,CZ}"),
        ("Market", "England, Scotland", "{GB}"),
    ],
)
def test_markets_by_header_and_in_the_languages_of_europe(header: str, value: str, read_as: str) -> None:
    mapping = {"columns": {"markets": header}}
    rows, asked = of(delimited([["SKU", "Name", header], ["A", "a", value]], ";"), mapping)
    assert (rows[0].get("markets"), asked) == (read_as, [])


def test_a_column_with_values_of_no_other_list_is_iso_s() -> None:
    rows, asked = of(delimited([["SKU", "Name", "Market"], ["A", "a", "NI"], ["B", "b", "FR"]]))
    assert ([row["markets"] for row in rows], asked) == (["{NI}", "{FR}"], [])
    rows, asked = of(delimited([["SKU", "Name", "Packaging material"], ["A", "a", "PC"], ["B", "b", "HDPE"]]))
    assert ([row["material"] for row in rows], asked) == (["plastic", "plastic"], [])


def test_a_value_of_one_list_alone_beside_others_leaves_the_list_open() -> None:
    table: Table = [["SKU", "Name", "Market"], ["A", "a", "EN"], ["B", "b", "NI"], ["C", "c", "DE"]]
    rows, [asked] = of(delimited(table))
    assert (asked["could_be"], [row.get("markets") for row in rows]) == (["uk_nations", "iso"], [None, None, None])
    assert [row["markets"] for row in answered(delimited(table))] == ["{GB}", "{GB}", "{DE}"]
    mixed: Table = [
        ["SKU", "Name", "Packaging material"],
        ["A", "a", "PC"],
        ["B", "b", "PL"],
        ["C", "c", "Unobtainium"],
    ]
    assert [question["kind"] for question in of(delimited(mixed))[1]] == ["list"]


def test_every_code_of_a_list_has_a_meaning_of_ours() -> None:
    for codes in code_lists("material").values():
        assert all(family_of_detail(value) is not None for value in codes.values())


# ---- lines ----


@pytest.mark.parametrize("mark", ["*", "**", "†", "1)", "(1)", "[a]", "* see", "Origin:", "Quelle :"])
def test_a_mark_of_a_footnote_beside_a_text_is_no_code(mark: str) -> None:
    table = "sku_code;name;Packaging weight (g)\nJ-1;Jar;12,5\nJ-2;Lid;3\n{};weights are estimates;\n"
    rows, [asked] = of(table.format(mark).encode())
    assert ([row["sku_code"] for row in rows], asked["kind"], asked["lines"]) == (["J-1", "J-2"], "lines", "4")
    assert [row["sku_code"] for row in of(table.format(mark).encode(), {"lines": {"4": "read"}})[0]][2:] == [mark]


@pytest.mark.parametrize("code", ["A*", "12)3", "A-1)", "#7", "*B-1", "ab"])
def test_a_code_that_gives_more_than_a_name_is_a_code(code: str) -> None:
    rows, asked = of(f"sku_code;name;weight_grams\nJ-1;Jar;12,5\n{code};Lid;3\n".encode())
    assert ([row["sku_code"] for row in rows], asked) == (["J-1", code], [])


@pytest.mark.parametrize(
    "header",
    ["sku_code;market;units", "Artikelnummer;Material;Gewicht (g)", "SKU;Land;Menge", "SKU;;Country"],
)
def test_a_further_header_without_a_name_begins_another_table(header: str) -> None:
    data = f"sku_code;name;weight_grams\nJ-1;Jar;12,5\n\n{header}\nJ-2;Glass;1000\n".encode()
    upload, typed = read(data)
    assert typed.values["sku_code"].to_list() == ["J-1"], "a weight of 1000 g would be units"
    assert typed.errors.select("line", "code").rows() == [(5, "ambiguous_column")]
    assert [line["line"] for line in upload.source["skipped"]] == [4]


def test_a_legend_below_the_table_is_asked_about() -> None:
    rows, [asked] = of(file("k09a_legend_below.csv"))
    assert (asked["kind"], asked["lines"], len(rows)) == ("lines", "5-7", 2)
    assert len(answered(file("k09a_legend_below.csv"))) == 2
    assert len(of(file("k09a_legend_below.csv"), {"lines": {"5-7": "read"}})[0]) == 5


HEAD = ["sku_code", "name", "material", "weight_grams"]


@pytest.mark.parametrize("write", [delimited, lambda table: workbook({"S": table})])
def test_only_lines_that_say_no_more_than_a_code_and_a_name_are_asked_about(write: Any) -> None:
    data: Table = [HEAD, ["A-1", "Bottle", "glass", 2], ["A-2", "Jar", "", ""]]
    assert of(write(data))[1] == []
    further = [*data, [], ["B-1", "Tub", "plastic", 3], ["B-2", "Lid", "", ""]]
    assert of(write(further))[1] == []
    below = [*further, [], ["Version", "v2.3", "", ""], [], ["GL", "Glass"], ["PL", "Plastic"]]
    assert [asked["lines"] for asked in of(write(below))[1]] == ["8-11"]
    placeholder = [*data, ["n/a", "Not applicable"], ["A-3", "Tub", "plastic", 3]]
    rows, [asked] = of(write(placeholder))
    assert (asked["lines"], [row["sku_code"] for row in rows]) == ("4", ["A-1", "A-2", "A-3"])
    other = [[*HEAD, "Price"], ["A-1", "Bottle", "glass", 2, 9], [], ["A-2", "Jar", "", "", 3]]
    assert of(write(other))[1] == []


def test_a_line_break_within_a_cell_is_no_empty_line() -> None:
    rows, asked = of(b'sku_code,name,material\nA-1,"Bottle\nof glass",glass\nA-2,Jar,\n')
    assert (len(rows), asked) == (2, [])


def test_lines_that_the_mapping_skips_or_reads() -> None:
    table: Table = [HEAD, ["A-1", "Bottle", "glass", 2], ["Total", "", "", 2], ["A-2", "Jar", "glass", 3]]
    rows, _ = of(delimited(table), {"lines": {"4": "skip"}})
    assert [row["sku_code"] for row in rows] == ["A-1"]
    upload, typed = read(delimited(table), {"lines": {"3-4": "read"}})
    assert (upload.rows, upload.source["skipped"]) == (3, [])
    assert typed.values["sku_code"].to_list() == ["A-1", "Total", "A-2"]


def test_a_total_is_one_in_any_language() -> None:
    rows, asked = of(file("k09c_totals_other_languages.csv"))
    assert ([row["sku_code"] for row in rows], asked) == (["K09C-1", "K09C-2"], [])


@pytest.mark.parametrize("word", ["Razem", "Összesen", "Celkem", "Toplam", "Итого", "Σύνολο", "合計"])
def test_a_word_is_a_total_only_where_its_figure_is_the_sum(word: str) -> None:
    data = [["sku_code", "name", "weight_grams"], ["A-1", "a", "2,5"], ["A-2", "b", "4"]]
    assert len(of(delimited([*data, [word, "x", "6,5"]], ";"))[0]) == 2
    assert len(of(delimited([*data, [word, "x", "6"]], ";"))[0]) == 3
    kit = [[*row, "material"] if not at else [*row, "glass"] for at, row in enumerate(data)]
    assert len(of(delimited([*kit, [word, "kit of both", "6,5", "glass"]], ";"))[0]) == 3


@examples(60)
@given(st.lists(st.integers(1, 99_999), min_size=2, max_size=8), st.sampled_from([".", ","]), st.integers(-3, 3))
def test_the_sum_of_any_figures_is_a_total_and_nothing_near_it(hundredths: list[int], mark: str, off: int) -> None:
    def cell(number: int) -> str:
        return f"{number // 100}{mark}{number % 100:02d}"

    table = [["sku_code", "name", "weight_grams"], *[[f"S-{at}", "n", cell(n)] for at, n in enumerate(hundredths)]]
    total = sum(hundredths) + off
    rows, _ = of(delimited([*table, ["Razem", "n", cell(max(total, 1))]], ";"))
    assert len(rows) == len(hundredths) + (total != sum(hundredths))


# ---- codes ----


def test_the_article_s_number_is_the_code_by_what_stands_beside_it() -> None:
    rows, _ = of(file("k14a_business_central.csv"))
    assert [(row["sku_code"], row.get("gtin")) for row in rows] == [("K14A-1", "4006381333931"), ("K14A-2", None)]
    rows, _ = of(file("k15a_sap_de.csv"))
    assert [(row["sku_code"], row["name"], row.get("material")) for row in rows] == [("K15A-1", "Honigglas", None)]
    rows, _ = of(file("k15c_sap_packstoff.csv"))
    assert [(row["sku_code"], row["material"], row["weight_grams"]) for row in rows] == [("K15C-1", "glass", 180)]


def test_a_running_count_is_no_code_beside_a_barcode() -> None:
    table: Table = [["No.", "Description", "GTIN"], [1, "a", "4006381333931"], [2, "b", "4006381333948"]]
    assert [row["sku_code"] for row in of(delimited(table))[0]] == ["4006381333931", "4006381333948"]


def test_a_number_of_zeros_is_none() -> None:
    rows, _ = of(file("k19a_zero_gtin.csv"))
    assert [row.get("gtin") for row in rows] == [None, None]


# ---- fractions ----


@pytest.mark.parametrize("header", ["Recycled content", "recycled_content_percent", "Rezyklatanteil"])
@pytest.mark.parametrize("write", [delimited, lambda table: workbook({"S": table})])
def test_shares_from_0_to_1_are_asked_about(header: str, write: Any) -> None:
    data = write([["sku_code", "name", header], ["A", "a", 0.3], ["B", "b", 1]])
    rows, [asked] = of(data)
    assert (asked["kind"], asked["could_be"], len(rows[0])) == ("fraction", ["fraction", "percent"], 2)
    assert [row["recycled_content_percent"] for row in answered(data)] == [30, 100]
    as_percent = of(data, {"units": {"recycled_content_percent": "percent"}})[0]
    assert [row["recycled_content_percent"] for row in as_percent] == [0.3, 1]
    assert of(write([["sku_code", "name", header], ["A", "a", 0.3], ["B", "b", 30]]))[1] == []
    assert of(write([["sku_code", "name", header], ["A", "a", 0], ["B", "b", ""]]))[1] == []
    assert of(write([["sku_code", "name", header], ["A", "a", "0.3 %"]]))[1] == []


# ---- answers that help ----


def issues(data: bytes, mapping: Mapping[str, object] | None = None) -> Iterator[tuple[str, str | None, str]]:
    with pytest.raises(ReadingRefused) as refused:
        read(data, mapping)
    yield from ((issue.code, issue.field, issue.message) for issue in refused.value.issues)


def test_a_refusal_suggests_the_column_that_fits_and_never_the_first_free_one() -> None:
    [(_, name, message)] = issues(file("k16a_positional.csv"))
    assert name == "sku_code"
    assert '{"sku_code": "C"}' in message
    suggested = [message for *_, message in issues(file("k10c_qty_per.csv"))]
    assert '{"sku_code": "A"}' in suggested[0]
    assert '{"name": "B"}' in suggested[1]
    rows, asked = of(file("k10c_qty_per.csv"), {"columns": {"sku_code": "A", "name": "B"}})
    assert (graph(rows), asked) == ([45, 24], [])


def test_where_nothing_fits_nothing_is_suggested() -> None:
    table: Table = [["Foo", "Bar"], [1, "2,5"], [2, "3,5"], [3, "4,5"]]
    assert all("mapping=" not in message for *_, message in issues(delimited(table, ";")))


def test_all_ambiguities_are_told_at_once() -> None:
    head = ["Name", "Packaging weight (g)", "Poids de l'emballage (g)", "GTIN", "EAN"]
    table: Table = [head, ["a", 1, 2, "4006381333931", "4006381333931"]]
    found = [(code, field) for code, field, _ in issues(delimited(table))]
    assert ("ambiguous_column", "weight_grams") in found
    assert len(found) > 1


@pytest.mark.parametrize("sign", ["{}?", "{} ?", "~{}", "≈ {}", "≠{}", "!{}", "¬{}", "{}？"])
@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("food_contact", "yes"),
        ("markets", "DE"),
        ("markets", "DE, FR"),
        ("packaging_level", "primary"),
        ("pfas_status", "absent"),
        ("use_contexts", "food"),
        ("material", "PET"),
        ("material", "plastic"),
    ],
)
def test_a_word_that_is_doubted_or_denied_is_not_taken_for_certain(sign: str, field: str, word: str) -> None:
    _, typed = read(f'sku_code;name;{field}\nA-1;Jar;"{sign.format(word)}"\nA-2;Jar;{word}\n'.encode())
    assert typed.errors.select("line", "field").rows() == [(2, field)]
    assert typed.values["sku_code"].to_list() == ["A-2"]


@pytest.mark.parametrize(("cell", "food"), [("Yes!", True), ("ja.", True), ("no", False)])
def test_a_word_with_a_mark_that_says_nothing_is_that_word(cell: str, food: bool) -> None:
    [row], asked = of(f"sku_code;name;food_contact\nA-1;Jar;{cell}\n".encode())
    assert (row["food_contact"], asked) == (food, [])


@pytest.mark.parametrize("cells", [["DE*", "CA*"], ["(DE)", "(CA)"], ["DE*"], ["DE1"]])
def test_a_code_with_a_mark_is_no_code_of_another_list(cells: list[str]) -> None:
    """`DE*` was Delaware, since no market of ours is written so."""
    lines = "\n".join(f"A-{at};Jar;{cell}" for at, cell in enumerate(cells))
    _, typed = read(f"sku_code;name;markets\n{lines}\n".encode())
    assert set(typed.errors["code"]) == {"unknown_market"}
    assert typed.values.height == 0
