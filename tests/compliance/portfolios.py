"""Portfolios as the frames of a rollup, and random ones: odd on purpose, valid by the contract."""

import polars as pl
from hypothesis import strategies as st

from compliance import catalogue
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from compliance.rollup.tonnes import rollup
from compliance.ruleset import load

MARKETS = [
    "DE",
    "GB",
    "CZ",
    "IT",
    "FR",
    "BE",
    "NL",
    "GR",
    "CA-ON",
    "US-CA",
    "CA-BC",
    "US-CO",
    "US-OR",
    "US-MD",
    "EE",
    "NO",
    "LT",
    "DK",
    "ES",
    "AT",
]
TEXTS = {
    "plastic": ["PET", "PE", "PET/PE", "LDPE", "PP", "PS", "PLA", "glass", "no such stuff", None],
    "paper": ["PAP20", "PAP21", "paper", "cup stock", "LPB", None],
    "metal": ["ALU", "steel", None],
    "composite": ["LPB", "C82", "C84", "C90", "C91", "PET/PE", None],
    "glass": ["glass", "C95", None],
    "bio_based": ["PLA", "cork", "wood", None],
    "other": ["ceramic", "rubber", "wax", "unknown", None],
    "wood": ["cork", None],
    "textile": ["jute", None],
}
FORMATS = ["bottle", "pouch", "cup", "box", "beverage carton", "portion pack", "no such thing", None]
CONTEXTS = ["food", "beverage", "takeaway", "industrial", "ecommerce", "dangerous_goods", "other"]
TRUTHS = st.sampled_from([None, True, False])
TYPES = ["body", "coating", "liner", "tie_layer", "cap", "label", "sleeve", "seal", "ink", "adhesive", "varnish"]
WEIGHTS = (
    st.none() | st.sampled_from([0, 0.0, 1, 3, 5, 95, 97.0, 100]) | st.integers(1, 9_999_999).map(lambda n: n / 1000)
)


UNITS = st.none() | st.integers(0, 3) | st.integers(0, 2_000_000)
PERIODS = st.lists(
    st.tuples(st.sampled_from(MARKETS), st.sampled_from([2025, 2026]), st.just(0))
    | st.tuples(st.just("GB"), st.just(2026), st.sampled_from([0, 1, 2])),
    unique=True,
    max_size=5,
)
FAMILIES = st.sampled_from(sorted(TEXTS))
TEXTS_OF = {family: st.sampled_from(texts) for family, texts in TEXTS.items()}
COMPONENT_TYPES = st.sampled_from(["body", *TYPES])
SEPARABLE = st.sampled_from([None, None, True, False])


# A strategy that is made at each draw is examined anew at each: all are made once.


@st.composite
def components(draw):
    kind = draw(COMPONENT_TYPES)
    family = draw(FAMILIES)
    return {
        "component_type": kind,
        "material_family": family,
        "polymer_or_grade": draw(TEXTS_OF[family]),
        "weight_g": draw(WEIGHTS),
        "separable": draw(SEPARABLE),
    }


@st.composite
def volumes(draw):
    return [{"market": m, "year": y, "half": h, "units_placed": draw(UNITS)} for m, y, h in draw(PERIODS)]


ANY_FAMILY = st.none() | FAMILIES
ANY_FORMAT = st.sampled_from(FORMATS)
LEVELS = st.sampled_from(["sales", "sales", "grouped", "transport", "e_commerce", None])
USES = st.none() | st.lists(st.sampled_from(CONTEXTS), unique=True, max_size=3)
COMPONENTS = st.lists(components(), max_size=5)
VOLUMES = volumes()
NUMBER = st.integers(1, 10)


@st.composite
def portfolios(draw):
    return [
        {
            "sku_code": f"SKU-{number}",
            "material": (family := draw(ANY_FAMILY)),
            "material_subtype": draw(TEXTS_OF[family]) if family else None,
            "weight_grams": draw(WEIGHTS),
            "packaging_format": draw(ANY_FORMAT),
            "reusable": draw(TRUTHS),
            "packaging_level": draw(LEVELS),
            "reuse_deposit_system": draw(TRUTHS),
            "use_contexts": draw(USES),
            "components": draw(COMPONENTS),
            "volumes": draw(VOLUMES),
        }
        for number in range(draw(NUMBER))
    ]


BLOCK = st.integers(0, 2)


def in_blocks(skus, data):
    """The portfolio in up to three blocks, as a large one is counted: some of one SKU, some of several."""
    blocks = {}
    for sku in skus:
        blocks.setdefault(data.draw(BLOCK), []).append(sku)
    return [*blocks.values()]


def frames(skus):
    """The three frames of SKUs written as a caller sends them; fields left out are null."""
    lines = [(sku["sku_code"], n, line) for sku in skus for n, line in enumerate(sku.get("components") or [])]
    rows = [{"sku_code": sku["sku_code"], "half": 0, **row} for sku in skus for row in sku.get("volumes") or []]
    return Portfolio(
        skus=_frame([{name: sku.get(name) for name in SKU_COLUMNS} for sku in skus], SKU_COLUMNS),
        components=_frame(
            [{**dict.fromkeys(COMPONENT_COLUMNS), **line, "sku_code": code, "position": n} for code, n, line in lines],
            COMPONENT_COLUMNS,
        ),
        volumes=_frame(rows, VOLUME_COLUMNS),
    )


def rolled_up(skus):
    return rollup(frames(skus), catalogue.pinned(), load())


def _frame(rows, schema):
    return pl.DataFrame([[row[name] for name in schema] for row in rows], schema=schema, orient="row", strict=False)
