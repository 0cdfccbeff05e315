"""Inputs of a form for fields of the contract: their names, texts and choices, and the values that fill them.

What belongs here: one field. What does not: which fields a form has (`api.pages.supplier_form`, `api.pages.item_form`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.pages.changes import code_in_words, field_in_words
from api.pages.texts import text
from api.pages.typed_values import market_codes, number_of
from pipelines.reading.values import LIST_SEPARATOR
from schemas.fields import Field
from schemas.labels import meaning
from schemas.numbers import plain
from schemas.vocabularies import VOCABULARIES

NONE: Final = "none"
"""The choice of an empty list, beside the codes that it may have."""
TRUTHS: Final = {"yes": True, "no": False}
SUBSTANCE_PARTS: Final[Mapping[str, tuple[str, str | None]]] = {
    "status": ("code", "substance_status"),
    "value": ("number", None),
    "unit": ("code", "substance_unit"),
    "basis": ("code", "substance_basis"),
    "source": ("code", "substances_source"),
    "evidence": ("text", None),
}
"""The parts of a substance's declaration: kind and vocabulary."""
MAY_BE_NONE: Final = frozenset({"additives"})
"""Lists of codes whose empty list says that there are none; others say nothing then."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input: its name in the form, the texts above and below it, its kind, and its choices (code and word)."""

    name: str
    label: str
    hint: str
    kind: str
    choices: tuple[tuple[str, str], ...] = ()


def input_of(name: str, table: str, field: Field, lang: str, records: Mapping[str, Sequence[tuple[str, str]]]) -> Input:
    """Return the input of a field; `records` are those that a reference may name (id and name), by table."""
    label = text(f"item.of.{field.name}", lang) if field.references else field_in_words(table, field.name, field, lang)
    choices: tuple[tuple[str, str], ...] = ()
    if field.vocabulary:
        choices = _words(field.vocabulary, lang)
    elif field.kind == "truth":
        choices = tuple((answer, text(f"supplier.{answer}", lang)) for answer in TRUTHS)
    elif field.references:
        choices = tuple(records[field.references])
    if field.name in MAY_BE_NONE:
        choices = ((NONE, text("supplier.none", lang)), *choices)
    hint = "" if field.references else meaning(table, field, lang)
    return Input(name, label, hint, field.kind, choices)


def substance_inputs(at: str, lang: str) -> list[Input]:
    """Return the inputs of one substance's declaration, whose names begin with `at`."""
    return [
        Input(
            f"{at}.{part}",
            text(f"substance_part.{part}", lang),
            "",
            kind,
            _words(vocabulary, lang) if vocabulary else (),
        )
        for part, (kind, vocabulary) in SUBSTANCE_PARTS.items()
    ]


def _words(vocabulary: str, lang: str) -> tuple[tuple[str, str], ...]:
    return tuple((code, code_in_words(vocabulary, code, lang)) for code in VOCABULARIES[vocabulary])


def texts_of(value: object, lang: str) -> list[str]:
    """Return the texts of the inputs that show a value: several for a list, none where there is no value."""
    match value:
        case None:
            return []
        case list():
            return [str(each) for each in value] or [NONE]
        case bool():
            return [next(answer for answer, truth in TRUTHS.items() if truth is value)]
        case int() | float():
            return [plain(value, lang)]
    return [str(value)]


def value_of(sent: Sequence[str], kind: str, lang: str, unit: str | None = None) -> object:
    """Return the filled-in text as the JSON that the field accepts; None where it was left empty.

    What is no number, or may be two, is `Unread`, which `unread_values` finds in the body.
    """
    filled = [each.strip() for each in sent if each.strip()]
    if not filled:
        return None
    match kind:
        case "codes":
            return [each for each in filled if each != NONE]
        case "markets":
            parts = (part.strip() for each in filled for part in LIST_SEPARATOR.split(each))
            return [code for part in parts if part for code in market_codes(part)]
        case "truth":
            return TRUTHS.get(filled[0], filled[0])
        case "number" | "integer":
            return number_of(filled[0], lang, whole=kind == "integer", unit=unit)
    return filled[0]
