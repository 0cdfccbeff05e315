"""Words the questions of a grade in English: the fields that it lacks, and the open facts that could change it.

The questions come from the tables (`attribute_questions.csv`). Where a rule-set lacks them, a plain sentence says what
to send. `compliance.grading.languages` translates.
"""

from collections.abc import Sequence
from typing import Final

from compliance.grading.components import lines
from compliance.grading.open_facts import OpenFact
from compliance.ruleset import RuleSet
from schemas import grading
from schemas.grading import MissingFact
from schemas.messages import Message, message_of
from schemas.sku import Sku

TO_SEND: Final[dict[str, Message]] = {
    "material": Message("Give the material, the material subtype, or the component graph."),
    "components": Message(
        "Give the component graph: one body at least, each layer of a composite with its own weight."
    ),
    "packaging_format": Message("Give the packaging format; it decides the sorting stream of this material."),
    "polymer_or_grade": Message(
        "Give the material of this part (polymer or grade), with its share small or its kind known."
    ),
    "material_subtype": Message("Give the polymer or grade of the material."),
    "weight_g": Message("Give the weight of this part in grams, above 0 for a body."),
    "weight_grams": Message("Give the weight in grams, above 0."),
}
"""The sentence that says what to send where the tables have no question, by the name of the field."""
_AS: Final = {"material_subtype": "polymer_or_grade", "weight_grams": "weight_g"}
"""Fields of a SKU without components that mean the same as a field of its body: they share its question."""


def question(field: str, types: Sequence[str | None], day: RuleSet) -> Message:
    """Return the question for a field of a part: of the first of these types with its own; none for a SKU's field."""
    name = _AS.get(field, field)
    found = [day.questions.get((name, kind)) for kind in (*types, "") if kind is not None]
    if asked := next((each for each in found if each), None):
        return message_of(asked.en)
    return TO_SEND.get(field) or Message("Give the {field} of this part; a design rule depends on it.", field=field)


def missing_fields(fields: Sequence[str], record: Sku, day: RuleSet) -> list[MissingFact]:
    """Return the missing fields as published issues; each is a path of the caller's body."""
    return [{"field": path, "code": "required", "message": _question_at(path, record, day)} for path in fields]


def _question_at(path: str, record: Sku, day: RuleSet) -> Message:
    place, _, name = path.removeprefix("components[").rpartition("].")
    return question(name, [lines(record)[int(place)]["component_type"]] if place else [], day)


def published_open_facts(facts: Sequence[OpenFact], record: Sku, day: RuleSet) -> list[grading.OpenFact]:
    """Return the open facts as they are published, in their order."""
    return [
        {
            "field": fact.field,
            "component_id": None if fact.line is None else lines(record)[fact.line].get("id"),
            "ask": question(fact.field, [fact.component_type, fact.matched], day),
            "could_become": list(fact.could_become),
        }
        for fact in facts
    ]
