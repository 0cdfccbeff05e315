"""Finds weights of unknown materials beside weights of known ones: without them a SKU's total would be too small.

A column written like those that are read (`Poids verre (g)`, `Poids liège (g)`), or between bare names of materials, is
read as a part without a material, so that each line which gives it is a fault. A single unknown word beside bare names
may mean something else, and is listed in `source.asked`. `groups.py` recognises headers of materials.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from compliance import ruleset
from compliance.grading.units import GENERIC
from compliance.words import material_of, normalise, plain_materials, resolve_material
from pipelines.reading.columns import recognise
from pipelines.reading.fields import LONGEST_VALUE, Column, fields_of
from pipelines.reading.grammar import unit_in, word_roles
from pipelines.reading.grid import Grid, letter
from pipelines.reading.groups import is_bare_material
from pipelines.reading.levels import level_of
from pipelines.reading.questions import question
from pipelines.reading.units import unit_of
from pipelines.reading.values import without_language
from schemas.imports.types import Asked
from schemas.messages import Message
from schemas.normalise import shown
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of, fold, words

_LINES: Final = 40
"""Lines below the header that are searched for numbers."""
_LONGEST: Final = 12
"""Words of the longest header that is examined."""
_NUMBER: Final = r"^\s*[\d.,\s]*\d[\d.,\s]*\s*\p{L}{0,3}\.?\s*$"
_OTHER: Final = "other_weight_g"
_COULD_BE: Final = (
    _OTHER,
    *(name for family in VOCABULARIES["material_family"] if (name := f"{family}_weight_g") != _OTHER),
)
_ROLES_OF_OTHERS: Final = frozenset(
    {"measure", "code", "name", "country", "market", "sale", "share", "recycled", "level", "parcel", "count"}
)


def unknown_weights(columns: Sequence[Column], cells: Sequence[str | None], grid: Grid, row: int) -> list[Column]:
    """Return the columns of weights of parts without a known material, each as a group of its own."""
    weights = [column for column in columns if column.fixed and column.field.name == "weight_g"]
    taken = {column.position for column in columns}
    frames = {frame for column in weights if (frame := _words_beside_material(column)) is not None}
    bare = [column.position for column in weights if is_bare_material(column)]
    found = []
    for at, cell in enumerate(cells):
        if (
            cell is None
            or at in taken
            or not weights
            or not _may_name_weight(cell)
            or not _contains_numbers(grid, row, at)
        ):
            continue
        tokens = fold(cell).split()
        alike = any(frame <= set(tokens) for frame in frames)
        if alike or (len(bare) > 1 and min(bare) < at < max(bare)):
            found.append(_column_of_unknown_material(at, cell))
    return found


def find_possible_materials(
    columns: Sequence[Column], cells: Sequence[str | None], grid: Grid, row: int
) -> tuple[int, ...]:
    """Return the position of a column right of bare names of materials that may be one more: an unknown word."""
    bare = {column.position for column in columns if is_bare_material(column)}
    taken = {column.position for column in columns}
    at = max(bare, default=-2) + 1
    cell = cells[at] if 0 < at < len(cells) else None
    if len(bare) < 2 or cell is None or at in taken or not _may_name_weight(cell) or recognise(cell, at, "sku"):
        return ()
    word = fold(cell)
    plain = word.isalpha() and len(word.split()) == 1 and word_roles(cell) <= {"nothing"}
    return (at,) if plain and _contains_numbers(grid, row, at) else ()


def about_material(at: int, header: str, columns: Sequence[Column], sheet: str | None) -> Asked:
    """Return a column beside materials as `source.asked` shows it: it may be any material that has no column yet."""
    taken = {column.name for column in columns}
    could_be = [name for name in _COULD_BE if name not in taken] or [_OTHER]
    message = Message(
        "{header} stands beside weights of materials, and may be one more; it is not read. If it is, the total is "
        "too small without it: name its material, mapping={mapping}.",
        header=shown(header),
        mapping={"columns": {could_be[0]: letter(at)}},
    )
    column = _column_of_unknown_material(at, header)
    return question("column", message, could_be=could_be, column=column, sheet=sheet)


def _words_beside_material(column: Column) -> frozenset[str] | None:
    """Return the words of a header beside its material's; None where none of them means a weight."""
    family = {*fold(str(dict(column.fixed)["material_family"])).split()}
    tokens = fold(column.header).split()
    around = [token for token in tokens if code_of(token, "weight_column") or unit_of(token, "g") is not None]
    weighs = [token for token in around if "weight" in word_roles(token) or unit_of(token, "g") is not None]
    return frozenset(around) - family if weighs else None


def _may_name_weight(cell: str) -> bool:
    """Return whether a header can name a part's weight: not that of an outer level, of a total or of the product."""
    if len(fold(cell).split()) > _LONGEST or "%" in cell or level_of(cell) not in (None, "sales"):
        return False
    words = set(fold(cell).split())
    total = any(code_of(word, "line") == "total" for word in words)
    return not total and not word_roles(cell) & _ROLES_OF_OTHERS


def _column_of_unknown_material(at: int, header: str) -> Column:
    unit, name = unit_in(header, "g"), f"unknown_{letter(at).lower()}"
    column = Column(f"{name}_weight_g", fields_of("component")["weight_g"], "component", at, header, group=name)
    return column if unit is None else replace(column, factor=unit.factor, per=unit.per, has_unit=True)


def _contains_numbers(grid: Grid, row: int, at: int) -> bool:
    """Return whether most of the cells given below a header are numbers."""
    under = grid.under(at, row, _LINES)
    return len(under) > 0 and 2 * int(under.str.contains(_NUMBER).sum()) > len(under)


_SHARE: Final = re.compile(r"(?<!\d)\d++(?:[.,]\d++)?+\s*+%")
_SHARE_SEPARATOR: Final = re.compile(r"[/,;+&](?!\d)")
"""Separators of materials that each have a share: `carton 80 % / PE 20 %`."""
_SEPARATOR: Final = re.compile(r"/|(?<=\s)[-–—](?=\s)")


class MaterialWords(NamedTuple):
    """The family that a material text names, and the detail beside it: None where it is only the family's word."""

    family: str
    detail: str | None


def read_material(text: str, vocabulary: str) -> MaterialWords | None:
    """Return what a text names, by the vocabulary `material` or `material_family`; None where it means none, or two."""
    text = without_language(text).strip()
    if len(text) > LONGEST_VALUE:
        return None
    named, _, detail = words("material_column").get(fold(text), "").partition(" ")
    if detail:
        return MaterialWords(named, detail) if named in VOCABULARIES[vocabulary] else None
    if (own := code_of(text, vocabulary)) is not None:
        return MaterialWords(own, text if _names_more(text, own) else None)
    if len(_SHARE.findall(text)) > 1:
        sides = _SHARE_SEPARATOR.split(text)
        family = _only([_family_by_ruleset(side) or code_of(_SHARE.sub("", side), vocabulary) for side in sides])
        return None if family is None else MaterialWords(family, text)
    if _is_one_name(text) and (family := _family_by_ruleset(text)) in VOCABULARIES[vocabulary]:
        return MaterialWords(str(family), text)
    first, *rest = map(str.strip, _SEPARATOR.split(text))
    families = [code for side in (first, *rest) if (code := code_of(side, vocabulary)) is not None]
    if families:
        if len(set(families)) > 1 or code_of(first, vocabulary) is None:
            return None
        whole = text[len(first) :].lstrip(" /-–—")
        kinds = (kind for kind in (whole, *rest) if _family_by_ruleset(kind) is not None)
        return MaterialWords(families[0], next(kinds, whole))
    virgin = " ".join(word for word in text.split() if code_of(word, "header_word") != "recycled")
    found = [(_family_by_ruleset(detail), detail) for detail in (text, virgin)]
    found.append((_only([_family_by_ruleset(side) for side in (first, *rest)]), text))
    found = [(family, detail) for family, detail in found if family in VOCABULARIES[vocabulary]]
    found += [(code_of(words_left, vocabulary), text) for words_left in plain_materials(text, ruleset.load())]
    return next((MaterialWords(family, detail) for family, detail in found if family is not None), None)


def family_of_detail(text: str) -> str | None:
    """Return the family that a detail means, in the SKU's vocabulary; None where it means none, or two."""
    found = read_material(text, "material")
    return None if found is None else found.family


def facts_of_text(text: str) -> dict[str, str]:
    """Return the cells of the attributes that a material's text gives its part: a colour, a metallisation."""
    facts = material_of(text, ruleset.load()).facts
    return {name: "true" if value is True else str(value) for name, value in facts.items()}


def _is_one_name(text: str) -> bool:
    """Return whether a text with separators is one material's name as a whole, a colour beside: `Papier/PE-Verbund`."""
    rules = ruleset.load()
    return any(name in rules.aliases for name in (normalise(text), plain_materials(text, rules)[0]))


def _names_more(text: str, family: str) -> bool:
    """Return whether a family's word names a kind of it too: `Wellpappe` is more than paper, `Papier` is not."""
    rules = ruleset.load()
    code = resolve_material(text, rules)
    found = None if code is None or code in GENERIC.values() else rules.materials[code]
    return found is not None and found.specified and family in found.contract_families


def _only(families: list[str | None]) -> str | None:
    """Return the family that all parts of a text mean: `PS - Polystyrène` names one material twice."""
    return families[0] if len(set(families)) == 1 else None


def _family_by_ruleset(text: str) -> str | None:
    """Return the family of the material that a text means by the rule-set's words; None where that is not a single one.

    A bare number means none: `1` may be the resin code of PET, and as well a number of the sender's own list.
    """
    if not any(map(str.isalpha, text)):
        return None
    rules = ruleset.load()
    code = resolve_material(text, rules)
    return rules.materials[code].family if code is not None and rules.materials[code].specified else None
