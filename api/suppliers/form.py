"""Lists the fields of the supplier's form for each component, and converts the sent fields to the same JSON body.

A field's name in the form is its position: `0.weight_g`, `0.substances.pfas.status`. An empty field is not answered.
`schemas.suppliers` validates an answer, from the form as from programs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from api.pages.forms import NONE, TRUTHS, Form, texts_of, value_of
from api.pages.render import text
from compliance.ruleset import RuleSet
from schemas.fields import COMPONENT, Field
from schemas.figures import Questions
from schemas.json_values import JsonMapping
from schemas.messages import header, meaning, word
from schemas.skus.types import Component
from schemas.vocabularies import SUBSTANCES, VOCABULARIES

_FIRST: Final = ("material_family", "polymer_or_grade", "weight_g", "colour", "recycled_content_percent")
_DESIGN: Final = (
    "attachment",
    "separable",
    "coverage_percent",
    "adhesive_type",
    "ink_type",
    "coating_type",
    "density_g_cm3",
    "thickness_um",
    "metallised",
    "direct_print",
    "additives",
)


@dataclass(frozen=True, slots=True)
class Question:
    """One input: its name in the form, the texts above and below it, and its choices (code and word)."""

    name: str
    label: str
    hint: str
    unit: str | None
    kind: str
    choices: tuple[tuple[str, str], ...] = ()


class ComponentQuestions(NamedTuple):
    """The tables' questions for one component, by field, and the fields that its grade needs."""

    questions: Mapping[str, str] = MappingProxyType({})
    needed: tuple[str, ...] = ()

    @classmethod
    def of(cls, line: Component, of_sku: Questions, rules: RuleSet, lang: str) -> Self:
        """Return the questions of a line of the graph; `of_sku` are those of its SKU's grade, in the same language."""
        found = {name: rules.question(name, line["component_type"]) for name in (*_FIRST, *_DESIGN)}
        questions = {name: str(getattr(question, lang)) for name, question in found.items() if question}
        of_line = {fact["field"]: fact["ask"] for fact in of_sku["open"] if fact["component_id"] == line["id"]}
        return cls(questions | of_line, tuple(of_line))


_NO_QUESTIONS: Final = ComponentQuestions()


def first_questions(place: int, lang: str, of_component: ComponentQuestions = _NO_QUESTIONS) -> list[Question]:
    """Return the questions for every component, and those that this one's grade needs."""
    names = (*_FIRST, *(name for name in _DESIGN if name in of_component.needed))
    return [_question_of(place, COMPONENT[name], lang, of_component) for name in names]


def design_questions(place: int, lang: str, of_component: ComponentQuestions = _NO_QUESTIONS) -> list[Question]:
    """Return the further questions of the design rules."""
    return [
        _question_of(place, COMPONENT[name], lang, of_component) for name in _DESIGN if name not in of_component.needed
    ]


def substance_questions(place: int, lang: str) -> list[tuple[str, list[Question]]]:
    """Return the questions for each substance: status, measured value with its unit, evidence."""
    return [(text(f"substance.{name}", lang), list(_questions_of_substance(place, name, lang))) for name in SUBSTANCES]


def body_of_form(form: Form, components: Sequence[str], lang: str) -> dict[str, object]:
    """Return the body that a program would send for this form; text that is no number stays text, and is refused."""
    answers = [
        {"component_id": component, **answer}
        for place, component in enumerate(components)
        if (answer := _parse_answer(form, place, lang))
    ]
    contact_and_comment = {name: form[name] for name in ("contact", "comment") if form.get(name, "").strip()}
    return {"consent": form.get("consent") == "yes", "response": {"components": answers, **contact_and_comment}}


def form_of_answer(payload: JsonMapping, components: Sequence[str], lang: str) -> Form:  # stored JSON
    """Return the form filled in with an answer, so that editing begins there. Consent is given anew each time."""
    answers = {answer["component_id"]: answer for answer in payload.get("components") or ()}
    fields = [
        (f"{place}.{path}", each)
        for place, component in enumerate(components)
        for path, value in _answered_values(answers.get(component, {}))
        for each in texts_of(value, lang)
    ]
    contact_and_comment = [(name, payload[name]) for name in ("contact", "comment") if payload.get(name)]
    return Form([*fields, *contact_and_comment])


def _answered_values(answer: JsonMapping) -> Iterator[tuple[str, object]]:
    """Yield the answered values, by the name of their input in its component."""
    for name, value in answer.items():
        if name != "substances":
            yield name, value
    for substance, entry in (answer.get("substances") or {}).items():
        yield from ((f"substances.{substance}.{part}", value) for part, value in (entry or {}).items())


def input_of_path(path: str | None, places: Sequence[int]) -> str:
    """Return the form's name for a path in the body; `places` are those of the answered components."""
    name = (path or "").removeprefix("response.")
    if not name.startswith("components["):
        return name
    number, _, rest = name.removeprefix("components[").partition("]")
    return f"{places[int(number)]}{rest.partition('[')[0]}"


def answered_places(form: Form, components: Sequence[str], lang: str) -> list[int]:
    """Return the places of the components with any answer in the form."""
    return [place for place in range(len(components)) if _parse_answer(form, place, lang)]


def input_labels(place: int, title: str, lang: str) -> dict[str, str]:
    """Return the full name of each input of a component: its part, then itself."""
    questions = {each.name: each.label for each in (*first_questions(place, lang), *design_questions(place, lang))}
    for substance, asked in substance_questions(place, lang):
        questions |= {each.name: f"{substance}, {text(each.label, lang)}" for each in asked}
    return {name: f"{title}, {label}" for name, label in questions.items()}


def _question_of(place: int, field: Field, lang: str, of_component: ComponentQuestions) -> Question:
    choices: tuple[tuple[str, str], ...] = ()
    if field.vocabulary:
        choices = tuple((code, word(field.vocabulary, code, lang)) for code in VOCABULARIES[field.vocabulary])
    if field.kind == "truth":
        choices = tuple((answer, text(f"supplier.{answer}", lang)) for answer in TRUTHS)
    if field.kind == "codes":
        choices = ((NONE, text("supplier.none", lang)), *choices)
    label = header("component", field.name, lang)
    own = text(f"supplier.hint.{field.name}", lang) if field.name in _FIRST else meaning("component", field, lang)
    hint = of_component.questions.get(field.name, own)
    unit = text(f"unit.{field.unit}", lang) if field.unit else None
    return Question(f"{place}.{field.name}", label, hint, unit, field.kind, choices)


def _questions_of_substance(place: int, name: str, lang: str) -> Iterator[Question]:
    at = f"{place}.substances.{name}"
    statuses = tuple((code, word("substance_status", code, lang)) for code in VOCABULARIES["substance_status"])
    units = tuple((code, text(f"unit.{code}", lang)) for code in VOCABULARIES["substance_unit"])
    yield Question(f"{at}.status", "supplier.status", "", None, "code", statuses)
    yield Question(f"{at}.value", "supplier.value", "", None, "number")
    yield Question(f"{at}.unit", "supplier.unit", "", None, "code", units)
    yield Question(f"{at}.evidence", "supplier.evidence", "", None, "text")


def _parse_answer(form: Form, place: int, lang: str) -> dict[str, object]:
    answer: dict[str, object] = {}
    for name in (*_FIRST, *_DESIGN):
        value = value_of(form.getlist(f"{place}.{name}"), COMPONENT[name].kind, lang, COMPONENT[name].unit)
        if value is not None:
            answer[name] = value
    declared = {
        name: entry for name in SUBSTANCES if (entry := _parse_substance(form, f"{place}.substances.{name}", lang))
    }
    return {**answer, **({"substances": declared} if declared else {})}


def _parse_substance(form: Form, at: str, lang: str) -> Mapping[str, object]:
    kinds = {"status": "code", "value": "number", "unit": "code", "evidence": "text"}
    entry = {part: value_of(form.getlist(f"{at}.{part}"), kind, lang) for part, kind in kinds.items()}
    if entry["value"] is None:
        entry["unit"] = None
    return {part: value for part, value in entry.items() if value is not None}
