"""Forms of retailers and of collection schemes: weights by material, parts side by side, parts below each other."""

from tests.pipelines.reading.senders.sent import LEFT, UNITS_OF_2025, UP, Sent, book, part, text


def weights_by_resin() -> Sent:
    """A column for each resin of plastic, as French schemes ask."""
    lines = [
        (
            "Code produit;Libellé produit;Code EAN;Nombre d'UVC mises en marché 2025;Nb unités d'emballage;"
            "Acier (g);Aluminium (g);Papier-Carton (g);Brique (g);Plastique - PET clair (g);Plastique - PEHD (g);"
            "Verre (g);Autres matériaux (g)"
        ),
        "SIR-750;Sirop de grenadine 75 cl;3250390017165;125000;3;;2,4;6,1;;;;412,5;",
        "LAIT-1L;Lait demi-écrémé 1 L;3560070976478;890000;2;;;0;28,6;;3,1;;",
        "EAU-6x150;Eau de source pack 6x1,5 L;3274080005003;410000;14;;;;;168;12,6;;",
    ]
    return Sent(
        "schemes weights by resin",
        text(lines),
        {"A": "sku_code",
         "B": "name",
         "C": "gtin",
         "F": "metal_steel_weight_g",
         "G": "metal_aluminium_weight_g",
         "H": "paper_weight_g",
         "I": "paper_beverage_carton_weight_g",
         "J": "plastic_pet_clair_weight_g",
         "K": "plastic_pehd_weight_g",
         "L": "glass_weight_g",
         "M": "other_weight_g"},
        {"SIR-750": {"name": "Sirop de grenadine 75 cl",
                     "gtin": "3250390017165",
                     "components": [part("body", "metal", 2.4, "aluminium"), part("body", "paper", 6.1),
                                    part("body", "glass", 412.5)]},
         "LAIT-1L": {"name": "Lait demi-écrémé 1 L",
                     "gtin": "3560070976478",
                     "components": [part("body", "paper", 28.6, "beverage carton"),
                                    part("body", "plastic", 3.1, "pehd")]},
         "EAU-6x150": {"name": "Eau de source pack 6x1,5 L",
                       "gtin": "3274080005003",
                       "components": [part("body", "plastic", 168.0, "pet clair"),
                                      part("body", "plastic", 12.6, "pehd")]}},
        unsaid={"D": UNITS_OF_2025},
    )  # fmt: skip


def shares_by_material() -> Sent:
    """`Verpackungsanteil` before each material."""
    lines = [
        (
            "Artikel-ID;Artikelbezeichnung lang;GTIN Einzelartikel;Gewicht Verpackungsanteil Kunststoff in g;"
            "Gewicht Verpackungsanteil Papier/Pappe/Karton in g;Gewicht Verpackungsanteil Glas in g;"
            "Gewicht Verpackungsanteil Weißblech in g;Gewicht Verpackungsanteil Aluminium in g;"
            "Gewicht Verpackungsanteil Verbund in g;Füllgewicht in g"
        ),
        "20-331;Rotkohl 680 g;4006381333931;0;1,8;285;14,2;0;0;680",
        "20-332;Gurkenscheiben 330 g;4006381333948;0;1,1;190;9,6;0;0;330",
    ]
    return Sent(
        "schemes shares by material",
        text(lines),
        {"A": "sku_code",
         "B": "name",
         "C": "gtin",
         "D": "plastic_weight_g",
         "E": "paper_weight_g",
         "F": "glass_weight_g",
         "G": "metal_tinplate_weight_g",
         "H": "metal_aluminium_weight_g",
         "I": "composite_weight_g"},
        {"20-331": {"name": "Rotkohl 680 g",
                    "gtin": "4006381333931",
                    "components": [part("body", "paper", 1.8), part("body", "glass", 285.0),
                                   part("body", "metal", 14.2, "tinplate")]},
         "20-332": {"name": "Gurkenscheiben 330 g",
                    "gtin": "4006381333948",
                    "components": [part("body", "paper", 1.1), part("body", "glass", 190.0),
                                   part("body", "metal", 9.6, "tinplate")]}},
    )  # fmt: skip


def numbered_titles() -> Sent:
    """Titles with the number of the component over columns that are named alike."""
    rows = [
        ["Own Brand Packaging Data Questionnaire v4.2"],
        ["Please complete one row per product. Fields marked * are mandatory."],
        ["Product details", LEFT, LEFT, "Packaging component 1", LEFT, LEFT, LEFT, "Packaging component 2",
         LEFT, LEFT, LEFT],
        ["TPN *", "Product description *", "Unit barcode", "Component", "Material *", "Weight (g) *",
         "Recycled content %", "Component", "Material *", "Weight (g) *", "Recycled content %"],
        ["050123456", "Chicken breast fillets 650g", "5000169005231", "Tray", "rPET", 18.4, 85,
         "Lidding film", "PET/PE", 3.2, 0],
        ["050123457", "Beef mince 500g", "5000169005248", "Tray", "rPET", 16.1, 85, "Lidding film", "PET/PE",
         2.9, 0],
    ]  # fmt: skip
    return Sent(
        "schemes numbered titles",
        book({"Sheet1": rows}),
        {"A": "sku_code",
         "B": "name",
         "C": "gtin",
         "D": "component_1_component_type",
         "E": "component_1_material_family",
         "F": "component_1_weight_g",
         "G": "component_1_recycled_content_percent",
         "H": "component_2_component_type",
         "I": "component_2_material_family",
         "J": "component_2_weight_g",
         "K": "component_2_recycled_content_percent"},
        {"050123456": {"name": "Chicken breast fillets 650g",
                       "gtin": "5000169005231",
                       "components": [part("body", "plastic", 18.4, "rPET", recycled_content_percent=85.0),
                                      part("seal", "plastic", 3.2, "PET/PE", recycled_content_percent=0.0)]},
         "050123457": {"name": "Beef mince 500g",
                       "gtin": "5000169005248",
                       "components": [part("body", "plastic", 16.1, "rPET", recycled_content_percent=85.0),
                                      part("seal", "plastic", 2.9, "PET/PE", recycled_content_percent=0.0)]}},
    )  # fmt: skip


def food_contact_by_part() -> Sent:
    """Food contact said of each part: the SKU touches food where one of them does."""
    rows = [
        ["FICHE EMBALLAGE FOURNISSEUR"],
        [],
        ["Réf. fournisseur", "Désignation du produit", "GTIN UVC", "Élément d'emballage", "Matériau",
         "Résine / type", "Poids unitaire (g)", "Taux d'incorporation de recyclé (%)", "Couleur",
         "Contact alimentaire (O/N)"],
        ["F-2201", "Compote pomme 4x100 g", "3250390017165", "Pot", "Plastique", "PP", "4,2", "0", "Blanc",
         "O"],
        [UP, UP, UP, "Opercule", "Aluminium", "", "0,6", "0", "", "O"],
        [UP, UP, UP, "Étui", "Carton", "", "14,8", "70", "", "N"],
        ["F-2202", "Crème dessert vanille", "3560070976478", "Pot", "Plastique", "PS", "5,1", "0", "Blanc",
         "O"],
        [UP, UP, UP, "Opercule", "Aluminium", "", "0,7", "0", "", "O"],
    ]  # fmt: skip
    return Sent(
        "schemes food contact by part",
        book({"Sheet1": rows}),
        {"A": "sku_code",
         "B": "name",
         "C": "gtin",
         "J": "food_contact",
         "D": "component_type",
         "I": "colour",
         "E": "material_family",
         "F": "polymer_or_grade",
         "G": "weight_g",
         "H": "recycled_content_percent"},
        {"F-2201": {"name": "Compote pomme 4x100 g",
                    "gtin": "3250390017165",
                    "food_contact": True,
                    "components": [part("body", "plastic", 4.2, "PP", colour="opaque", recycled_content_percent=0.0),
                                   part("seal", "metal", 0.6, recycled_content_percent=0.0),
                                   part("body", "paper", 14.8, recycled_content_percent=70.0)]},
         "F-2202": {"name": "Crème dessert vanille",
                    "gtin": "3560070976478",
                    "food_contact": True,
                    "components": [part("body", "plastic", 5.1, "PS", colour="opaque", recycled_content_percent=0.0),
                                   part("seal", "metal", 0.7, recycled_content_percent=0.0)]}},
    )  # fmt: skip


def numbered_abbreviations() -> Sent:
    """`VP 1` for the first part."""
    lines = [
        (
            "Lieferantenartikelnummer;Produktname;EAN Verbrauchereinheit;VP 1 Bestandteil;VP 1 Material;"
            "VP 1 Gewicht [g];VP 1 Rezyklatanteil [%];VP 2 Bestandteil;VP 2 Material;VP 2 Gewicht [g];"
            "VP 2 Rezyklatanteil [%];Vertriebsländer"
        ),
        "L-88001;Duschgel Meer 300 ml;4006381333931;Flasche;HDPE;24,5;50;Verschluss;PP;4,2;0;DE, AT",
        "L-88002;Duschgel Lavendel 300 ml;4006381333948;Flasche;HDPE;24,5;50;Verschluss;PP;4,2;0;DE",
    ]
    return Sent(
        "schemes numbered abbreviations",
        text(lines, "utf-8-sig"),
        {"A": "sku_code",
         "B": "name",
         "C": "gtin",
         "L": "markets",
         "D": "component_1_component_type",
         "E": "component_1_material_family",
         "F": "component_1_weight_g",
         "G": "component_1_recycled_content_percent",
         "H": "component_2_component_type",
         "I": "component_2_material_family",
         "J": "component_2_weight_g",
         "K": "component_2_recycled_content_percent"},
        {"L-88001": {"name": "Duschgel Meer 300 ml",
                     "gtin": "4006381333931",
                     "markets": ["DE", "AT"],
                     "components": [part("body", "plastic", 24.5, "HDPE", recycled_content_percent=50.0),
                                    part("closure", "plastic", 4.2, "PP", recycled_content_percent=0.0)]},
         "L-88002": {"name": "Duschgel Lavendel 300 ml",
                     "gtin": "4006381333948",
                     "markets": ["DE"],
                     "components": [part("body", "plastic", 24.5, "HDPE", recycled_content_percent=50.0),
                                    part("closure", "plastic", 4.2, "PP", recycled_content_percent=0.0)]}},
    )  # fmt: skip


FILES = [weights_by_resin, shares_by_material, numbered_titles, food_contact_by_part, numbered_abbreviations]
