"""The oracle's first half: raw tables, and steps 2 to 4 of the algorithm. See `tests.compliance.oracle`."""

from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache

from compliance.ruleset import load, versions
from compliance.tables import RULES, rows
from compliance.words import normalise, resolve_material

OWN = {"ink": "ink_type", "adhesive": "adhesive_type", "coating": "coating_type", "varnish": "coating_type"}
GENERIC = {"glass": "GLASS", "paper": "PAPER", "wood": "WOOD", "textile": "TEXTILE_OTHER"}
FIELDS = [
    "colour",
    "coverage_percent",
    "attachment",
    "adhesive_type",
    "ink_type",
    "coating_type",
    "density_g_cm3",
    "thickness_um",
    "metallised",
    "direct_print",
    "additives",
]
NEVER_SEPARATE = ["body", "ink", "adhesive", "varnish", "coating", "tie_layer"]


VERSION = ContextVar("VERSION", default=versions()[-1])


@contextmanager
def by(version):
    """Grade by another rule-set than the newest for a while."""
    token = VERSION.set(version)
    yield
    VERSION.reset(token)


def table(name):
    return _table(VERSION.get(), name)


@cache
def _table(version, name):
    return rows(RULES / version / f"{name}.csv")


def materials():
    return _materials(VERSION.get())


@cache
def _materials(version):
    return {row["code"]: row for row in _table(version, "materials")}


def scoring(key):
    return Fraction(next(row["value"] for row in table("scoring") if row["key"] == key))


def switched(key):
    """Whether a row of the scoring table says so; an absent one says Y."""
    return all(row["value"] == "Y" for row in table("scoring") if row["key"] == key)


def rule(rule_id):
    return _rules(VERSION.get())[rule_id]


@cache
def _rules(version):
    return {row["rule_id"]: row for row in _table(version, "dfr_rules")}


def rows_of(*streams):
    """The rules of these streams, in their order."""
    return _rows_of(VERSION.get(), streams)


@cache
def _rows_of(version, streams):
    return [row for row in _table(version, "dfr_rules") if row["stream"] in streams]


@cache
def split(cell):
    return [token for token in cell.split("|") if token]


def known():
    """The rule-set for the resolving of words, the one thing that is shared with the kernel."""
    return load(VERSION.get())


@cache
def exact(number):
    return Fraction(str(number))


# Step 2


def code_of_attributes(component_type, family, attributes):
    if component_type in OWN:
        field = OWN[component_type]
        for row in table("attributes"):
            if row["field"] == field and row["value"] == attributes.get(field) and row["implies_code"]:
                return row["implies_code"]
        return f"{component_type.upper()}_UNSPECIFIED"
    return GENERIC.get(family)


def facts_of(text):
    """The colour and the metallisation that a material text names beside its material (decisions §13)."""
    code = resolve_material(text, known())
    if code is None:
        return {}
    left, found = f" {normalise(text)} ".replace("/", " "), {"colour": set(), "metallised": set()}
    words = [row for row in table("alias_words") if row.get("gives")]
    alias = {row["alias_norm"] for row in table("polymer_aliases")}
    for row in sorted(words, key=lambda row: -len(row["word"].split())):
        if f" {row['word']} " not in left:
            continue
        left = left.replace(f" {row['word']} ", "  ")
        field, value = row["gives"].split("=")
        families = split(row["families"])
        if families and not set(families) & set(split(materials()[code]["contract_families"])):
            continue
        if field == "metallised" and normalise(text) in alias:
            continue
        found[field].add(value)
    colours, given = found["colour"], {}
    if colours == {"transparent", "transparent_coloured"}:
        colours = {"transparent_coloured"}
    if colours == {"dark", "transparent_coloured"}:
        colours = {"dark"}
    if len(colours) == 1 and not materials()[code]["implies"].startswith("colour="):
        given["colour"] = next(iter(colours))
    return given | ({"metallised": True} if found["metallised"] else {})


def component(line, index, sku_svhc):
    text = line.get("polymer_or_grade")
    code = line.get("_code") or (resolve_material(text, known()) if text else None)
    unresolved = bool(text) and code is None
    if code and materials()[code]["specified"] == "N":
        code = None
    given = {field: line[field] for field in FIELDS if line.get(field) is not None}
    if text and not line.get("_code"):
        given = {**facts_of(text), **given}
    from_text = code is not None
    code = code or code_of_attributes(line["component_type"], line.get("material_family"), given)
    generic = unresolved and not from_text and line["component_type"] not in OWN and code is not None
    fields = {}
    if code:
        row = materials()[code]
        if row["typical_density_g_cm3"]:
            fields["density_g_cm3"] = exact(row["typical_density_g_cm3"])
        if row["implies"]:
            name, value = row["implies"].split("=")
            fields[name] = exact(value) if value[0].isdigit() else value
    fields.update({name: exact(v) if type(v) in (int, float) else v for name, v in given.items()})
    own_svhc = ((line.get("substances") or {}).get("svhc") or {}).get("status")
    if "above_limit" in (own_svhc, sku_svhc):
        fields["svhc"] = "above_limit"
    weight = line.get("weight_g")
    optional = line["component_type"] in ("ink", "adhesive", "varnish") or (
        code and materials()[code]["weight_optional"] == "Y"
    )
    return {
        "index": index,
        "type": line["component_type"],
        "code": code,
        "is_given": bool(code)
        and not generic
        and not code.endswith("_UNSPECIFIED")
        and (from_text or line["component_type"] in OWN),
        "fields": fields,
        "given": given,
        "weight": exact(weight) if weight is not None else (Fraction(0) if optional else None),
        "separate": line.get("separable") is True and line["component_type"] not in NEVER_SEPARATE,
        "generic": generic,
        "carried": False,
    }


def carried_by(part):
    found = []
    for kind, names, proper in [
        ("adhesive", ["adhesive_type"], ["adhesive"]),
        ("ink", ["ink_type", "direct_print"], ["ink"]),
        ("coating", ["coating_type"], ["coating", "varnish"]),
    ]:
        fields = {name: part["given"][name] for name in names if part["given"].get(name) not in (None, False)}
        if fields and part["type"] not in proper:
            code = code_of_attributes(kind, None, fields)
            found.append(
                {
                    **part,
                    "type": kind,
                    "code": code,
                    "fields": fields,
                    "given": fields,
                    "weight": Fraction(0),
                    "carried": True,
                }
            )
    return found


# Steps 3 and 4


def family(part):
    return materials()[part["code"]]["family"]


def group_of(code):
    return materials()[code]["group"]


def group(part):
    return group_of(part["code"])


def heaviest(parts, key):
    weights = {}
    for part in parts:
        weights[key(part)] = weights.get(key(part), 0) + part["weight"]
    if key is family and len(weights) > 1:
        weights.pop("other", None)
    return min(weights, key=lambda name: (-weights[name], name))


def in_band(row, share):
    if row["min_share_pct"]:
        low = exact(row["min_share_pct"])
        if share < low or (share == low and row["min_inclusive"] != "true"):
            return False
    if row["max_share_pct"]:
        high = exact(row["max_share_pct"])
        if share > high or (share == high and row["max_inclusive"] != "true"):
            return False
    return True


def non_paper_layer(part):
    return part["type"] in ("body", "coating", "liner", "tie_layer") and family(part) != "paper"


def stream_of(parts, form):
    total = sum(part["weight"] for part in parts)
    main = heaviest([p for p in parts if family(p) == heaviest(parts, family)], group)
    for row in table("streams"):
        if row["group"] != main or row["form"] not in ("any", form):
            continue
        if row["when"]:
            what, percent = row["when"].split(">")
            counted = [p for p in parts if (non_paper_layer(p) if what == "non_paper_layers" else group(p) == what)]
            if not 100 * sum(p["weight"] for p in counted) / total > exact(percent):
                continue
        return main, row
    return main, None
