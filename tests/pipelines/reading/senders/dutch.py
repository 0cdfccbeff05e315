"""Dutch and Belgian: a declaration of materials, a list, and a form whose headers say everything in two languages."""

from tests.pipelines.reading.senders.sent import LEFT, Computed, Sent, Shown, book, gtin, text

KAAS, BIER, VLA = gtin("871234500001"), gtin("541234500002"), gtin("871234500003")


def material_declaration() -> Sent:
    """A supplier's answer for the packaging levy: grams per material, a computed total, a line of totals."""
    rows = [
        ["Verpakkingsopgave 2025", LEFT, LEFT],
        ["Leverancier:", "Kaasmakerij De Weide B.V."],
        [],
        ["Artikelnummer", "Artikelomschrijving", "EAN-code", "Papier/karton (gram)", "Kunststof (gram)", "Glas (gram)",
         "Aluminium (gram)", "Hout (gram)", "Totaal (gram)"],
        ["3001", "Jonge kaas plakken 200 g", int(KAAS), 0, 11.2, 0, 0, 0, Computed("=SUM(D5:H5)", 11.2)],
        ["3002", "Vla vanille 1 L", int(VLA), 27.4, 5.1, 0, 1.3, 0, Computed("=SUM(D6:H6)", 33.8)],
        ["Totaal", None, None, 27.4, 16.3, 0, 1.3, 0, 45],
    ]  # fmt: skip
    return Sent(
        "dutch material declaration",
        book({"Opgave": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "component_1_weight_g", "E": "component_2_weight_g",
         "F": "component_3_weight_g", "G": "component_4_weight_g", "H": "component_5_weight_g"},
        {
            "3001": {"name": "Jonge kaas plakken 200 g", "gtin": KAAS,
                     "components": [{"material_family": "plastic", "weight_g": 11.2}]},
            "3002": {"name": "Vla vanille 1 L", "gtin": VLA, "components": [
                {"material_family": "paper", "weight_g": 27.4}, {"material_family": "plastic", "weight_g": 5.1},
                {"material_family": "metal", "weight_g": 1.3}]},
        },
    )  # fmt: skip


def packaging_list() -> Sent:
    """A semicolon file: ja/nee, `n.v.t.` for not applicable, decimal commas."""
    lines = [
        (
            "Artikelcode;Omschrijving;Verpakkingsmateriaal;Gewicht verpakking (gr);Gerecycled materiaal (%);"
            "Herbruikbaar;Voedselcontact;Landen"
        ),
        "NL-1;Krat bier 24x30 cl;Kunststof;1850,0;40;Ja;Nee;Nederland, België",
        "NL-2;Pot appelmoes;Glas;310,5;55;Nee;Ja;NL",
        "NL-3;Verzenddoos;Golfkarton;92,3;n.v.t.;Nee;Nee;NL;",
    ]
    return Sent(
        "dutch list",
        text([line.rstrip(";") for line in lines]),
        {"A": "sku_code", "B": "name", "C": "material", "D": "weight_grams", "E": "recycled_content_percent",
         "F": "reusable", "G": "food_contact", "H": "markets"},
        {
            "NL-1": {"name": "Krat bier 24x30 cl", "material": "plastic", "weight_grams": 1850,
                     "recycled_content_percent": 40, "reusable": True, "food_contact": False, "markets": ["NL", "BE"]},
            "NL-2": {"name": "Pot appelmoes", "material": "glass", "weight_grams": 310.5,
                     "recycled_content_percent": 55, "reusable": False, "food_contact": True, "markets": ["NL"]},
            "NL-3": {"name": "Verzenddoos", "material": "paper", "weight_grams": 92.3, "reusable": False,
                     "food_contact": False, "markets": ["NL"]},
        },
    )  # fmt: skip


def bilingual_form() -> Sent:
    """A Belgian retailer's form: every header in French and Dutch, the weight shown with its unit by the format."""
    rows = [
        ["Référence / Artikelnummer", "Désignation / Omschrijving", "EAN", "Matériau / Materiaal",
         "Poids emballage / Gewicht verpakking (g)", "% recyclé / % gerecycleerd", "Réutilisable / Herbruikbaar"],
        ["BE-11", "Bière blonde 33 cl", int(BIER), "Verre / Glas", Shown(205, '0.0 "g"'), Shown(0.4, "0%"),
         "Oui / Ja"],
        ["BE-12", "Gaufres 10 pc", int(KAAS), "Plastique / Kunststof", Shown(8.75, '0.00 "g"'), Shown(0, "0%"),
         "Non / Nee"],
    ]  # fmt: skip
    return Sent(
        "belgian bilingual form",
        book({"Formulaire": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "material", "E": "weight_grams",
         "F": "recycled_content_percent", "G": "reusable"},
        {
            "BE-11": {"name": "Bière blonde 33 cl", "gtin": BIER, "material": "glass", "weight_grams": 205,
                      "recycled_content_percent": 40, "reusable": True},
            "BE-12": {"name": "Gaufres 10 pc", "gtin": KAAS, "material": "plastic", "weight_grams": 8.75,
                      "recycled_content_percent": 0, "reusable": False},
        },
    )  # fmt: skip


def canadian_export() -> Sent:
    """An importer's comma file with both languages in each header."""
    lines = [
        "Code produit / Product code,Description,Matériau / Material,Poids / Weight (g),Format,Marchés / Markets",
        "CA-1,Sirop d'érable 540 mL,Métal / Metal,72.5,Boîte / Can,FR;BE",
        "CA-2,Beurre d'érable 330 g,Verre / Glass,198,Pot / Jar,FR",
    ]
    return Sent(
        "canadian bilingual export",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name", "C": "material", "D": "weight_grams", "E": "packaging_format", "F": "markets"},
        {
            "CA-1": {"name": "Sirop d'érable 540 mL", "material": "metal", "weight_grams": 72.5,
                     "packaging_format": "Boîte / Can", "markets": ["FR", "BE"]},
            "CA-2": {"name": "Beurre d'érable 330 g", "material": "glass", "weight_grams": 198,
                     "packaging_format": "Pot / Jar", "markets": ["FR"]},
        },
    )  # fmt: skip


FILES = (material_declaration, packaging_list, bilingual_form, canadian_export)
