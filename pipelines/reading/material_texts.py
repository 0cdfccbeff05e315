"""Reads the text of a material cell: its family, and the detail that the text names beside it.

`Weißblech` is metal with detail tinplate, `PET schwarz` plastic with the whole text as detail, `Metall` metal alone.
`materials.py` puts both into columns; `named_fields.py` keeps the detail of a text that a mapping or a company's own
word makes a family.
"""

import re
from typing import Final, NamedTuple

from compliance import ruleset
from compliance.grading.components import GENERIC
from compliance.words import material_of, normalise, plain_materials, resolve_material
from pipelines.reading.fields import LONGEST_VALUE
from pipelines.reading.values import without_language
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of, fold, words

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
