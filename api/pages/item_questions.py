"""Makes the questions of an item's grade: each missing or open fact with the input that answers it on the item's page.

What belongs here: which fact has which input. What does not: saving an answer, which is an edit (`api.pages.edit`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from api.pages import changes
from api.pages.forms import CSRF_FIELD, Form
from api.pages.inputs import Input, input_of
from api.pages.item_form import anchor_of
from api.pages.texts import text
from schemas.fields import COMPONENT, SKU
from schemas.sku import SkuDetail

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
    asked: list[tuple[str, str, Sequence[str]]] = [(issue["field"], issue["message"], ()) for issue in trace["missing"]]
    for fact in trace["open"]:
        part = fact["component_id"]
        at = fact["field"] if part is None else f"components[{places[part]}].{fact['field']}"
        asked.append((at, fact["ask"], fact["could_become"]))
    types = [line["component_type"] for line in item["components"]]
    found: dict[str, Question] = {}
    for path, ask, grades in asked:
        found.setdefault(path, _question(path, ask, grades, types, lang))
    return list(found.values())


def _question(path: str, ask: str, grades: Sequence[str], types: Sequence[str], lang: str) -> Question:
    place, _, name = path.removeprefix("components[").rpartition("].")
    anchor = anchor_of(name, int(place) if place else None)
    return Question(
        ask=ask,
        name=changes.path_in_words(path, lang, types),
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
        label = changes.path_in_words(path, lang, types)
        again.append(_input(anchor, name, label, lang, of_part=bool(place)))
    return [each for each in again if each is not None]


def answered(base: Form, form: Form) -> Form:
    """Return the item's form with the answers that were sent; of the others it keeps what is stored."""
    names = names_in(form)
    given = [(name, value) for name, value in form.multi_items() if name in names]
    kept = [(name, value) for name, value in base.multi_items() if name not in names]
    return Form([*kept, *given])


def unanswered(form: Form) -> str | None:
    """Return the input that a question was sent without an answer for; None where there is an answer."""
    names = names_in(form)
    return None if any(form.get(name, "").strip() for name in names) else next(iter(names), "")
