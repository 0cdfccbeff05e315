"""Cases 34 to 50: what a cell means. Without anything beside it that would help, unless the case says so."""

from tests.pipelines.reading.cases.casebook import HEAD, READ, A, B, Case, book, of, rows_of
from tests.pipelines.reading.writing import raw_workbook, sheet_xml, workbook

RANGES = (
    "84,60–86,70",
    "84 to 86",
    "de 84 à 86",
    "von 84 bis 86",
    "between 84 and 86",
    "84..86",
    "84 ± 2",
    "84~86",
)
CASES = [
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
    *of(41, "Recycled content", {"30": 30.0, "30%": 30.0, "30,0 %": 30.0, "0.3 %": 0.3, ">100": "!invalid_number"}),
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
        b"sku_code,name,weight_grams\nA,a,1.5\nX\nY,y,1,2,3\nB,b,2,,\n",
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
    *(
        Case(
            34,
            workbook({"SKUs": [["sku_code", "name", "gtin"], ["A", "a", 3250390017165]]}, formats={2: code}),
            {"A": "3250390017165"},
            of="gtin",
        )
        for code in ("0", "0.00", "0.00E+00", "#,##0")
    ),
    *of(
        34,
        "gtin",
        {"3250390017165,0": "3250390017165", "325 0390 017165": "3250390017165", "１": "!invalid_gtin"},
        "\t",
    ),
    Case(36, workbook({"SKUs": [HEAD, [123, "a", 1]]}, formats={0: "0" * 13}), {"0000000000123": 1.0}),
    *of(
        38,
        "Weight",
        {
            "1\u2009234,5": 1234.5,
            "1,234,567": 1234567.0,
            "0,234": 0.234,
            "1234.567": 1234.567,
            ".5": 0.5,
            "12 345 678": 12345678.0,
            "1,23,4": "!invalid_number",
            "1 23": "!invalid_number",
            "１２": 12.0,
            "1e3": 1000.0,
            "1e999999": "!unknown_unit",
        },
        "\t",
    ),
    Case(
        38,
        rows_of([["sku_code", "name", "Weight"], ["A", "a", "1,234"], ["B", "b", "2,5"]], delimiter="\t"),
        {"A": 1.234, "B": 2.5},
    ),
    *of(
        39,
        "Weight",
        {
            "12 grammes": 12.0,
            "500 mg": 0.5,
            "12 GRM": 12.0,
            "12 ml": "!unknown_unit",
            "2 x 5 g": "!unknown_unit",
            "1.234 g": "!ambiguous_number",
        },
        "\t",
    ),
    *of(
        40,
        "Weight",
        dict.fromkeys(RANGES, "!value_range"),
        "\t",
    ),
    *of(42, "Food contact", {"☑": True, "☐": False, "WAHR": True, "Faux": False, "sí": True, "2": "!invalid_type"}),
    *of(
        45,
        "Markets",
        {
            "DE AT": "!unknown_market",
            "Royaume-Uni": "{GB}",
            "Côte d'Ivoire": "{CI}",
            "FR;": "{FR}",
            "FR,Atlantis": "!unknown_market",
            "BE-VLG": "{BE-VLG}",
        },
        "\t",
    ),
    *of(47, "Material", {"en:plastic": "plastic", "Papier / Kunststoff": "!not_in_vocabulary"}),
]
