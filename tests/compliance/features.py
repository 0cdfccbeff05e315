"""Features for comparing streams: the same part or attribute put on a plain pack of each rigid plastic stream."""

from compliance.grading import explain

STREAMS = {
    "PET_bottle": ("bottle", "PET"),
    "PET_rigid_other": ("tray", "PET"),
    "PE_rigid": ("bottle", "HDPE"),
    "PP_rigid": ("tub", "PP"),
    "PS_rigid": ("tub", "PS"),
    "EPS_rigid": ("tray", "EPS"),
}
"""Each rigid plastic stream with a format and material that go to it."""


def _part(component_type, text, grams=1.0, **attributes):
    return {"component_type": component_type, "polymer_or_grade": text, "weight_g": grams, **attributes}


PARTS = {
    "foil layer": _part("liner", "ALU", 0.5, thickness_um=9),
    "foil in the wall": _part("body", "ALU", 0.5, thickness_um=9),
    "vacuum metallisation": _part("body", "METALLISATION", 0.01),
    "SiOx layer": _part("coating", "SIOX", 0.05),
    "EVOH layer": _part("body", "EVOH", 0.5),
    "PVOH layer": _part("coating", "PVOH", 0.5),
    "PA layer": _part("body", "PA6", 0.5),
    "PVC layer": _part("body", "PVC", 3.0),
    "PVDC layer": _part("coating", "PVDC", 0.5),
    "PET layer": _part("body", "PET", 3.0),
    "PE layer": _part("body", "PE", 3.0),
    "PP layer": _part("body", "PP", 3.0),
    "PLA layer": _part("body", "PLA", 3.0),
    "full sleeve": _part("sleeve", "PETG", coverage_percent=90, density_g_cm3=1.3),
    "PVC label": _part("label", "PVC", coverage_percent=20),
    "paper label": _part("label", "paper", coverage_percent=20),
    "large paper label": _part("label", "paper", coverage_percent=80),
    "metallised label": _part("label", "PP", coverage_percent=20, metallised=True),
    "aluminium label": _part("label", "ALU", 0.3, coverage_percent=20, thickness_um=9),
    "silicone part": _part("valve", "SILICONE"),
    "metal part": _part("pump", "STEEL"),
    "metal cap": _part("closure", "STEEL"),
    "aluminium seal": _part("seal", "ALU", 0.3, thickness_um=30),
    "paper seal": _part("seal", "paper", 0.3),
    "PVC cap": _part("cap", "PVC"),
    "PP cap": _part("cap", "PP"),
    "PE cap": _part("cap", "HDPE"),
    "firmly attached label": _part("label", "paper", coverage_percent=20, attachment="firmly_attached"),
    "permanent glue": _part("adhesive", None, 0.1, adhesive_type="permanent"),
    "hot melt": _part("adhesive", None, 0.1, adhesive_type="hot_melt"),
    "bleeding ink": _part("ink", None, 0.1, ink_type="bleeding"),
    "direct print": _part("ink", None, 0.1, direct_print=True),
}
"""A part that a pack has besides its body."""
BODIES = {"carbon black": {"colour": "carbon_black"}, "dark colour": {"colour": "dark"}}
"""Attributes of the body itself."""


def judged(stream, feature, rules):
    """The rows of the stream that fire for a feature and not for the plain pack; empty where none speaks of it."""
    form, material = STREAMS[stream]
    plain = {"component_type": "body", "polymer_or_grade": material, "weight_g": 60.0, "colour": "transparent"}
    parts = [plain, PARTS[feature]] if feature in PARTS else [{**plain, **BODIES[feature]}]
    return _fired(form, parts, stream, rules) - _fired(form, [plain], stream, rules)


def _fired(form, parts, stream, rules):
    parts = [{"material_family": "plastic", **part} for part in parts]
    trace = explain({"packaging_format": form, "packaging_level": "sales", "components": parts}, rules)
    assert trace["stream"] == stream
    fired = {rule["rule_id"] for unit in trace["units"] for part in unit["components"] for rule in part["rules"]}
    return {rule_id for rule_id in fired if rules.rules[rule_id].stream == stream}
