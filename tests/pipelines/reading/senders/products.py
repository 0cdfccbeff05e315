"""Exports that are made for other ends: shops, warehouses, data pools, schemes. What is the product's is not stored.

Codes by the names of systems, numbers of vendors, weights of products, units in columns of their own.
"""

from tests.pipelines.reading.senders.sent import Sent, part, text

EAN = "4006381333931"
WEIGHT = ["weight_grams"]


def sap_tables() -> Sent:
    """Technical names of the material master: gross and net weight are the product's."""
    lines = [
        "MATNR;MAKTX;MTART;BRGEW;NTGEW;GEWEI;EAN11;LIFNR",
        f"000000000010004711;Joghurt Natur 150g;FERT;162,4;150,0;G;{EAN};0000100077",
    ]
    return Sent(
        "products sap tables",
        text(lines),
        {"A": "sku_code", "B": "name", "G": "gtin"},
        {"000000000010004711": {"name": "Joghurt Natur 150g", "gtin": EAN}},
    )


def odoo_templates() -> Sent:
    """The code is `default_code`, beside an external id; the weight is shipped."""
    lines = [
        "id,default_code,name,barcode,weight,volume,product_tmpl_id/id",
        f"__export__.product_1,DESK-1,Desk,{EAN},12.5,0.2,__export__.tmpl_1",
    ]
    return Sent(
        "products odoo",
        text(lines, "utf-8"),
        {"B": "sku_code", "C": "name", "D": "gtin"},
        {"DESK-1": {"name": "Desk", "gtin": EAN}},
        unsaid={"E": WEIGHT},
    )


def shopify_variants() -> Sent:
    """A vendor's name is no code, grams of a variant are the product's."""
    lines = [
        "Handle,Title,Vendor,Type,Variant SKU,Variant Grams,Variant Barcode,Variant Weight Unit",
        f"tee,Tee,Acme,Shirts,TEE-S,210,{EAN},kg",
    ]
    return Sent(
        "products shopify",
        text(lines, "utf-8"),
        {"B": "name", "E": "sku_code", "G": "gtin"},
        {"TEE-S": {"name": "Tee", "gtin": EAN}},
    )


def shop_plugin() -> Sent:
    """An internal id stands back behind the SKU."""
    lines = ["ID,Type,SKU,Name,Weight (kg),Length (cm),Width (cm)", "11,simple,MUG-1,Mug,0.4,10,10"]
    return Sent(
        "products shop plugin",
        text(lines, "utf-8"),
        {"C": "sku_code", "D": "name"},
        {"MUG-1": {"name": "Mug"}},
        unsaid={"E": WEIGHT},
    )


def marketplace() -> Sent:
    """A package is what is shipped, product and all."""
    lines = ["seller-sku,item-name,item_weight,package_weight,package_length", "S1,Mug,0.4,0.5,10"]
    return Sent(
        "products marketplace",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name"},
        {"S1": {"name": "Mug"}},
        unsaid={"D": WEIGHT},
    )


def feed_of_furniture() -> Sent:
    """Sizes and a weight of kilograms; the material is the chair's."""
    lines = ["product_id,name,length_cm,width_cm,height_cm,weight_kg,material", "P1,Chair,40,40,90,3.5,wood"]
    return Sent(
        "products feed",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name"},
        {"P1": {"name": "Chair"}},
        unsaid={"F": WEIGHT, "G": ["material"]},
    )


def vendors_catalogue() -> Sent:
    """Two products of one vendor are two SKUs."""
    lines = ["vendor_id;vendor_name;sku_id;title;Verp.-gewicht;UOM", "77;ACME;A1;Box;0,012;KGM", "77;ACME;A2;Bag;3;GRM"]
    return Sent(
        "products vendors",
        text(lines, "utf-8"),
        {"C": "sku_code", "D": "name", "E": "weight_grams", "F": "weight_unit"},
        {"A1": {"name": "Box", "weight_grams": 12}, "A2": {"name": "Bag", "weight_grams": 3}},
    )


def german_wholesale() -> Sent:
    """The manufacturer's article number is the only code; weights for shipping are the product's."""
    lines = [
        "Lieferantennummer;Artikelnummer_Hersteller;Artikelname;EAN;Versandgewicht;Artikelgewicht;Bruttogewicht",
        f"70001;H-1;Tasse;{EAN};0,5;0,4;0,6",
    ]
    return Sent(
        "products german wholesale",
        text(lines),
        {"B": "sku_code", "C": "name", "D": "gtin"},
        {"H-1": {"name": "Tasse", "gtin": EAN}},
    )


def business_central() -> Sent:
    """The vendor's number of the item stands for the code, the vendor's own number does not."""
    lines = [
        "Description,Base Unit of Measure,Gross Weight,Net Weight,Vendor No.,Vendor Item No.",
        "Bicycle,PCS,14,12,V77,77-A",
        "Tandem,PCS,19,17,V77,77-B",
    ]
    return Sent(
        "products business central",
        text(lines, "utf-8"),
        {"A": "name", "F": "sku_code"},
        {"77-A": {"name": "Bicycle"}, "77-B": {"name": "Tandem"}},
    )


def toys_by_material() -> Sent:
    """One column of units for the weights of three materials."""
    lines = ["Artikelnummer;Bezeichnung;Glas;Kunststoff;Papier;Einheit", "L1;Puzzle;0,1;0,003;0,02;KGM"]
    return Sent(
        "products toys by material",
        text(lines),
        {
            "A": "sku_code",
            "B": "name",
            "C": "glass_weight_g",
            "D": "plastic_weight_g",
            "E": "paper_weight_g",
            "F": "glass_weight_unit",
        },
        {
            "L1": {
                "name": "Puzzle",
                "components": [part("body", "glass", 100), part("body", "plastic", 3), part("body", "paper", 20)],
            }
        },
    )


def register_fractions() -> Sent:
    """The material fractions of the German register, in kilograms."""
    lines = [
        (
            "Artikelnummer;Bezeichnung;Glas;Papier, Pappe, Karton;Eisenmetalle;Aluminium;Getränkekartonverpackungen;"
            "Sonstige Verbundverpackungen;Kunststoffe;Sonstige Materialien;Einheit"
        ),
        "A;Set;0,1;0,2;0,3;0,4;0,5;0,6;0,7;0,8;kg",
    ]
    graph = [
        part("body", "glass", 100),
        part("body", "paper", 200),
        part("body", "metal", 300),
        part("body", "metal", 400),
        part("body", "paper", 500),
        part("body", "composite", 600),
        part("body", "plastic", 700),
        part("body", "other", 800),
    ]
    columns = {letter: f"component_{at}_weight_g" for at, letter in enumerate("CDEFGHIJ", 1)}
    return Sent(
        "products register fractions",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name", **columns, "K": "component_1_weight_unit"},
        {"A": {"name": "Set", "components": graph}},
    )


def scheme_with_leather() -> Sent:
    """One weight names a material that nobody knows: its line would weigh too little, the other does not give it."""
    lines = [
        "Référence;Désignation;Poids verre (g);Poids papier (g);Poids cuir (g)",
        "R1;Coffret;100;20;5",
        "R2;Boîte;100;20;",
    ]
    return Sent(
        "products scheme with leather",
        text(lines),
        {"A": "sku_code", "B": "name", "C": "glass_weight_g", "D": "paper_weight_g", "E": "unknown_e_weight_g"},
        {"R2": {"name": "Boîte", "components": [part("body", "glass", 100), part("body", "paper", 20)]}},
        asked=[(2, "unknown_e_weight_g")],
    )


def numbered_with_one_unit() -> Sent:
    """`Weight unit` stands once, behind the first packaging."""
    lines = [
        "SKU,Product,Packaging 1 material,Packaging 1 weight,Weight unit,Packaging 2 material,Packaging 2 weight",
        "S1,Jam,glass,0.2,kg,metal,0.005",
    ]
    return Sent(
        "products numbered with one unit",
        text(lines, "utf-8"),
        {
            "A": "sku_code",
            "B": "name",
            "C": "component_1_material_family",
            "D": "component_1_weight_g",
            "E": "component_1_weight_unit",
            "F": "component_2_material_family",
            "G": "component_2_weight_g",
        },
        {"S1": {"name": "Jam", "components": [part("body", "glass", 200), part("body", "metal", 5)]}},
    )


def data_pool_by_barcode() -> Sent:
    """No code but the barcode; the unit in a column with a long name; gross weight beside."""
    lines = [
        (
            "gtin;tradeItemDescription;packagingMaterialTypeCode;packagingMaterialCompositionQuantity;"
            "packagingMaterialCompositionQuantityUnitOfMeasure;grossWeight;netContent"
        ),
        f"{EAN};Water 1.5 l;PLASTIC;0,0285;KGM;1,53;1,5",
    ]
    return Sent(
        "products data pool by barcode",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name", "C": "material", "D": "weight_grams", "E": "weight_unit"},
        {EAN: {"name": "Water 1.5 l", "gtin": EAN, "material": "plastic", "weight_grams": 28.5}},
    )


def usage_of_levels() -> Sent:
    """`Usage` over levels, a remark below a header, a soft hyphen in another."""
    lines = [
        'Artikelnummer;Bezeichnung;Usage;"Verpackungs\u00adgewicht\nin kg, laut Datenblatt"',
        "A1\u200b;Dose;Primary;0,05",
        "A2;Tray;Secondary;0,2",
    ]
    return Sent(
        "products usage of levels",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name", "C": "packaging_level", "D": "weight_grams"},
        {
            "A1": {"name": "Dose", "packaging_level": "sales", "weight_grams": 50},
            "A2": {"name": "Tray", "packaging_level": "grouped", "weight_grams": 200},
        },
    )


FILES = [
    sap_tables,
    odoo_templates,
    shopify_variants,
    shop_plugin,
    marketplace,
    feed_of_furniture,
    vendors_catalogue,
    german_wholesale,
    business_central,
    toys_by_material,
    register_fractions,
    scheme_with_leather,
    numbered_with_one_unit,
    data_pool_by_barcode,
    usage_of_levels,
]
