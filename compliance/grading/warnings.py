"""Warns the caller of a write about material texts: unknown ones, and ones that contradict the family.

A warning changes no grade by itself; `compliance.grading.components` decides how such texts are graded.
"""

from collections.abc import Iterator

from compliance.grading.components import lines
from compliance.ruleset import RuleSet
from compliance.words import nearest_materials, resolve_material
from schemas.issues import Issue
from schemas.messages import Message
from schemas.sku import Sku


def warnings(record: Sku, rules: RuleSet) -> list[Issue]:
    """Return the warnings `polymer_unresolved` and `material_conflict` of a record."""
    return list(_issues(record, rules))


def _issues(record: Sku, rules: RuleSet) -> Iterator[Issue]:
    for field, family, text in _material_texts(record):
        code = resolve_material(text, rules)
        if code is None:
            near = ", ".join(f"“{word}”" for word in nearest_materials(text, rules))
            yield Issue(
                "polymer_unresolved",
                Message("The material is not known and grades nothing. Nearest: {near}.", near=near),
                field,
            )
        elif family and _conflict(family, code, rules):
            fitting = ", ".join(sorted(rules.materials[code].contract_families))
            yield Issue(
                "material_conflict",
                Message(
                    "The family is {family}, but the text means {code} and decides; {fitting} would fit it.",
                    family=family,
                    code=code,
                    fitting=fitting,
                ),
                field,
            )


def _material_texts(record: Sku) -> Iterator[tuple[str, str | None, str]]:
    """Yield field, family and text of every material text; the SKU's own only where there is no graph."""
    graph = lines(record)
    for index, line in enumerate(graph):
        if text := line.get("polymer_or_grade"):
            yield f"components[{index}].polymer_or_grade", line.get("material_family"), text
    if not graph and (text := record.get("material_subtype")):
        yield "material_subtype", record.get("material"), text


def _conflict(family: str, code: str, rules: RuleSet) -> bool:
    material = rules.materials[code]
    return material.specified and family != "other" and family not in material.contract_families
