"""Files of several layouts, each as first imported and as sent again with parts inserted, reordered and retired.

They hold what makes parts hard to tell apart: several of one type and material, equal lines, lines without weight.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Final

import xlsxwriter

SKUS: Final = [["sku_code", "name"], ["S-1", "Tray"], ["S-2", "Bottle"], ["S-3", "Pouch"], ["S-4", "Box"]]
PARTS: Final = ["sku_code", "component_type", "material_family", "polymer_or_grade", "weight_g", "position_in_sku"]
SHEET_FIRST: Final = [
    PARTS,
    ["S-1", "body", "plastic", "PET", 20, 1],
    ["S-1", "label", "plastic", "PE", 1.23, 2],
    ["S-2", "body", "glass", None, 300, None],
    ["S-2", "label", "paper_cardboard", None, 1.1, None],
    ["S-2", "label", "paper_cardboard", None, 0.9, None],
    ["S-2", "cap", "metal", "aluminium", 2, None],
    ["S-3", "body", "plastic", "PE", 5, None],
    ["S-3", "body", "plastic", "PE", 5, None],
    ["S-4", "body", "paper_cardboard", None, None, None],
    ["S-4", "liner", "paper_cardboard", None, None, None],
]
SHEET_AGAIN: Final = [
    PARTS,
    ["S-1", "body", "plastic", "PET", 20, 1],
    ["S-1", "label", "plastic", "PET", 0.8, 2],
    ["S-1", "label", "plastic", "PE", 1.23, 3],
    ["S-2", "label", "paper_cardboard", None, 0.9, None],
    ["S-2", "label", "paper_cardboard", None, 1.1, None],
    ["S-2", "body", "glass", None, 300, None],
    ["S-2", "cap", "plastic", "HDPE", 3, None],
    ["S-3", "body", "plastic", "PE", 5, None],
    ["S-3", "body", "plastic", "PE", 5, None],
    ["S-3", "body", "plastic", "PE", 5, None],
    ["S-3", "ink", "other", None, 0.1, None],
    ["S-4", "liner", "paper_cardboard", None, None, None],
]
LONG_FIRST: Final = """Code;Libellé;Matériau;Poids (g)
L-1;Bocal;Verre;200
L-1;Bocal;Métal;5
L-1;Bocal;Papier;1
L-2;Barquette;Plastique;12
L-2;Barquette;Plastique;3
"""
LONG_AGAIN: Final = """Code;Libellé;Matériau;Poids (g)
L-1;Bocal;Papier;1
L-1;Bocal;Verre;200
L-1;Bocal;Plastique;4
L-1;Bocal;Métal;5
L-2;Barquette;Plastique;3
L-2;Barquette;Plastique;12,5
"""
WIDE_FIRST: Final = """sku_code;name;component_1_component_type;component_1_material_family;component_1_weight_g;\
component_2_component_type;component_2_material_family;component_2_weight_g;\
component_3_component_type;component_3_material_family;component_3_weight_g
W-1;Jar;body;glass;210;cap;metal;5;label;paper_cardboard;1
W-2;Film;body;plastic;4;body;plastic;6;;;
"""
WIDE_AGAIN: Final = """sku_code;name;component_1_component_type;component_1_material_family;component_1_weight_g;\
component_2_component_type;component_2_material_family;component_2_weight_g;\
component_3_component_type;component_3_material_family;component_3_weight_g
W-1;Jar;label;plastic;0,5;label;paper_cardboard;1;body;glass;210
W-2;Film;body;plastic;6;body;plastic;4;body;metal;1
"""
MATERIALS_FIRST: Final = """sku_code;name;Glas (g);Metall (g);Papier (g)
M-1;Konfitüre;190;4;1,2
M-2;Dose;;35;
"""
MATERIALS_AGAIN: Final = """sku_code;name;Papier (g);Kunststoff (g);Metall (g);Glas (g)
M-1;Konfitüre;1,2;0,4;4;191
M-2;Dose;;0,3;35;
"""


def _workbook(skus: Sequence[Sequence[object]], components: Sequence[Sequence[object]]) -> bytes:
    data = io.BytesIO()
    with xlsxwriter.Workbook(data, {"in_memory": True}) as book:
        for name, rows in {"skus": skus, "components": components}.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return data.getvalue()


FILES: Final[Mapping[str, tuple[str, bytes, bytes]]] = {
    "components sheet": ("portfolio.xlsx", _workbook(SKUS, SHEET_FIRST), _workbook(SKUS, SHEET_AGAIN)),
    "long table": ("long.csv", LONG_FIRST.encode(), LONG_AGAIN.encode()),
    "wide columns": ("wide.csv", WIDE_FIRST.encode(), WIDE_AGAIN.encode()),
    "weight per material": ("materials.csv", MATERIALS_FIRST.encode(), MATERIALS_AGAIN.encode()),
}
"""By layout: the file's name, its bytes as first imported, and as sent again."""
