"""The closed vocabularies of the contract, each under the name that fields refer to it by.

Words that people use for a code (Kunststoff, primaire, oui) are data in `words.csv`, not here. The values of
design attributes and the keys of packaging formats come from the rules; a test holds them equal to the tables there.
"""

from typing import Final

from schemas import audit
from schemas.technical_files import TYPES

VOCABULARIES: Final[dict[str, tuple[str, ...]]] = {
    "material": ("plastic", "paper", "glass", "metal", "composite", "wood", "textile", "other"),
    "material_family": (
        "plastic", "paper", "glass", "metal", "wood", "textile", "composite", "bio_based", "other",
    ),
    "component_type": (
        "body", "cap", "closure", "handle", "label", "liner", "pump", "seal", "sleeve", "spout", "valve",
        "ink", "adhesive", "coating", "varnish", "tie_layer",
    ),
    "recyclability_grade": ("A", "B", "C", "not_recyclable", "not_assessed"),
    "doc_status": ("missing", "draft", "valid", "expired"),
    "doc_record_status": ("draft", "pending", "valid", "expired", "rejected"),
    "packaging_level": ("sales", "grouped", "transport", "e_commerce"),
    "packaging_format_key": (
        "bottle", "flask", "jerrycan", "canister", "carboy", "vial", "ampoule", "jar", "pot", "tub", "cup", "bowl",
        "plate", "cutlery", "tray", "punnet", "clamshell", "blister", "egg_box", "basket", "container", "box",
        "carton", "case", "beverage_carton", "can", "tin", "aerosol", "keg", "drum", "bucket", "ibc", "crate",
        "pallet", "corrugated_sheet", "rack", "spool", "tube", "capsule", "pod", "dispenser", "lid", "cap", "closure",
        "loose_fill", "protective_foam", "pouch", "sachet", "stick_pack", "portion_pack", "bag", "carrier_bag",
        "sack", "big_bag", "bag_in_box", "film", "foil", "wrap", "shrink_wrap", "stretch_wrap", "bubble_wrap",
        "luggage_wrap", "multipack_ring", "net", "band", "strap", "label", "sleeve", "liner", "envelope", "mailer",
        "tea_bag", "coffee_pod", "fruit_sticker",
    ),
    "ppwr_role": ("manufacturer", "importer", "supplier"),
    "reuse_system_type": ("closed_loop_b2b", "open_pool", "refill_at_home", "refill_on_the_go"),
    "reuse_return_mechanism": (
        "in_store_return", "deposit_return_point", "collection_on_delivery", "scheduled_pickup", "mail_back",
        "no_return_needed",
    ),
    "reuse_reconditioning": ("in_house", "third_party_operator", "pool_operator", "none_required"),
    "use_context": (
        "food", "beverage", "cosmetics", "pharmaceutical", "household", "industrial", "ecommerce",
        "dangerous_goods", "takeaway", "other",
    ),
    "sorting_label_scheme": ("triman_fr", "info_tri_fr", "harmonised_eu", "none"),
    "substances_source": ("supplier_attestation", "test_report", "own_assessment", "imported"),
    "substance_status": ("absent", "below_limit", "above_limit", "unknown"),
    "substance_unit": ("ppb", "mg_per_kg", "percent_w_w"),
    "substance_basis": ("sum", "total"),
    "colour": (
        "natural", "transparent", "transparent_coloured", "light", "opaque", "dark", "carbon_black",
        "fluorescent_or_metallic",
    ),
    "attachment": ("detaches", "firmly_attached", "welded"),
    "adhesive_type": (
        "washable", "water_soluble", "hot_melt", "hot_melt_low_temperature", "permanent", "labelling",
        "laminating_pu", "laminating_other", "cold_seal", "heat_seal", "other",
    ),
    "ink_type": (
        "eupia_compliant", "non_eupia", "hazardous", "bleeding", "metallic", "chlorinated_binder",
        "date_code", "laser_marking", "other",
    ),
    "coating_type": (
        "dispersion", "water_soluble", "solvent_lacquer", "uv_lacquer", "barrier_lacquer", "wax", "silicone",
        "siox", "alox", "metallisation", "carbon_plasma", "fluorination", "hot_end_cold_end",
        "dealkalisation", "enamel", "other",
    ),
    "additive": (
        "uv_stabiliser", "acetaldehyde_blocker", "optical_brightener", "oxygen_scavenger",
        "oxygen_scavenger_no_yellowing", "oxygen_scavenger_slight_yellowing", "biodegradable",
        "oxo_degradable", "photodegradable", "nanocomposite", "organosilicon", "filler_caco3",
        "filler_talc", "titanium_dioxide", "non_wood_fibre", "other",
    ),
    "site_role": ("manufacturing", "packing"),
    "scope": ("read", "write"),
    "plan": ("starter", "growth", "professional", "enterprise"),
    "import_status": ("queued", "processing", "completed", "failed"),
    "outcome": ("created", "updated", "unchanged", "rejected"),
    "technical_file_type": tuple(TYPES),
    "audit_action": tuple(audit.ACTIONS),
    "audit_resource_type": audit.RESOURCE_TYPES,
    "audit_actor_type": tuple(audit.ACTORS),
}  # fmt: skip

SUBSTANCES: Final = ("pfas", "svhc", "bpa", "heavy_metals")
"""The substance keys of SubstancesInput, in the order of the contract."""
