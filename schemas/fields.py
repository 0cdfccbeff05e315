"""Field tables: each field of a SKU and of a component once, with its type, unit, limits and meaning.

The JSON models, the import columns, the stored columns and the published documents are derived from these rows. Import
headers are data (`headers.csv`); `normalise.py` normalises values.
"""

from dataclasses import dataclass
from typing import Final, Literal

Kind = (
    Literal["text", "number", "integer", "truth", "code", "codes", "markets", "gtin", "uuid", "substances"]
    | Literal["components", "ppm", "day", "country", "marks"]
)
"""How a value is typed. `code`: one of a vocabulary; `codes`: an array of them; `ppm`: a number or `<N`.

The last three are of columns of files alone; `marks` are marks on a pack by their names.
"""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an input record. `None` in a limit means no limit; `is_code` marks a text that is compared."""

    name: str
    kind: Kind
    meaning: str
    vocabulary: str | None = None
    unit: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    required: bool = False
    nullable: bool = True
    deprecated: bool = False
    since: str = "1.4.1"
    references: str | None = None
    is_code: bool = False


MAX_UNITS: Final = 10**12
"""Most units placed on a market in one period, by every door (decisions §13)."""
MAX_WEIGHT_G: Final = 1e9
"""Most that one packaging, or a part of it, may weigh: a thousand tonnes, by every door (decisions §13)."""


def _text(name: str, meaning: str, *, longest: int = 2000, since: str = "1.4.1") -> Field:
    return Field(name, "text", meaning, max_length=longest, since=since)


def _code(name: str, meaning: str, vocabulary: str | None = None, *, since: str = "1.4.1") -> Field:
    return Field(name, "code", meaning, vocabulary=vocabulary or name, since=since)


def _weight(name: str, meaning: str) -> Field:
    return Field(name, "number", meaning, unit="g", minimum=0, maximum=MAX_WEIGHT_G)


def _percent(name: str, meaning: str) -> Field:
    return Field(name, "number", meaning, unit="percent", minimum=0, maximum=100)


def _reference(name: str, meaning: str, table: str, *, since: str = "1.4.1") -> Field:
    return Field(name, "uuid", meaning, references=table, since=since)


SKU_CODE: Final = Field(
    "sku_code",
    "text",
    "The caller's own reference, unique within the company: the upsert key.",
    min_length=1,
    max_length=255,
    required=True,
    nullable=False,
    is_code=True,
)
NAME: Final = Field(
    "name", "text", "Human-readable packaging name.", min_length=1, max_length=500, required=True, nullable=False
)

SKU_FIELDS: Final[tuple[Field, ...]] = (
    SKU_CODE,
    NAME,
    _text("description", "What the packaging is, in the caller's words.", longest=32_767),
    _code("material", "Dominant material of the whole packaging."),
    _text("material_subtype", "Material in more detail, such as a polymer or paper grade."),
    _weight("weight_grams", "Total weight of one packaging."),
    _percent("recycled_content_percent", "Declared recycled content."),
    Field("food_contact", "truth", "Whether the packaging touches food."),
    Field("pfas_intentional", "truth", "Send substances.pfas instead. PFAS at or above the limits.", deprecated=True),
    Field("substances", "substances", "Declarations on the packaging itself, by substance.", since="1.8.0"),
    _code("substances_source", "Source stamped on the legacy fields; `imported` where absent.", since="1.8.0"),
    _text("product_category", "What is packed, in the caller's own categories."),
    Field("markets", "markets", "Jurisdictions the SKU is placed on: ISO 3166-1 alpha-2 or CC-XX."),
    Field("gtin", "gtin", "Barcode number: 8, 12, 13 or 14 digits with a right check digit."),
    _code("ppwr_role", "The company's role for this packaging."),
    _code("packaging_level", "Level of the packaging; synonyms such as primary are accepted."),
    _text("packaging_format", "What it is (bottle, barquette, Schale, …); known words decide the form."),
    _reference("brand_id", "A brand of the company.", "brands"),
    _reference("manufacturing_site_id", "Site where made.", "sites"),
    _reference("packing_site_id", "Site where packed, when it differs.", "sites"),
    _percent("empty_space_ratio", "Share of empty space (Article 24)."),
    Field("reusable", "truth", "Whether the packaging is reusable (Article 11)."),
    _code("reuse_system_type", "Kind of re-use system."),
    Field("reuse_cycles_target", "integer", "Rotations aimed at.", minimum=0, maximum=2_147_483_647),
    _text("reuse_pool_owner", "Owner of the re-use fleet.", since="1.8.0"),
    Field("reuse_deposit_system", "truth", "Whether a deposit is taken; false is answered no.", since="1.8.0"),
    _code("reuse_return_mechanism", "How the packaging comes back.", since="1.8.0"),
    _code("reuse_reconditioning", "Who makes it ready again.", since="1.8.0"),
    _text("reuse_asset_identifier", "Fleet identifier of the physical asset.", since="1.8.0"),
    Field(
        "use_contexts",
        "codes",
        "Where it is used; empty is never asked, not none.",
        vocabulary="use_context",
        since="1.8.0",
    ),
    Field("minimisation_assessed", "truth", "Whether weight and volume were minimised (Article 10)."),
    _code("sorting_label_scheme", "Sorting label on the packaging."),
    Field("material_marking_applied", "truth", "Whether the material is marked (Decision 97/129/EC)."),
    Field("svhc_declared", "truth", "Send substances.svhc instead. SVHC above 0.1 % w/w.", deprecated=True),
    Field("bpa_present", "truth", "Send substances.bpa instead. Bisphenol A present.", deprecated=True),
    Field(
        "heavy_metals_sum_ppm",
        "ppm",
        "Send substances.heavy_metals instead. mg/kg, or `<100`.",
        unit="mg/kg",
        minimum=0,
        deprecated=True,
    ),
    Field("components", "components", "The component graph, at most 500 lines; sending it replaces the whole graph."),
)
"""Fields of SkuInput, in the order of the contract."""

COMPONENT_FIELDS: Final[tuple[Field, ...]] = (
    Field(
        "component_type", "code", "Part of the packaging.", vocabulary="component_type", required=True, nullable=False
    ),
    Field("position_in_sku", "integer", "Display and assembly order.", minimum=-2_147_483_648, maximum=2_147_483_647),
    _code("material_family", "Material family; required unless component_id fills it."),
    _text("polymer_or_grade", "Polymer, paper grade, alloy …, as the caller writes it."),
    _weight("weight_g", "Weight in one packaging."),
    _reference("supplier_id", "Supplier of the component.", "suppliers"),
    _reference(
        "component_id", "Library component; fills what is omitted at the write.", "library_components", since="1.8.0"
    ),
    _code("colour", "Colour class as sorting plants see it.", since="1.8.0"),
    _percent("coverage_percent", "Share of the body's surface that a label or sleeve covers."),
    Field("separable", "truth", "A separate component in the sense of Article 3(1)(44).", since="1.8.0"),
    _code("attachment", "Whether the part comes off in sorting and washing.", since="1.8.0"),
    _percent("recycled_content_percent", "Declared recycled content of the component."),
    Field("substances", "substances", "Declarations on the component, by substance.", since="1.8.0"),
    _code("adhesive_type", "Adhesive, as the design rules tell them apart.", since="1.8.0"),
    _code("ink_type", "Ink, as the design rules tell them apart.", since="1.8.0"),
    _code("coating_type", "Coating, as the design rules tell them apart.", since="1.8.0"),
    Field("density_g_cm3", "number", "Density of the part.", unit="g/cm3", minimum=0),
    Field("thickness_um", "number", "Thickness of the layer.", unit="um", minimum=0),
    Field("metallised", "truth", "Whether the part is metallised.", since="1.8.0"),
    Field("direct_print", "truth", "Printed directly on the part, more than a date code.", since="1.8.0"),
    Field("additives", "codes", "Additives; an empty array means none.", vocabulary="additive", since="1.8.0"),
)
"""Fields of SkuComponentInput, in the order in which a component is stored and read back."""

LINE_ID: Final = Field("id", "uuid", "The SKU's component that this line is; omitted, it is matched.")
"""Names the part that a line of JSON is. It is no column of a file."""

SKU: Final[dict[str, Field]] = {field.name: field for field in SKU_FIELDS}
COMPONENT: Final[dict[str, Field]] = {field.name: field for field in COMPONENT_FIELDS}
