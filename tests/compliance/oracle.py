"""The grading algorithm once more, slowly: exact fractions, every trial a whole regrading.

It transcribes the steps one after the other over the raw tables, so that the kernel can be compared with it on packs
that nobody worked out by hand. It shares the resolving of words with the kernel, and nothing else.
"""

from copy import deepcopy
from fractions import Fraction
from functools import cache

from compliance.words import resolve_format
from tests.compliance.oracle_parts import (
    OWN,
    VERSION,
    carried_by,
    component,
    exact,
    family,
    group,
    group_of,
    in_band,
    known,
    materials,
    non_paper_layer,
    rows_of,
    rule,
    scoring,
    split,
    stream_of,
    switched,
    table,
)

RANK = ["disqualify", "not_assessed", "removed_limited", "limited", "removed", "none"]
LAYERS = ["body", "coating", "liner", "tie_layer", "varnish"]
ATTACHED = ["cap", "closure", "spout", "pump", "valve", "handle", "seal"]
CLASSES = [
    LAYERS,
    ATTACHED,
    ["label", "sleeve"],
    ["ink", "adhesive"],
]

# Steps 5 and 6


def matches(row, code, targets):
    meant = {code, group_of(code)} | ({"@target"} if group_of(code) in targets else set())
    wanted = [t for t in split(row["polymer_codes"]) if not t.startswith("-")]
    unwanted = [t[1:] for t in split(row["polymer_codes"]) if t.startswith("-")]
    return (not wanted or any(t in meant for t in wanted)) and not any(t in meant for t in unwanted)


def names_code(row):
    return any(not t.startswith("-") for t in split(row["polymer_codes"]))


def types(row):
    return split(row["component_types"])


def share(row, part, unit, kin=()):
    counted = []
    for other in unit["parts"]:
        if row["share_basis"] == "target":
            if group(other) in unit["targets"]:
                counted.append(other)
        elif row["share_basis"] == "code" and other["code"] != part["code"]:
            continue
        elif other["type"] in (*types(row), *kin) or "*" in types(row):
            counted += [other] if matches(row, other["code"], unit["targets"]) else []
    return 100 * sum(p["weight"] for p in counted) / unit["total"]


def answer(row, part, unit):
    """The attribute's values as a list, or None where nobody gave it."""
    field = row["attribute_field"]
    if field == "form":
        return [unit["form"]] if unit["form"] else None
    if field == "layers_recorded":
        return [any(non_paper_layer(p) for p in unit["parts"] if not p["carried"])]
    asked = [part]
    if field in ("colour", "additives") and (row["attribute_of"] == "body" or part["type"] == "body"):
        asked = [p for p in unit["parts"] if p["type"] == "body"]
    found = [p["fields"][field] for p in asked if field in p["fields"]]
    if not found:
        return None
    return [one for value in found for one in (value if isinstance(value, list) else [value])]


def condition(row, part, unit):
    if not row["attribute_field"]:
        return True
    values = answer(row, part, unit)
    if values is None:
        return None
    wanted = row["attribute_value"]
    test = {
        "eq": lambda v: v == wanted,
        "in": lambda v: v in wanted.split("|"),
        "is_true": lambda v: v is True,
        "is_false": lambda v: v is False,
        "gt": lambda v: v > exact(wanted),
        "ge": lambda v: v >= exact(wanted),
        "lt": lambda v: v < exact(wanted),
        "le": lambda v: v <= exact(wanted),
    }[row["attribute_op"]]
    return any(test(v) for v in values)


def asking(part, unit):
    return _asking(VERSION.get(), unit["stream"], part["type"], part["code"], tuple(unit["targets"]))


@cache
def _asking(_, stream, component_type, code, targets):
    """The rows that speak of a part: what is not weighed, so the same in every pack."""
    return [
        row
        for row in rows_of(stream, "any")
        if row["recordable"] == "Y"
        and (component_type in types(row) or types(row) == ["*"])
        and matches(row, code, targets)
    ]


def tried(row, part, unit, kin=()):
    """Whether the share holds, and whether the condition does (None: nobody gave the attribute)."""
    holds = in_band(row, share(row, part, unit, kin)) if row["share_basis"] else True
    return row, holds, condition(row, part, unit)


def judge(part, unit):
    """All rows that fire on a part, its open rows, and whether it is unlisted or graded by analogy."""
    rows_tried = [tried(row, part, unit) for row in asking(part, unit)]
    listing = [
        holds
        for row, holds, met in rows_tried
        if row["lists"] == "always" or (row["lists"] == "fired" and holds and met)
    ]
    named, notes = [], set()
    if listing and not part["carried"]:
        named = [] if any(listing) else ["ANY-012"]
    elif not part["carried"]:
        kin = next(members for members in CLASSES if part["type"] in members)
        analogies = [tried(row, part, unit, kin) for row in rows_of(unit["stream"]) if by_analogy(row, part, unit, kin)]
        if group(part) in unit["targets"] and (part["type"] in LAYERS or not analogies):
            named = ["ANY-011b"]
        elif analogies:
            notes.add("analogy")
            named = ["ANY-011a"] + ([] if any(holds for _, holds, _ in analogies) else ["ANY-012"])
            rows_tried += analogies
        else:
            notes.add("unlisted")
    fired = [row for row, holds, met in rows_tried if holds and met] + [rule(rule_id) for rule_id in named]
    opened = [row for row, holds, met in rows_tried if holds and met is None and not part["carried"]]
    return fired, opened, notes


def by_analogy(row, part, unit, kin):
    wall = part["type"] in ("body", "coating", "tie_layer", "varnish")
    if wall and any(kind in types(row) for kind in ATTACHED) and not switched("analogy_attachments_to_layers"):
        return False
    return (
        row["lists"] == "always"
        and names_code(row)
        and any(kind in types(row) for kind in kin if kind != part["type"])
        and matches(row, part["code"], unit["targets"])
    )


def standing(fired):
    found = {}
    for row in sorted(fired, key=lambda r: (RANK.index(r["effect"]), r["rule_id"])):
        found.setdefault(row["parameter"], row)
    return list(found.values())


# Step 7


def grade_unit(unit):
    body = [p for p in unit["parts"] if p["type"] == "body"]
    missing = []
    for part in unit["parts"]:
        if part["code"] is None:
            missing.append((part["index"], "polymer_or_grade"))
        if part["weight"] is None:
            missing.append((part["index"], "weight_g"))
    if all(p["weight"] is not None for p in body) and sum(p["weight"] for p in body) == 0:
        missing += [(p["index"], "weight_g") for p in body]
    if missing:
        return {"grade": "not_assessed", "missing": missing}
    main, row = stream_of(unit["parts"], unit["form"])
    if row is None or row["stream"] == "none":
        asked = "packaging_format" if row is None else "components" if row["reason"] == "components" else None
        return {"grade": "not_assessed", "main": main, "missing": [(None, asked)] if asked else []}
    unit["stream"], unit["targets"] = row["stream"], row["target_groups"].split("|")
    unit["parts"] = unit["parts"] + [c for p in unit["parts"] for c in carried_by({**p, "type": p["own_type"]})]
    total = unit["total"] = sum(p["weight"] for p in unit["parts"])
    verdicts = [(part, *judge(part, unit)) for part in unit["parts"]]
    rules = [(part, row) for part, fired, _, _ in verdicts for row in fired]
    stands = [(part, row) for part, fired, _, _ in verdicts for row in standing(fired)]
    unlisted = [part for part, _, _, notes in verdicts if "unlisted" in notes]
    if unlisted:
        together = 100 * sum(p["weight"] for p in unlisted) / total
        row = rule("ANY-011c") if in_band(rule("ANY-011c"), together) else rule("ANY-011d")
        rules += [(part, row) for part in unlisted]
        stands += [(part, row) for part in unlisted]
    removed = Fraction(0)
    for part in unit["parts"]:
        shares = [exact(r["removed_pct"]) for p, r in stands if p is part and r["effect"].startswith("removed")]
        removed += part["weight"] * max(shares, default=Fraction(0)) / 100
    kept = 100 * (total - removed) / total
    features = {
        (r["rule_id"], None if r["share_basis"] else p["type"])
        for p, r in stands
        if r["effect"] in ("limited", "removed_limited")
    }
    effects = {r["effect"] for _, r in stands}
    result = {
        "main": main,
        "stream": unit["stream"],
        "kept": kept,
        "limited": len(features),
        "rules": {r["rule_id"] for _, r in rules},
        "open": [(part, row) for part, _, opened, _ in verdicts for row in opened],
        "readings": bool(unlisted) or any("analogy" in notes for _, _, _, notes in verdicts),
        "missing": [
            (p["index"], "polymer_or_grade") for p in unlisted if row["rule_id"] == "ANY-011d" and not p["is_given"]
        ]
        if unlisted
        else [],
    }
    if "disqualify" in effects:
        return {**result, "grade": "not_recyclable", "score": Fraction(0)}
    if "not_assessed" in effects:
        return {**result, "grade": "not_assessed", "score": None}
    score = min(kept, scoring(f"cap_{min(len(features), 4)}"))
    grade = next((g for g in "ABC" if score >= scoring(f"grade_{g}")), "not_recyclable")
    return {**result, "grade": grade, "score": score}


def grade(record):
    """Grade, score, units with their parts, and whether a reading makes the grade provisional."""
    none = {"grade": "not_assessed", "score": None, "units": [], "missing": []}
    svhc = (record.get("svhc") or {}).get("status")
    lines = record.get("components") or []
    if lines:
        if not any(line["component_type"] == "body" for line in lines):
            return {**none, "missing": [(None, "components")]}
    else:
        if not record.get("material") and not record.get("material_subtype"):
            return {**none, "missing": [(None, "material")]}
        implied = {"component_type": "body", "material_family": record.get("material")}
        implied |= {"polymer_or_grade": record.get("material_subtype"), "weight_g": record.get("weight_grams")}
        lines = [{**implied, **record.get("_body", {})}]
    parts = [component(line, index, svhc) for index, line in enumerate(lines)]
    text = record.get("packaging_format")
    found = resolve_format(text, known()) if text else None
    contexts = record.get("use_contexts") or []
    if (
        ("dangerous_goods" in contexts and record.get("packaging_level") == "transport")
        or "pharmaceutical" in contexts
        or (found and "compostable_art_9" in found.flags)
    ):
        return none
    for part in parts:
        part["own_type"] = part["type"]
    units = [{"parts": [p for p in parts if not p["separate"]], "form": found.form if found else None}]
    for part in parts:
        if part["separate"]:
            form = "film" if part["type"] in ("label", "sleeve", "liner", "seal") else "rigid"
            units.append({"parts": [{**part, "type": "body"}], "form": form})
    results = [grade_unit(unit) for unit in units]
    rare = ("WOOD", "CORK", "TEXTILE", "CERAMIC", "RUBBER", "WAX")
    if results[0].get("main") in rare and record.get("packaging_level") == "sales":
        return none
    return {
        **overall(results),
        "units": list(zip(units, results, strict=True)),
        "missing": [what for r in results for what in r["missing"]],
    }


def overall(results):
    none = {"grade": "not_assessed", "score": None}
    if results[0]["grade"] == "not_assessed":
        return none
    assessed = [r for r in results if r["grade"] != "not_assessed"]
    order = ["not_recyclable", "C", "B", "A"]
    worst = min(assessed, key=lambda r: (order.index(r["grade"]), r["score"]))
    if len(assessed) < len(results) and worst["grade"] != "not_recyclable":
        return none
    return {"grade": worst["grade"], "score": worst["score"]}


# Step 8


def values_of(field, stream):
    if field in ("coverage_percent", "density_g_cm3", "thickness_um"):
        bounds = {
            exact(r["attribute_value"])
            for r in rows_of(stream, "any")
            if r["attribute_field"] == field and r["recordable"] == "Y"
        }
        step = exact("0.000001")
        tried = [b + s for b in bounds for s in (-step, 0, step)]
        return [float(v) for v in tried if v >= 0 and (field != "coverage_percent" or v <= 100)]
    values = [r["value"] for r in table("attributes") if r["field"] == field]
    if field == "additives":
        return [[v] for v in values] + [[]]
    return [v == "true" if v in ("true", "false") else v for v in values]


def provisional(record, first=None):
    """Whether the grade is provisional; `first` is what `grade` said of the record."""
    first = first or grade(record)
    if first["grade"] == "not_assessed":
        return False
    for unit, result in first["units"]:
        if result["grade"] == "not_assessed":
            continue
        if result.get("readings") or any(p["generic"] for p in unit["parts"]):
            return True
        for part in unit["parts"]:
            if not part["code"] or part["carried"] or materials()[part["code"]]["layers_unrecorded"] != "Y":
                continue
            recorded = any(non_paper_layer(p) for p in unit["parts"] if not p["carried"])
            if family(part) != "paper" or not recorded:
                return True
    return any(grade(other)["grade"] != first["grade"] for other in trials(record, first))


def trials(record, first):
    """The record once for each value of each open field, all else equal."""
    gives = {r["field"] for r in table("attributes") if r["open_makes_provisional"] == "Y"}
    for unit, result in first["units"]:
        if result["grade"] == "not_assessed":
            continue
        for part, row in result["open"]:
            field = row["attribute_field"]
            if field not in gives:
                continue
            target = part
            if field in ("colour", "additives") and (row["attribute_of"] == "body" or part["type"] == "body"):
                target = next(p for p in unit["parts"] if p["type"] == "body")
            for value in values_of(field, result["stream"]):
                yield changed(record, target["index"], {field: value})
        for part in unit["parts"]:
            if part["code"] in [f"{kind.upper()}_UNSPECIFIED" for kind in OWN] and not part["carried"]:
                for code in materials():
                    if any(
                        part["type"] in types(row) and names_code(row) and matches(row, code, unit["targets"])
                        for row in rows_of(result["stream"])
                    ):
                        yield changed(record, part["index"], {"_code": code})


def changed(record, index, facts):
    other = deepcopy(record)
    if other.get("components"):
        other["components"][index].update(facts)
    else:
        other["_body"] = facts
    return other
