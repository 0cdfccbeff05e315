"""Random packs by number: the same number is the same pack on every machine, for comparing kernel and oracle at length.

They are drawn from the vocabularies of `tests.compliance.records`; those are for the property tests, which shrink what
they find.
"""

from random import Random

from schemas.vocabularies import VOCABULARIES
from tests.compliance.records import CODES, COMMON, FORMATS, ODD

SOMETIMES = {
    "colour": VOCABULARIES["colour"],
    "attachment": VOCABULARIES["attachment"],
    "adhesive_type": VOCABULARIES["adhesive_type"],
    "ink_type": VOCABULARIES["ink_type"],
    "coating_type": VOCABULARIES["coating_type"],
    "metallised": [True, False],
    "direct_print": [True, False],
    "coverage_percent": [0, 20, 50, 60, 66.67, 66.68, 100],
    "density_g_cm3": [0.9, 0.95, 1, 1.2],
    "thickness_um": [1, 5, 5.5, 12],
    "additives": [[], *([value] for value in VOCABULARIES["additive"])],
    "separable": [True, False],
    "substances": [{"svhc": {"status": status}} for status in ("above_limit", "unknown", "absent")],
}
WEIGHTS = [90, 90, 90, 10, 10, 10, 5, 5, 1, 1, 20, 30, 40, 0, None]


def pack(number):
    """The pack of this number as a stored record: a graph of up to six parts, now and then a material alone."""
    draw = Random(number)
    record = {
        "packaging_format": draw.choice(FORMATS),
        "packaging_level": draw.choice(["transport", "grouped", "sales", "sales"]),
    }
    if draw.random() < 0.1:
        return record | {
            "material": draw.choice([None, *VOCABULARIES["material"]]),
            "material_subtype": draw.choice([None, "no such stuff", *CODES]),
            "weight_grams": draw.choice([None, 0, 12.5]),
        }
    tame = draw.random() < 0.6
    others = draw.choices(VOCABULARIES["component_type"], k=draw.randrange(6))
    return record | {
        "use_contexts": draw.choice([None, [], *[["food"]] * 6, ["dangerous_goods"]]),
        "svhc": draw.choice([None] * 5 + [{"status": "absent"}, {"status": "above_limit"}]),
        "components": [_component(draw, component_type, tame) for component_type in ("body", *others)],
    }


def _component(draw, component_type, tame):
    """A part; in a tame pack of a common material and much lighter than the body."""
    texts = draw.choices([COMMON, CODES, ODD], weights=[16, 1, 0] if tame else [16, 6, 1])[0]
    weight = draw.choice(WEIGHTS) if draw.random() < 0.4 else draw.randrange(1, 4000) / 100
    if tame:
        weight = draw.randrange(2000, 9000) / 100 if component_type == "body" else draw.randrange(1, 300) / 100
    asked = {field: draw.choice(values) for field, values in SOMETIMES.items() if draw.random() < 0.2}
    return {
        "component_type": component_type,
        "material_family": draw.choice(VOCABULARIES["material_family"]),
        "polymer_or_grade": draw.choice(texts),
        "weight_g": weight,
        **asked,
    }
