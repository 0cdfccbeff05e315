"""Exports of business systems: the packaging's columns stand beside those of the product itself."""

from tests.pipelines.reading.senders.sent import Sent, book, text


def sap_material_master() -> Sent:
    """`Material` is the number of the article where `Verpackungsmaterial` stands beside it."""
    lines = [
        (
            "Material;Materialkurztext;MArt;Warengrp.;Bruttogewicht;Nettogewicht;GewEinh;EAN/UPC;"
            "Verpackungsmaterial;Verpackungsgew.;VerpGewEinh"
        ),
        "000000000010004711;Joghurt Natur 150g;FERT;MOPRO;162,400;150,000;G;4006381333931;Kunststoff;9,700;G",
        "000000000010004712;Joghurt Erdbeer 500g;FERT;MOPRO;0,521;0,500;KG;4006381333948;Kunststoff;0,021;KG",
        "000000000010004713;Sahne 200ml Becher;FERT;MOPRO;212,000;200,000;G;4006381333955;Kunststoff;7,100;G",
    ]
    return Sent(
        "systems sap material master",
        text(lines),
        {"A": "sku_code", "B": "name", "H": "gtin", "I": "material", "J": "weight_grams", "K": "weight_unit"},
        {"000000000010004711": {"name": "Joghurt Natur 150g",
                                "gtin": "4006381333931",
                                "material": "plastic",
                                "weight_grams": 9.7},
         "000000000010004712": {"name": "Joghurt Erdbeer 500g",
                                "gtin": "4006381333948",
                                "material": "plastic",
                                "weight_grams": 21.0},
         "000000000010004713": {"name": "Sahne 200ml Becher",
                                "gtin": "4006381333955",
                                "material": "plastic",
                                "weight_grams": 7.1}},
    )  # fmt: skip


def oracle_items() -> Sent:
    """Upper case with underscores; the product's weight and unit before the packaging's."""
    lines = [
        (
            "ITEM_NUMBER,ITEM_DESCRIPTION,UPC,PRIMARY_UOM_CODE,UNIT_WEIGHT,WEIGHT_UOM_CODE,PKG_MATERIAL,"
            "PKG_LEVEL,PKG_WEIGHT,PKG_WEIGHT_UOM,RECYCLED_PCT,FOOD_CONTACT_FLAG,COUNTRY_CODES"
        ),
        'AS54888,Shampoo 400ml,036000291452,EA,0.43,KG,PLASTIC,PRIMARY,31.2,GRM,30,N,"GB,FR"',
        "AS54999,Conditioner 400ml,012345678905,EA,0.44,KG,PLASTIC,PRIMARY,0.0312,KGM,30,N,GB",
        'AS55000,Shipper 12x,614141007349,EA,5.9,KG,CARDBOARD,TERTIARY,420,GRM,75,N,"GB,FR,DE"',
    ]
    return Sent(
        "systems oracle items",
        text(lines, "utf-8"),
        {"A": "sku_code",
         "B": "name",
         "C": "gtin",
         "G": "material",
         "H": "packaging_level",
         "I": "weight_grams",
         "J": "weight_unit",
         "K": "recycled_content_percent",
         "L": "food_contact",
         "M": "markets"},
        {"AS54888": {"name": "Shampoo 400ml",
                     "gtin": "036000291452",
                     "material": "plastic",
                     "packaging_level": "sales",
                     "weight_grams": 31.2,
                     "recycled_content_percent": 30.0,
                     "food_contact": False,
                     "markets": ["GB", "FR"]},
         "AS54999": {"name": "Conditioner 400ml",
                     "gtin": "012345678905",
                     "material": "plastic",
                     "packaging_level": "sales",
                     "weight_grams": 31.2,
                     "recycled_content_percent": 30.0,
                     "food_contact": False,
                     "markets": ["GB"]},
         "AS55000": {"name": "Shipper 12x",
                     "gtin": "614141007349",
                     "material": "paper",
                     "packaging_level": "transport",
                     "weight_grams": 420.0,
                     "recycled_content_percent": 75.0,
                     "food_contact": False,
                     "markets": ["GB", "FR", "DE"]}},
    )  # fmt: skip


def dynamics_packing_materials() -> Sent:
    """A line for each packing material of an item."""
    rows = [
        ["Item number", "Product name", "Packing unit", "Packing material", "Packing material weight",
         "Weight unit", "Legal entity"],
        ["D0001", "MidRangeSpeaker", "Box", "Cardboard", 412.0, "g", "USMF"],
        ["D0001", "MidRangeSpeaker", "Bag", "Plastic", 18.5, "g", "USMF"],
        ["D0002", "Cabinet", "Box", "Cardboard", 1.9, "kg", "USMF"],
        ["D0002", "Cabinet", "Foam insert", "Plastic", 0.24, "kg", "USMF"],
    ]  # fmt: skip
    return Sent(
        "systems dynamics packing materials",
        book({"Sheet1": rows}),
        {"A": "sku_code", "B": "name", "D": "material", "E": "weight_grams", "F": "weight_unit"},
        {"D0001": {"name": "MidRangeSpeaker",
                   "components": [{"component_type": "body", "material_family": "paper", "weight_g": 412.0},
                                  {"component_type": "body", "material_family": "plastic", "weight_g": 18.5}]},
         "D0002": {"name": "Cabinet",
                   "components": [{"component_type": "body", "material_family": "paper", "weight_g": 1900.0},
                                  {"component_type": "body", "material_family": "plastic", "weight_g": 240.0}]}},
    )  # fmt: skip


def netsuite_items() -> Sent:
    """`Pkg` for the packaging, the product's own weight at the end."""
    lines = [
        (
            "Internal ID,Item Name/Number,Display Name,UPC Code,Pkg Primary Material,Pkg Primary Weight (g),"
            "Pkg Recycled Content %,Country of Origin,Item Weight"
        ),
        "1201,HB-LOTION-250,Hand & body lotion 250 ml,036000291452,HDPE,24.1,50,US,0.31",
        "1202,HB-SOAP-100,Bar soap 100 g,012345678905,Paperboard,6.2,80,US,0.11",
    ]
    return Sent(
        "systems netsuite items",
        text(lines, "utf-8"),
        {"B": "sku_code",
         "C": "name",
         "D": "gtin",
         "E": "material",
         "F": "weight_grams",
         "G": "recycled_content_percent"},
        {"HB-LOTION-250": {"name": "Hand & body lotion 250 ml",
                           "gtin": "036000291452",
                           "material": "plastic",
                           "weight_grams": 24.1,
                           "recycled_content_percent": 50.0},
         "HB-SOAP-100": {"name": "Bar soap 100 g",
                         "gtin": "012345678905",
                         "material": "paper",
                         "weight_grams": 6.2,
                         "recycled_content_percent": 80.0}},
    )  # fmt: skip


FILES = [sap_material_master, oracle_items, dynamics_packing_materials, netsuite_items]
