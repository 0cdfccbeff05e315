"""Closed vocabularies of the contract, each under the name by which fields refer to it.

People's words for a code (Kunststoff, primaire, oui) are data in `words.csv`. The values of design attributes and the
keys of packaging formats come from the rules; a test checks them against the tables there.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

ACTIONS: Final[dict[str, str]] = {
    "api_key.issued": "A key was issued.",
    "api_key.revoked": "A key was ended; it and its tokens count no more.",
    "brand.created": "A brand was added.",
    "brand.updated": "A brand was changed.",
    "company.created": "The company was added.",
    "company.profile_updated": "The company answered questions about itself: seat, size, how it sells.",
    "company.updated": "The company was moved to another plan.",
    "connection.authorised": "A person let an application see what the company holds.",
    "connection.revoked": "An application that a person had connected was shut out; its tokens count no more.",
    "catalogue.refreshed": "The jurisdiction catalogue that all companies share changed.",
    "declaration.kept": "A declaration of a market and period was kept as it was filed.",
    "doc.created": "A declaration of conformity was added.",
    "doc.expired": "The last day of a declaration of conformity has passed.",
    "doc.updated": "A declaration of conformity was changed.",
    "doc_draft.accepted": "A person issued the declaration of conformity that a draft prepared.",
    "doc_draft.filed": "A draft of a declaration of conformity was filed for review.",
    "doc_draft.rejected": "A person rejected a draft of a declaration of conformity.",
    "import.completed": "Every row of a file has its outcome.",
    "import.failed": "A file could not be processed to its end.",
    "import.submitted": "A file was accepted.",
    "import.undone": "The writes of an import were taken back, where nothing had touched their SKUs since.",
    "import_mapping.removed": "A mapping of columns that was kept under a name was removed.",
    "library_component.created": "A shared component was added to the library.",
    "marks.updated": "What is printed on the pack of one SKU, or of a brand, was recorded.",
    "registers.updated": "What the company holds in the registers of one market was recorded.",
    "roles.updated": "The company answered what decides its role for its packaging, or for one SKU.",
    "library_component.updated": "A shared component was changed; SKUs keep the values that they took over.",
    "ruleset.activated": "Another version of the rules grades from now on, for all companies.",
    "sandbox.created": "A sandbox was made, which test keys reach; its own entries are in its own ledger.",
    "sandbox.reset": "A test key emptied the sandbox: an empty one took its place and its keys.",
    "site.created": "A site was added.",
    "site.updated": "A site was changed.",
    "sku.archived": "A SKU left lists, figures and the plan's count; its history stays.",
    "sku.code_freed": "A former code of a renamed SKU was freed: a new SKU may have it.",
    "sku.created": "A SKU was created.",
    "sku.returned": "An archived SKU came back.",
    "sku.updated": "Fields, components or the grade of a SKU changed.",
    "sku_proposal.accepted": "A person accepted a proposed change of a SKU, which was then written.",
    "sku_proposal.filed": "A change of a SKU was proposed for review.",
    "sku_proposal.rejected": "A person rejected a proposed change of a SKU; nothing was written.",
    "sku_volumes.updated": "Units placed of a SKU changed.",
    "supplier.created": "A supplier was added.",
    "supplier.updated": "A supplier was changed.",
    "supplier_document.accepted": "A person accepted a supplier's document for the technical files of a SKU.",
    "supplier_document.filed": "A supplier's document was filed for review.",
    "supplier_document.rejected": "A person rejected a supplier's document.",
    "supplier_enquiry.created": "A supplier was asked about several SKUs under one link.",
    "supplier_enquiry.reminded": "A person or a program had a supplier reminded of an enquiry by mail.",
    "supplier_enquiry.withdrawn": "An enquiry was withdrawn; its links take no answer any more.",
    "supplier_request.closed": "The link of a supplier ended; it takes no answer any more.",
    "supplier_request.created": "A supplier was asked about components of a SKU.",
    "supplier_request.withdrawn": "A request was withdrawn; its link takes no answer any more.",
    "supplier_submission.accepted": "A person accepted a supplier's answer, which was then written.",
    "supplier_submission.filed": "A supplier answered a request; the answer waits for review.",
    "supplier_submission.rejected": "A person rejected a supplier's answer; its request is open again.",
    "technical_file.uploaded": "A technical file of a SKU was stored.",
    "own_words.updated": "The company's own words, which imports read as values, changed.",
    "user.created": "An account for a person was made.",
    "user.password_reset": "A link was made that sets a person's password once.",
    "user.password_set": "A person chose a new password; the sessions before it ended.",
    "user.role_changed": "A person was given another role.",
    "user.invited": "A person was invited: an account was made, and a link that sets its password once.",
    "user.returned": "An account that had ended may sign in again.",
    "user.signed_in": "A person signed in.",
    "user.sign_in_failed": "Somebody tried a wrong password for the account; at most one entry a minute.",
    "user.sessions_ended": "Sessions of a person were ended before their time.",
    "user.second_factor_on": "A person will be asked for a one-time code at each sign-in.",
    "user.second_factor_off": "A person signs in with the password alone again.",
    "user.recovery_code_used": "A person signed in with a recovery code, which is used up.",
    "user.disabled": "A person's account was ended, with its sessions and connections.",
    "webhook.created": "A webhook was added: an address to which changes are sent.",
    "webhook.disabled": "A webhook was disabled, because nothing could be delivered or a backup was restored.",
    "webhook.removed": "A webhook was removed.",
    "webhook.replayed": "A webhook sends its changes again from an earlier place.",
    "webhook.secret_rolled": "A webhook was given another secret.",
    "webhook.updated": "A webhook was changed, paused or taken up again.",
    "window.closed": "A higher rate limit of a key was ended before its time.",
    "window.opened": "A key was given a higher rate limit for a time.",
}
"""Every action that an entry can have."""

RESOURCE_TYPES: Final = tuple(dict.fromkeys(action.partition(".")[0] for action in ACTIONS))
"""Every resource type, by name."""

ACTORS: Final[dict[str, str]] = {
    "api_key": "A key or a token of it; `id` is the client id, `name` the one that the key was issued with.",
    "user": "A person who signed in.",
    "connection": "An application that a person connected.",
    "supplier": "A supplier who answered a request.",
    "import": "A file that was imported; `id` is the import's, `name` the file's.",
    "operator": "A command on the server; `id` is the account that it ran under.",
    "system": "The service itself, on schedule.",
}
"""Every type of actor."""


FIGURES_ARE_OF: Final = ("catalogue", "doc", "ruleset", "sku", "sku_volumes")
"""The resource types that snapshots and figures are made from: an entry about any other changes no figure."""


def actions_of(resource_type: str) -> tuple[str, ...]:
    """Return the actions of one resource type."""
    return tuple(action for action in ACTIONS if action.partition(".")[0] == resource_type)


@dataclass(frozen=True, slots=True)
class MediaType:
    """One accepted kind of file.

    `container` is `ole` or `ooxml` where the first signature of the bytes only says Office. `marks` then tell the kinds
    apart: names of streams, or the content type of the main part. Empty where the signature decides.
    """

    media_type: str
    name: str
    extension: str
    also_declared_as: frozenset[str]
    container: str
    marks: frozenset[str]


def table_rows(table: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of `schemas/*.csv`."""
    with Path(__file__).with_name(table).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


TYPES: Final[dict[str, str]] = {row["code"]: row["content"] for row in table_rows("technical_file_types.csv")}
"""The vocabulary of `type` with the contents of each document: Annex VII and the contract's examples."""

CONTENTS: Final[dict[str, dict[str, str]]] = {
    "en": TYPES,
    **{
        lang: {row["code"]: row[f"content_{lang}"] for row in table_rows("technical_file_types.csv")}
        for lang in ("fr", "de")
    },
}
"""The same in each language, for people."""

MEDIA_TYPES: Final[tuple[MediaType, ...]] = tuple(
    MediaType(
        row["media_type"],
        row["name"],
        row["extension"],
        frozenset(row["also_declared_as"].split()),
        row["container"],
        frozenset(row["mark"].split()),
    )
    for row in table_rows("technical_file_media.csv")
)
"""The accepted kinds of file (interface v1, POST /skus/{id}/files)."""

TAKEN: Final = ", ".join(f"{kind.name} ({kind.extension})" for kind in MEDIA_TYPES)
"""The accepted kinds in words, for a refusal."""


Outcome: TypeAlias = Literal["created", "updated", "unchanged", "rejected"]
"""What became of a row of a write."""

VOCABULARIES: Final[dict[str, tuple[str, ...]]] = {
    "material": ("plastic", "paper", "glass", "metal", "composite", "wood", "textile", "other"),
    "material_family": (
        "plastic",
        "paper",
        "glass",
        "metal",
        "wood",
        "textile",
        "composite",
        "bio_based",
        "other",
    ),
    "component_type": (
        "body",
        "cap",
        "closure",
        "handle",
        "label",
        "liner",
        "pump",
        "seal",
        "sleeve",
        "spout",
        "valve",
        "ink",
        "adhesive",
        "coating",
        "varnish",
        "tie_layer",
    ),
    "recyclability_grade": ("A", "B", "C", "not_recyclable", "not_assessed"),
    "doc_status": ("missing", "draft", "valid", "expired"),
    "doc_record_status": ("draft", "pending", "valid", "expired", "rejected"),
    "packaging_level": ("sales", "grouped", "transport", "e_commerce"),
    "packaging_format_key": (
        "bottle",
        "flask",
        "jerrycan",
        "canister",
        "carboy",
        "vial",
        "ampoule",
        "jar",
        "pot",
        "tub",
        "cup",
        "bowl",
        "plate",
        "cutlery",
        "tray",
        "punnet",
        "clamshell",
        "blister",
        "egg_box",
        "basket",
        "container",
        "box",
        "carton",
        "case",
        "beverage_carton",
        "can",
        "tin",
        "aerosol",
        "keg",
        "drum",
        "bucket",
        "ibc",
        "crate",
        "pallet",
        "corrugated_sheet",
        "rack",
        "spool",
        "tube",
        "capsule",
        "pod",
        "dispenser",
        "lid",
        "cap",
        "closure",
        "loose_fill",
        "protective_foam",
        "pouch",
        "sachet",
        "stick_pack",
        "portion_pack",
        "bag",
        "carrier_bag",
        "sack",
        "big_bag",
        "bag_in_box",
        "film",
        "foil",
        "wrap",
        "shrink_wrap",
        "stretch_wrap",
        "bubble_wrap",
        "luggage_wrap",
        "multipack_ring",
        "net",
        "band",
        "strap",
        "label",
        "sleeve",
        "liner",
        "envelope",
        "mailer",
        "tea_bag",
        "coffee_pod",
        "fruit_sticker",
    ),
    "ppwr_role": ("manufacturer", "importer", "supplier"),
    "reuse_system_type": ("closed_loop_b2b", "open_pool", "refill_at_home", "refill_on_the_go"),
    "reuse_return_mechanism": (
        "in_store_return",
        "deposit_return_point",
        "collection_on_delivery",
        "scheduled_pickup",
        "mail_back",
        "no_return_needed",
    ),
    "reuse_reconditioning": ("in_house", "third_party_operator", "pool_operator", "none_required"),
    "use_context": (
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
    ),
    "sorting_label_scheme": ("triman_fr", "info_tri_fr", "harmonised_eu", "none"),
    "substances_source": ("supplier_attestation", "test_report", "own_assessment", "imported"),
    "substance_status": ("absent", "below_limit", "above_limit", "unknown"),
    "substance_unit": ("ppb", "mg_per_kg", "percent_w_w"),
    "substance_basis": ("sum", "total"),
    "colour": (
        "natural",
        "transparent",
        "transparent_coloured",
        "light",
        "opaque",
        "dark",
        "carbon_black",
        "fluorescent_or_metallic",
    ),
    "attachment": ("detaches", "firmly_attached", "welded"),
    "adhesive_type": (
        "washable",
        "water_soluble",
        "hot_melt",
        "hot_melt_low_temperature",
        "permanent",
        "labelling",
        "laminating_pu",
        "laminating_other",
        "cold_seal",
        "heat_seal",
        "other",
    ),
    "ink_type": (
        "eupia_compliant",
        "non_eupia",
        "hazardous",
        "bleeding",
        "metallic",
        "chlorinated_binder",
        "date_code",
        "laser_marking",
        "other",
    ),
    "coating_type": (
        "dispersion",
        "water_soluble",
        "solvent_lacquer",
        "uv_lacquer",
        "barrier_lacquer",
        "wax",
        "silicone",
        "siox",
        "alox",
        "metallisation",
        "carbon_plasma",
        "fluorination",
        "hot_end_cold_end",
        "dealkalisation",
        "enamel",
        "other",
    ),
    "additive": (
        "uv_stabiliser",
        "acetaldehyde_blocker",
        "optical_brightener",
        "oxygen_scavenger",
        "oxygen_scavenger_no_yellowing",
        "oxygen_scavenger_slight_yellowing",
        "biodegradable",
        "oxo_degradable",
        "photodegradable",
        "nanocomposite",
        "organosilicon",
        "filler_caco3",
        "filler_talc",
        "titanium_dioxide",
        "non_wood_fibre",
        "other",
    ),
    "site_role": ("manufacturing", "packing"),
    "artwork_state": ("not_begun", "in_design", "approved"),
    "role_mark": ("own", "other", "none"),
    "role_party": ("own", "other"),
    "role_kind": ("products", "transport", "service", "primary_production"),
    "scope": ("read", "write"),
    "plan": ("starter", "growth", "professional", "enterprise"),
    "import_status": ("queued", "processing", "completed", "failed"),
    "outcome": get_args(Outcome),
    "technical_file_type": tuple(TYPES),
    "audit_action": tuple(ACTIONS),
    "audit_resource_type": RESOURCE_TYPES,
    "audit_actor_type": tuple(ACTORS),
}

Substance = Literal["pfas", "svhc", "bpa", "heavy_metals"]
SUBSTANCES: Final[tuple[Substance, ...]] = get_args(Substance)
"""The substance keys of SubstancesInput, in the order of the contract."""
