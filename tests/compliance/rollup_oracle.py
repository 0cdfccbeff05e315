"""Tonnes once more, slowly: one SKU after the other in plain Python and exact fractions, over the raw tables.

It transcribes rollup.md section by section, so that the frames can be compared with it on portfolios that nobody
worked out by hand. It shares the resolving of words with the code under test, and nothing else.
"""

from fractions import Fraction

from compliance.ruleset import load
from compliance.tables import RULES, rows
from compliance.words import resolve_format, resolve_material

_FOLDER = RULES / "catalogue"
JURISDICTIONS = {row["code"]: row for row in rows(_FOLDER / "jurisdictions.csv")}
CATEGORIES = rows(_FOLDER / "scheme_categories.csv")
PATHS = {row["path"]: row for row in rows(_FOLDER / "material_paths.csv")}
MAP = rows(_FOLDER / "material_map.csv")
SCOPES = {row["scope_key"]: row for row in rows(_FOLDER / "scopes.csv")}
SHAPES = {row["form"]: row["shape"] for row in rows(_FOLDER / "shape_map.csv")}
BASES = ["own", "parent", "eu_default", "fallback"]


# 1. Units of a period


def normal(market):
    code = market.upper().replace("_", "-").replace(" ", "-")
    code = "GB" if code == "UK" else code
    row = JURISDICTIONS.get(code)
    return code[:2] if "-" in code and (row is None or row["in_catalogue"] == "N") else code


def units(sku, market, year, half):
    """Units, the reason and fields of an entry or None, and whether the SKU counts."""
    held = {}
    for row in sku["volumes"]:
        if normal(row["market"]) == market and row["year"] == year and row["units_placed"] is not None:
            held[row["half"]] = held.get(row["half"], 0) + row["units_placed"]
    halves = [held[each] for each in (1, 2) if each in held]
    if half:
        if half in held:
            return held[half], None
        return (None, ("half_missing", ["volumes"])) if 0 in held else (0, None)
    if 0 in held:
        wrong = held[0] != sum(halves) if len(halves) == 2 else bool(halves) and held[0] < halves[0]
        fields = [f"year: {held[0]}", f"halves: {sum(halves)}"]
        return held[0], ("half_year_conflict", fields) if wrong else None
    if len(halves) == 2:
        return sum(halves), None
    return (halves[0], ("half_missing", ["volumes"])) if halves and halves[0] else (0, None)


def halves_held(skus, market, year):
    """The halves of which any SKU has a row, and the one that is missing, or None."""
    held, needed = set(), set()
    for sku in skus:
        of_sku = {
            row["half"]
            for row in sku["volumes"]
            if normal(row["market"]) == market and row["year"] == year and row["units_placed"] is not None
        }
        held |= of_sku - {0}
        if len(of_sku) == 1 and 0 not in of_sku:
            needed |= {1, 2} - of_sku
    missing = needed - held
    return sorted(held), missing.pop() if missing and market == "GB" else None


# 2 and 3. Parts and their paths


def cells(text):
    return text.split("|")


def shape_of(kind, sku):
    if kind == "body":
        found = resolve_format(sku["packaging_format"], load()) if sku["packaging_format"] else None
        return SHAPES[(found.form if found else None) or ""]
    return "flexible" if kind in ("label", "sleeve", "liner", "seal", "tie_layer", "coating") else "rigid"


def format_key(sku):
    found = resolve_format(sku["packaging_format"], load()) if sku["packaging_format"] else None
    return found.key if found else None


def path_of(kind, family, text, sku):
    code = (resolve_material(text, load()) if text else None) or "-"
    shape = shape_of(kind, sku)
    key = (format_key(sku) or "-") if kind == "body" else "-"
    for row in MAP:
        asked = [("families", family), ("codes", code), ("shapes", shape), ("packaging_format_keys", key)]
        if all(row[column] == "*" or value in cells(row[column]) for column, value in asked):
            return None if row["path"] == "none" else row["path"].replace("{shape}", shape)
    raise AssertionError(family)


def grams(weight):
    return None if weight is None else Fraction(repr(weight))


def parts_of(sku, gaps):
    """The parts that count and the riders' weight; what is missing goes to `gaps` as (reason, field)."""
    graph = sku["components"]
    if not graph:
        if sku["material"] is None:
            gaps.append(("material_missing", "material"))
            return [], 0
        body = {
            "component_type": "body",
            "material_family": sku["material"],
            "polymer_or_grade": sku["material_subtype"],
        }
        named = [({**body, "weight_g": sku["weight_grams"]}, "weight_grams", "material_subtype")]
    else:
        named = [(c, f"components[{n}].weight_g", f"components[{n}].polymer_or_grade") for n, c in enumerate(graph)]
    kinds = [part["component_type"] for part, _, _ in named]
    lacquer = [
        k == "coating" and part["material_family"] == "other" for k, (part, _, _) in zip(kinds, named, strict=True)
    ]
    rides = [k in ("ink", "adhesive", "varnish") or is_lacquer for k, is_lacquer in zip(kinds, lacquer, strict=True)]
    if all(rides):
        gaps.append(("material_missing", "components"))
        return [], 0
    found, riding = [], Fraction(0)
    for place, (part, weight_field, material_field) in enumerate(named):
        weight, kind = grams(part["weight_g"]), kinds[place]
        if weight is None and not (rides[place] and kind != "coating"):
            gaps.append(("weight_missing", weight_field))
            continue
        if rides[place]:
            riding += weight or 0
            continue
        path = path_of(kind, part["material_family"], part["polymer_or_grade"], sku)
        if path is None:
            gaps.append(("material_unspecified", material_field))
            continue
        layer = kind == "body" or (kind in ("coating", "liner", "tie_layer") and part.get("separable") is not True)
        found.append(
            {
                "place": place,
                "path": path,
                "grams": weight,
                "kind": kind,
                "body": kind == "body",
                "layer": layer,
                "field": material_field,
            }
        )
    return found, riding


# 4. Category of a path in a jurisdiction


def fitting(pattern, path):
    wanted, given = pattern.split("/"), path.split("/")
    return len(wanted) <= len(given) and all(w in ("*", given[n]) for n, w in enumerate(wanted))


def best_row(level, path):
    scored = [
        (sum(segment != "*" for segment in pattern.split("/")), row["category_code"])
        for row in level
        for pattern in cells(row["maps_from"])
        if pattern and fitting(pattern, path)
    ]
    return max(scored)[1] if scored else None


def holds_in(row, year):
    """Whether a row of a table with years holds in this one."""
    return int(row["from"] or 0) <= year <= int(row["until"] or 9999)


def levels(market, year):
    row = JURISDICTIONS[market]
    codes = [("own", market), ("parent", row["parent_code"]), ("eu_default", "EU" if row["region"] == "eu" else "")]
    found = [
        (basis, [each for each in CATEGORIES if each["code"] == code and holds_in(each, year)])
        for basis, code in codes
        if code
    ]
    return [(basis, level) for basis, level in found if level]


def category(path, market, year):
    asked = levels(market, year)
    if PATHS[path]["stands_for"]:
        for row in asked[0][1] if asked else []:
            if any("unspecified" in p.split("/") and fitting(p, path) for p in cells(row["maps_from"])):
                return row["category_code"], asked[0][0]
        wanted = cells(PATHS[path]["stands_for"])
        kinds = [
            kind
            for kind in PATHS
            if not PATHS[kind]["stands_for"]
            and any(fitting(p, kind) and p.count("/") == kind.count("/") for p in wanted)
        ]
        found = {category(kind, market, year) for kind in kinds}
        if len({code for code, _ in found}) != 1:
            return None
        return next(iter(found))[0], max((basis for _, basis in found), key=BASES.index)
    for number, (basis, level) in enumerate(asked):
        code = best_row(level, path)
        if code:
            return code, basis if number == 0 else "fallback"
        others = [row["category_code"] for row in level if "other" in cells(row["maps_from"])]
        if others:
            return others[0], "fallback"
    return path.split("/")[0], "fallback"


# 5. Composites


def unit_lines(layers, kind, sku, market, year):
    """The lines of one unit: all layers of the body (kind `body`), or one other part of that type."""
    row = JURISDICTIONS[market]
    materials = {}
    for layer in layers:
        materials.setdefault(PATHS[layer["path"]]["same_material"], []).append(layer)
    weight = {name: sum(layer["grams"] for layer in members) for name, members in materials.items()}
    heaviest = {name: max(members, key=lambda layer: layer["grams"]) for name, members in materials.items()}
    main = max(materials, key=lambda name: weight[name])  # names stand in the order of their first layer
    total, limit = sum(weight.values()), Fraction(row["composite_threshold_percent"])
    others = [name for name in materials if name != main]
    together = sum(weight[name] for name in others)
    if row["composite_rule"] == "constituents":
        significant = [name for name in others if weight[name] * 100 > limit * total]
    else:
        significant = others if together * 100 > limit * total else []

    def line(names, path):
        members = [layer for name in names for layer in materials[name]]
        first = min(layer["place"] for layer in members)
        return {
            "path": path, "grams": sum(layer["grams"] for layer in members), "first": first,
            "body": any(layer["body"] for layer in members), "named": heaviest[names[0]],
        }  # fmt: skip

    whole = [main, *others]
    path = heaviest[main]["path"]
    if not significant and main != "composite":
        return [line(whole, path)]
    if format_key(sku) == "beverage_carton" and main == "paper":
        composite = "composite/beverage_carton"
    else:
        composite = path if path.startswith("composite/") else "composite/" + PATHS[path]["composite_as"]
    asked = levels(market, year)
    if asked and best_row(asked[0][1], composite):
        return [line(whole, composite)]
    if row["composite_rule"] == "own_category":
        return [line(whole, composite)]
    if row["composite_rule"] == "predominant":
        mainly = PATHS[path]["main_material"].replace("{shape}", shape_of(kind, sku))
        return [line(whole, mainly or path)]
    unsplit = {name: "composite/unsplit" if name == "composite" else heaviest[name]["path"] for name in materials}
    minor = [name for name in others if name not in significant]
    return [line([main, *minor], unsplit[main]), *(line([name], unsplit[name]) for name in significant)]


# 6. Tonnes


def of_sku(sku, market, year):
    """Category to (grams, basis) of one unit, and the gaps."""
    gaps = []
    parts, riding = parts_of(sku, gaps)
    layers = [part for part in parts if part["layer"]]
    lines = unit_lines(layers, "body", sku, market, year) if layers else []
    for part in parts:
        if not part["layer"]:
            lines += unit_lines([part], part["kind"], sku, market, year)
    counted = []
    for line in sorted(lines, key=lambda line: line["first"]):
        found = category(line["path"], market, year)
        if found:
            counted.append((line, found))
            continue
        for name in cells(PATHS[line["path"]]["fields_missing"]):
            field = name if name == "packaging_format" else line["named"]["field"]
            gaps.append(("material_unspecified", field, line["named"]["place"]))
    total = {}
    if counted:
        bodies = [each for each in counted if each[0]["body"]] or counted
        carrier = max(bodies, key=lambda each: each[0]["grams"])[0]
        for line, (code, basis) in counted:
            before, worst = total.get(code, (Fraction(0), "own"))
            weight = line["grams"] + (riding if line is carrier else 0)
            total[code] = (before + weight, max(worst, basis, key=BASES.index))
    return total, gaps


def row_of(code, market, year):
    """Scope and confidence of a category, by the first level that has its code."""
    for _, level in levels(market, year):
        for row in level:
            if row["category_code"] == code:
                return row["scope_key"], row["confidence"]
    return "all", "none"


# 7a. Scope

HOUSEHOLD = {"food", "beverage", "cosmetics", "pharmaceutical", "household", "ecommerce", "takeaway"}


def deposit(sku):
    """True, False or the field that is missing."""
    uses, said, reusable = set(sku["use_contexts"] or ()), sku["reuse_deposit_system"], sku["reusable"]
    drinks_format = format_key(sku) in ("bottle", "can", None)
    if drinks_format and reusable is not True and said is True and ("beverage" in uses or not uses):
        return True
    if reusable is True or said is False or not drinks_format or (uses and "beverage" not in uses):
        return False
    return "reuse_deposit_system" if uses else "use_contexts"


def household(sku):
    uses = set(sku["use_contexts"] or ())
    like, industrial = bool(uses & HOUSEHOLD), "industrial" in uses
    if like and not industrial:
        return True
    if industrial and not like:
        return False
    if not like and not industrial and sku["packaging_level"] == "e_commerce":
        return True
    return "use_contexts"


def scope(sku, key):
    """(in, None), (out, the first fact) or (ask, the missing fields)."""
    row, asked = SCOPES[key], []
    level = sku["packaging_level"]
    if row["packaging_levels"] != "*" and level is None:
        asked.append(("unknown_packaging_level", "packaging_level"))
    elif row["packaging_levels"] != "*" and level not in cells(row["packaging_levels"]):
        return "out", "packaging_level"
    if row["reusable"] == "no":
        if sku["reusable"] is True:
            return "out", "reusable"
        if sku["reusable"] is None:
            asked.append(("unknown_reusable", "reusable"))
    if row["deposit_container"] == "no":
        found = deposit(sku)
        if found is True:
            return "out", "deposit_container"
        if found is not False:
            asked.append(("unknown_deposit_container", found))
    if row["household_like"] == "yes":
        found = household(sku)
        if found is False:
            return "out", "household_like"
        if found is not True:
            asked.append(("unknown_household_like", found))
    if row["hazardous_contents"] == "no" and "dangerous_goods" in (sku["use_contexts"] or ()):
        asked.append(("unknown_hazardous_contents", "hazardous_contents"))
    fields = [field for column, field in asked if row.get(column, "ask") == "ask"]
    return ("ask", list(dict.fromkeys(fields))) if fields else ("in", None)


def figures(skus, market, year, half):
    """Category to its row, the uncounted entries as (SKU, units, reason, set of fields), and what scopes lack.

    A row is [tonnes, units, SKUs, basis, in scope, undecided, scope, confidence].
    """
    found, uncounted, missing = {}, set(), {}
    for sku in skus:
        number, entry = units(sku, market, year, half)
        if entry:
            uncounted.add((sku["sku_code"], number, entry[0], tuple(entry[1])))
        if not number:
            continue
        total, gaps = of_sku(sku, market, year)
        for reason in {gap[0] for gap in gaps}:
            fields = tuple(sorted({gap[1] for gap in gaps if gap[0] == reason}))
            uncounted.add((sku["sku_code"], number, reason, fields))
        for code, (weight, basis) in total.items():
            key, confidence = row_of(code, market, year)
            row = found.setdefault(code, [Fraction(0), 0, 0, "own", Fraction(0), Fraction(0), key, confidence])
            verdict, fields = scope(sku, key)
            placed = weight * number / 1_000_000
            row[0] += placed
            row[1] += number
            row[2] += 1
            row[3] = max(row[3], basis, key=BASES.index)
            row[4] += placed if verdict == "in" else 0
            row[5] += placed if verdict == "ask" else 0
            if verdict == "ask":
                missing.setdefault((sku["sku_code"], number, tuple(fields)), set()).add(code)
    return found, uncounted, {(*entry, tuple(sorted(codes))) for entry, codes in missing.items()}
