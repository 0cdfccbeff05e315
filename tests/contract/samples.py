"""Bodies that exercise the contract: a SKU with every field, one of each vocabulary, files of each kind."""

import io
import zipfile
from typing import Any

VALUES: dict[str, Any] = {
    "description": "Still water, half a litre", "material": "plastic", "material_subtype": "PET", "weight_grams": 26.5,
    "recycled_content_percent": 30, "food_contact": False, "product_category": "beverages", "markets": ["FR", "GB"],
    "gtin": "4006381333931", "ppwr_role": "importer", "packaging_level": "grouped", "packaging_format": "bottle",
    "empty_space_ratio": 12.5, "reusable": True, "reuse_system_type": "open_pool", "reuse_cycles_target": 20,
    "reuse_pool_owner": "Pool Ltd", "reuse_deposit_system": False, "reuse_return_mechanism": "mail_back",
    "reuse_reconditioning": "pool_operator", "reuse_asset_identifier": "FLEET-7",
    "use_contexts": ["beverage", "takeaway"], "minimisation_assessed": True, "sorting_label_scheme": "triman_fr",
    "material_marking_applied": False, "pfas_intentional": False, "svhc_declared": False, "bpa_present": True,
    "heavy_metals_sum_ppm": 12.5,
    "components": [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 26}],
}  # fmt: skip
"""An example of each optional field, in the form in which it is read back; references and substances aside."""

VOCABULARIES: dict[str, list[str]] = {
    "material": ["plastic", "paper", "glass", "metal", "composite", "wood", "textile", "other"],
    "ppwr_role": ["manufacturer", "importer", "supplier"],
    "packaging_level": ["sales", "grouped", "transport", "e_commerce"],
    "reuse_system_type": ["closed_loop_b2b", "open_pool", "refill_at_home", "refill_on_the_go"],
    "reuse_return_mechanism": ["in_store_return", "deposit_return_point", "collection_on_delivery", "scheduled_pickup",
                               "mail_back", "no_return_needed"],
    "reuse_reconditioning": ["in_house", "third_party_operator", "pool_operator", "none_required"],
    "sorting_label_scheme": ["triman_fr", "info_tri_fr", "harmonised_eu", "none"],
    "substances_source": ["supplier_attestation", "test_report", "own_assessment", "imported"],
}  # fmt: skip
CONTEXTS = [
    "food",
    "beverage",
    "cosmetics",
    "pharmaceutical",
    "household",
    "industrial",
    "ecommerce",
    "dangerous_goods",
    "takeaway",
    "other",
]
SUBSTANCES = ["pfas", "svhc", "bpa", "heavy_metals"]

PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c626001000000ffff03000006000557bfabd40000000049454e44ae426082"
)
JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffdb004300") + b"\x01" * 64 + bytes.fromhex("ffd9")
WEBP = b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
OLE = bytes.fromhex("d0cf11e0a1b11ae1") + b"\x00" * 1528
_OFFICE = "application/vnd.openxmlformats-officedocument."
_WORD, _SHEET = f"{_OFFICE}wordprocessingml.document", f"{_OFFICE}spreadsheetml.sheet"


def packed(part: str, kind: str) -> bytes:
    """An OOXML package whose main part says what it is."""
    types = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Override PartName="/{part}" ContentType="{kind}.main+xml"/></Types>'
    )
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as package:
        package.writestr("[Content_Types].xml", types)
        package.writestr("_rels/.rels", "<Relationships/>")
        package.writestr(part, "<x/>")
    return data.getvalue()


DOCX, XLSX = packed("word/document.xml", _WORD), packed("xl/workbook.xml", _SHEET)
FILES = [
    ("a.pdf", PDF, "application/pdf"),
    ("a.png", PNG, "image/png"),
    ("a.jpg", JPEG, "image/jpeg"),
    ("a.webp", WEBP, "image/webp"),
    ("a.docx", DOCX, _WORD),
    ("a.xlsx", XLSX, _SHEET),
]
