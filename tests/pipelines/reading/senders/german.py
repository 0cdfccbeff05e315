"""German: a dual system's list of materials, an ERP's material master, packaging data sheets, a shop's export."""

from tests.pipelines.reading.senders.sent import LEFT, UP, Computed, Sent, book, gtin, text

SENF, HONIG, GEL = gtin("400123400001"), gtin("400123400002"), gtin("400123400003")


def dual_system_list() -> Sent:
    """A list for a dual system: fractions under a merged title, their unit in a line of its own, sums at the end."""
    rows = [
        ["Verpackungsmengen 2025 – Systembeteiligung (LUCID)", *[LEFT] * 6],
        ["Hersteller: Senfmühle Weser GmbH", None, None, "LUCID-Nr.: DE1234567890123"],
        [],
        ["Art.-Nr.", "Artikelbezeichnung", "EAN", "Verpackungsgewicht je Verkaufseinheit", *[LEFT] * 5, "Summe"],
        [UP, UP, UP, "Glas", "PPK", "Eisenmetalle", "Aluminium", "Kunststoffe", "Sonstige Verbundverpackungen", UP],
        [None, None, None, "g", "g", "g", "g", "g", "g", "g"],
        ["10010", "Senf mittelscharf 250 ml", int(SENF), 165.2, 1.1, 7.4, None, 0.6, None,
         Computed("=SUM(D7:I7)", 174.3)],
        ["10020", "Honig 500 g", int(HONIG), 210, 1.4, None, None, 8.5, None, Computed("=SUM(D8:I8)", 219.9)],
        ["10035", "Senf-Tube 100 ml", int(GEL), None, 12, None, 9.8, 2.2, None, Computed("=SUM(D9:I9)", 24)],
        ["Summe", None, None, 375.2, 14.5, 7.4, 9.8, 11.3, 0, 418.2],
        [],
        ["Angaben ohne Gewähr. k.A. = keine Angabe"],
    ]  # fmt: skip
    plastic = {"material_family": "plastic"}
    return Sent(
        "german dual system list",
        book({"Artikel": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "component_1_weight_g", "E": "component_2_weight_g",
         "F": "component_3_weight_g", "G": "component_4_weight_g", "H": "component_5_weight_g",
         "I": "component_6_weight_g"},
        {
            "10010": {"name": "Senf mittelscharf 250 ml", "gtin": SENF, "components": [
                {"material_family": "glass", "weight_g": 165.2}, {"material_family": "paper", "weight_g": 1.1},
                {"material_family": "metal", "weight_g": 7.4}, {**plastic, "weight_g": 0.6}]},
            "10020": {"name": "Honig 500 g", "gtin": HONIG, "components": [
                {"material_family": "glass", "weight_g": 210}, {"material_family": "paper", "weight_g": 1.4},
                {**plastic, "weight_g": 8.5}]},
            "10035": {"name": "Senf-Tube 100 ml", "gtin": GEL, "components": [
                {"material_family": "paper", "weight_g": 12}, {"material_family": "metal", "weight_g": 9.8},
                {**plastic, "weight_g": 2.2}]},
        },
    )  # fmt: skip


def material_master() -> Sent:
    """An ERP's material master: `Material` is its number, gross and net are the product's, the unit a column."""
    lines = [
        (
            "Materialnummer;Materialkurztext;WGr;Bruttogewicht;Nettogewicht;GEW;EAN/UPC;Verpackungsmaterial;"
            "Verpackungsgewicht;Gewichtseinheit"
        ),
        f"000000000000104711;Duschgel Sport 250ml;WG01;0,289;0,250;KG;{GEL};HDPE;0,0312;KG",
        f"000000000000104712;Seife fest 3er;WG01;0,330;0,300;KG;{SENF};Karton;14,5;G",
        "000000000000104713;Nachfüllbeutel 1 l;WG02;1,030;1,000;KG;;PE-LD;28.000;MG",
    ]
    return Sent(
        "german material master",
        text(lines),
        {"A": "sku_code", "B": "name", "G": "gtin", "H": "material", "I": "weight_grams", "J": "weight_unit"},
        {
            "000000000000104711": {"name": "Duschgel Sport 250ml", "gtin": GEL, "material": "plastic",
                                   "material_subtype": "HDPE", "weight_grams": 31.2},
            "000000000000104712": {"name": "Seife fest 3er", "gtin": SENF, "material": "paper", "weight_grams": 14.5},
            "000000000000104713": {"name": "Nachfüllbeutel 1 l", "material": "plastic", "weight_grams": 28},
        },
    )  # fmt: skip


def material_is_the_number() -> Sent:
    """The same system's shorter export, where the column `Material` holds the article's number."""
    lines = [
        "Material;Materialkurztext;Packmittel;Verpackungsgewicht (g)",
        "104711;Duschgel Sport 250ml;Flasche;31,2",
        "104712;Seife fest 3er;Faltschachtel;14,5",
    ]
    return Sent(
        "german export headed Material",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "packaging_format", "D": "weight_grams"},
        {
            "104711": {"name": "Duschgel Sport 250ml", "packaging_format": "Flasche", "weight_grams": 31.2},
            "104712": {"name": "Seife fest 3er", "packaging_format": "Faltschachtel", "weight_grams": 14.5},
        },
        refused=("missing_column",),
        mapping={"columns": {"sku_code": "A"}},
    )


def data_sheet() -> Sent:
    """A supplier's packaging data sheet, one line per part, units in square brackets, `k.A.` where nothing is known."""
    rows = [
        ["Verpackungsdatenblatt", LEFT, LEFT],
        ["Stand: 03.11.2026", None, None],
        [],
        ["Artikel-Nr.", "Bezeichnung", "Verpackungsart", "Verpackungsbestandteil", "Werkstoff", "Gewicht [g]",
         "Rezyklatanteil [%]", "Farbe", "Lebensmittelkontakt"],
        ["4711-A", "Joghurt 500 g", "Verkaufsverpackung", "Becher", "PP", "11,8", "0", "weiß", "ja"],
        ["4711-A", "Joghurt 500 g", "Verkaufsverpackung", "Platine", "Aluminium", "0,9", "k.A.", "k.A.", "ja"],
        ["4711-A", "Joghurt 500 g", "Verkaufsverpackung", "Etikett", "Papier", "1,2", "k. A.", "-", "ja"],
        ["4712-B", "Apfelmus 360 g", "Verkaufsverpackung", "Glas", "Glas", "185", "60", "transparent", "ja"],
        ["4712-B", "Apfelmus 360 g", "Verkaufsverpackung", "Deckel", "Weißblech", "7,5", "k.A.", "k.A.", "ja"],
        [],
        ["Ort, Datum, Unterschrift"],
    ]  # fmt: skip
    return Sent(
        "german data sheet",
        book({"Datenblatt": rows}),
        {"A": "sku_code", "B": "name", "C": "packaging_level", "D": "component_type", "E": "material_family",
         "F": "weight_g", "G": "recycled_content_percent", "H": "colour", "I": "food_contact"},
        {
            "4711-A": {"name": "Joghurt 500 g", "packaging_level": "sales", "food_contact": True, "components": [
                {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 11.8,
                 "recycled_content_percent": 0, "colour": "opaque"},
                {"component_type": "seal", "material_family": "metal", "weight_g": 0.9},
                {"component_type": "label", "material_family": "paper", "weight_g": 1.2}]},
            "4712-B": {"name": "Apfelmus 360 g", "packaging_level": "sales", "food_contact": True, "components": [
                {"component_type": "body", "material_family": "glass", "weight_g": 185, "colour": "transparent",
                 "recycled_content_percent": 60},
                {"component_type": "cap", "material_family": "metal", "weight_g": 7.5}]},
        },
    )  # fmt: skip


def mixed_levels() -> Sent:
    """A list whose lines of one article are of two levels. The outer box holds many units: it is no part of one."""
    rows = [
        ["Artikelnummer", "Artikelbezeichnung", "Verpackungsebene", "Materialart", "Gewicht in g"],
        ["8801", "Shampoo 300 ml", "Verkaufsverpackung", "Kunststoff", 31.5],
        ["8801", "Shampoo 300 ml", "Transportverpackung", "PPK", 240],
        ["8802", "Seife 100 g", "Verkaufsverpackung", "PPK", 6.5],
    ]
    return Sent(
        "german mixed levels",
        book({"Liste": rows}),
        {"A": "sku_code", "B": "name", "C": "packaging_level", "D": "material_family", "E": "weight_g"},
        {"8802": {"name": "Seife 100 g", "packaging_level": "sales", "material": "paper", "weight_grams": 6.5}},
        asked=[(3, None)],
    )


def shop_export() -> Sent:
    """A shop system's export: tabs, UTF-8 with a byte order mark, decimal points, kilograms, names of countries."""
    lines = [
        (
            "Artikelnummer\tArtikelname\tGTIN\tHAN\tVerpackungsgewicht (kg)\tVersandgewicht (kg)\tVerpackungsmaterial\t"
            "Herkunftsland\tAbsatzländer"
        ),
        f"SW-1001\tTrinkflasche 0,5l\t{HONIG}\tTF05\t0.045\t0.350\tPappe\tCN\tDeutschland, Österreich",
        "SW-1002\tBrotdose\t\tBD1\t0.032\t0.410\tPolypropylen\tDE\tDeutschland",
    ]
    return Sent(
        "german shop export",
        text(lines, "utf-8-sig"),
        {"A": "sku_code", "B": "name", "C": "gtin", "E": "weight_grams", "G": "material", "I": "markets"},
        {
            "SW-1001": {"name": "Trinkflasche 0,5l", "gtin": HONIG, "weight_grams": 45, "material": "paper",
                        "markets": ["DE", "AT"]},
            "SW-1002": {"name": "Brotdose", "weight_grams": 32, "material": "plastic", "markets": ["DE"]},
        },
    )  # fmt: skip


FILES = (dual_system_list, material_master, material_is_the_number, data_sheet, mixed_levels, shop_export)
