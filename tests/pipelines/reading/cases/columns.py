"""Cases 26 to 33: which column is which, and what several columns or lines make together."""

from tests.pipelines.reading.cases.casebook import HEAD, READ, A, B, Case, rows_of

CASES = [
    *(
        Case(26, rows_of([[code, name, weight], ["A", "a", "1.5"], B]), READ)
        for code, name, weight in (
            ("RÉFÉRENCE ", "Désignation\n", "Poids unitaire vide en gramme"),
            ("Artikel-Nr.", "BEZEICHNUNG", "Verpackungsgewicht [g]"),
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
        # The unit is said to stand elsewhere, so that the column is asked about (decisions §13).
        source={"ignored": [{"column": "D", "header": "Berat"}], "layout": "rows"},
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
    *(
        Case(
            28,
            rows_of([["sku_code", "name", header], ["A", "a", "500"]]),
            {"A": "a"},
            of="name",
            source={"ignored": [{"column": "C", "header": header}]},
        )
        for header in (
            "Poids net (g)",
            "Nettogewicht",
            "Net weight (g)",
            "Peso lordo",
            "Product weight (g)",
            "Füllgewicht (g)",
            "Gross weight (kg)",
        )
    ),
    Case(
        28,
        rows_of(
            [
                ["sku_code", "name", "Net weight (g)", "Gross weight (g)", "Packaging weight (g)"],
                ["A", "a", 500, 520, 20],
            ]
        ),
        {"A": 20.0},
    ),
    Case(28, rows_of([["sku_code", "name", "GTIN", "EAN"], ["A", "a", 1, 2]]), refused=("ambiguous_column",)),
    *(
        Case(30, rows_of([["sku_code", "name", "Poids", "Unité de mesure"], ["A", "a", cell, unit]]), {"A": 1.5})
        for cell, unit in ((1500, "MGM"), ("1.5", "GRM"), ("0.0015", "KGM"))
    ),
    Case(
        31,
        rows_of([["sku_code", "name", "Glass (kg)", "Paper/Card (kg)"], ["A", "a", "0.2", "0.01"]]),
        {
            "A": '[{"component_type":"body","material_family":"glass","weight_g":200.0},'
            '{"component_type":"body","material_family":"paper","weight_g":10.0}]'
        },
        of="components",
    ),
    Case(
        32,
        rows_of(
            [
                ["sku_code", "name", "packagings_1_material", "packagings_1_weight_measured", "packagings_2_shape"],
                ["A", "a", "en:glass", 2, "en:lid"],
            ]
        ),
        {"A": '[{"component_type":"body","material_family":"glass","weight_g":2.0}]'},
        of="components",
        source={"layout": "wide", "ignored": [{"column": "E", "header": "packagings_2_shape"}]},
    ),
    Case(
        33,
        rows_of(
            [
                ["sku_code", "name", "Material", "Weight"],
                ["A", "a", "glass", 2],
                ["B", "b", "paper", 5],
                ["A", "", "metal", 1],
            ]
        ),
        {
            "A": '[{"component_type":"body","material_family":"glass","weight_g":2.0},'
            '{"component_type":"body","material_family":"metal","weight_g":1.0}]',
            "B": None,
        },
        of="components",
    ),
]
