"""Recognises headers of components side by side in one line: numbered groups, and a weight column per material.

`packagings_1_material`, `Emballage 1 - Matière`, `Weight 2 (kg)`; `Glas`, `Poids verre (g)`, `plastic_weight_g`. The
words are data: `headers.csv` (tables `component` and `group`) and `words.csv` (`group`, `material_column`,
`weight_column`). `header.py` decides which of these columns count; `layouts.py` makes their table.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

from compliance import ruleset
from compliance.words import resolve_material
from pipelines.reading.fields import WEIGHTS, Column, fields_of
from pipelines.reading.grammar import MOST_KEPT, composed_field
from schemas.fields import SKU_CODE
from schemas.words import code_of, fold, headers, words

_WEIGHT = "weight_g"
COMPONENT_FIELDS: Final = {
    "material": "material_family",
    "material_subtype": "polymer_or_grade",
    "weight_grams": _WEIGHT,
    "recycled_content_percent": "recycled_content_percent",
}
"""SKU column -> component column, in a group and where the lines of a SKU are its components."""
_UNIT_ROLES = ("unit", "unit_name")
_NUMBER = re.compile(r"[1-9]\d?")
_JOINED = re.compile(r"([a-z]+)(\d{1,2})")


def group_column(tokens: list[str], header: str) -> Column | None:
    """Return the column of a numbered component or of a material's weight, or None.

    `tokens` are the header's words without its unit.
    """
    return _numbered_column(tokens, header) or _material_column(tokens, header)


def is_bare_material(column: Column) -> bool:
    """Return whether the header is a material's name alone, which need not mean a weight: `Glas`, `Carton`."""
    return bool(column.fixed) and _material_of_word(fold(column.header)) is not None


def _numbered_column(words_found: list[str], header: str) -> Column | None:
    """Return the column of a header with one number that names a component's field without it and the group's word."""
    tokens = [part for token in words_found for part in _split_word_and_number(token)]
    numbers = [token for token in tokens if _NUMBER.fullmatch(token)]
    if len(numbers) != 1:
        return None
    rest = [token for token in tokens if token not in numbers]
    name = next((found for bare in _without_group_word(rest) if (found := _part_field(bare)) is not None), None)
    if name is None:
        return None
    own = f"component_{numbers[0]}_{name}"
    exact = header.strip() == own
    return Column(own, fields_of("component")[name], "component", 0, header, exact=exact, group=numbers[0])


def _split_word_and_number(token: str) -> tuple[str, ...]:
    """Split `emballage1` into two tokens."""
    found = _JOINED.fullmatch(token)
    return found.groups() if found is not None and code_of(found[1], "group") is not None else (token,)


def _without_group_word(tokens: list[str]) -> Iterator[str]:
    """Yield the header as it is, then without a word for a group at its end, or words for it at its start."""
    yield " ".join(tokens)
    if tokens and code_of(tokens[-1], "group") is not None:
        yield " ".join(tokens[:-1])
    while tokens and code_of(tokens[0], "group") is not None:
        tokens = tokens[1:]
        yield " ".join(tokens)


def _part_field(bare: str) -> str | None:
    """Return the component field that a header names."""
    composed = composed_field(bare.split()) if bare else None
    return _part_headers().get(bare) or (None if composed is None else COMPONENT_FIELDS.get(composed))


@cache
def _part_headers() -> dict[str, str]:
    """Return headers of a component's fields within a group: those of a components table, and some that need the group.

    Headers of the SKU elsewhere (`Verpackungsmaterial`, `Poids de l'emballage`) are the part's in a group.
    """
    of_sku = {header: COMPONENT_FIELDS[name] for header, name in headers("sku").items() if name in COMPONENT_FIELDS}
    of_table = {header: name for header, name in headers("component").items() if name in fields_of("component")}
    return {h: name for h, name in {**of_sku, **of_table, **headers("group")}.items() if name != SKU_CODE.name}


def _as_weight(column: Column) -> Column:
    """Make a measured weight the weight, for a group without a specified one."""
    if column.field.name != "measured_weight_g":
        return column
    return replace(column, name=f"component_{column.group}_{_WEIGHT}", field=fields_of("component")[_WEIGHT])


def _material_column(tokens: list[str], header: str) -> Column | None:
    """Return the column of a material's name beside only words for weights or a part.

    With words for a unit instead (`Glas Einheit`, `glass_weight_unit`) the column contains the units of that weight.
    """
    parts = [code_of(token, "component_type") for token in tokens]
    of_unit = [code_of(token, "header_word") in _UNIT_ROLES for token in tokens]
    beside = [bool(part) + unit for part, unit in zip(parts, of_unit, strict=True)]
    beside = [
        count + (code_of(token, "weight_column") is not None) for token, count in zip(tokens, beside, strict=True)
    ]
    own = [at for at, count in enumerate(beside) if count != 1]  # words that can only be the material's
    for size in range(len(tokens), 0, -1):
        for start in range(len(tokens) - size + 1):
            end = start + size
            found = [part for part in (*parts[:start], *parts[end:]) if part is not None]
            if len(found) > 1 or (own and not start <= own[0] <= own[-1] < end):
                continue
            if (material := _material_of_word(" ".join(tokens[start:end]))) is not None:
                if start and code_of(tokens[start - 1], "header_part") == "per":
                    return None  # a carton that something is per is no material
                name = "weight_unit" if any((*of_unit[:start], *of_unit[end:])) else _WEIGHT
                return _column_of_material(material, found[0] if found else "body", name, header)
    return None


def _column_of_material(material: str, part: str, name: str, header: str) -> Column:
    """Return the column of a material, given as `family` or `family grade`, in a part of the packaging."""
    family, _, grade = material.partition(" ")
    key = "_".join([*([] if part == "body" else [part]), *fold(material).split()])
    fixed = {"component_type": part, "material_family": family} | ({"polymer_or_grade": grade} if grade else {})
    field = fields_of("component")[name]
    return Column(f"{key}_{name}", field, "component", 0, header, group=key, fixed=tuple(fixed.items()))


@lru_cache(maxsize=MOST_KEPT)
def _material_of_word(folded: str) -> str | None:
    return _grades_by_word().get(folded) or words("material_family").get(folded) or _family_and_kind(folded)


def _family_and_kind(folded: str) -> str | None:
    """Return a family with a kind of it that the rule-set's words know: `plastique pet clair`."""
    first, _, kind = folded.partition(" ")
    family, rules = words("material_family").get(first), ruleset.load()
    code = None if family is None or not kind else resolve_material(kind, rules)
    return f"{family} {kind}" if code is not None and rules.materials[code].family == family else None


@cache
def _grades_by_word() -> dict[str, str]:
    """Return words for a grade of a material, and the grades as column names spell them: `metal tinplate`."""
    known = words("material_column")
    return {**known, **{fold(code): code for code in known.values()}}


def usable_groups(columns: list[Column]) -> list[Column]:
    """Return the group columns that can make components: numbered groups that name a material, else materials.

    A number behind a header may mean anything, and a material's name alone too: a group without a material makes
    no component, and a bare name counts only beside a second material.
    """
    numbered = [column for column in columns if column.group is not None and not column.fixed]
    named = {column.group for column in numbered if column.field.name in ("material_family", "component_id")}
    if whole := [column for column in numbered if column.group in named]:
        # A weight of a part without a material is kept as a fault of its lines, so that no total lacks a part.
        weights = {column.group for column in numbered if column.field.name in WEIGHTS}
        whole = [column for column in numbered if column.group in named | weights]
        weighed = {column.group for column in whole if column.field.name == _WEIGHT}
        return [column if column.group in weighed else _as_weight(column) for column in whole]
    materials = [column for column in columns if column.fixed]
    several = sum(column.field.name == _WEIGHT for column in materials) > 1
    return materials if several else [column for column in materials if not is_bare_material(column)]
