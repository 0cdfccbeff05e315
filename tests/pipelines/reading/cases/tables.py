"""Cases 15 to 25: where the table stands, and which of its lines are data."""

from pipelines.reading import lines, upload
from tests.pipelines.reading.cases.casebook import HEAD, READ, A, B, Case, book, filtered, rows_of
from tests.pipelines.reading.writing import workbook

PLAIN = [HEAD, A, B]
CASES = [
    Case(
        15,
        rows_of([["Portfolio 2026", "", ""], ["as of November", "", ""], [], *PLAIN]),
        READ,
        source={"header_row": 4},
    ),
    Case(16, workbook({"SKUs": [[], ["", *HEAD], ["", *A], ["", *B]]}), READ, source={"header_row": 2}),
    Case(
        17,
        book(["M", "M", "K"], ["Text (255)", "Text", "Zahl"], ["code", "name", "weight_grams"], A, B),
        READ,
        source={"skipped": [{"line": line, "reason": lines.HELP} for line in (2, 3, 4)]},
    ),
    Case(
        18,
        book(["Exemple :", "Bouteille", "12,5"], A, B),
        READ,
        source={"skipped": [{"line": 2, "reason": lines.EXAMPLE}]},
    ),
    Case(19, workbook({"Cover": [["Our portfolio"]], "Liste": [HEAD, A, B]}), READ, source={"sheet": "Liste"}),
    Case(
        20,
        workbook({"Cover": [["Ours"]], "Codes": [HEAD, ["X", "x", 1]], "Liste": [HEAD, A, B]}, hidden=["Codes"]),
        READ,
        source={"sheet": "Liste"},
    ),
    *(
        Case(
            21,
            workbook(
                {"SKUs": [HEAD, A], name: [["sku_code", "component_type", "material_family"], ["A", "cap", "metal"]]}
            ),
            {"A": '[{"component_type":"cap","material_family":"metal"}]'},
            of="components",
        )
        for name in (" COMPONENTS", "Composants", "Komponenten", "componentes")
    ),
    Case(
        22,
        workbook({"SKUs": [["sku_code", "name", "Weight", ""], ["", "", "Primary", "Secondary"], ["A", "a", 1, 2]]}),
        {"A": "a"},
        source={
            "ignored": [{"column": "C", "header": "Weight Primary"}, {"column": "D", "header": "Weight Secondary"}]
        },
        of="name",
    ),
    Case(
        23,
        workbook(
            {
                "SKUs": [
                    ["sku_code", "name", "component_type", "component_material_family"],
                    ["A", "a", "body", "glass"],
                    ["", "", "cap", "metal"],
                ]
            }
        ),
        {
            "A": '[{"component_type":"body","material_family":"glass"},'
            '{"component_type":"cap","material_family":"metal"}]'
        },
        source={"layout": "long"},
        of="components",
    ),
    Case(
        24,
        book(A, B, ["", "Summe", "3.5"], ["Date: 21.11.2026"], ["Signature"]),
        READ,
        source={
            "skipped": [
                {"line": 4, "reason": lines.TOTAL},
                {"line": 5, "reason": lines.NOTE},
                {"line": 6, "reason": lines.NOTE},
            ]
        },
    ),
    Case(25, book([], A, [], [], ["X", "x", "y"], B), READ, ((6, "weight_grams", "invalid_number"),)),
    Case(15, workbook({"SKUs": [["Company", "ACME"], ["Name", "Jane"], [], *PLAIN]}), READ, source={"header_row": 4}),
    Case(16, b",,,\n,sku_code,name,weight_grams\n,A,a,1.5\n,B,b,2\n", READ, source={"header_row": 2}),
    Case(
        16,
        workbook({"SKUs": [*[[]] * 50, ["", "", *HEAD], ["", "", *A], ["", "", *B]]}),
        READ,
        source={"header_row": 51},
    ),
    *(
        Case(17, book(help_line, A, B), READ, source={"skipped": [{"line": 2, "reason": lines.HELP}]})
        for help_line in (
            ["string", "string", "decimal"],
            ["Obligatoire", "Obligatoire", "Facultatif"],
            ["P-01", "P-02", "P-49"],
            ["max. 50 Zeichen", "max. 200 Zeichen", "Gramm"],
        )
    ),
    *(
        Case(18, book([code, "Bouteille", 1.5], A, B), READ, source={"skipped": [{"line": 2, "reason": lines.EXAMPLE}]})
        for code in ("EXAMPLE-001", "Ex. : 12345", "ex: 1", "e.g. 123", "z. B. 123", "Ej.: 1")
    ),
    Case(18, book(["EX-001", "Bottle", 1.5]), {"EX-001": 1.5}),
    Case(
        19,
        workbook({"Cover": [["Ours"]], "Liste": [HEAD, A, B], "Februar": [["sku_code", "name"], ["C", "c"]]}),
        READ,
        source={
            "sheet": "Liste",
            "unread_sheets": [
                {"sheet": "Cover", "reason": upload.HEADLESS},
                {"sheet": "Februar", "reason": upload.NOT_NEEDED},
            ],
        },
    ),
    # Which of two sheets with one header is read is asked (decisions §13, kind `sheet`).
    Case(19, workbook({"Liste": [HEAD, A, B], "Februar": [HEAD, ["C", "c", 1]]}), refused=("invalid_mapping",)),
    Case(
        20,
        workbook({"Liste": [HEAD, A, B], "Codes": [HEAD, ["X", "x", 1]]}, hidden=["Codes"]),
        READ,
        source={"hidden": None, "unread_sheets": [{"sheet": "Codes", "reason": upload.HIDDEN}]},
    ),
    Case(20, filtered(HEAD, A, B), READ, source={"hidden": {"rows": 1, "lines": [3], "columns": ["C"]}}),
    *(
        Case(
            21,
            workbook({"SKUs": [HEAD, A], name: [["Référence", "Composant", "Matière"], ["A", "Bouchon", "Métal"]]}),
            {"A": '[{"component_type":"cap","material_family":"metal"}]'},
            of="components",
        )
        for name in ("COMPOSANTS ", "Liste des composants", "component list", "Elenco componenti")
    ),
    Case(
        23,
        workbook(
            {
                "SKUs": [HEAD, A],
                "components": [
                    ["sku_code", "component_type", "material_family"],
                    ["A", "body", "glass"],
                    ["", "cap", "metal"],
                ],
            }
        ),
        {
            "A": '[{"component_type":"body","material_family":"glass"},'
            '{"component_type":"cap","material_family":"metal"}]'
        },
        of="components",
    ),
    Case(23, book(A, ["", "", 2], ["", "", 3], B), READ, ((3, "sku_code", "required"), (4, "sku_code", "required"))),
    Case(
        24,
        book(A, B, ["Prepared by", "Jane"], ["Σ", "", 3.5], ["Total général :", "", 3.5], ["Fait à Lyon, le 12/03"]),
        READ,
        source={
            "skipped": [
                {"line": line, "reason": reason}
                for line, reason in ((4, lines.NOTE), (5, lines.TOTAL), (6, lines.TOTAL), (7, lines.NOTE))
            ]
        },
    ),
    Case(
        25,
        b"sku_code,name,weight_grams\n\nA,a,1.5\n,,\n  ,,\n\nX,x,y\nB,b,2\n",
        READ,
        ((7, "weight_grams", "invalid_number"),),
    ),
]
