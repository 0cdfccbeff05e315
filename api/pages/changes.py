"""A change in words: the field and its two values as the people of one language read them.

Paths are those of `pipelines.steps.review.compare`; words of fields and codes are `schemas.labels`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from api.pages.texts import text
from pipelines.steps.review.compare import Change
from schemas.fields import COMPONENT, SKU, Field
from schemas.labels import header, word

_PART: Final = re.compile(r"components\[(\d+)\]\.(.+)")
_SUBSTANCE: Final = re.compile(r"substances\.(\w+)(?:\.(\w+))?")
_VOCABULARIES: Final = {"status": "substance_status", "source": "substances_source"}
"""Of the parts of a substance's entry."""
_UNITS: Final = frozenset({"g", "percent", "g/cm3", "um"})


class Told(NamedTuple):
    """One row of the comparison: what, held now, then."""

    what: str
    now: str
    then: str
    differs: bool


def told(changes: Sequence[Change], parts: Sequence[str], lang: str) -> list[Told]:
    """The changes in words; `parts` are the component types of the graph as it would be."""
    return [_told(change, parts, lang) for change in changes]


def _told(change: Change, parts: Sequence[str], lang: str) -> Told:
    table, fields, name, prefix = "sku", SKU, change.field, ""
    if found := _PART.fullmatch(change.field):
        place = int(found[1])
        part = word("component_type", parts[place], lang) if place < len(parts) else ""
        table, fields, name = "component", COMPONENT, found[2]
        prefix = f"{place + 1}. {part}: ".replace(" :", ":")
    field = fields.get(name)
    vocabulary = field.vocabulary if field else None
    if found := _SUBSTANCE.fullmatch(name):
        vocabulary = _VOCABULARIES.get(found[2] or "")
    now, then = (value(held, vocabulary, lang) for held in (change.now, change.then))
    return Told(prefix + name_of(table, name, field, lang), now, then, change.now != change.then)


def name_of(table: str, name: str, field: Field | None, lang: str) -> str:
    """A field's name with its unit; of a substance's entry the substance, and the part that is meant."""
    if found := _SUBSTANCE.fullmatch(name):
        of = text(f"substance.{found[1]}", lang)
        return f"{of}: {text(f'substance_part.{found[2]}', lang)}" if found[2] else of
    unit = f" ({text(f'unit.{field.unit}', lang)})" if field and field.unit in _UNITS else ""
    return header(table, name, lang) + unit


def value(held: object, vocabulary: str | None, lang: str) -> str:
    """A value in words, a code of a vocabulary by its word; a dash where nothing is held."""
    match held:
        case None | [] | {}:
            return "–"
        case bool():
            return text("supplier.yes" if held else "supplier.no", lang)
        case list():
            return ", ".join(value(each, vocabulary, lang) for each in held)
        case Mapping():
            return "; ".join(f"{name}: {value(each, None, lang)}" for name, each in held.items())
        case float():
            return f"{held:.15g}"
    return word(vocabulary, str(held), lang) if vocabulary else str(held)
