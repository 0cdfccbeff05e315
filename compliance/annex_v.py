"""Flags banned packaging formats: Annex V of Regulation (EU) 2025/40, Annex Part B of Directive (EU) 2019/904.

A flag says that the stored facts point to a ban. It is *certain* where they decide it; otherwise it *depends* on facts
that the record lacks. The rows are `annex_v.csv`; this module reads the facts of a row, refuses nothing, and words a
flag for a day and in a language.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from typing import Final, TypeAlias, get_args

from compliance.grading.units import lines
from compliance.material_path import material_path, same_material
from compliance.rule_rows import Ban
from compliance.ruleset import RuleSet
from compliance.scopes import is_in_union, of_record
from compliance.tables import as_text
from compliance.words import normalise, resolve_format, resolve_material
from schemas.messages import ORIGINAL, Message, translate
from schemas.rules import AnnexVFlag, Undecided
from schemas.skus.types import Component, Sku

_DECIMAL: Final = re.compile(r"(?<=\d)_(?=\d)")
"""The character that replaces the decimal point in the key of a fact."""
_REASON: Final = re.compile(
    r"(?P<ban>.*?)(?:, (?P<since>in force since|from) (?P<day>\d{4}-\d\d-\d\d))?(?:, if: (?P<facts>.*))?", re.DOTALL
)
"""Splits a reason into its parts; reasons stored before 2026-11-22 have no date."""


def reason(ban: Ban, open_facts: Sequence[str], today: date) -> str:
    """Return the sentence of a flag on a UTC day, in English; the open facts are those that the record lacks."""
    text = dated_ban(ban.flag_text, ban.applies_from, today)
    return f"{text}, if: {', '.join(map(in_words, open_facts))}" if open_facts else text


def dated_ban(text: str, applies_from: date, today: date) -> str:
    """Return the ban, with whether it is in force on a UTC day or from when it will be."""
    return f"{text}, {'in force since' if applies_from <= today else 'from'} {applies_from.isoformat()}"


def in_words(fact: str) -> str:
    """Return an open fact as people read it: `produce_below_1_5_kg` contains a decimal number."""
    return _DECIMAL.sub(".", fact).replace("_", " ")


def translated_reason(code: str, reason: str, rules: RuleSet, lang: str) -> str:
    """Return a flag's reason in a language of `LANGUAGES`: the ban in the rules' words, the rest in the service's.

    Words that neither has stay English, such as a ban that the rules no longer have.
    """
    match = _REASON.fullmatch(reason)
    if lang == ORIGINAL or match is None:
        return reason
    sentences = [_ban(code, match["ban"], rules, lang)]
    if match["day"]:
        day = match["day"]
        when = Message("from {day}", day=day) if match["since"] == "from" else Message("in force since {day}", day=day)
        sentences.append(translate(when, lang))
    if match["facts"]:
        facts = "; ".join(translate(fact, lang) for fact in match["facts"].split(", "))
        sentences.append(translate(Message("if: {facts}", facts=facts), lang))
    return ", ".join(sentences)


def _ban(code: str, text: str, rules: RuleSet, lang: str) -> str:
    ban = next((ban for ban in rules.bans if (ban.code, ban.flag_text) == (code, text)), None)
    return (ban and ban.texts.get(lang)) or translate(text, lang)


LAYERS: Final = frozenset({"body", "coating", "liner", "tie_layer"})
"""Types of component that may make up a body; other types are ignored here."""
_PAPER_WITH_PLASTIC: Final = frozenset({"CUP_STOCK", "C81", "C84", "C85"})
"""Codes of paper that has a plastic layer by their own name (Decision 97/129/EC, Annex VII)."""
_MAY_BE_PLASTIC: Final = frozenset({"composite", "bio_based", "other"})
"""Families that say nothing of plastic by themselves: the polymer or grade does (Article 3(1)(52))."""
Fact: TypeAlias = str | float | bool | tuple[str, ...] | None
"""The value of a field that an atom may name."""
_FIELDS: Final = {
    "body_material": "material_family",
    "body_code": "polymer_or_grade",
    "body_thickness_um": "thickness_um",
    "any_layer_plastic": "material_family",
}
"""The field of a layer from which a fact of the body is read."""
_LACKING: Final[Mapping[str, Undecided]] = {
    "packaging_format_key": "packaging_format",
    "packaging_level": "packaging_level",
    "use_contexts": "use_contexts",
    "body_material": "material",
    "any_layer_plastic": "material",
    "body_code": "polymer_or_grade",
    "body_thickness_um": "thickness_um",
}
"""The field that gives a fact which, while it is lacking, rules no ban out; of other facts the table itself says so."""
_ASKED_LAST: Final[frozenset[Undecided]] = frozenset({"thickness_um"})
"""What decides only of a pack that is otherwise what the ban names: a bag of plastic."""
_ATOM: Final = re.compile(r"(\w+)(!=|=|<)(.+)")


def flags(record: Sku, rules: RuleSet, *, today: date) -> list[AnnexVFlag]:
    """Return the record's flags in table order, as published; `today` decides which bans are in force (UTC)."""
    return flags_and_undecided(record, rules, today=today)[0]


def flags_and_undecided(record: Sku, rules: RuleSet, *, today: date) -> tuple[list[AnnexVFlag], tuple[Undecided, ...]]:
    """Return what `flags` and `undecided` return, of facts that are read once."""
    if not may_be_in_the_union(of_record(record)):
        return [], ()
    facts, answers = _facts(record, rules), _answers(record)
    found = _bans(facts, answers, rules)
    return [_flag(ban, open_facts, today) for ban, open_facts in found], _undecided(facts, answers, rules)


def bans(record: Sku, rules: RuleSet) -> list[tuple[Ban, list[str]]]:
    """Return the bans that the record points to, each with its open facts; none where no market is in the Union.

    The markets are those in effect: declared, or with units from 2026 on (decisions §13).

    An empty list of use contexts was never asked for and points to no ban (rollup of the record, step 9).
    """
    if not may_be_in_the_union(of_record(record)):
        return []
    return _bans(_facts(record, rules), _answers(record), rules)


def _facts(record: Sku, rules: RuleSet) -> tuple[tuple[str, Fact], ...]:
    facts = {**_face(record, rules), **_body(record, rules), "body_additives": _additives(record)}
    return tuple(facts.items())


def _answers(record: Sku) -> tuple[tuple[str, bool], ...]:
    return tuple({fact["fact"]: fact["answer"] for fact in record.get("flag_facts") or ()}.items())


@cache
def every_open_fact(rules: RuleSet) -> frozenset[str]:
    """Return the keys of all facts on which bans of a rule-set may depend: what a person may answer."""
    return frozenset(key for ban in rules.bans for key, _ in _items_of(ban.open_facts))


def open_fields(record: Sku, rules: RuleSet) -> frozenset[str]:
    """Return the fields of the body's layers that would decide a fact on which a ban of the record depends."""
    return frozenset(
        _FIELDS[name]
        for ban, open_keys in bans(record, rules)
        for key, atom in _items_of(ban.open_facts)
        if atom and key in open_keys and (name := _parsed(atom)[0]) in _FIELDS
    )


def undecided(record: Sku, rules: RuleSet) -> tuple[Undecided, ...]:
    """Return the fields that the record lacks and without which a ban, not pointed to yet, cannot be ruled out.

    A text that is not understood is lacking. None where no market is in the Union, or no ban could come to apply.
    """
    if not may_be_in_the_union(of_record(record)):
        return ()
    return _undecided(_facts(record, rules), _answers(record), rules)


@lru_cache(maxsize=4096)
def _undecided(
    stored: tuple[tuple[str, Fact], ...], answers: tuple[tuple[str, bool], ...], rules: RuleSet
) -> tuple[Undecided, ...]:
    facts = dict(stored)
    known = _known(facts, rules)
    pointed_to = {ban.code for ban, _ in _bans(stored, answers, rules)}
    fields = set[Undecided]()
    for ban in rules.bans:
        is_open = ban.code not in pointed_to and _open_facts(ban, facts, dict(answers)) is not None
        if is_open and _may_hold(ban, known):
            failing = [
                atoms for atoms in _clauses(ban.required_facts) if not any(_holds(atom, facts) for atom in atoms)
            ]
            lacking = {_LACKING[name] for atoms in failing for atom in atoms if (name := _parsed(atom)[0]) not in known}
            fields |= lacking - _ASKED_LAST or lacking
    if facts["body_material"] is None and fields & {"material", "polymer_or_grade"}:
        fields = (fields - {"polymer_or_grade"}) | {"material"}
    if "material" in fields and _is_open(facts["body_material"], facts["body_code"]):
        fields = (fields - {"material"}) | {"polymer_or_grade"}
    return tuple(field for field in get_args(Undecided) if field in fields)


def depend_on_body(record: Sku, rules: RuleSet) -> bool:
    """Return whether some body with the record's additives could cause a flag in the Union; asked once for many alike.

    Most records have a level, format, use and additives that no ban names; their layers need not be read.
    """
    facts = _known({**_face(record, rules), "body_additives": _additives(record)}, rules)
    return any(_may_hold(ban, facts) for ban in rules.bans)


def _known(facts: Mapping[str, Fact], rules: RuleSet) -> dict[str, Fact]:
    """Return the facts without those that are lacking and could be any: a polymer only of what may be plastic."""
    is_any = {name for name in _LACKING if name in facts and facts[name] in (None, ())}
    code = facts.get("body_code")
    if isinstance(code, str) and not rules.materials[code].specified:
        is_any.add("body_code")
    body = facts.get("body_material")
    if _is_open(body, code):
        is_any.add("body_material")
    elif body is not None:
        is_any.discard("any_layer_plastic")
    if body not in (None, "plastic", "other"):
        is_any.discard("body_code")
    return {name: value for name, value in facts.items() if name not in is_any}


def _is_open(body: Fact, code: Fact) -> bool:
    """Return whether a body of this material may be plastic, for want of a polymer or grade that is understood."""
    return body in _MAY_BE_PLASTIC and code is None


def _may_hold(ban: Ban, facts: Mapping[str, Fact]) -> bool:
    """Return whether the ban's clauses could hold if every fact outside the known ones were as the ban requires."""
    return not _is_excluded(ban, facts) and all(
        any(_parsed(atom)[0] not in facts or _holds(atom, facts) for atom in atoms)
        for atoms in _clauses(ban.required_facts)
    )


def may_be_in_the_union(markets: Sequence[str] | None) -> bool:
    """Return whether one of the markets is in the European Union, or none is given."""
    return not markets or any(map(is_in_union, markets))


@lru_cache(maxsize=4096)
def _bans(
    stored: tuple[tuple[str, Fact], ...], answers: tuple[tuple[str, bool], ...], rules: RuleSet
) -> list[tuple[Ban, list[str]]]:
    """Return the bans that the facts point to, each with its open facts; cached, as most packs share their facts."""
    facts = dict(stored)
    judged = [
        (ban, _open_facts(ban, facts, dict(answers)))
        for ban in rules.bans
        if all(any(_holds(atom, facts) for atom in atoms) for atoms in _clauses(ban.required_facts))
    ]
    return [(ban, still_open) for ban, still_open in judged if still_open is not None]


def _flag(ban: Ban, open_facts: Sequence[str], today: date) -> AnnexVFlag:
    return {
        "code": ban.code,
        "format": ban.format,
        "applies_from": ban.applies_from.isoformat(),
        "reason": reason(ban, open_facts, today),
        "reference": ban.reference,
        "certainty": "depends" if open_facts else "certain",
        "depends_on": list(open_facts),
    }


def _face(record: Sku, rules: RuleSet) -> dict[str, Fact]:
    """Return the fields that atoms may name and that do not come from the body."""
    text = record.get("packaging_format")
    pack_format = resolve_format(text, rules) if text else None
    return {
        "packaging_level": record.get("packaging_level"),
        "reusable": record.get("reusable"),
        "use_contexts": tuple(record.get("use_contexts") or ()),
        "packaging_format_key": pack_format.key if pack_format else None,
        "excluded": excluded_facts(record.get("product_category") or "", rules),
    }


@lru_cache(maxsize=4096)
def excluded_facts(product_category: str, rules: RuleSet) -> tuple[str, ...]:
    """Return the open facts that are not so in a product category: crisps are no fresh fruit (`ban_exclusions.csv`)."""
    text = f" {normalise(product_category)} "

    def has(words: Sequence[str]) -> bool:
        return any(f" {word} " in text for word in words)

    facts = {fact for row in rules.exclusions if has(row.words) and not has(row.unless) for fact in row.excludes}
    return tuple(sorted(facts))


def _body(record: Sku, rules: RuleSet) -> dict[str, Fact]:
    """Return family, code and thickness of the heaviest material among the body's layers; the first of equals.

    Beside them whether any layer is plastic: None where one has no material.
    """
    layers = _layers(record)
    any_plastic = _any_plastic(record, layers, rules)
    by_material: dict[str, list[tuple[float, str, Component]]] = {}
    for layer in layers:
        path = material_path(
            layer["component_type"],
            layer.get("material_family"),
            layer.get("polymer_or_grade"),
            record.get("packaging_format"),
            rules,
        )
        if path is not None:
            grams = float(layer.get("weight_g") or 0)
            by_material.setdefault(same_material().get(path, path), []).append((grams, path, layer))
    if not by_material:
        return {"body_material": None, "body_code": None, "body_thickness_um": None, "any_layer_plastic": any_plastic}
    heaviest_material = max(by_material.values(), key=lambda layers: sum(grams for grams, _, _ in layers))
    _, path, layer = max(heaviest_material, key=lambda weighed: weighed[0])
    family, code = path.partition("/")[0], _code(layer, rules)
    return {
        "body_material": rules.materials[code].family if family in _MAY_BE_PLASTIC and code else family,
        "body_code": code,
        "body_thickness_um": layer.get("thickness_um"),
        "any_layer_plastic": any_plastic,
    }


def _any_plastic(record: Sku, layers: Sequence[Component], rules: RuleSet) -> bool | None:
    """Return whether any layer of the body is plastic; None where the material of a layer is not given.

    A coating of family *other* may be a varnish, a wax or a dispersion of plastic: it decides nothing. A composite and
    what is bio-based are of plastic where their polymer or grade says so.
    """
    codes = [_code(layer, rules) for layer in layers]
    for layer, code in zip(layers, codes, strict=True):
        of_plastic = code is not None and (code in _PAPER_WITH_PLASTIC or rules.materials[code].family == "plastic")
        if layer.get("material_family") == "plastic" or of_plastic:
            return True
    if all(layer.get("material_family") is None for layer in layers):
        return None
    if any(_is_open(layer.get("material_family"), code) for layer, code in zip(layers, codes, strict=True)):
        return None
    families = {line.get("material_family") for line in lines(record) if line["component_type"] in LAYERS - {"body"}}
    return None if families & {None, "other"} else False


def _code(layer: Component, rules: RuleSet) -> str | None:
    """Return the code of a layer's polymer or grade; None where it has none, or one that is not understood."""
    text = layer.get("polymer_or_grade")
    return resolve_material(text, rules) if text else None


def _additives(record: Sku) -> tuple[str, ...]:
    """Return the additives of all body components, in alphabetical order."""
    bodies = [line for line in lines(record) if line["component_type"] == "body"]
    return tuple(sorted({additive for line in bodies for additive in line.get("additives") or ()}))


def _layers(record: Sku) -> list[Component]:
    """Return the layers of the body, without attached parts; the SKU's own material where it has no graph."""
    graph = lines(record)
    if not graph:
        family, text = record.get("material"), record.get("material_subtype")
        weight = record.get("weight_grams")
        body: Component = {
            "component_type": "body",
            "material_family": family,
            "polymer_or_grade": text,
            "weight_g": weight,
        }
        return [body] if family or text else []
    return [
        line
        for line in graph
        if line["component_type"] in LAYERS
        and (line["component_type"] == "body" or line.get("separable") is not True)
        and not (line["component_type"] == "coating" and line.get("material_family") == "other")
    ]


@cache
def _clauses(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the clauses of a cell, which all must hold; a clause is a list of atoms of which one must hold."""
    return tuple(tuple(clause.split(" OR ")) for clause in text.split(" AND "))


def _holds(atom: str, facts: Mapping[str, Fact]) -> bool:
    field, operator, wanted = _parsed(atom)
    value = facts[field]
    if operator == "<":
        return isinstance(value, int | float) and value < float(wanted)
    if operator == "!=":
        return as_text(value) != wanted
    allowed = wanted.split("|")
    if value is None or value in ((), [], ""):
        return "none" in allowed
    return any(as_text(one) in allowed for one in (value if isinstance(value, list | tuple) else (value,)))


def _is_excluded(ban: Ban, facts: Mapping[str, Fact]) -> bool:
    excluded = facts["excluded"]
    return isinstance(excluded, tuple) and any(item in excluded for item in ban.open_facts.split("; "))


def _open_facts(ban: Ban, facts: Mapping[str, Fact], answers: Mapping[str, bool]) -> list[str] | None:
    """Return the keys that stay open, in order; None where a fact or an answer says that the ban does not apply.

    A field that decides a fact stands above a person's answer to it.
    """
    if _is_excluded(ban, facts):
        return None
    still_open = []
    for key, atom in _items_of(ban.open_facts):
        if atom and facts[_parsed(atom)[0]] not in (None, (), [], ""):
            holds: bool | None = _holds(atom, facts)
        else:
            holds = answers.get(key)
        if holds is False:
            return None
        if holds is None:
            still_open.append(key)
    return still_open


@cache
def _items_of(text: str) -> tuple[tuple[str, str], ...]:
    """Return the open facts of a cell in order: each key with the atom that decides it, empty where no field does."""
    items = (item.partition("=") for item in text.split("; ") if item)
    return tuple((key, atom) for key, _, atom in items)


@cache
def _parsed(atom: str) -> tuple[str, str, str]:
    match = _ATOM.fullmatch(atom.strip())
    assert match, atom
    return match[1], match[2], match[3]
