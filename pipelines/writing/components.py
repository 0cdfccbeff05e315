"""Completes component graphs: fills lines from the library, checks them, gives them ids, and writes one canonical text.

A graph is replaced whole and compared as text: two graphs are equal when their texts are. A line has the id of the
stored line that is the same part (`pipelines.writing.matching`), so that an unchanged graph has an unchanged text.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, cast

import orjson
from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from compliance.weights import total_g
from pipelines.writing import substances
from pipelines.writing.matching import matched_ids
from schemas.fields import COMPONENT_FIELDS
from schemas.issues import Issue
from schemas.messages import Message
from schemas.sku import Component, LibraryPart, Substances
from schemas.vocabularies import SUBSTANCES

_ORDER: Final = tuple(field.name for field in COMPONENT_FIELDS)
_PLACE: Final = {name: place for place, name in enumerate(("id", *_ORDER))}
_BLANK: Final[Mapping[str, None]] = dict.fromkeys(("id", *_ORDER))
_NUMBERS: Final = frozenset(field.name for field in COMPONENT_FIELDS if field.kind == "number")
_REFERENCES: Final = {field.name: field.references for field in COMPONENT_FIELDS if field.references}
_FILLED: Final = tuple(LibraryPart.__annotations__)
"""Fields that a library component fills where the line leaves them out."""


def draft_text(lines: Sequence[Component] | None) -> str:
    """Return the lines that a caller sent as text for the patch; null is the empty graph."""
    return orjson.dumps(list(lines or ())).decode()


def complete_lines(
    draft: str, library: Mapping[str, LibraryPart], rules: RuleSet
) -> tuple[list[Component], list[Issue]]:
    """Return the lines of a draft with library values filled in, in canonical key order and without nulls.

    A line has the id that it names, if any. `library` has the company's own components by id; ids that are not in it
    were rejected before.
    """
    lines: list[Component] = []
    issues: list[Issue] = []
    sent_lines: list[Component] = orjson.loads(draft)
    for number, line in enumerate(sent_lines):
        filled = _with_library_values(line, library)
        if filled.get("material_family") is None:
            issues.append(
                Issue(
                    "required",
                    Message("A component needs a material_family or a component_id that fills it."),
                    f"components[{number}].material_family",
                )
            )
        if (declared := line.get("substances")) is not None:
            kept, faults = _substances(declared, number, rules)
            filled = {**filled, "substances": kept}
            issues += faults
        lines.append(_canonical(filled))
    return lines, issues


def _with_library_values(line: Component, library: Mapping[str, LibraryPart]) -> Mapping[str, object]:
    """Return the line with the library component's values where it gives none itself."""
    if (part := library.get(line.get("component_id") or "")) is None:
        return line
    own: Mapping[str, object] = line
    values: Mapping[str, object] = part
    return {**own, **{name: values[name] for name in _FILLED if own.get(name) is None and values.get(name) is not None}}


def _substances(sent: Substances, number: int, rules: RuleSet) -> tuple[Substances, list[Issue]]:
    entries, faults = substances.declared({"substances": sent}, rules)
    kept: Substances = {
        name: substances.without_nulls(entry) for name in SUBSTANCES if (entry := entries.get(name)) is not None
    }
    return kept, [Issue(f.code, f.message, f"components[{number}].{f.field}") for f in faults]


def _canonical(line: Mapping[str, object]) -> Component:
    """Return the given values in canonical order; components of one file mostly give the same fields."""
    given = {
        name: _number(value) if name in _NUMBERS else value
        for name in _in_order(tuple(line))
        if (value := line[name]) is not None and value != {}
    }
    return cast(Component, given)


@lru_cache(maxsize=4096)
def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names, key=_PLACE.__getitem__))


def _number(value: object) -> float:
    assert isinstance(value, int | float), "it was validated"
    return float(value)


def id_faults(lines: Sequence[Component], stored: Sequence[Component]) -> list[Issue]:
    """Return what is wrong with the ids that lines name: each is of a stored line of this SKU, and named once."""
    if not any("id" in line for line in lines):
        return []
    known, seen, issues = {line["id"] for line in stored}, set[str](), list[Issue]()
    for number, line in enumerate(lines):
        if (named := line.get("id")) is None:
            continue
        field = f"components[{number}].id"
        if named not in known:
            sentence = Message("{id} is no component of this SKU; leave the id out for a new one.", id=named)
            issues.append(Issue("unknown_reference", sentence, field))
        elif named in seen:
            sentence = Message("{id} is named by two components; name it once.", id=named)
            issues.append(Issue("duplicate_row", sentence, field))
        seen.add(named)
    return issues


def graph_text(lines: Sequence[Component], stored: str | None) -> tuple[str | None, list[Issue]]:
    """Return the canonical text of a graph with the ids of its parts, None for an empty one; and faults of ids."""
    old: list[Component] = orjson.loads(stored) if stored else []
    if len(lines) == len(old) and stored == (same := _text([line["id"] for line in old], lines)):
        return same, []  # as with most lines of a file that is sent again
    if issues := id_faults(lines, old):
        return None, issues
    ids = matched_ids(lines, old) if old else [None] * len(lines)
    return (_text([identity or str(uuid7()) for identity in ids], lines) if lines else None), []


def _text(ids: Sequence[str], lines: Sequence[Component]) -> str:
    return orjson.dumps([{"id": identity, **line} for identity, line in zip(ids, lines, strict=True)]).decode()


def total_weight_g(graph: str | None) -> float | None:
    """Return the sum of the weights in a graph; None where there is no graph or no weight in it."""
    return None if graph is None else total_g(orjson.loads(graph))


def references(draft: str | None) -> list[tuple[str, str, str]]:
    """Return the references of a draft's lines: (table, id, field path)."""
    if draft is None or "_id" not in draft:
        return []
    return [
        (table, str(line[name]), f"components[{number}].{name}")
        for number, line in enumerate(orjson.loads(draft))
        for name, table in _REFERENCES.items()
        if line.get(name) is not None
    ]


def published(line: Component) -> Component:
    """Return a line as reads return it: every field of the contract, null where nothing was given."""
    declared = line.get("substances", {})
    entries: Substances = {name: substances.published(declared.get(name)) for name in SUBSTANCES}
    return cast(Component, {**_BLANK, **line, "substances": entries})
