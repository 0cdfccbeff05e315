"""Generates realistic portfolios: few structures, some very common; each part has a weight of its own."""

import random
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import orjson

from compliance.grading import GRADED_INPUTS, Inputs
from schemas.vocabularies import VOCABULARIES

_SOMETIMES: Final[Mapping[str, Sequence[object]]] = {
    "colour": VOCABULARIES["colour"],
    "attachment": VOCABULARIES["attachment"],
    "adhesive_type": VOCABULARIES["adhesive_type"],
    "ink_type": VOCABULARIES["ink_type"],
    "coating_type": VOCABULARIES["coating_type"],
    "metallised": (True, False),
    "direct_print": (True, False),
    "coverage_percent": (20.0, 45.0, 60.0, 80.0, 100.0),
    "density_g_cm3": (0.9, 0.95, 1.0, 1.2),
    "thickness_um": (1.0, 5.5, 12.0, 40.0),
    "additives": ([], *([value] for value in VOCABULARIES["additive"])),
    "separable": (True, False),
    "svhc": ("above_limit", "unknown", "absent"),
}
_OWN: Final[Mapping[str, Sequence[str]]] = {
    "body": ("colour", "additives", "thickness_um"),
    "cap": ("colour", "attachment", "density_g_cm3", "separable"),
    "label": ("coverage_percent", "adhesive_type", "ink_type", "metallised", "density_g_cm3"),
    "sleeve": ("coverage_percent", "ink_type", "density_g_cm3"),
    "ink": ("ink_type",),
    "adhesive": ("adhesive_type",),
    "coating": ("coating_type", "thickness_um"),
    "seal": ("attachment",),
}
"""The attributes that somebody gives of a part of a type, now and then."""
_PACKS: Final = (
    ("bottle", "PET", ("cap HDPE", "label PP", "ink -", "adhesive -", "seal ALU")),
    ("bottle", "HDPE", ("cap PP", "sleeve PET", "ink -", "label paper", "adhesive -")),
    ("jar", "GL71", ("cap STEEL", "label paper", "adhesive -", "ink -", "seal PP")),
    ("can", "ALU", ("label PP", "ink -", "coating -", "cap ALU", "adhesive -")),
    ("can", "STEEL", ("label paper", "adhesive -", "ink -", "coating -", "cap LDPE")),
    ("tray", "PP", ("liner PET", "seal LDPE", "label PP", "ink -", "adhesive -")),
    ("tray", "PS", ("label paper", "ink -", "adhesive -", "seal PE", "liner EVOH")),
    ("pouch", "LDPE", ("tie_layer EVOH", "ink -", "adhesive -", "spout HDPE", "cap PP")),
    ("film", "PP", ("ink -", "coating -", "adhesive -", "label paper", "tie_layer PE")),
    ("box", "PAP21", ("ink -", "adhesive -", "coating -", "window PET", "label PP")),
    ("beverage carton", "paper", ("liner LDPE", "tie_layer ALU", "cap HDPE", "ink -", "adhesive -")),
    ("cup", "paper", ("liner PE", "ink -", "sleeve paper", "cap PS", "adhesive -")),
    ("tub", "PP", ("cap PP", "label PP", "ink -", "seal ALU", "sleeve PET")),
)
_FAMILIES: Final = {"paper": "paper", "PAP21": "paper", "GL71": "glass", "ALU": "metal", "STEEL": "metal"}


def realistic(count: int, *, seed: int = 1, part: int = 0) -> list[Inputs]:
    """Return stored rows of a portfolio of 3 000 structures of six parts; its parts have different SKUs."""
    rng = random.Random(seed)
    structures = [_realistic(rng) for _ in range(3_000)]
    draw = np.random.default_rng((seed, part))
    chosen = np.minimum(draw.zipf(1.3, count), 10**9) * 7919 % len(structures)
    return [_row(*structures[place], draw) for place in chosen]


def _realistic(rng: random.Random) -> tuple[dict[str, object], list[dict[str, object]]]:
    form, material, others = rng.choice(_PACKS)
    lines = []
    for each in (f"body {material}", *others):
        kind, text = each.split()
        kind = kind if kind in VOCABULARIES["component_type"] else "label"
        given = {field: rng.choice(_SOMETIMES[field]) for field in _OWN.get(kind, ()) if rng.random() < 0.3}
        family = "other" if text == "-" else _FAMILIES.get(text, "plastic")
        lines.append(
            given | {"component_type": kind, "material_family": family, "heaviest": 60 if kind == "body" else 3}
        )
        if text != "-":
            lines[-1]["polymer_or_grade"] = text
    return {"packaging_format": form, "packaging_level": rng.choice(("sales", "sales", "grouped", None))}, lines


def _row(head: dict[str, object], lines: list[dict[str, object]], draw: np.random.Generator) -> Inputs:
    """Return the stored row of a structure, every part with a weight of its own."""
    graph = []
    for line in lines:
        given = {name: value for name, value in line.items() if name not in ("heaviest", "svhc")}
        if status := line.get("svhc"):
            given["substances"] = {"svhc": {"status": status}}
        graph.append({**given, "weight_g": round(draw.uniform(0.3, 1.0) * line["heaviest"], 2)})
    return tuple({**dict.fromkeys(GRADED_INPUTS), **head, "components": orjson.dumps(graph).decode()}.values())
