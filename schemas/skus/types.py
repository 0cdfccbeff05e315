"""Types of a SKU: as a caller sends it, as the service stores and grades it, and as it is shown.

They are JSON objects under the contract's field names, so they are TypedDicts: orjson and Postgres make and take them
as they are. `schemas.fields` has the fields with their limits and meanings. From them `schemas.skus.inputs` makes the
Pydantic models that validate a body (`parse_sku` returns a `SkuPatch`), and `schemas.skus.answers` those that publish
the OpenAPI document. A test compares the types here with both.

What belongs here: the shape of a SKU's data. What does not: its grade's trace (`schemas.rules`), the row of the
table (`warehouse.skus.queries`), and what happened to it in a write (`services.skus.write`).
"""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, Required
from uuid import UUID

from pydantic import Field as PydanticField
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from schemas.answers import DocStatus, Grade, Identifier, Instant, Number, Version, WrittenVersion
from schemas.rules import SkuCompliance
from schemas.vocabularies import Substance


class SubstanceEntry(TypedDict, total=False):
    """One declaration. A stored entry has no nulls; a published one has every field but `below`.

    `below` is stored for an attestation such as `<50`: the bound in mg/kg where it is not the limit itself.
    """

    status: Required[str]
    value: float | None
    unit: str | None
    basis: str | None
    source: str | None
    evidence: str | None
    below: float


Substances = dict[Substance, SubstanceEntry | None]
"""Declarations by substance. Sent: one left out is untouched, null clears it. Published: null where there is none."""


class LibraryPart(TypedDict, total=False):
    """The fields that a library component fills where a line that names it leaves them out."""

    material_family: str | None
    polymer_or_grade: str | None
    weight_g: float | None
    supplier_id: str | None
    colour: str | None
    recycled_content_percent: float | None


class Component(LibraryPart, total=False):
    """One line of a component graph. A stored line has an id and no nulls; a published one has every field."""

    id: str
    component_type: str
    position_in_sku: int | None
    component_id: str | None
    coverage_percent: float | None
    separable: bool | None
    attachment: str | None
    substances: Substances
    adhesive_type: str | None
    ink_type: str | None
    coating_type: str | None
    density_g_cm3: float | None
    thickness_um: float | None
    metallised: bool | None
    direct_print: bool | None
    additives: list[str] | None


class PartFacts(TypedDict):
    """The facts by which a part is known, null where they are not recorded."""

    component_type: str
    material_family: str | None
    polymer_or_grade: str | None
    position_in_sku: int | None
    weight_g: float | None


class SupplierAnswer(Component, total=False):
    """What a supplier says of one component, which `component_id` names by the line's `id`; null is not answered.

    The type of the component is not asked.
    """


class SupplierResponse(TypedDict, total=False):
    """A supplier's answer (`schemas.suppliers`): about components, whom to ask, and what else there is to say."""

    components: list[SupplierAnswer] | None
    contact: str | None
    comment: str | None


class VolumeRow(TypedDict):
    """Units placed on one market in one period."""

    market: str
    year: int
    half: Annotated[int, PydanticField(json_schema_extra={"enum": [0, 1, 2]})]
    units_placed: int | None


class FlagFact(TypedDict):
    """A person's answer to a fact on which format bans depend, by the key that `depends_on` of a flag has."""

    fact: str
    answer: bool
    by: str | None
    at: Annotated[str, WithJsonSchema({"type": "string", "format": "date-time", "pattern": r"^.+Z$"})]


class SkuFields(TypedDict, total=False):
    """The fields that have the same form everywhere: sent, stored and shown."""

    sku_code: str
    name: str
    description: str | None
    material: str | None
    material_subtype: str | None
    weight_grams: float | None
    recycled_content_percent: float | None
    food_contact: bool | None
    product_category: str | None
    gtin: str | None
    ppwr_role: str | None
    packaging_level: str | None
    packaging_format: str | None
    brand_id: str | None
    manufacturing_site_id: str | None
    packing_site_id: str | None
    empty_space_ratio: float | None
    reusable: bool | None
    reuse_system_type: str | None
    reuse_cycles_target: int | None
    reuse_pool_owner: str | None
    reuse_deposit_system: bool | None
    reuse_return_mechanism: str | None
    reuse_reconditioning: str | None
    reuse_asset_identifier: str | None
    minimisation_assessed: bool | None
    sorting_label_scheme: str | None
    material_marking_applied: bool | None


class LegacySubstances(TypedDict, total=False):
    """The deprecated fields, which become entries of `substances` and are read back from them."""

    pfas_intentional: bool | None
    svhc_declared: bool | None
    bpa_present: bool | None
    heavy_metals_sum_ppm: float | str | None
    substances_source: str | None


class SkuPatch(SkuFields, LegacySubstances, total=False):
    """The validated fields of a write: one left out stays as it is, null clears it."""

    substances: Substances | None
    markets: list[str] | None
    use_contexts: list[str] | None
    components: list[Component] | None


class Sku(SkuFields, total=False):
    """A stored SKU as `compliance` reads it; grading reads a part of the fields (`compliance.grading.GRADED_INPUTS`).

    No markets and no use contexts mean that none were given; `compliance.scopes` says on which ones it is in effect.
    """

    markets: Sequence[str] | None
    volumes: Sequence[VolumeRow]
    flag_facts: Sequence[FlagFact]
    use_contexts: Sequence[str]
    components: Sequence[Component]
    pfas: SubstanceEntry | None
    svhc: SubstanceEntry | None
    bpa: SubstanceEntry | None
    heavy_metals: SubstanceEntry | None


WeightSource = Annotated[
    Literal["declared", "components"] | None,
    PydanticField(
        description="Which weight weight_grams is: the one that was stated for the SKU, or the sum of its "
        "components, which follows them; null where there is none.",
        json_schema_extra={"x-stability": "preview"},
    ),
]


class SkuListItem(TypedDict):
    """A SKU as the list shows it."""

    id: Identifier
    sku_code: str
    name: str
    description: str | None
    material: str | None
    material_subtype: str | None
    weight_grams: float | None
    recycled_content_percent: float | None
    food_contact: bool | None
    product_category: str | None
    markets: list[str] | None
    packaging_level: str | None
    packaging_format: str | None
    gtin: str | None
    ppwr_role: str | None
    brand_id: UUID | None
    manufacturing_site_id: UUID | None
    packing_site_id: UUID | None
    weight_source: WeightSource
    recyclability_grade: Grade | None
    recyclability_score: Number | None
    doc_status: DocStatus | None
    created_at: Instant
    updated_at: Instant
    version: Version
    components: NotRequired[list[Component]]
    volumes: NotRequired[list[VolumeRow]]
    compliance: NotRequired[SkuCompliance]


class ExportedSku(SkuListItem):
    """A SKU of a list in a file, with the name of its brand."""

    brand: str | None


class SkuDetail(SkuFields, LegacySubstances):
    """A SKU with its graph, its volumes and its compliance."""

    # A dry run's new SKU has neither id, version nor instants; only an archived one has archived_at.
    id: str | None
    markets: list[str] | None
    use_contexts: list[str]
    substances: Substances
    components: list[Component]
    weight_source: WeightSource
    recyclability_grade: Grade | None
    recyclability_score: Number | None
    doc_status: DocStatus | None
    packaging_format_key: str | None
    volumes: list[VolumeRow]
    flag_facts: Annotated[list[FlagFact], PydanticField(json_schema_extra={"x-stability": "preview"})]
    compliance: SkuCompliance
    created_at: Instant | None
    updated_at: Instant | None
    version: WrittenVersion
    archived_at: NotRequired[
        Annotated[
            Instant | None,
            PydanticField(
                description="When the SKU was archived; present only then.",
            ),
        ]
    ]


class ArchivedSku(TypedDict):
    """An archived SKU, as it was last."""

    id: Identifier
    sku_code: str
    name: str
    recyclability_grade: Grade
    archived_at: Instant
