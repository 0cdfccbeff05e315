"""Random packs for the comparison of kernel and oracle: odd on purpose, valid by the contract."""

from hypothesis import strategies as st

from compliance.ruleset import load
from schemas.vocabularies import VOCABULARIES

RULES = load()
COMMON = [
    "PET",
    "HDPE",
    "LDPE",
    "PE",
    "PP",
    "PS",
    "EPS",
    "paper",
    "PAP21",
    "LPB",
    "ALU",
    "STEEL",
    "GLASS",
    "GL71",
    "EVOH",
    "PA6",
]
CODES = sorted(code for code, material in RULES.materials.items() if material.specified)
FORMATS = [
    "bottle",
    "tray",
    "pouch",
    "film",
    "box",
    "jar",
    "tub",
    "cup",
    "can",
    "beverage carton",
    "portion pack",
    "pallet",
    None,
]
SAID = [
    f"{material} {word}"
    for material in ("PET", "HDPE", "PP", "OPP", "Glas", "Karton", "plastic", "Weißblech", "PET/PE")
    for word in (
        "schwarz",
        "black",
        "weiß",
        "vert foncé",
        "carbon black",
        "hellblau",
        "rot",
        "metallisiert",
        "métallisé",
    )
]
"""Texts that name a colour or a metallisation beside their material."""
ODD = ["unknown", "plastic", "metal", "no such stuff", "glue", None]
WEIGHTS = st.integers(1, 4000).map(lambda hundredths: hundredths / 100)


def optional(strategy):
    return st.none() | strategy


def vocabulary(name):
    return optional(st.sampled_from(VOCABULARIES[name]))


def components(component_type):
    return st.fixed_dictionaries(
        {
            "component_type": component_type,
            "material_family": st.sampled_from(VOCABULARIES["material_family"]),
            "polymer_or_grade": st.sampled_from(COMMON)
            | st.sampled_from(CODES)
            | st.sampled_from(CODES + ODD)
            | st.sampled_from(SAID),
            "weight_g": st.sampled_from([90, 10, 5, 1]) | WEIGHTS | st.sampled_from([10, 20, 30, 40, 0, None]),
        },
        optional={
            "colour": vocabulary("colour"),
            "attachment": vocabulary("attachment"),
            "adhesive_type": vocabulary("adhesive_type"),
            "ink_type": vocabulary("ink_type"),
            "coating_type": vocabulary("coating_type"),
            "metallised": optional(st.booleans()),
            "direct_print": optional(st.booleans()),
            "coverage_percent": optional(st.sampled_from([0, 20, 50, 60, 66.67, 66.68, 100])),
            "density_g_cm3": optional(st.sampled_from([0.9, 0.95, 1, 1.2])),
            "thickness_um": optional(st.sampled_from([1, 5, 5.5, 12])),
            "additives": optional(st.lists(st.sampled_from(VOCABULARIES["additive"]), max_size=2)),
            "separable": st.sampled_from([None, False, False, True]),
            "substances": st.sampled_from(
                [{}, {"svhc": None}, {"svhc": {"status": "above_limit"}}, {"svhc": {"status": "unknown"}}]
            ),
        },
    )


GRAPHS = st.tuples(
    components(st.just("body")),
    st.lists(components(st.sampled_from(VOCABULARIES["component_type"])), max_size=5),
).map(lambda drawn: [drawn[0], *drawn[1]])

RECORDS = st.fixed_dictionaries(
    {
        "packaging_format": st.sampled_from(FORMATS),
        "packaging_level": st.sampled_from(["transport", "grouped", "sales"]),
        "use_contexts": st.sampled_from([None, [], ["food"], ["dangerous_goods"]]),
        "svhc": st.sampled_from([None, None, None, {"status": "absent"}, {"status": "above_limit"}]),
        "components": GRAPHS,
    }
) | st.fixed_dictionaries(
    {
        "packaging_format": st.sampled_from(FORMATS),
        "packaging_level": st.sampled_from(["transport", "sales"]),
        "material": st.sampled_from([None, *VOCABULARIES["material"]]),
        "material_subtype": st.sampled_from([None, "no such stuff", *CODES]),
        "weight_grams": st.sampled_from([None, 0, 12.5]),
    }
)
