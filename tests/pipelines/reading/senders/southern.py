"""Spanish and Italian: declarations to Ecoembes, lists of packaging, codes of Decision 97/129/EC as CONAI asks for."""

from tests.pipelines.reading.senders.sent import LEFT, UP, Sent, book, gtin, text

ACEITE, AGUA, PASTA = gtin("841234500001"), gtin("841234500002"), gtin("801234500003")


def packaging_declaration() -> Sent:
    """A declaration with numbered packagings side by side, each with its kind, material and weight."""
    rows = [
        ["DECLARACIÓN DE ENVASES 2025", *[LEFT] * 4],
        ["Empresa adherida: Almazara del Sur, S.L."],
        [],
        ["Código de artículo", "Descripción del producto", "Código EAN", "Envase 1 - Tipo", "Envase 1 - Material",
         "Envase 1 - Peso unitario (g)", "Envase 2 - Tipo", "Envase 2 - Material", "Envase 2 - Peso unitario (g)",
         "Envase 3 - Tipo", "Envase 3 - Material", "Envase 3 - Peso unitario (g)"],
        ["AOVE-500", "Aceite de oliva virgen extra 500 ml", int(ACEITE), "Botella", "Vidrio", 410, "Tapón",
         "Aluminio", 3.2, "Etiqueta", "Papel", 1.1],
        ["AGUA-150", "Agua mineral 1,5 L", int(AGUA), "Botella", "PET", 27.5, "Tapón", "PEAD", 1.9, "Etiqueta", "PP",
         0.6],
        ["VIN-750", "Vinagre 750 ml", None, "Botella", "Vidrio", 390, "Tapón", "Plástico", 4, None, None, None],
    ]  # fmt: skip
    return Sent(
        "spanish declaration",
        book({"Envases": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin",
         "D": "component_1_component_type", "E": "component_1_material_family", "F": "component_1_weight_g",
         "G": "component_2_component_type", "H": "component_2_material_family", "I": "component_2_weight_g",
         "J": "component_3_component_type", "K": "component_3_material_family", "L": "component_3_weight_g"},
        {
            "AOVE-500": {"name": "Aceite de oliva virgen extra 500 ml", "gtin": ACEITE, "components": [
                {"component_type": "body", "material_family": "glass", "weight_g": 410},
                {"component_type": "cap", "material_family": "metal", "weight_g": 3.2},
                {"component_type": "label", "material_family": "paper", "weight_g": 1.1}]},
            "AGUA-150": {"name": "Agua mineral 1,5 L", "gtin": AGUA, "components": [
                {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 27.5},
                {"component_type": "cap", "material_family": "plastic", "weight_g": 1.9},
                {"component_type": "label", "material_family": "plastic", "weight_g": 0.6}]},
            "VIN-750": {"name": "Vinagre 750 ml", "components": [
                {"component_type": "body", "material_family": "glass", "weight_g": 390},
                {"component_type": "cap", "material_family": "plastic", "weight_g": 4}]},
        },
    )  # fmt: skip


def packaging_list() -> Sent:
    """A semicolon file of a Spanish Excel: a line per packaging, sí/no, levels, decimal commas."""
    lines = [
        (
            "Referencia;Denominación;Material del envase;Peso del envase (g);% material reciclado;Nivel de envase;"
            "Apto contacto alimentario;Reutilizable;Países de venta"
        ),
        "E-0001;Botella 1 L;Plástico;32,5;25;Primario;Sí;No;España, Portugal",
        "E-0002;Caja 6 botellas;Cartón ondulado;145,0;90 %;Secundario;No;No;ES",
        "E-0003;Palé europeo;Madera;22000;0;Terciario;No;Sí;ES, FR, PT",
        "E-0004;Bandeja cárnica;Poliestireno expandido;n/d;s/d;Primario;Sí;No;España",
    ]
    return Sent(
        "spanish list",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "material", "D": "weight_grams", "E": "recycled_content_percent",
         "F": "packaging_level", "G": "food_contact", "H": "reusable", "I": "markets"},
        {
            "E-0001": {"name": "Botella 1 L", "material": "plastic", "weight_grams": 32.5,
                       "recycled_content_percent": 25, "packaging_level": "sales", "food_contact": True,
                       "reusable": False, "markets": ["ES", "PT"]},
            "E-0002": {"name": "Caja 6 botellas", "material": "paper", "weight_grams": 145,
                       "recycled_content_percent": 90, "packaging_level": "grouped", "food_contact": False,
                       "reusable": False, "markets": ["ES"]},
            "E-0003": {"name": "Palé europeo", "material": "wood", "weight_grams": 22000,
                       "recycled_content_percent": 0, "packaging_level": "transport", "food_contact": False,
                       "reusable": True, "markets": ["ES", "FR", "PT"]},
            "E-0004": {"name": "Bandeja cárnica", "material": "plastic", "packaging_level": "sales",
                       "food_contact": True, "reusable": False, "markets": ["ES"]},
        },
    )  # fmt: skip


def labelling_codes() -> Sent:
    """An Italian sheet for environmental labelling: a line per part, the material only as its code."""
    rows = [
        ["ETICHETTATURA AMBIENTALE DEGLI IMBALLAGGI", *[LEFT] * 4],
        ["D.Lgs. 116/2020 - Decisione 97/129/CE"],
        ["Codice articolo", "Descrizione articolo", "Componente", "Codifica materiale", "Peso (g)", "Raccolta"],
        ["PS-500", "Spaghetti n.5 500 g", "Astuccio", "PAP 21", 18.5, "Carta"],
        [UP, UP, "Finestra", "PP 5", 0.7, "Plastica"],
        ["SU-330", "Sugo al basilico 330 g", "Vasetto", "GL 70", 190, "Vetro"],
        [UP, UP, "Capsula", "FE 40", 6.8, "Metalli"],
        [UP, UP, "Etichetta", "PAP 22", 1, "Carta"],
        ["LA-100", "Latte UHT 1 L", "Contenitore", "C/PAP 84", 28.2, "Carta"],
        [UP, UP, "Tappo", "PE-HD 2", 2.4, "Plastica"],
    ]
    return Sent(
        "italian labelling codes",
        book({"Imballaggi": rows}),
        {"A": "sku_code", "B": "name", "C": "component_type", "D": "material_family", "E": "weight_g"},
        {
            "PS-500": {"name": "Spaghetti n.5 500 g", "components": [
                {"component_type": "body", "material_family": "paper", "weight_g": 18.5},
                {"material_family": "plastic", "weight_g": 0.7}]},
            "SU-330": {"name": "Sugo al basilico 330 g", "components": [
                {"component_type": "body", "material_family": "glass", "weight_g": 190},
                {"component_type": "closure", "material_family": "metal", "weight_g": 6.8},
                {"component_type": "label", "material_family": "paper", "weight_g": 1}]},
            "LA-100": {"name": "Latte UHT 1 L", "components": [
                {"component_type": "body", "material_family": "paper", "weight_g": 28.2},
                {"component_type": "cap", "material_family": "plastic", "weight_g": 2.4}]},
        },
        mapping={"values": {"component_type": {"Finestra": "liner"}}},
    )  # fmt: skip


def italian_export() -> Sent:
    """An Italian ERP's semicolon file: short headers, `n.d.` for no answer, si/no without accent."""
    lines = [
        (
            "Cod. articolo;Descrizione;Materiale imballo;Peso imballo (g);Contenuto riciclato (%);Livello imballaggio;"
            "Idoneo al contatto alimentare;Paesi di vendita"
        ),
        "IT01;Busta caffè 250 g;C/LDPE 90;7,35;0;Primario;Si;Italia",
        "IT02;Flacone 750 ml;HDPE;48,2;30;Primario;No;Italia, Francia, Germania",
        "IT03;Scatola americana;Cartone ondulato;310;n.d.;Terziario;No;IT",
        "IT04;Lattina 33 cl;Alluminio;13,1;70;Primario;Si;IT",
    ]
    return Sent(
        "italian ERP export",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "material", "D": "weight_grams", "E": "recycled_content_percent",
         "F": "packaging_level", "G": "food_contact", "H": "markets"},
        {
            "IT01": {"name": "Busta caffè 250 g", "material": "plastic", "weight_grams": 7.35,
                     "recycled_content_percent": 0, "packaging_level": "sales", "food_contact": True,
                     "markets": ["IT"]},
            "IT02": {"name": "Flacone 750 ml", "material": "plastic", "material_subtype": "HDPE", "weight_grams": 48.2,
                     "recycled_content_percent": 30, "packaging_level": "sales", "food_contact": False,
                     "markets": ["IT", "FR", "DE"]},
            "IT03": {"name": "Scatola americana", "material": "paper", "weight_grams": 310,
                     "packaging_level": "transport", "food_contact": False, "markets": ["IT"]},
            "IT04": {"name": "Lattina 33 cl", "material": "metal", "weight_grams": 13.1,
                     "recycled_content_percent": 70, "packaging_level": "sales", "food_contact": True,
                     "markets": ["IT"]},
        },
    )  # fmt: skip


def spanish_merged_units() -> Sent:
    """A cooperative's sheet: a header of two lines, the unit in its own column, percentages as percent cells."""
    rows = [
        ["Artículo", LEFT, "Envase", LEFT, LEFT, LEFT],
        ["Código", "Descripción", "Tipo de envase", "Material", "Peso", "Unidad"],
        ["C-1", "Mermelada fresa 350 g", "Tarro", "Vidrio", 180, "g"],
        ["C-2", "Saco patatas 5 kg", "Saco", "Papel", 0.062, "kg"],
        ["C-3", "Malla naranjas 2 kg", "Malla", "PEAD", 9.5, "g"],
        [None, "Total", None, None, 251.5, None],
    ]
    return Sent(
        "spanish two-line header",
        book({"Hoja1": rows}),
        {"A": "sku_code", "B": "name", "C": "packaging_format", "D": "material", "E": "weight_grams",
         "F": "weight_unit"},
        {
            "C-1": {"name": "Mermelada fresa 350 g", "packaging_format": "Tarro", "material": "glass",
                    "weight_grams": 180},
            "C-2": {"name": "Saco patatas 5 kg", "packaging_format": "Saco", "material": "paper", "weight_grams": 62},
            "C-3": {"name": "Malla naranjas 2 kg", "packaging_format": "Malla", "material": "plastic",
                    "weight_grams": 9.5},
        },
    )  # fmt: skip


FILES = (packaging_declaration, packaging_list, labelling_codes, italian_export, spanish_merged_units)
