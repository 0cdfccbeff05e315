"""Shows what an import asks as choices, and turns the chosen answers into a mapping (decisions §13).

A form has one choice for each question, `answer.0` and on, as `source.asked` orders them; left out, it stays open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from api.pages.columns import is_about_column, name_of_field
from api.pages.texts import rows, text
from pipelines.reading.columns import field_column
from pipelines.reading.mapping import merged
from pipelines.reading.questions import answer_with
from schemas.labels import word
from schemas.report import Asked, ImportSource

_NOT_READ: Final = "-"
"""The choice that a column is nothing that is read."""
_WORDS: Final = frozenset(row["key"] for row in rows() if row["key"].startswith("imports.asked."))
"""Texts of choices that are words of the mapping."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its place in the file, its input in the form, and the choices with their words."""

    input: str
    place: str
    message: str
    choices: Sequence[tuple[str, str]]


def open_questions(source: ImportSource, lang: str, *, beside_columns: bool) -> list[Question]:
    """Return the questions of an import; `beside_columns` where the table of columns asks what a column is."""
    return [
        Question(f"answer.{at}", _place(asked, lang), asked["message"], _choices(asked, lang))
        for at, asked in enumerate(source.get("asked", ()))
        if not (beside_columns and is_about_column(asked))
    ]


def chosen_answers(source: ImportSource, form: Mapping[str, str]) -> dict[str, object]:
    """Return the pieces of mapping that a form chose, together."""
    pieces = [
        _switched_off(asked) if choice == _NOT_READ else answer_with(asked, choice)
        for at, asked in enumerate(source.get("asked", ()))
        if (choice := form.get(f"answer.{at}", "")) in {code for code, _ in _choices(asked, "en")}
    ]
    return reduce(merged, pieces, {})


def _place(asked: Asked, lang: str) -> str:
    """Return where in the file a question is: its sheet, column and lines."""
    column = asked["column"] and text("imports.asked.column", lang, column=asked["column"])
    lines = asked.get("lines") and text("imports.asked.lines", lang, lines=asked["lines"])
    return ", ".join(each for each in (asked.get("sheet"), column, lines) if each)


def _choices(asked: Asked, lang: str) -> list[tuple[str, str]]:
    if not asked.get("answer"):  # of an import of an earlier release
        return []
    choices = [(choice, _word(asked, choice, lang)) for choice in asked["could_be"]]
    if is_about_column(asked) and _columns(asked) is not None:
        choices.append((_NOT_READ, text("imports.asked.not_read", lang)))
    return choices


def _word(asked: Asked, choice: str, lang: str) -> str:
    """Return a choice in words: a field by its name, a code by its word, what the file itself says as it is."""
    kind, of_parts = asked["kind"], "components" in asked["answer"]
    if kind == "column":
        field = field_column(choice, "component" if of_parts else "sku")
        if field is None:
            return choice
        if family := dict(field.fixed).get("material_family"):  # the weight of the parts of a material
            return word("material_family", family, lang)
        return name_of_field("component" if of_parts else "sku", choice, lang)
    if kind == "value" and (vocabulary := _vocabulary(asked)) is not None:
        return word(vocabulary, choice, lang)
    key = f"imports.asked.{kind}.{choice}"
    return text(key, lang) if key in _WORDS else choice


def _vocabulary(asked: Asked) -> str | None:
    """Return the vocabulary of the field whose value is asked about."""
    parts = asked["answer"].get("components")
    piece = parts if isinstance(parts, Mapping) else asked["answer"]
    values = piece.get("values")
    if not isinstance(values, Mapping) or len(values) != 1:
        return None
    column = field_column(next(iter(values)), "sku" if piece is asked["answer"] else "component")
    return None if column is None or not column.field.vocabulary else str(column.field.vocabulary)


def _columns(asked: Asked) -> Mapping[str, object] | None:
    """Return the fields of which a column is read if it is what the answer says; None where it is about others."""
    parts = asked["answer"].get("components")
    columns = (parts if isinstance(parts, Mapping) else asked["answer"]).get("columns")
    return columns if isinstance(columns, Mapping) and list(columns) == asked["could_be"] else None


def _switched_off(asked: Asked) -> dict[str, object]:
    """Return the piece of mapping that reads the field of a column from nowhere."""
    off: dict[str, object] = {"columns": dict.fromkeys(asked["could_be"])}
    return {"components": off} if "components" in asked["answer"] else off
