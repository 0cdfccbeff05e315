"""Files written after the importer was corrected on the others: how it fares with wordings that nobody tuned it to."""

from tests.pipelines.reading.senders.sent import LEFT, UP, Sent, Shown, book, gtin, text

ONE, TWO = gtin("376000000001"), gtin("376000000002")


def french_specification() -> Sent:
    """A producer's specification: net weight beside the packaging's, levels as the forms of trade name them."""
    rows = [
        ["CAHIER DES CHARGES EMBALLAGES", LEFT, LEFT],
        ["Réf. produit", "Dénomination de vente", "Code EAN 13", "Poids net (g)", "Nature de l'emballage", "Matériau",
         "Poids de l'emballage vide (g)", "Part de matière recyclée (%)", "Emballage réutilisable (oui/non)"],
        ["P-01", "Confiture d'abricots", ONE, 370, "Pot", "Verre", 198.5, "35", "non"],
        ["P-02", "Compote pomme", TWO, 100, "Gourde", "Complexe", 4.2, "NC", "non"],
    ]  # fmt: skip
    return Sent(
        "later french specification",
        book({"CDC": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin", "E": "packaging_format", "F": "material", "G": "weight_grams",
         "H": "recycled_content_percent", "I": "reusable"},
        {
            "P-01": {"name": "Confiture d'abricots", "gtin": ONE, "packaging_format": "Pot", "material": "glass",
                     "weight_grams": 198.5, "recycled_content_percent": 35, "reusable": False},
            "P-02": {"name": "Compote pomme", "gtin": TWO, "packaging_format": "Gourde", "material": "composite",
                     "weight_grams": 4.2, "reusable": False},
        },
    )  # fmt: skip


def french_export() -> Sent:
    """An ERP's headers without spaces."""
    lines = [
        "CodeArticle;LibelleArticle;Gencod;MatiereEmballage;PoidsEmballage_g;ContactAlimentaire",
        f"10-A;Sachet riz 1 kg;{ONE};PEBD;7,2;O",
        f"10-B;Étui riz 500 g;{TWO};Carton plat;18,9;O",
    ]
    return Sent(
        "later french export",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "material", "E": "weight_grams", "F": "food_contact"},
        {
            "10-A": {"name": "Sachet riz 1 kg", "gtin": ONE, "material": "plastic", "weight_grams": 7.2,
                     "food_contact": True},
            "10-B": {"name": "Étui riz 500 g", "gtin": TWO, "material": "paper", "weight_grams": 18.9,
                     "food_contact": True},
        },
    )  # fmt: skip


def german_numbered() -> Sent:
    """Two packaging materials side by side."""
    lines = [
        "Artikelnr.;Artikeltext;EAN Stück;Verpackungsmaterial 1;Gewicht 1 (g);Verpackungsmaterial 2;Gewicht 2 (g)",
        f"71;Pralinen 200 g;{ONE};Pappe;32,5;PP-Folie;4,1",
        f"72;Tafel 100 g;{TWO};Papier;3,0;Alufolie;1,1",
    ]
    return Sent(
        "later german numbered",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "component_1_material_family", "E": "component_1_weight_g",
         "F": "component_2_material_family", "G": "component_2_weight_g"},
        {
            "71": {"name": "Pralinen 200 g", "gtin": ONE, "components": [
                {"material_family": "paper", "weight_g": 32.5}, {"material_family": "plastic", "weight_g": 4.1}]},
            "72": {"name": "Tafel 100 g", "gtin": TWO, "components": [
                {"material_family": "paper", "weight_g": 3}, {"material_family": "metal", "weight_g": 1.1}]},
        },
    )  # fmt: skip


def german_packaging_master() -> Sent:
    """A master of packaging materials: tare with a unit column."""
    lines = [
        "Materialnummer;Kurztext;Packstoffgruppe;Tara;Gew.Einh.;Mehrwegkennzeichen",
        "900100;Faltkarton 300x200;Wellpappe;0,212;KG;nein",
        "900200;KLT-Behälter 4314;PP;1,65;KG;ja",
    ]
    return Sent(
        "later german packaging master",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "material", "D": "weight_grams", "E": "weight_unit", "F": "reusable"},
        {
            "900100": {"name": "Faltkarton 300x200", "material": "paper", "weight_grams": 212, "reusable": False},
            "900200": {"name": "KLT-Behälter 4314", "material": "plastic", "weight_grams": 1650, "reusable": True},
        },
    )


def english_levels_in_headers() -> Sent:
    """Levels in the headers themselves, in one line."""
    rows = [
        [
            "Line Number",
            "Product",
            "Barcode (EAN)",
            "Primary pack material",
            "Primary pack weight (g)",
            "Secondary pack material",
            "Secondary pack weight (g)",
            "Recyclable?",
        ],
        ["000451", "Oat biscuits 300g", int(ONE), "OPP", 5.4, "Corrugated cardboard", 212, "Y"],
        ["000452", "Crackers 200g", int(TWO), "PP", 4.9, "Corrugated cardboard", 198, "Y"],
    ]
    return Sent(
        "later english levels in headers",
        book({"Sheet1": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "material", "E": "weight_grams"},
        {
            "000451": {"name": "Oat biscuits 300g", "gtin": ONE, "material": "plastic", "weight_grams": 5.4},
            "000452": {"name": "Crackers 200g", "gtin": TWO, "material": "plastic", "weight_grams": 4.9},
        },
    )


def english_items() -> Sent:
    """A compliance team's list, a line for each packaging item of a product."""
    rows = [
        [
            "Product SKU",
            "Product Name",
            "Packaging Item",
            "Packaging Level",
            "Material Type",
            "Material Sub-type",
            "Weight (grams)",
            "% PCR",
            "Country of Sale",
        ],
        ["HB-9", "Shower gel 400ml", "Bottle", "Primary", "Plastic", "HDPE", 31.2, Shown(0.5, "0%"), "United Kingdom"],
        [UP, UP, "Cap", "Primary", "Plastic", "PP", 6.8, Shown(0, "0%"), "United Kingdom"],
        [UP, UP, "Label", "Primary", "Paper", "TBC", 0.9, None, "United Kingdom"],
    ]
    return Sent(
        "later english items",
        book({"Data": rows}),
        {"A": "sku_code", "B": "name", "C": "component_type", "D": "packaging_level", "E": "material_family",
         "F": "polymer_or_grade", "G": "weight_g", "H": "recycled_content_percent", "I": "markets"},
        {
            "HB-9": {"name": "Shower gel 400ml", "packaging_level": "sales", "markets": ["GB"], "components": [
                {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 31.2,
                 "recycled_content_percent": 50},
                {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 6.8,
                 "recycled_content_percent": 0},
                {"component_type": "label", "material_family": "paper", "weight_g": 0.9}]},
        },
    )  # fmt: skip


def spanish_supplier() -> Sent:
    """A supplier's answer: net weight beside the packaging's."""
    lines = [
        "Ref.;Producto;Peso neto (g);Formato;Material envase;Peso envase (gr);Reciclado (%);Mercado",
        "T-1;Atún claro 80 g;80;Lata;Acero;22,4;25;España",
        "T-2;Ensalada 200 g;200;Barqueta;PET reciclado;13,6;70;ES, PT",
    ]
    return Sent(
        "later spanish supplier",
        text(lines),
        {"A": "sku_code", "B": "name", "D": "packaging_format", "E": "material", "F": "weight_grams",
         "G": "recycled_content_percent", "H": "markets"},
        {
            "T-1": {"name": "Atún claro 80 g", "packaging_format": "Lata", "material": "metal", "weight_grams": 22.4,
                    "recycled_content_percent": 25, "markets": ["ES"]},
            "T-2": {"name": "Ensalada 200 g", "packaging_format": "Barqueta", "material": "plastic",
                    "weight_grams": 13.6, "recycled_content_percent": 70, "markets": ["ES", "PT"]},
        },
    )  # fmt: skip


def italian_parts() -> Sent:
    """A line for each part, the code of the Decision beside the material's name."""
    lines = [
        "Cod. Art.;Prodotto;Elemento;Materiale;Codice 97/129/CE;Peso (gr)",
        "V-1;Passata 700 g;Bottiglia;Vetro;GL 71;310,0",
        "V-1;Passata 700 g;Tappo;Banda stagnata;FE 40;8,2",
        "V-2;Olio 500 ml;Lattina;Banda stagnata;FE 40;88,0",
    ]
    return Sent(
        "later italian parts",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "component_type", "D": "material_family", "E": "polymer_or_grade",
         "F": "weight_g"},
        {
            "V-1": {"name": "Passata 700 g", "components": [
                {"component_type": "body", "material_family": "glass", "weight_g": 310},
                {"component_type": "cap", "material_family": "metal", "weight_g": 8.2}]},
            "V-2": {"name": "Olio 500 ml", "components": [
                {"component_type": "body", "material_family": "metal", "weight_g": 88}]},
        },
    )  # fmt: skip


FILES = (
    french_specification,
    french_export,
    german_numbered,
    german_packaging_master,
    english_levels_in_headers,
    english_items,
    spanish_supplier,
    italian_parts,
)
