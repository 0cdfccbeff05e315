"""Cases 26 to 51: which column is which, and what a cell means."""

import pytest

from tests.pipelines.reading.casebook import HEAD, READ, A, B, Case, book, hold, of, rows_of
from tests.pipelines.reading.writing import raw_workbook, sheet_xml, workbook

COLUMNS = [
    *(
        Case(26, rows_of([[code, name, weight], ["A", "a", "1.5"], B]), READ)
        for code, name, weight in (
            ("RÉFÉRENCE ", "Désignation\n", "Poids unitaire vide en gramme"),
            ("Artikel-Nr.", "BEZEICHNUNG", "Gewicht [g]"),
            ("Código de artículo", "Denominación", "Peso del envase (g)"),
            ("Codice articolo", "Nome", "Peso imballaggio (g)"),
        )
    ),
    Case(
        26,
        rows_of(
            [
                [*HEAD, "Berat", "Verp.-gewicht Kunststoff\n\nZugehörige Einheit in NTG-P-049"],
                ["A", "a", "1.5", 3, 4],
                [*B, 3, 4],
            ]
        ),
        READ,
        source={
            "ignored": [
                {"column": "D", "header": "Berat"},
                {"column": "E", "header": "Verp.-gewicht Kunststoff\n\nZugehörige Einheit in NTG-P-049"},
            ]
        },
    ),
    Case(
        27,
        rows_of([[*HEAD, "Note", "Note"], [*A, "x", "y"], [*B, "", ""]]),
        READ,
        source={"ignored": [{"column": "D", "header": "Note"}, {"column": "E", "header": "Note"}]},
    ),
    Case(27, rows_of([["sku_code", "name", "Weight", "Weight"], ["A", "a", 1, 2]]), refused=("ambiguous_column",)),
    Case(
        28,
        rows_of(
            [
                ["Artikelnummer", "Bezeichnung", "Gewicht Netto g", "Gewicht Brutto g", "GTIN", "EAN of outer case"],
                ["A", "a", 1, 2, "3250390017165", "1"],
            ]
        ),
        {"A": "3250390017165"},
        source={
            "ignored": [
                {"column": "C", "header": "Gewicht Netto g"},
                {"column": "D", "header": "Gewicht Brutto g"},
                {"column": "F", "header": "EAN of outer case"},
            ]
        },
        of="gtin",
    ),
    Case(
        29,
        rows_of([[*HEAD, "Buyer"], [*A, "x"], [*B, "y"]]),
        READ,
        source={"ignored": [{"column": "D", "header": "Buyer"}]},
    ),
    Case(
        30,
        rows_of([["sku_code", "name", "Weight", "Unit"], ["A", "a", "1.5", "GRM"], ["B", "b", "0.002", "KGM"]]),
        READ,
    ),
    Case(
        30,
        rows_of([["sku_code", "name", "Weight", "Unit"], ["A", "a", "1.5", "GRM"], ["B", "b", "0.002", ""]]),
        {"A": 1.5},
        ((3, "weight_grams", "unknown_unit"),),
    ),
    Case(
        31,
        rows_of(
            [
                ["sku_code", "name", "Glas", "Weißblech", "Alu", "Papier", "Kunststoff", "Verbunde"],
                ["A", "a", 200, 3, "", "1,5", 0, ""],
            ],
            delimiter=";",
        ),
        {
            "A": '[{"component_type":"body","material_family":"glass","weight_g":200.0},'
            '{"component_type":"body","material_family":"metal","polymer_or_grade":"tinplate","weight_g":3.0},'
            '{"component_type":"body","material_family":"paper","weight_g":1.5}]'
        },
        source={"layout": "materials"},
        of="components",
    ),
    *(
        Case(
            32,
            rows_of([["sku_code", "name", *heads], ["A", "a", "verre", 2, "métal", 1]]),
            {
                "A": '[{"component_type":"body","material_family":"glass","weight_g":2.0},'
                '{"component_type":"body","material_family":"metal","weight_g":1.0}]'
            },
            source={"layout": "wide"},
            of="components",
        )
        for heads in (
            ("packagings_1_material", "packagings_1_weight", "packagings_2_material", "packagings_2_weight"),
            ("Emballage 1 - Matière", "Emballage 1 - Poids", "Emballage 2 - Matière", "Emballage 2 - Poids"),
        )
    ),
    Case(
        33,
        rows_of([["sku_code", "name", "Material", "Weight"], ["A", "a", "glass", 2], ["A", "a", "metal", 1]]),
        {
            "A": '[{"component_type":"body","material_family":"glass","weight_g":2.0},'
            '{"component_type":"body","material_family":"metal","weight_g":1.0}]'
        },
        source={"layout": "long"},
        of="components",
    ),
]

VALUES = [
    Case(
        34,
        workbook({"SKUs": [["sku_code", "name", "gtin"], ["A", "a", 3250390017165.0]]}),
        {"A": "3250390017165"},
        of="gtin",
    ),
    *of(35, "gtin", {"1,76701E+15": "!digits_lost", "3.25039E+12": "!digits_lost", "3250390017165.0": "3250390017165"}),
    Case(36, workbook({"SKUs": [HEAD, [123, "a", 1]]}, formats={0: "00000"}), {"00123": 1.0}),
    Case(36, rows_of([HEAD, ["'00123", "a", 1], ['="00124"', "b", 2]]), {"00123": 1.0, "00124": 2.0}),
    *(
        Case(37, data, {code: 1.0})
        for code in ("00123", "1E5", "3-4", "TRUE", "12/08")
        for data in (rows_of([HEAD, [code, "a", 1]]), book([code, "a", 1]))
    ),
    *of(
        38,
        "Weight",
        {
            "1 234,5": 1234.5,
            "1.234,56": 1234.56,
            "1,234.56": 1234.56,
            "1'234.5": 1234.5,
            "1\u202f234,5": 1234.5,
            "1,234": "!ambiguous_number",
            "1.234": "!ambiguous_number",
        },
    ),
    *of(
        39,
        "Weight",
        {
            "42,3 g": 42.3,
            "1.2kg": 1200.0,
            "0.5 oz": 14.1747615625,
            "<100": "!invalid_number",
            "≈12": "!invalid_number",
            "ca. 5": "!invalid_number",
            "500 micron": "!unknown_unit",
        },
    ),
    *of(40, "Weight", {"84.60 - 86.70": "!value_range", "352.00-389.00": "!value_range"}),
    *of(41, "Recycled content", {"30": 30.0, "30%": 30.0, "30,0 %": 30.0, "0.3": 0.3, ">100": "!invalid_number"}),
    Case(
        41,
        workbook({"SKUs": [["sku_code", "name", "Recycled content"], ["A", "a", 0.3]]}, formats={2: "0%"}),
        {"A": 30.0},
        of="recycled_content_percent",
    ),
    *of(
        42,
        "Food contact",
        {
            "oui": True,
            "non": False,
            "ja": True,
            "nein": False,
            "x": True,
            "✓": True,
            "1": True,
            "0": False,
            "O": True,
            "N": False,
            "": None,
            "Non food contact.": "!invalid_type",
        },
    ),
    Case(
        43,
        workbook({"SKUs": [["sku_code", "name", "description"], ["A", "a", 46246]]}, formats={2: "dd/mm/yyyy"}),
        {"A": "2026-08-12"},
        of="description",
    ),
    Case(
        43,
        workbook({"SKUs": [HEAD, ["A", "a", 46246]]}, formats={2: "dd/mm/yyyy"}),
        {},
        ((2, "weight_grams", "invalid_number"),),
    ),
    Case(
        44,
        raw_workbook(
            sheet_xml(
                '<row r="1"><c r="A1" t="str"><v>sku_code</v></c><c r="B1" t="str"><v>name</v></c>'
                '<c r="C1" t="str"><v>weight_grams</v></c></row>'
                '<row r="2"><c r="A2" t="str"><f>UPPER("a")</f><v>A</v></c><c r="B2" t="str"><v>a</v></c>'
                '<c r="C2"><f>3/2</f><v>1.5</v>'
                '</c></row><row r="3"><c r="A3" t="str"><v>X</v></c><c r="B3" t="str"><v>x</v></c>'
                '<c r="C3"><f>IFERROR(1,2)</f></c></row>'
                '<row r="4"><c r="A4" t="str"><v>Y</v></c><c r="B4" t="str"><v>y</v></c>'
                '<c r="C4" t="e"><v>#N/A</v></c></row>'
            )
        ),
        {"A": 1.5},
        ((3, "weight_grams", "no_value"), (4, "weight_grams", "cell_error")),
    ),
    *of(44, "Weight", {"#VALUE!": "!cell_error", "#REF!": "!cell_error"}),
    *of(
        45,
        "Markets",
        {
            "UK": "{GB}",
            "en:france": "{FR}",
            "France, Italie": "{FR,IT}",
            "DE;AT": "{DE,AT}",
            "us ca": "{US-CA}",
            "DEU": "{DE}",
            "US-CA": "{US-CA}",
            "Atlantis": "!unknown_market",
        },
    ),
    Case(
        46,
        rows_of([["sku_code", "name", "material"], ["A", "a", "null"], ["B", "b", "\u00a0 "], ["C", "c", "glass"]]),
        {"A": None, "B": None, "C": "glass"},
        of="material",
    ),
    *of(47, "Niveau d'emballage", {"Primaire - UC / UVC": "sales", "Secondary": "grouped"}),
    *of(
        47,
        "Material",
        {
            "Kunststoff": "plastic",
            "Plastiques / PEBD - Polyethylène basse densité": "plastic",
            "Kertas Karton": "!not_in_vocabulary",
        },
    ),
    Case(
        48,
        book(A, B, ["A", "again", 9], [" A ", "and again", 8], ["a", "another", 3]),
        {**READ, "a": 3.0},
        ((4, "sku_code", "duplicate_sku_code"), (5, "sku_code", "duplicate_sku_code")),
    ),
    Case(
        49,
        b'sku_code,name,weight_grams\nA,"two\nlines",1.5\nX,x,y\nB,b,2\n',
        READ,
        ((4, "weight_grams", "invalid_number"),),
    ),
    Case(50, rows_of([HEAD, ["=1+1", "+a", "1.5"], ["-B", "@b", "2"]]), {"=1+1": 1.5, "-B": 2.0}),
    Case(
        50,
        b"sku_code,name,weight_grams\nA,a,1.5\nX,x\nY,y,1,2,3\nB,b,2,,\n",
        READ,
        ((3, None, "ragged_row"), (4, None, "ragged_row")),
    ),
    Case(
        50,
        rows_of([["sku_code", "name", "description"], ["A", "a", "x" * 32_768], ["B", "b", "y" * 32_767]]),
        {"B": "y" * 32_767},
        ((2, "description", "too_long"),),
        of="description",
    ),
    Case(51, b"sku_code,name\n" + b"".join(b"S%d,a\n" % at for at in range(50_001)), refused=("too_many_rows",)),
]


@pytest.mark.parametrize("case", [*COLUMNS, *VALUES], ids=lambda case: str(case.number))
def test_case(case: Case) -> None:
    hold(case)


def test_every_case_is_here() -> None:
    assert sorted({case.number for case in [*COLUMNS, *VALUES]}) == list(range(26, 52))
