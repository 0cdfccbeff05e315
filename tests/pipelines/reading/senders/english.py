"""English: a retailer's specification, blocks per level, a producer's list, exports of a shop and of a data pool."""

from schemas.vocabularies import VOCABULARIES
from tests.pipelines.reading.senders.sent import LEFT, UP, Sent, Shown, book, gtin, text

PIE, TEA, WRAP = gtin("500012300001"), gtin("500012300002"), gtin("500012300003")


def retailer_specification() -> Sent:
    """An own-label specification: a block of details above, one line per part, product cells merged down."""
    rows = [
        ["Own Label Packaging Specification", *[LEFT] * 5],
        ["Supplier name:", "Pennine Bakers Ltd", None, "Site code:", "PB01"],
        ["Completed by:", "QA", None, "Issue date:", "14/09/2026"],
        [],
        ["Please weigh each component empty and dry."],
        ["Item No.", "Product Description", "Barcode", "Component", "Component Description", "Material",
         "Material Grade", "Component Weight (g)", "% Recycled Content", "Colour", "OPRL Label"],
        ["20331", "Chicken pie 250g", int(PIE), "Tray", "Foil tray 140mm", "Aluminium", "Foil", 6.4,
         Shown(0.5, "0%"), "n/a", "Recycle"],
        [UP, UP, UP, "Sleeve", "Printed sleeve", "Cartonboard", "GC2 300gsm", 14.85, Shown(0, "0%"), "n/a", "Recycle"],
        [UP, UP, UP, "Film", "Flow wrap", "Plastic", "OPP", 1.9, Shown(0, "0%"), "Clear", "Don't recycle"],
        ["20340", "Loose leaf tea 125g", int(TEA), "Bag", "Inner bag", "Plastic", "LDPE", 3.1, Shown(0, "0%"),
         "Clear", "Recycle with bags"],
        [UP, UP, UP, "Carton", "Printed carton", "Cartonboard", "FBB", 22.6, Shown(0.3, "0%"), "n/a", "Recycle"],
    ]  # fmt: skip
    return Sent(
        "english retailer specification",
        book({"Guidance": [["How to complete this form"]], "Spec": rows, "Lookups": [["Tray"], ["Sleeve"]]},
             hidden=["Lookups"]),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "component_type", "F": "material_family",
         "G": "polymer_or_grade", "H": "weight_g", "I": "recycled_content_percent", "J": "colour"},
        {
            "20331": {"name": "Chicken pie 250g", "gtin": PIE, "components": [
                {"component_type": "body", "material_family": "metal", "polymer_or_grade": "Foil", "weight_g": 6.4,
                 "recycled_content_percent": 50},
                {"component_type": "sleeve", "material_family": "paper", "polymer_or_grade": "GC2 300gsm",
                 "weight_g": 14.85, "recycled_content_percent": 0},
                {"component_type": "seal", "material_family": "plastic", "polymer_or_grade": "OPP", "weight_g": 1.9,
                 "recycled_content_percent": 0, "colour": "transparent"}]},
            "20340": {"name": "Loose leaf tea 125g", "gtin": TEA},
        },
        mapping={"values": {"component_type": {"film": "seal"}}},
        unsaid={"D": ["body", "liner", "sleeve"]},  # the bag in the box of tea: decisions §13
    )  # fmt: skip


def three_levels() -> Sent:
    """Primary, secondary and tertiary packaging side by side under merged titles: one line is one unit sold."""
    rows = [
        ["Product", LEFT, LEFT, "Primary Packaging", LEFT, LEFT, "Secondary Packaging", LEFT, LEFT,
         "Tertiary Packaging", LEFT],
        ["SKU", "Product Name", "EAN", "Pack Type", "Material", "Pack Weight (g)", "Pack Type", "Material",
         "Pack Weight (g)", "Material", "Pack Weight (kg)"],
        ["W-10", "Tortilla wraps 8pk", WRAP, "Bag", "LDPE", 6.2, "Case", "Corrugated board", 310, "Wood", 25],
        ["W-12", "Pitta bread 6pk", TEA, "Bag", "PP", 5.7, "Crate", "HDPE", 1450, "Wood", 25],
    ]  # fmt: skip
    return Sent(
        "english three levels",
        book({"Packaging data": rows}),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "packaging_format", "E": "material", "F": "weight_grams"},
        {
            "W-10": {"name": "Tortilla wraps 8pk", "gtin": WRAP, "packaging_format": "Bag", "material": "plastic",
                     "material_subtype": "LDPE", "weight_grams": 6.2},
            "W-12": {"name": "Pitta bread 6pk", "gtin": TEA, "packaging_format": "Bag", "material": "plastic",
                     "material_subtype": "PP", "weight_grams": 5.7},
        },
    )  # fmt: skip


def producer_list() -> Sent:
    """A producer's list for packaging returns: a line per material of a product, weights in kilograms, comma file."""
    lines = [
        (
            "Product code,Product description,Packaging type,Packaging material,Packaging material subtype,"
            "Packaging weight per unit (kg),Units sold GB 2025,Household (Y/N)"
        ),
        '55-001,"Washing up liquid, 450ml",Primary,Plastic,PET,0.0284,"1,204,300",Y',
        '55-001,"Washing up liquid, 450ml",Primary,Plastic,PP,0.0041,"1,204,300",Y',
        '55-002,Matches 3pk,Primary,Paper/card,Cartonboard,0.0096,"80,250",Y',
    ]
    return Sent(
        "english producer list",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name", "C": "packaging_level", "D": "material_family", "E": "polymer_or_grade",
         "F": "weight_g", "G": "annual_volume_gb_2025"},
        {
            "55-001": {"name": "Washing up liquid, 450ml", "packaging_level": "sales", "components": [
                {"material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 28.4},
                {"material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 4.1}],
                "volumes": '{"GB/2025/0":1204300}'},
            "55-002": {"name": "Matches 3pk", "packaging_level": "sales", "material": "paper",
                       "material_subtype": "Cartonboard", "weight_grams": 9.6, "volumes": '{"GB/2025/0":80250}'},
        },
    )  # fmt: skip


def shop_export() -> Sent:
    """A shop's export: ounces, a barcode that lost its zero in a number cell, an internal id beside the SKU."""
    upc = gtin("03600029145")
    rows = [
        [
            "Internal ID",
            "SKU",
            "Display Name",
            "UPC Code",
            "Packaging Weight (oz)",
            "Packaging Material",
            "Post-consumer recycled content",
            "Food safe",
            "Sold in",
        ],
        [9912, "TEE-BLK-M", "T-shirt mailer, medium", int(upc), 0.45, "LDPE film", "100%", "No", "GB, IE, FR"],
        [9913, "MUG-01", "Gift box for mug", None, 3.2, "Corrugated cardboard", "85%", "No", "UK"],
    ]
    return Sent(
        "english shop export",
        book({"Export": rows}),
        {
            "B": "sku_code",
            "C": "name",
            "D": "gtin",
            "E": "weight_grams",
            "F": "material",
            "G": "recycled_content_percent",
            "H": "food_contact",
            "I": "markets",
        },
        {
            "MUG-01": {
                "name": "Gift box for mug",
                "weight_grams": 90.718,
                "material": "paper",
                "recycled_content_percent": 85,
                "food_contact": False,
                "markets": ["GB"],
            },
        },
        asked=[(2, "gtin")],
    )


def data_pool() -> Sent:
    """A data pool's flat export: attribute names as headers, codes and units in columns beside."""
    lines = [
        (
            "supplierItemNumber,tradeItemDescription,gtin,packagingTypeCode,packagingMaterialTypeCode,"
            "packagingMaterialCompositionQuantity,packagingMaterialCompositionQuantityUOM"
        ),
        f"A-77,Mineral water 6x1.5L,{WRAP},BO,POLYETHYLENE_TEREPHTALATE,198,GRM",
        f"A-77,Mineral water 6x1.5L,{WRAP},PUG,POLYETHYLENE_HIGH_DENSITY,12.6,GRM",
        f"A-78,Chocolate bar 100g,{TEA},WRP,ALUMINIUM,0.0011,KGM",
        f"A-78,Chocolate bar 100g,{TEA},PUG,PAPER,2.4,GRM",
    ]
    plastic = {"material_family": "plastic"}
    return Sent(
        "english data pool",
        text(lines, "utf-8"),
        {"A": "sku_code", "B": "name", "C": "gtin", "D": "packaging_format", "E": "material_family", "F": "weight_g",
         "G": "weight_unit"},
        {
            "A-77": {"name": "Mineral water 6x1.5L", "gtin": WRAP, "components": [
                {**plastic, "weight_g": 198}, {**plastic, "weight_g": 12.6, "polymer_or_grade": "HDPE"}]},
            "A-78": {"name": "Chocolate bar 100g", "gtin": TEA},
        },
        mapping={"values": {"component_type": {"BO": "body", "PUG": "sleeve"}}},
        unsaid={"D": VOCABULARIES["component_type"]},  # WRP, a code of a list that nothing names: decisions §13
    )  # fmt: skip


FILES = (retailer_specification, three_levels, producer_list, shop_export, data_pool)
