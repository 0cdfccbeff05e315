"""The form of one item: its fields in sections, its parts, its volumes; and the body that a program would send for it.

An input has the name of its field; one of a part `parts.KEY.weight_g`, one of a volume `volumes.KEY.year`. The hidden
inputs `part` and `volume` list the keys in their order, so that a part can be added or removed without JavaScript.

What belongs here: the form, both ways. What does not: writing it and its page (`api.skus.edit`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from api.audit import words
from api.pages.forms import (
    CSRF_FIELD,
    MAY_BE_NONE,
    Form,
    Input,
    declarations_of,
    input_of,
    line_of,
    market_code,
    substance_inputs,
    substance_pairs,
    texts_of,
    value_of,
    value_sent,
)
from api.pages.render import text
from schemas.fields import COMPONENT, COMPONENT_FIELDS, LINE_ID, SKU, Field
from schemas.json_values import JsonMapping, JsonObject
from schemas.skus.types import SkuDetail
from schemas.vocabularies import SUBSTANCES

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "identity": ("sku_code", "name", "description", "product_category", "gtin", "brand_id", "ppwr_role", "markets"),
    "packaging": (
        "packaging_level",
        "packaging_format",
        "material",
        "material_subtype",
        "weight_grams",
        "recycled_content_percent",
        "food_contact",
        "use_contexts",
    ),
    "further": (
        "manufacturing_site_id",
        "packing_site_id",
        "empty_space_ratio",
        "minimisation_assessed",
        "sorting_label_scheme",
        "material_marking_applied",
    ),
    "reuse": (
        "reusable",
        "reuse_system_type",
        "reuse_cycles_target",
        "reuse_pool_owner",
        "reuse_deposit_system",
        "reuse_return_mechanism",
        "reuse_reconditioning",
        "reuse_asset_identifier",
    ),
}
"""The fields of the item itself, by the section that asks for them."""
FIRST: Final = ("component_type", "material_family", "polymer_or_grade", "weight_g", "colour", "separable")
"""The fields of a part that stand first; the others are folded away."""
LONG: Final = frozenset({"description"})
"""Texts of several lines."""
VOLUME: Final = ("market", "year", "half", "units_placed")
_FIELDS: Final = tuple(SKU[name] for names in SECTIONS.values() for name in names)


def sections(lang: str, records: Mapping[str, Sequence[tuple[str, str]]]) -> list[tuple[str, list[Input]]]:
    """Return the inputs of the item itself by section; `records` as in `input_of`."""
    return [
        (text(f"edit.{section}", lang), [input_of(name, "sku", SKU[name], lang, records) for name in names])
        for section, names in SECTIONS.items()
    ]


def part_inputs(key: str, lang: str, records: Mapping[str, Sequence[tuple[str, str]]]) -> list[Input]:
    """Return the inputs of a part, the first ones first."""
    fields = sorted(COMPONENT_FIELDS, key=lambda field: (field.name not in FIRST, COMPONENT_FIELDS.index(field)))
    fields_of_form = (field for field in fields if field.kind != "substances")
    return [input_of(f"parts.{key}.{field.name}", "component", field, lang, records) for field in fields_of_form]


def change_input(field: Field, lang: str, records: Mapping[str, Sequence[tuple[str, str]]]) -> Input:
    """Return the input of a field of `schemas.skus.inputs.CHANGED_FIELDS`; `records` as in `input_of`."""
    if field.name in SUBSTANCES:
        return replace(substance_inputs("", lang)[0], name=field.name, label=text(f"substance.{field.name}", lang))
    of_part = field.name not in SKU
    asked = input_of(field.name, "component" if of_part else "sku", field, lang, records)
    return replace(asked, hint=text(f"change.{field.name}", lang)) if of_part else asked


def declarations(prefix: str, lang: str) -> list[tuple[str, list[Input]]]:
    """Return the inputs of the substances of the item (`prefix` is empty) or of a part, by substance."""
    prefixes = [(name, f"{prefix}substances.{name}") for name in SUBSTANCES]
    return [(text(f"substance.{name}", lang), substance_inputs(at, lang)) for name, at in prefixes]


def form_of(item: SkuDetail | None, lang: str, *, leaving_out: Iterable[str] = ()) -> Form:
    """Return the form filled in with an item, without some fields; an empty one without an item."""
    if item is None:
        return Form([])
    values: JsonMapping = item
    pairs = [
        (field.name, value)
        for field in _FIELDS
        if field.name not in leaving_out
        for value in _texts(field, values[field.name], lang)
    ]
    pairs += substance_pairs("", item["substances"], lang)
    for key, line in enumerate(item["components"] if "components" not in leaving_out else ()):
        pairs += [("part", str(key)), (id_name(key), line["id"])]
        fields: JsonMapping = line
        for field in COMPONENT_FIELDS:
            if field.kind != "substances":
                input_name = f"parts.{key}.{field.name}"
                pairs += [(input_name, value) for value in _texts(field, fields.get(field.name), lang)]
        pairs += substance_pairs(f"parts.{key}.", line["substances"], lang)
    for key, row in enumerate(item["volumes"] if "volumes" not in leaving_out else ()):
        pairs.append(("volume", str(key)))
        pairs += [(f"volumes.{key}.{name}", str(value)) for name, value in row.items() if value is not None]
    return Form(pairs)


def id_name(key: object) -> str:
    """Return the hidden input that names a stored part, so that a changed or moved part stays the same one."""
    return f"parts.{key}.{LINE_ID.name}"


def without_ids(form: Form, ids: Collection[str] = ()) -> Form:
    """Return the form with its parts as new ones, except those of these ids."""
    names = {id_name(key) for key in form.getlist("part")}
    return Form([(name, value) for name, value in form.multi_items() if name not in names or value in ids])


def _texts(field: Field, value: object, lang: str) -> list[str]:
    """Return the texts of a field's inputs. An input of one line shows a line end as a space."""
    match value:
        case [*codes] if field.kind == "markets":
            return [", ".join(map(str, codes))] if codes else []
        case [] if field.name not in MAY_BE_NONE:
            return []
        case str() if field.name not in LONG:
            return [" ".join(value.splitlines())]
    return texts_of(value, lang)


def body_of(form: Form, lang: str) -> JsonObject:
    """Return the whole body that a program would send for the form; an empty input is null."""
    body: JsonObject = {field.name: value_sent(form, field.name, field.kind, lang, field.unit) for field in _FIELDS}
    body["substances"] = dict.fromkeys(SUBSTANCES) | declarations_of(form, "", lang)
    body["components"] = [_line(form, f"parts.{key}.", lang) for key in form.getlist("part")]
    return body


def _line(form: Form, prefix: str, lang: str) -> JsonObject:
    """Return one line of the graph. What is left empty is left out, so that a library component may fill it."""
    declared = declarations_of(form, prefix, lang)
    fields = line_of(form, prefix, (LINE_ID, *COMPONENT_FIELDS), lang)
    return {**fields, **({"substances": declared} if declared else {})}


def changed(form: Form, base: Form, lang: str) -> JsonObject:
    """Return the body of what a form says otherwise than the one that it was opened as; empty where nothing differs."""
    after, before = body_of(form, lang), body_of(base, lang)
    body = {name: value for name, value in after.items() if name != "substances" and value != before[name]}
    substances = {name: entry for name, entry in after["substances"].items() if entry != before["substances"][name]}
    return {**body, **({"substances": substances} if substances else {})}


def changed_volumes(form: Form, base: Form, lang: str) -> list[tuple[str, JsonObject]]:
    """Return the rows of volumes that differ, each with its key in the form; one that is gone is cleared."""
    after, before = _volumes(form, lang), _volumes(base, lang)
    rows = [(key, row) for place, (key, row) in after.items() if place not in before or before[place][1] != row]
    gone = [("", {**row, "units_placed": None}) for place, (_, row) in before.items() if place not in after]
    return rows + gone


def _volumes(form: Form, lang: str) -> dict[object, tuple[str, JsonObject]]:
    rows: dict[object, tuple[str, JsonObject]] = {}
    for key in form.getlist("volume"):
        row = {name: form.get(f"volumes.{key}.{name}", "").strip() for name in VOLUME}
        if row["market"] or row["units_placed"]:
            whole = {name: value_of([row[name]], "integer", lang) for name in VOLUME[1:]}
            whole["half"] = whole["half"] or 0
            body = {"market": market_code(row["market"]), **whole}
            place = (body["market"], body["year"], body["half"])
            rows[place if place not in rows else key] = (key, body)  # the write refuses a row that is there twice
    return rows


def anchor_of(field: str, place: int | None = None) -> str:
    """Return the name of the input of a stored item that a fact is answered in, by its field and its part's place."""
    name = f"{field}.status" if field.startswith("substances.") and field.count(".") == 1 else field
    if place is not None:
        return f"parts.{place}.{name}"
    return name if name in SKU or name.startswith("substances.") else "components"


def with_key(form: Form, name: str) -> Form:
    """Return the form with one more part or volume."""
    keys = [int(key) for key in form.getlist(name) if key.isdigit()]
    return Form([*form.multi_items(), (name, str(max(keys, default=-1) + 1))])


def without_key(form: Form, name: str, key: str) -> Form:
    """Return the form without a part or volume and its inputs."""
    gone = f"{name}s.{key}."
    return Form([(n, v) for n, v in form.multi_items() if (n, v) != (name, key) and not n.startswith(gone)])


_OF_THE_FORM: Final = (CSRF_FIELD, "once", "step", "version")
"""What a question's form sends beside the answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A fact that the grade lacks or could change by; `field` is its path in the contract.

    `anchor` is its input in the edit form; `input` answers it on the item's own page, None where it takes the edit
    form. `could_become` are the grades that its values give, in words; empty where they cannot be listed.
    """

    ask: str
    name: str
    field: str
    could_become: str
    anchor: str
    input: Input | None


def questions(item: SkuDetail, lang: str) -> list[Question]:
    """Return the questions of an item: what the grade needs, then what could change it, the strongest effect first."""
    trace = item["compliance"]["grade_trace"]
    places = {line["id"]: place for place, line in enumerate(item["components"])}
    entries: list[tuple[str, str, Sequence[str]]] = [
        (issue["field"], issue["message"], ()) for issue in trace["missing"]
    ]
    for fact in trace["open"]:
        part = fact["component_id"]
        at = fact["field"] if part is None else f"components[{places[part]}].{fact['field']}"
        entries.append((at, fact["ask"], fact["could_become"]))
    types = [line["component_type"] for line in item["components"]]
    by_path: dict[str, Question] = {}
    for path, ask, grades in entries:
        by_path.setdefault(path, _question(path, ask, grades, types, lang))
    return list(by_path.values())


def _question(path: str, ask: str, grades: Sequence[str], types: Sequence[str], lang: str) -> Question:
    place, _, name = path.removeprefix("components[").rpartition("].")
    anchor = anchor_of(name, int(place) if place else None)
    return Question(
        ask=ask,
        name=words.path_in_words(path, lang, types),
        field=path,
        could_become=", ".join(text(f"grade.{grade}", lang) for grade in grades),
        anchor=anchor,
        input=_input(anchor, name, ask, lang, of_part=bool(place)),
    )


def _input(anchor: str, name: str, ask: str, lang: str, *, of_part: bool) -> Input | None:
    """Return the input of a fact with the question as its label; None for records, graphs and declarations."""
    field = (COMPONENT if of_part else SKU).get(name)
    if field is None or field.references or field.kind in ("components", "substances") or anchor == "components":
        return None
    return replace(input_of(anchor, "component" if of_part else "sku", field, lang, {}), label=ask)


def names_in(form: Form) -> tuple[str, ...]:
    """Return the inputs whose answers a question's form sends."""
    return tuple(dict.fromkeys(name for name, _ in form.multi_items() if name not in _OF_THE_FORM))


def inputs_again(item: SkuDetail, names: Sequence[str], lang: str) -> list[Input]:
    """Return the inputs of answers that were sent, labelled with their facts; without those of no question."""
    types = [line["component_type"] for line in item["components"]]
    again = []
    for anchor in names:
        place, _, name = anchor.removeprefix("parts.").rpartition(".")
        if place and not (place.isdecimal() and int(place) < len(types)):
            continue
        path = f"components[{place}].{name}" if place else name
        label = words.path_in_words(path, lang, types)
        again.append(_input(anchor, name, label, lang, of_part=bool(place)))
    return [question_input for question_input in again if question_input is not None]


def answered(base: Form, form: Form) -> Form:
    """Return the item's form with the answers that were sent; of the others it keeps what is stored."""
    names = names_in(form)
    answers = [(name, value) for name, value in form.multi_items() if name in names]
    kept = [(name, value) for name, value in base.multi_items() if name not in names]
    return Form([*kept, *answers])


def unanswered(form: Form) -> str | None:
    """Return the input that a question was sent without an answer for; None where there is an answer."""
    names = names_in(form)
    return None if any(form.get(name, "").strip() for name in names) else next(iter(names), "")
