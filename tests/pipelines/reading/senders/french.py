"""French: a retailer's supplier form, an eco-contribution declaration, ERP exports, a laboratory's sheet."""

from tests.pipelines.reading.senders.sent import LEFT, UNITS_OF_2025, UP, Computed, Sent, Shown, book, gtin, text

SARDINES, THON, CREME = gtin("325039001716"), gtin("325039002074"), gtin("325039003001")


def supplier_form() -> Sent:
    """A private label's form: titles, the three packaging levels side by side, a signature. The SKU is what is sold."""
    rows = [
        ["FICHE EMBALLAGE FOURNISSEUR - MDD", *[LEFT] * 13],
        ["Fournisseur :", "CONSERVERIES DU LITTORAL SAS", None, None, "Date :", "12/03/2026"],
        ["Merci de compléter une ligne par référence. Les champs marqués d'un * sont obligatoires."],
        [],
        ["Identification produit", LEFT, LEFT, LEFT, "Emballage primaire (UVC)", *[LEFT] * 4,
         "Emballage secondaire (carton)", LEFT, LEFT, "Emballage tertiaire (palette)", LEFT],
        ["Code article *", "Libellé article *", "GTIN UVC", "Marque", "Type d'emballage", "Matériau *",
         "Poids unitaire (g) *", "% matière recyclée", "Contact alimentaire (O/N)", "Type", "Matériau", "Poids (g)",
         "Matériau", "Poids (kg)"],
        ["CL-1042", "Sardines à l'huile d'olive 115 g", int(SARDINES), "Ty Gwenn", "Boîte", "Aluminium", 24.3,
         Shown(0.45, "0%"), "O", "Caisse", "Carton", 310, "Bois", 22],
        ["CL-1043", "Thon albacore 160 g", int(THON), "Ty Gwenn", "Boîte", "Acier", 38, Shown(0.6, "0%"), "O",
         "Caisse", "Carton", 295, "Bois", 22],
        ["CL-1050", "Soupe de poisson 75 cl", "s.o.", "Ty Gwenn", "Bocal", "Verre", 342.5, "n.c.", "O", "Caisse",
         "Carton", 410, "Bois", 22],
        [],
        ["Visa fournisseur :", None, None, None, "Visa qualité :"],
    ]  # fmt: skip
    return Sent(
        "french supplier form",
        book({"Notice": [["Comment remplir la fiche"], ["1. Une ligne par article"]], "Fiche": rows,
              "Listes": [["Matériau"], ["Verre"], ["Acier"]]}, hidden=["Listes"]),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "brand_id", "E": "packaging_format", "F": "material",
         "G": "weight_grams", "H": "recycled_content_percent", "I": "food_contact"},
        {
            "CL-1042": {"name": "Sardines à l'huile d'olive 115 g", "gtin": SARDINES, "packaging_format": "Boîte",
                        "material": "metal", "weight_grams": 24.3, "recycled_content_percent": 45,
                        "food_contact": True},
            "CL-1043": {"name": "Thon albacore 160 g", "gtin": THON, "packaging_format": "Boîte", "material": "metal",
                        "weight_grams": 38, "recycled_content_percent": 60, "food_contact": True},
            "CL-1050": {"name": "Soupe de poisson 75 cl", "packaging_format": "Bocal", "material": "glass",
                        "weight_grams": 342.5, "food_contact": True},
        },
        unsaid={"D": ["create"]},
    )  # fmt: skip


def eco_contribution() -> Sent:
    """A declaration by material: a weight column each, a computed total, a line of totals."""
    head = [
        "Référence interne",
        "Désignation commerciale",
        "Code EAN",
        "Acier (g)",
        "Aluminium (g)",
        "Papier-carton (g)",
        "Briques (g)",
        "Verre (g)",
        "Plastique PET (g)",
        "Autres plastiques (g)",
        "Poids total (g)",
        "Quantités vendues 2025",
    ]
    rows = [
        ["Déclaration annuelle 2025 - Citeo / Léko", *[LEFT] * 5],
        [],
        head,
        [
            "BIS-01",
            "Biscuits sablés 200 g",
            SARDINES,
            None,
            1.2,
            28.5,
            None,
            None,
            None,
            3.4,
            Computed("=SUM(D4:J4)", 33.1),
            120500,
        ],
        [
            "JUS-07",
            "Jus d'orange 1 L",
            THON,
            None,
            None,
            None,
            31,
            None,
            None,
            2.1,
            Computed("=SUM(D5:J5)", 33.1),
            88000,
        ],
        ["EAU-15", "Eau gazeuse 1,5 L", CREME, 0, 0, 1.5, 0, 0, 32.75, 2, Computed("=SUM(D6:J6)", 36.25), 1040000],
        ["TOTAL", None, None, 0, Computed("=SUM(E4:E6)", 1.2), 30, 31, 0, 32.75, 7.5, 102.45, 1248500],
    ]
    plastic = {"material_family": "plastic"}
    return Sent(
        "french eco-contribution",
        book({"Déclaration": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "component_1_weight_g", "E": "component_2_weight_g",
         "F": "component_3_weight_g", "G": "component_4_weight_g", "H": "component_5_weight_g",
         "I": "component_6_weight_g", "J": "component_7_weight_g", "K": "weight_grams"},
        {
            "BIS-01": {"name": "Biscuits sablés 200 g", "gtin": SARDINES, "weight_grams": 33.1, "components": [
                {"material_family": "metal", "weight_g": 1.2}, {"material_family": "paper", "weight_g": 28.5},
                {**plastic, "weight_g": 3.4}]},
            "JUS-07": {"name": "Jus d'orange 1 L", "gtin": THON, "weight_grams": 33.1, "components": [
                {"material_family": "paper", "weight_g": 31}, {**plastic, "weight_g": 2.1}]},
            "EAU-15": {"name": "Eau gazeuse 1,5 L", "gtin": CREME, "weight_grams": 36.25, "components": [
                {"material_family": "paper", "weight_g": 1.5},
                {**plastic, "weight_g": 32.75, "polymer_or_grade": "PET"}, {**plastic, "weight_g": 2}]},
        },
        unsaid={"L": UNITS_OF_2025},
    )  # fmt: skip


def erp_export() -> Sent:
    """An ERP's export as a French Excel saves it: semicolons, cp1252, decimal commas, words for no answer."""
    lines = [
        (
            "Code article;Désignation;Code EAN;Matière emballage;Poids emballage (g);Taux de matière recyclée (%);"
            "Contact alimentaire;Pays de commercialisation;Date de MAJ"
        ),
        f"000123;Yaourt nature 4x125 g;{SARDINES};PS;18,4;0;Oui;FR,BE;12/08/2026",
        f"000124;Crème dessert à l’œuf 2x100 g;{THON};Verre;205,00;32,5 %;Oui;France;12/08/2026",
        "000125;Sac de caisse;;Papier kraft;1 204,5;s.o.;Non;FR;12/08/2026",
        "000126;Barquette traiteur;-;n.c.;-;-;N/A;FR / BE / LU;12/08/2026",
    ]
    return Sent(
        "french ERP export",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "material", "E": "weight_grams",
         "F": "recycled_content_percent", "G": "food_contact", "H": "markets"},
        {
            "000123": {"name": "Yaourt nature 4x125 g", "gtin": SARDINES, "material": "plastic",
                       "material_subtype": "PS", "weight_grams": 18.4, "recycled_content_percent": 0,
                       "food_contact": True, "markets": ["FR", "BE"]},
            "000124": {"name": "Crème dessert à l’œuf 2x100 g", "gtin": THON, "material": "glass",
                       "weight_grams": 205, "recycled_content_percent": 32.5, "food_contact": True, "markets": ["FR"]},
            "000125": {"name": "Sac de caisse", "material": "paper", "weight_grams": 1204.5, "food_contact": False,
                       "markets": ["FR"]},
            "000126": {"name": "Barquette traiteur", "markets": ["FR", "BE", "LU"]},
        },
    )  # fmt: skip


def component_sheet() -> Sent:
    """A cosmetics laboratory's sheet: one line per part, the product merged down over its lines."""
    rows = [
        ["Référence", "Désignation", "Élément", "Matériau", "Code matériau", "Poids (g)", "% recyclé", "Couleur"],
        ["COS-200", "Lait corps 200 ml", "Flacon", "PEHD", "HDPE 2", 22.4, 50, "Blanc"],
        [UP, UP, "Pompe", "PP", "PP 5", 6.1, 0, "Transparent"],
        [UP, UP, "Étiquette", "Papier", "PAP 22", 0.8, None, None],
        ["COS-050", "Crème visage 50 ml", "Pot", "Verre", "GL 70", 98, 15, "Transparent"],
        [UP, UP, "Couvercle", "PP", "PP 5", 11.5, 0, "Blanc"],
        [UP, UP, "Étui", "Carton", "PAP 21", 14.2, 80, None],
    ]
    return Sent(
        "french component sheet",
        book({"Emballages": rows}),
        {"A": "sku_code", "B": "name", "C": "component_type", "D": "material_family", "E": "polymer_or_grade",
         "F": "weight_g", "G": "recycled_content_percent", "H": "colour"},
        {
            "COS-200": {"name": "Lait corps 200 ml", "components": [
                {"component_type": "body", "material_family": "plastic", "weight_g": 22.4, "colour": "opaque",
                 "recycled_content_percent": 50},
                {"component_type": "pump", "material_family": "plastic", "weight_g": 6.1, "colour": "transparent",
                 "recycled_content_percent": 0},
                {"component_type": "label", "material_family": "paper", "weight_g": 0.8}]},
            "COS-050": {"name": "Crème visage 50 ml", "components": [
                {"component_type": "body", "material_family": "glass", "weight_g": 98, "colour": "transparent",
                 "recycled_content_percent": 15},
                {"component_type": "cap", "material_family": "plastic", "weight_g": 11.5, "colour": "opaque",
                 "recycled_content_percent": 0},
                {"component_type": "body", "material_family": "paper", "weight_g": 14.2,
                 "recycled_content_percent": 80}]},
        },
    )  # fmt: skip


def marketplace_sheet() -> Sent:
    """A seller's list with two sheets, the second of parts; composite materials with shares, which are two readings."""
    skus = [
        ["Code produit", "Nom du produit", "Niveau d'emballage", "Matière", "Poids emballage", "Marchés",
         "Réutilisable"],
        ["MP-1", "Gourde isotherme", "Primaire", "Carton", "85 g", "FR, DE, ES", "Non"],
        ["MP-2", "Coffret thé", "Primaire", "carton 80 % / PE 20 %", "0,120 kg", "France ; Allemagne", "Non"],
        ["MP-3", "Carton d'expédition", "Tertiaire", "Carton ondulé", "412 g", "FR", "Oui"],
    ]  # fmt: skip
    parts = [
        ["Code produit", "Composant", "Matière", "Poids (g)"],
        ["MP-1", "Corps", "Carton", 80],
        ["MP-1", "Étiquette", "Papier", 5],
    ]
    return Sent(
        "french marketplace sheet",
        book({"Lisez-moi": [["Version 3"]], "Produits": skus, "Composants": parts}),
        {"A": "sku_code", "B": "name", "C": "packaging_level", "D": "material", "E": "weight_grams", "F": "markets",
         "G": "reusable"},
        {
            "MP-1": {"name": "Gourde isotherme", "packaging_level": "sales", "material": "paper", "weight_grams": 85,
                     "markets": ["FR", "DE", "ES"], "reusable": False,
                     "components": [{"component_type": "body", "material_family": "paper", "weight_g": 80},
                                    {"component_type": "label", "material_family": "paper", "weight_g": 5}]},
            "MP-3": {"name": "Carton d'expédition", "packaging_level": "transport", "material": "paper",
                     "weight_grams": 412, "markets": ["FR"], "reusable": True},
        },
        asked=[(3, "material")],
    )  # fmt: skip


FILES = (supplier_form, eco_contribution, erp_export, component_sheet, marketplace_sheet)
