"""Wherever a table says the unit of its weights, and in whatever layout, the same grams are read."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.drawing import examples
from tests.pipelines.reading.writing import delimited, read, workbook

UNITS = {
    "g": ["g", "GRM", "gramme", "Gramm"],
    "kg": ["kg", "KGM", "Kilogramm", "kilograms"],
    "mg": ["mg", "MGM"],
    "t": ["TNE", "tonnes"],
    "oz": ["oz", "ounces"],
    "lb": ["lb", "LBR"],
}
GRAMS = {"g": "1", "kg": "1000", "mg": "0.001", "t": "1000000", "oz": "28.349523125", "lb": "453.59237"}
IN_HEADER = ("{} ({})", "{} [{}]", "{} in {}", "{}, {}", "{} - {}", "{} {}")
FAMILIES = ("glass", "paper", "plastic")
PLACES = ("cell", "header", "column", "columns", "left", "named", "title", "format")
Line = list[object]


@dataclass(frozen=True)
class Weighed:
    """Parts of SKUs as (number, unit, word for it), a part for each family, and where the unit is said."""

    skus: list[list[tuple[Decimal, str, str]]]
    place: str
    header: str
    text: bool

    def cell(self, number: Decimal, word: str) -> object:
        """A weight as it is written."""
        said = f"{number:f}".replace(".", ",")
        if self.place == "cell":
            return f"{said} {word}"
        return said if self.text else float(number)

    def titled(self, title: str) -> str:
        """The header of a weight."""
        return self.header.format(title, self.skus[0][0][2]) if self.place == "header" else title

    def with_units(self, titles: list[str], row: list[tuple[Decimal, str, str]]) -> tuple[Line, Line]:
        """Headers and cells of weights side by side, with the columns that say their units."""
        head: Line = []
        cells: Line = []
        for title, (number, _, word) in zip(titles, row, strict=True):
            weight, unit = self.titled(title), f"{title} unit" if self.place == "named" else "Unit"
            cell = self.cell(number, word)
            if self.place in ("columns", "named"):
                head, cells = [*head, weight, unit], [*cells, cell, word]
            elif self.place == "left":
                head, cells = [*head, unit, weight], [*cells, word, cell]
            else:
                head, cells = [*head, weight], [*cells, cell]
        if self.place == "column":
            head, cells = [*head, "Einheit"], [*cells, row[0][2]]
        return head, cells


@st.composite
def weighed(draw: st.DrawFn) -> Weighed:
    place = draw(st.sampled_from(PLACES))
    each = place in ("cell", "columns", "left", "named")
    # A unit left of one weight, and tonnes of all weights, are asked about: meaning/test_columns_meaning.py
    units = list(UNITS) if place == "cell" else [unit for unit in UNITS if unit != "t"]
    of_file = draw(st.sampled_from(units))
    word = draw(st.sampled_from(UNITS[of_file]))
    skus = []
    for _ in range(draw(st.integers(1, 3))):
        of_line = draw(st.sampled_from(units)) if place == "column" else of_file
        line_word = draw(st.sampled_from(UNITS[of_line])) if place == "column" else word
        parts = []
        for _ in FAMILIES:
            unit = draw(st.sampled_from(units)) if each else of_line
            said = draw(st.sampled_from(UNITS[unit])) if each else line_word
            parts.append((Decimal(draw(st.integers(1, 9_999))) / 100, unit, said))
        skus.append(parts)
    return Weighed(skus, place, draw(st.sampled_from(IN_HEADER)), draw(st.booleans()))


def rows(w: Weighed) -> tuple[str, list[Line]]:
    """A line for each SKU with its own weight alone, which is that of the first part."""
    found = [w.with_units(["Packaging weight"], parts[:1]) for parts in w.skus]
    return "SKUs", [["SKU", "Name", *found[0][0]], *([f"S{at}", "n", *cells] for at, (_, cells) in enumerate(found))]


def long(w: Weighed) -> tuple[str, list[Line]]:
    """A line for each part, with the code repeated."""
    table: list[Line] = []
    for at, parts in enumerate(w.skus):
        for family, part in zip(FAMILIES, parts, strict=True):
            head, cells = w.with_units(["Component weight"], [part])
            table = table or [["SKU", "Name", "Component", "Component material", *head]]
            table.append([f"S{at}", "n", "body", family, *cells])
    return "SKUs", table


def sheet(w: Weighed) -> tuple[str, list[Line]]:
    """The lines of a components sheet."""
    _, table = long(w)
    return "components", [[row[0], *row[2:]] for row in table]


def materials(w: Weighed) -> tuple[str, list[Line]]:
    """A weight column for each material."""
    found = [w.with_units([f"{family} weight" for family in FAMILIES], parts) for parts in w.skus]
    return "SKUs", [["SKU", "Name", *found[0][0]], *([f"S{at}", "n", *cells] for at, (_, cells) in enumerate(found))]


def wide(w: Weighed) -> tuple[str, list[Line]]:
    """Numbered groups of a material and its weight."""
    titles = [f"Packaging {at} weight" for at in (1, 2, 3)]
    found = [w.with_units(titles, parts) for parts in w.skus]
    names = [f"Packaging {at} material" for at in (1, 2, 3)]
    return "SKUs", [
        ["SKU", "Name", *names, *found[0][0]],
        *([f"S{at}", "n", *FAMILIES, *cells] for at, (_, cells) in enumerate(found)),
    ]


LAYOUTS = {"rows": rows, "long": long, "sheet": sheet, "materials": materials, "wide": wide}


def files(w: Weighed, layout: Callable[[Weighed], tuple[str, list[Line]]]) -> list[bytes]:
    """The table as a CSV and as a workbook, where they can say the unit in that place."""
    name, table = layout(w)
    word = w.skus[0][0][2]
    if w.place == "title":
        table = [[f"Weights in {word}", *[""] * (len(table[0]) - 1)], *table]
    shapes = dict.fromkeys(range(2, len(table[0])), f'0.00" {word}"') if w.place == "format" else None
    main: list[Line] = [["SKU", "Name"], *([f"S{at}", "n"] for at in range(len(w.skus)))]
    book = workbook({"SKUs": main, name: table} if name == "components" else {name: table}, formats=shapes)
    if name == "components" or w.place == "format":
        return [book]
    return [delimited(table, ";"), book]


def grams_of(data: bytes, layout: str) -> list[list[float]]:
    _, typed = read(data)
    assert typed.errors.rows() == []
    if layout == "rows":
        return [[weight] for weight in typed.values["weight_grams"]]
    return [[part["weight_g"] for part in json.loads(text)] for text in typed.values["components"]]


@pytest.mark.long
@examples(150)
@given(weighed(), st.sampled_from(list(LAYOUTS)))
def test_any_layout_and_any_place_of_the_unit_read_back_to_the_same_grams(w: Weighed, layout: str) -> None:
    assume(w.place != "left" or layout in ("materials", "wide"))
    if w.place == "format":
        w = Weighed(w.skus, w.place, w.header, text=False)
    expected = [[float(number * Decimal(GRAMS[unit])) for number, unit, _ in parts] for parts in w.skus]
    for data in files(w, LAYOUTS[layout]):
        found = grams_of(data, layout)
        wanted = [parts[:1] for parts in expected] if layout == "rows" else expected
        assert [pytest.approx(parts, rel=1e-9) for parts in wanted] == found


@pytest.mark.parametrize(
    ("header", "unit"), [("Packaging weight (g)", "kg"), ("weight_grams", "KGM"), ("Packaging weight [kg]", "g")]
)
def test_a_header_and_a_column_that_name_two_units_are_a_fault(header: str, unit: str) -> None:
    typed = read(delimited([["SKU", "Name", header, "Unit"], ["A", "a", "2", unit]]))[1]
    assert typed.errors.select("line", "field", "code").rows() == [(2, "weight_grams", "unknown_unit")]


def test_one_column_of_units_is_that_of_the_weights_that_name_none() -> None:
    table = [["SKU", "Name", "Packaging weight", "Unit", "Glass (g)", "Paper (g)"], ["A", "a", "0.3", "kg", 280, 20]]
    row = read(delimited(table))[1].values.to_dicts()[0]
    assert (row["weight_grams"], [part["weight_g"] for part in json.loads(row["components"])]) == (300, [280, 20])


def test_columns_of_units_that_belong_to_no_weight_are_asked_about() -> None:
    table = [["SKU", "Name", "Unit", "Size", "Glass", "Paper", "Unit"], ["A", "a", "kg", "x", "1", "2", "g"]]
    with pytest.raises(Exception, match="all fit weight_unit"):
        read(delimited(table))


def test_a_measured_weight_has_the_unit_of_its_group() -> None:
    head = ["packagings_1_material", "packagings_1_weight_specified", "packagings_1_weight_measured", "Unit"]
    row = read(delimited([["SKU", "Name", *head], ["A", "a", "glass", "0.2", "0.21", "kg"]]))[1].values.to_dicts()[0]
    assert json.loads(row["components"])[0]["weight_g"] == 210


@pytest.mark.parametrize(
    ("above", "grams"),
    [
        ([["Alle Gewichte in kg", ""], []], 200),
        ([["kg", ""]], 200),
        ([["Net weight: 5 kg", ""], []], 0.2),
        ([["Poids en grammes", ""], []], 0.2),
    ],
)
def test_a_remark_above_the_table_names_the_unit_of_weights_that_name_none(above: list[Line], grams: float) -> None:
    table = [*above, ["Tare", "SKU", "Name"], ["0.2", "A", "a"]]
    assert read(workbook({"SKUs": table}))[1].values["weight_grams"].to_list() == [grams]
    own = [*above, ["Tare (g)", "SKU", "Name"], ["0.2", "A", "a"]]
    assert read(workbook({"SKUs": own}))[1].values["weight_grams"].to_list() == [0.2]


@pytest.mark.parametrize("header", ["Brutto kg", "Masse (kg) Verp", "Poids (kg)"])
def test_a_mapped_column_keeps_the_unit_that_its_header_names(header: str) -> None:
    data = delimited([["SKU", "Name", header], ["A", "a", "0.25"]])
    assert read(data, {"columns": {"weight_grams": header}})[1].values["weight_grams"].to_list() == [250]


@pytest.mark.parametrize(
    ("units", "grams", "placed"),
    [
        (["", "", "kg", "1000 pcs"], 12_000, 5000),
        (["-", "-", "g", "Tsd. Stück"], 12, 5000),
        (["", "", "[kg/1000]", "in Mio. Stück"], 12, 5_000_000),
        (["", "", "g", "pcs"], 12, 5),
        (["Text", "Text", "g", "Zahl"], 12, 5),
        (["", "", "g", "cases of 12"], 12, None),
    ],
)
def test_a_line_of_units_below_the_header_may_name_a_multiplier(units: Line, grams: float, placed: int | None) -> None:
    table: list[Line] = [["sku_code", "name", "packaging weight", "annual_volume_DE_2026"], units, ["A", "B", 12, 5]]
    for data in (delimited(table), workbook({"SKUs": table})):
        upload, typed = read(data)
        assert (typed.rejected, typed.values["weight_grams"].to_list()) == (0, [grams])
        if placed is None:
            assert [(asked["kind"], asked["column"]) for asked in upload.source["asked"]] == [("unit", "D")]
        else:
            assert typed.values["volumes"].to_list() == [json.dumps({"DE/2026/0": placed}, separators=(",", ":"))]
